"""Documents over HTTP: uploads with their events, originals, pages as pictures; a killed server leaves nothing half."""

import asyncio
import io
import json
import shutil
import socket
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest
from api_server import Api, Serve
from pdf_files import write_lines, write_pdf
from PIL import Image, ImageChops
from run_client import ask_run, make_headers, read_run

from quorum import Context, index
from quorum.retrievers.collections import list_collections, list_passages
from quorum.retrievers.manage_documents import list_documents
from quorum.serving.documents.live_upload import UploadedFile
from quorum.serving.documents.multipart import MultipartParser, Part, PartEnd
from quorum.serving.documents.staged_files import StagedFile, Step
from quorum.serving.documents.upload_service import UploadService

OWNER, OTHER = "the-first-key-of-this-server", "the-second-key-of-this-server"
SENTENCE = "The Lumen Tower was finished in 1931"


def send(api: Api, files: dict[str, bytes | str], collection: str = "mine", key: str = "none") -> dict[str, Any]:
    """Upload files, and return the upload when it has ended."""
    parts = [("files", (path, content)) for path, content in files.items()]
    response = httpx.post(
        f"{api.url}/v1/collections/{collection}/documents", files=parts, headers=make_headers(key), timeout=60
    )
    assert response.status_code == 202, response.text
    read_events(api, response.json()["id"], key=key)
    ended: dict[str, Any] = api.get(f"/v1/uploads/{response.json()['id']}", **make_headers(key)).json()
    return ended


def read_events(api: Api, upload: str, after: int = 0, key: str = "none") -> list[dict[str, Any]]:
    response = api.get(f"/v1/uploads/{upload}/events", **make_headers(key), **{"last-event-id": str(after)})
    assert response.status_code in (200, 204)
    return [json.loads(line[6:]) for line in response.text.splitlines() if line.startswith("data: ")]


def list_names(api: Api, collection: str = "mine") -> list[tuple[str, str]]:
    data = api.get(f"/v1/collections/{collection}/documents").json()["data"]
    return [(document["state"], document["path"] or document["name"]) for document in data]


@pytest.fixture
def api(serve: Serve, tmp_path: Path) -> Api:
    """A server over an empty store, for its only client."""
    return serve(store=str(tmp_path / "store"), collection="", collections=None)


@pytest.fixture
def pdf(tmp_path: Path) -> bytes:
    lines = ["Towers of the harbour", f"Long ago. {SENTENCE}.", "It is 90 metres high."]
    return write_pdf(tmp_path / "made.pdf", [write_lines(["Contents"]), write_lines(lines)]).read_bytes()


def test_a_folder_is_uploaded_and_each_file_is_told(api: Api, pdf: bytes, tmp_path: Path) -> None:
    files = {
        "hr/travel.pdf": pdf,
        "hr/leave.md": "# Leave\n\nAsk the travel desk.",
        "hr/Leave.md": "# Leave\n\nAsk somebody else, who is in another office.",
        "../../../hr/x.md": "It stays below the folder.",
        "hr/empty.txt": "",
        "hr/broken.pdf": b"%PDF-1.4 nothing",
        "photo.zzz": b"\x00\x01",
    }
    upload = send(api, files)
    outcomes = {file["path"]: file["outcome"] for file in upload["files"]}
    assert outcomes == {
        "hr/travel.pdf": "indexed",
        "hr/leave.md": "indexed",
        "hr/Leave (2).md": "indexed",
        "hr/x.md": "indexed",
        "hr/empty.txt": "not_read",
        "hr/broken.pdf": "not_read",
        "photo.zzz": "not_read",
    }
    assert all(file["reason"] for file in upload["files"] if file["outcome"] == "not_read")
    assert upload["state"] == "finished"
    assert list_names(api) == [
        ("failed", "hr/broken.pdf"),
        ("failed", "hr/empty.txt"),
        ("failed", "photo.zzz"),
        ("ready", "hr/Leave (2).md"),
        ("ready", "hr/leave.md"),
        ("ready", "hr/travel.pdf"),
        ("ready", "hr/x.md"),
    ]
    listed = api.get("/v1/collections/mine/documents").json()["data"]
    travel = next(document for document in listed if document["name"] == "hr/travel.pdf")
    assert (travel["pages"], travel["has_original"], travel["id"]) == (2, True, upload["files"][0]["document"])
    assert str(tmp_path) not in json.dumps([listed, upload])
    [passage] = [
        p for p in list_passages(Context(store=str(tmp_path / "store"), collection="mine")) if SENTENCE in p["text"]
    ]
    assert passage["metadata"]["source"] == "hr/travel.pdf"
    events = read_events(api, upload["id"])
    assert [event["n"] for event in events] == list(range(1, upload["last_event"] + 1))
    assert read_events(api, upload["id"], after=3) == events[3:]
    assert api.get(f"/v1/uploads/{upload['id']}/events?after={len(events)}").status_code == 204


def test_an_upload_replaces_a_document_and_failures_of_it_are_forgotten(api: Api, tmp_path: Path) -> None:
    send(api, {"a.txt": "Old words of the tower.", "b.pdf": b"nothing"})
    again = send(api, {"a.txt": "New words of the harbour.", "b.pdf": b"nothing"})
    assert [file["outcome"] for file in again["files"]] == ["indexed", "not_read"]
    texts = [passage["text"] for passage in list_passages(Context(store=str(tmp_path / "store"), collection="mine"))]
    assert texts == ["New words of the harbour."]
    assert list_names(api) == [("failed", "b.pdf"), ("ready", "a.txt")]
    broken = send(api, {"a.txt": b"\x00\x01\x02" * 1000})
    assert broken["files"][0]["outcome"] == "not_read"  # the document of before stays, with its file
    [document] = [d for d in api.get("/v1/collections/mine/documents").json()["data"] if d["state"] == "ready"]
    assert api.get(f"/v1/collections/mine/documents/{document['id']}").text == "New words of the harbour."
    for upload in api.get("/v1/uploads?collection=mine").json()["data"]:
        assert httpx.delete(f"{api.url}/v1/uploads/{upload['id']}").status_code == 200
    assert list_names(api) == [("ready", "a.txt")]


def test_originals_are_given_so_that_no_browser_runs_them(api: Api, pdf: bytes) -> None:
    page = "<script>alert(1)</script><p>The tower was finished in 1931.</p>"
    send(api, {"a.html": page, "b.pdf": pdf, 'q"uote é.svg.txt': "text"})
    documents = {d["name"]: d["id"] for d in api.get("/v1/collections/mine/documents").json()["data"]}
    got = api.get(f"/v1/collections/mine/documents/{documents['a.html']}?inline=1")
    assert (got.text, got.headers["content-type"]) == (page, "application/octet-stream")
    assert got.headers["content-disposition"] == "attachment; filename*=UTF-8''a.html"
    assert "sandbox" in got.headers["content-security-policy"]
    assert got.headers["x-content-type-options"] == "nosniff"
    shown = api.get(f"/v1/collections/mine/documents/{documents['b.pdf']}?inline=1")
    assert (shown.content, shown.headers["content-type"]) == (pdf, "application/pdf")
    assert shown.headers["content-disposition"].startswith("inline;")
    assert (
        api.get(f"/v1/collections/mine/documents/{documents['b.pdf']}").headers["content-disposition"].startswith("att")
    )
    assert api.get("/v1/collections/mine/documents/0000000000000000").status_code == 404


def test_a_page_is_drawn_with_the_sentence_marked(api: Api, pdf: bytes) -> None:
    send(api, {"towers.pdf": pdf, "b.txt": "No pages."})
    documents = {d["name"]: d["id"] for d in api.get("/v1/collections/mine/documents").json()["data"]}
    address = f"/v1/collections/mine/documents/{documents['towers.pdf']}/pages"
    plain = api.get(f"{address}/2.png")
    result = read_run(api.url, ask_run(api.url, SENTENCE, "concat", collection="mine"))[-2]["result"]
    assert {passage["document_id"] for passage in result["passages"]} == set(documents.values())
    marked = httpx.get(
        f"{api.url}{address}/2.png", params={"mark": "the lumen  tower was\nfinished in 1931."}, timeout=60
    )
    assert (plain.headers["quorum-marked"], marked.headers["quorum-marked"]) == ("0", "1")
    first, second = (Image.open(io.BytesIO(answer.content)).convert("RGB") for answer in (plain, marked))
    assert first.size == second.size == (1224, 1584)
    left, top, right, bottom = ImageChops.difference(first, second).getbbox() or (0, 0, 0, 0)
    # The second of the three lines, which begin at (72, 720) points, without its first words, "Long ago. ".
    assert 144 + 60 < left < right < 700
    assert 130 < top < bottom < 190
    missing = httpx.get(f"{api.url}{address}/2.png", params={"mark": "nothing of that"}, timeout=60)
    assert (missing.headers["quorum-marked"], missing.content) == ("0", plain.content)
    turned = httpx.get(f"{api.url}{address}/1.png", params={"mark": SENTENCE, "turn": "1"}, timeout=60)
    told = [turned.headers[f"quorum-{name}"] for name in ("marked", "page", "pages")]
    assert (told, turned.content == plain.content) == (["1", "2", "2"], False)
    stays = httpx.get(f"{api.url}{address}/1.png", params={"mark": "nothing of that", "turn": "1"}, timeout=60)
    assert (stays.headers["quorum-marked"], stays.headers["quorum-page"]) == ("0", "1")
    for path in (
        f"{address}/9.png",
        f"{address}/0.png",
        address.replace(documents["towers.pdf"], documents["b.txt"]) + "/1.png",
    ):
        refused = api.get(path)
        assert (refused.status_code, refused.json()["error"]["code"]) == (404, "no_pages")


def test_an_indexed_file_is_given_only_as_it_was_indexed(serve: Serve, tmp_path: Path, pdf: bytes) -> None:
    (tmp_path / "docs").mkdir()
    file = tmp_path / "docs" / "a.pdf"
    file.write_bytes(pdf)
    index(tmp_path / "docs", collection="towers", context=Context(store=str(tmp_path / "store")))
    api = serve(store=str(tmp_path / "store"))
    [document] = api.get("/v1/collections/towers/documents").json()["data"]
    address = f"/v1/collections/towers/documents/{document['id']}"
    assert (document["has_original"], document["is_upload"], document["path"]) == (True, False, None)
    assert api.get(address).content == pdf
    assert api.get(f"{address}/pages/2.png").status_code == 200
    assert httpx.post(f"{api.url}{address}/reindex").status_code == 409
    file.write_bytes(pdf + b"\n")
    changed = api.get(address)
    assert (changed.status_code, changed.json()["error"]["code"]) == (404, "original_not_found")
    (tmp_path / "elsewhere").mkdir()
    shutil.copy(tmp_path / "made.pdf", tmp_path / "elsewhere" / "a.pdf")
    shutil.rmtree(tmp_path / "docs")
    (tmp_path / "docs").symlink_to(tmp_path / "elsewhere")
    assert api.get(address).status_code == 404  # the same content, but a link leads there
    assert api.get(f"{address}/pages/2.png").status_code == 404


def test_documents_are_removed_and_indexed_again_with_their_files(api: Api, tmp_path: Path) -> None:
    send(api, {"a/one.txt": "The first text.", "a/two.txt": "The second text."})
    uploads = tmp_path / "store" / "uploads"
    first, second = api.get("/v1/collections/mine/documents").json()["data"]
    address = f"{api.url}/v1/collections/mine/documents"
    again = httpx.post(f"{address}/{first['id']}/reindex", timeout=60)
    assert again.status_code == 202
    assert [e["outcome"] for e in read_events(api, again.json()["id"]) if e["type"] == "file_finished"] == ["indexed"]
    assert api.get(f"/v1/collections/mine/documents/{first['id']}").text == "The first text."
    assert httpx.delete(f"{address}/{first['id']}", timeout=60).json()["deleted"]
    assert [path.name for path in uploads.rglob("*") if path.is_file()] == ["two.txt"]
    assert list_names(api) == [("ready", "a/two.txt")]
    assert httpx.patch(f"{api.url}/v1/collections/mine", json={"name": "yours"}).status_code == 200
    send(api, {"a/three.txt": "The third text."}, "yours")
    send(api, {"a/two.txt": "Of another collection."}, "mine")
    assert api.get(f"/v1/collections/yours/documents/{second['id']}").text == "The second text."
    deleted = httpx.delete(f"{api.url}/v1/collections/yours", timeout=60).json()
    assert deleted == {"id": "yours", "object": "collection", "deleted": True, "note": None}
    assert not [
        path for path in (tmp_path / "store").rglob("*") if path.is_file() and b"third text" in path.read_bytes()
    ]
    assert [path.read_text() for path in uploads.rglob("*") if path.is_file()] == ["Of another collection."]


def test_files_are_forgotten_if_the_server_is_told_so(serve: Serve, tmp_path: Path) -> None:
    store = tmp_path / "store"
    send(serve(store=str(store), collection="", collections=None), {"a.txt": "The first text."})
    api = serve(store=str(store), collection="", collections=None, forget_files=True)
    send(api, {"a.txt": "The second text.", "b.txt": "Another text."})
    assert not [path for path in (store / "uploads").rglob("*") if path.is_file()]
    assert [(d["name"], d["has_original"]) for d in api.get("/v1/collections/mine/documents").json()["data"]] == [
        ("a.txt", False),
        ("b.txt", False),
    ]
    assert not list((store / "incoming").glob("*/"))


def test_only_the_owner_changes_documents_and_each_refusal_is_one_sentence(serve: Serve, tmp_path: Path) -> None:
    index(make_file(tmp_path), collection="towers", context=Context(store=str(tmp_path / "store")))
    api = serve(store=str(tmp_path / "store"), access_tokens=(OWNER, OTHER))
    address = f"{api.url}/v1/collections/towers/documents"
    file = {"files": ("a.txt", "text")}

    def refuse(method: str, path: str, key: str = OWNER, **body: Any) -> tuple[int, str]:
        response = httpx.request(method, f"{api.url}{path}", headers=make_headers(key), timeout=60, **body)
        message = response.json()["error"]["message"]
        assert message.endswith(".")
        assert str(tmp_path) not in message
        return response.status_code, response.json()["error"]["code"]

    documents = "/v1/collections/towers/documents"
    [document] = httpx.get(address, headers=make_headers(OTHER)).json()["data"]
    assert refuse("POST", documents, OTHER, files=file) == (403, "not_the_owner")
    assert refuse("DELETE", f"{documents}/{document['id']}", OTHER) == (403, "not_the_owner")
    assert refuse("GET", "/v1/uploads", OTHER) == (403, "not_the_owner")
    assert refuse("POST", "/v1/collections/new/documents", files=file) == (403, "collection_not_served")
    large = {"files": ("a.txt", b"x" * 20_000_000)}  # is read to its end, or a browser would show no sentence
    assert refuse("POST", "/v1/collections/new/documents", files=large) == (403, "collection_not_served")
    assert refuse("POST", documents, json={}) == (400, None)
    assert refuse("POST", documents, files={"no": (None, "a field without a file")}) == (400, None)
    broken_headers = {**make_headers(OWNER), "content-type": "multipart/form-data; boundary=x"}
    response = httpx.post(address, content=b"--x\r\nno end", headers=broken_headers)
    assert (response.status_code, response.json()["error"]["message"]) == (
        400,
        "The body is not complete; send the files again.",
    )
    host, _, port = api.url.removeprefix("http://").partition(":")
    head = f"POST {documents} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {OWNER}\r\n"
    with socket.create_connection((host, int(port))) as client:
        client.sendall(head.encode() + b"Content-Length: 600000000\r\n\r\n")
        assert client.recv(100).startswith(b"HTTP/1.1 413 ")
    assert refuse("GET", "/v1/uploads/20261129-101500-000000a1b2c3d4") == (404, "upload_not_found")
    assert httpx.get(f"{address}/{document['id']}", headers=make_headers(OTHER)).status_code == 200


def make_file(folder: Path) -> Path:
    file = folder / "t.txt"
    file.write_text(f"{SENTENCE}.")
    return file


def test_what_the_filter_keeps_back_is_not_opened(serve: Serve, tmp_path: Path) -> None:
    lines = [
        {"id": "1", "title": "A", "text": "Open words.", "level": 1},
        {"id": "2", "title": "B", "text": "Secret words.", "level": 2},
    ]
    file = tmp_path / "t.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    index(file, collection="towers", context=Context(store=str(tmp_path / "store")))
    open_api, api = serve(store=str(tmp_path / "store")), serve(store=str(tmp_path / "store"), where="title=A")
    [document] = api.get("/v1/collections/towers/documents").json()["data"]
    address = f"/v1/collections/towers/documents/{document['id']}"
    assert (document["passages"], document["has_original"]) == (1, False)
    assert api.get(address).json()["error"]["code"] == "filtered"
    assert open_api.get(address).status_code == 200


def test_a_client_that_leaves_in_the_middle_has_uploaded_nothing(api: Api, tmp_path: Path) -> None:
    host, _, port = api.url.removeprefix("http://").partition(":")
    part = b'--x\r\nContent-Disposition: form-data; name="files"; filename="%s"\r\n\r\n'
    body = part % b"a.txt" + b"Whole.\r\n" + part % b"b.txt" + b"half"
    with socket.create_connection((host, int(port))) as client:
        head = f"POST /v1/collections/mine/documents HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Length: 900\r\n"
        client.sendall(head.encode() + b"Content-Type: multipart/form-data; boundary=x\r\n\r\n" + body)
        while not (data := api.get("/v1/uploads").json()["data"]) or len(data[0]["files"]) < 1:
            pass
    events = read_events(api, data[0]["id"])
    assert events[-1]["type"] == "upload_finished"
    assert {event["path"]: event["outcome"] for event in events if event["type"] == "file_finished"} == {
        "a.txt": "not_read",
        "b.txt": "not_read",
    }
    assert list_collections(str(tmp_path / "store")) == []


def test_an_upload_that_arrives_is_found_by_the_id_of_its_request(api: Api) -> None:
    """So a tab that cancels what it sends meets no upload of another tab into the same collection."""
    host, _, port = api.url.removeprefix("http://").partition(":")
    part = b'--x\r\nContent-Disposition: form-data; name="files"; filename="a.txt"\r\n\r\nhalf'
    head = f"POST /v1/collections/mine/documents HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Length: 900\r\n"
    with ExitStack() as stack:
        for name in ("one-tab", "other-tab"):
            client = stack.enter_context(socket.create_connection((host, int(port))))
            fields = f"X-Request-Id: {name}\r\nContent-Type: multipart/form-data; boundary=x\r\n\r\n"
            client.sendall((head + fields).encode() + part)
        while len(found := {one["request_id"]: one["state"] for one in api.get("/v1/uploads").json()["data"]}) < 2:
            pass
    assert found == {"one-tab": "receiving", "other-tab": "receiving"}


def test_an_upload_that_stalls_or_waits_for_its_turn_is_cancelled_at_once(api: Api, tmp_path: Path) -> None:
    host, _, port = api.url.removeprefix("http://").partition(":")
    part = b'--x\r\nContent-Disposition: form-data; name="files"; filename="%s"\r\n\r\n'
    body = part % b"a.txt" + b"Whole.\r\n" + part % b"b.txt" + b"half"
    head = f"POST /v1/collections/mine/documents HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Length: 900\r\n"
    with socket.create_connection((host, int(port)), timeout=50) as client:
        client.sendall(f"{head}Content-Type: multipart/form-data; boundary=x\r\n\r\n".encode() + body)
        while not (data := api.get("/v1/uploads").json()["data"]) or not data[0]["files"]:
            pass
        # The server would wait for the next bytes for a minute.
        cancelled = httpx.post(f"{api.url}/v1/uploads/{data[0]['id']}/cancel", timeout=50).json()
        assert (cancelled["state"], cancelled["files"][0]["outcome"]) == ("cancelled", "cancelled")
        assert client.recv(12) == b"HTTP/1.1 409"

    async def cancel_waiting() -> Any:
        service = UploadService(Context(store=str(tmp_path / "other")))
        saved, upload = await service.begin("mine", "local")
        upload.files.append(UploadedFile(1, "a.txt"))
        with service.index_lock:  # another upload is being indexed
            service.start(upload)
            await asyncio.wait_for(service.cancel(saved), 10)
        return saved.describe()["state"]

    assert asyncio.run(cancel_waiting()) == "cancelled"


def interrupt(store: Path, prepare: Callable[[UploadService, Any], None]) -> UploadService:
    """An upload whose process dies at a certain step."""
    dead = UploadService(Context(store=str(store)))

    async def begin() -> Any:
        saved, upload = await dead.begin("mine", "local")
        prepare(dead, upload)
        return saved

    asyncio.run(begin())
    lock = dead.folder.processes.own_lock
    assert lock is not None
    lock.release()
    return dead


@pytest.mark.parametrize("had", [True, False])
def test_what_a_killed_server_has_left_is_taken_back(serve: Serve, tmp_path: Path, had: bool) -> None:
    store = tmp_path / "store"
    if had:
        send(serve(store=str(store), collection="", collections=None), {"a.txt": "Old words.", "b.txt": "Other words."})
    before = [passage["text"] for passage in list_passages(Context(store=str(store), collection="mine"))] if had else []

    def half(dead: UploadService, upload: Any) -> None:
        from quorum.retrievers.index import add_documents
        from quorum.retrievers.originals import choose_upload_folder
        from quorum.retrievers.store import open_store
        from quorum.serving.documents.indexing import list_ids

        upload.files += [UploadedFile(1, "a.txt"), UploadedFile(2, "new.txt"), UploadedFile(3, "later.txt")]
        for file in upload.files:
            (upload.folder / str(file.number)).write_text(f"New words of {file.path}.")
            upload.write("file_received", **file.describe(), bytes=9, size=9)
        ids = list_ids(open_store(store).fetch_entries("mine")) if had else {}
        top = choose_upload_folder(store, ids)
        places = [StagedFile(file.number, top / file.path) for file in upload.files[:2]]
        Step(upload.folder, "mine", top, places, ids, not had).begin()
        from quorum.retrievers.index import IndexOptions

        add_documents([item.place for item in places], "mine", str(store), "embedded", IndexOptions(base=top))

    dead = interrupt(store, half)
    api = serve(store=str(store), collection="", collections=None)
    [upload] = [u for u in api.get("/v1/uploads").json()["data"] if u["state"] != "finished"]
    assert upload["state"] == "interrupted"
    assert [file["outcome"] for file in upload["files"]] == ["interrupted"] * 3
    assert list_collections(str(store)) == (["mine"] if had else [])
    if had:
        after = [passage["text"] for passage in list_passages(Context(store=str(store), collection="mine"))]
        assert after == before
        assert {Path(document.name).read_text() for document in list_documents("mine", store)} == set(before)
    kept = [path.name for path in (store / "uploads").rglob("*") if path.is_file()]
    assert sorted(kept) == (["a.txt", "b.txt"] if had else [])
    assert not dead.folder.get_staging(upload["id"]).exists()
    assert send(api, {"a.txt": "Newer words."})["state"] == "finished"


def test_a_step_that_was_finished_before_the_kill_stays(serve: Serve, tmp_path: Path) -> None:
    store = tmp_path / "store"

    def whole(dead: UploadService, upload: Any) -> None:
        from quorum.retrievers.index import IndexOptions, add_documents

        upload.files.append(UploadedFile(1, "a.txt"))
        (upload.folder / "1").write_text("New words.")
        upload.write("file_received", file=1, path="a.txt", bytes=9, size=9)
        top = store.resolve() / "uploads" / "0123456789abcdef"
        step = Step(upload.folder, "mine", top, [StagedFile(1, top / "a.txt")], {}, True)
        step.begin()
        add_documents([top / "a.txt"], "mine", str(store), "embedded", IndexOptions(base=top))
        step.commit([{"file": 1, "path": "a.txt", "outcome": "indexed", "passages": 1, "notes": []}], forget=False)

    interrupt(store, whole)
    api = serve(store=str(store), collection="", collections=None)
    [upload] = api.get("/v1/uploads").json()["data"]
    assert (upload["state"], upload["files"][0]["outcome"]) == ("interrupted", "indexed")
    assert list_names(api) == [("ready", "a.txt")]


def test_a_cancelled_upload_leaves_nothing_half_done(api: Api, tmp_path: Path) -> None:
    many = {f"{number}.txt": f"Text number {number} of the tower. " * 400 for number in range(120)}
    parts = [("files", (path, content)) for path, content in many.items()]
    upload = httpx.post(f"{api.url}/v1/collections/mine/documents", files=parts, timeout=60).json()
    cancelled = httpx.post(f"{api.url}/v1/uploads/{upload['id']}/cancel", timeout=60).json()
    assert cancelled["state"] == "cancelled"
    outcomes = [file["outcome"] for file in cancelled["files"]]
    assert set(outcomes) <= {"indexed", "cancelled"}
    assert "cancelled" in outcomes
    names = {file["path"] for file in cancelled["files"] if file["outcome"] == "indexed"}
    store = tmp_path / "store"
    listed = (
        {Path(document.name).name for document in list_documents("mine", store)} if list_collections(store) else set()
    )
    assert listed == names
    assert {path.name for path in (store / "uploads").rglob("*") if path.is_file()} == names


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_a_body_is_read_in_pieces_of_any_size(size: int) -> None:
    lines = [
        b"--b-1",
        b'Content-Disposition: form-data; name="f"; filename="a/b%22c.txt"',
        b"",
        b"one\r\n--b-",
        b"--b-1",
    ]
    lines += [
        b"Content-Disposition: form-data; filename*=utf-8''%C3%A9.md",
        b"Content-Type: text/plain",
        b"",
        b"",
        b"--b-1",
    ]
    body = b"\r\n".join([*lines, b'Content-Disposition: form-data; name="x"', b"", b"field", b"--b-1--", b"rest"])
    parser = MultipartParser('multipart/form-data; boundary="b-1"')
    read: list[Any] = []
    for begin in range(0, len(body), size):
        for item in parser.feed(body[begin : begin + size]):
            if isinstance(item, Part):
                read.append([item.name, b""])
            elif not isinstance(item, PartEnd):
                read[-1][1] += item
    assert read == [['a/b"c.txt', b"one\r\n--b-"], ["é.md", b""], [None, b"field"]]
    assert parser.is_whole
