"""Documents on the page, in a browser: dropped, watched, asked, opened; a reload in the middle; a cancelled upload."""

import json
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from browser import Page
from openai_bodies import make_embeddings
from page_server import ServedPage, serve_page

ENTER = 13
READY = "!!document.querySelector('#question') && document.querySelectorAll('.segments label').length === 3"
STATE = "document.querySelector('.upload')?.dataset.state"
OPTIONS = ("--model", "openai:test", "--embeddings", "openai:test-embedding", "--set", "journal=off")
CHOOSE_NEW = """(() => {
    const target = document.querySelector('.adding select');
    if (!target) return;
    target.value = '';
    target.dispatchEvent(new Event('change'));
})()"""
HOSTILE_NAME = "a <img src=x onerror=alert(1)>.txt"


class Gate:
    """The server's embeddings, which wait while the gate is shut."""

    def __init__(self) -> None:
        self.is_open = threading.Event()
        self.is_open.set()

    def embed(self, body: dict[str, Any]) -> dict[str, Any]:
        assert self.is_open.wait(60)
        return make_embeddings(body)


@pytest.fixture(scope="module")
def gate() -> Gate:
    return Gate()


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, gate: Gate) -> Iterator[ServedPage]:
    """`quorum serve` over an empty store, without a token."""
    with serve_page(tmp_path_factory.mktemp("documents page"), *OPTIONS) as running:
        running.model.make_embeddings = gate.embed
        running.model.reply("the travel desk")
        yield running
        gate.is_open.set()


@pytest.fixture(autouse=True)
def check_errors(page: Page, served: ServedPage, gate: Gate) -> Iterator[None]:
    gate.is_open.set()
    page.set_size(1360)
    page.set_color_scheme("light")
    yield
    gate.is_open.set()
    assert page.errors == []


@pytest.fixture
def handbook(tmp_path: Path) -> Path:
    """A folder with two readable files, one that is damaged, one hidden."""
    folder = tmp_path / "handbook"
    (folder / "hr").mkdir(parents=True)
    (folder / ".git").mkdir()
    (folder / ".git" / "config").write_text("hidden")
    (folder / "~$report.docx").write_bytes(b"\x04user")  # Word's mark of an open document
    (folder / "hr" / HOSTILE_NAME).write_text("The travel desk of Vell books all train tickets.")
    (folder / "leave.md").write_text("# Leave\n\nLeave is asked for in writing.")
    (folder / "broken.pdf").write_bytes(b"%PDF-1.4 nothing")
    return folder


def drop(page: Page, *paths: Path) -> None:
    """Drop files or folders on the middle of the page."""
    data = {"items": [], "files": [str(path) for path in paths], "dragOperationsMask": 1}
    for kind in ("dragEnter", "dragOver"):
        page.send("Input.dispatchDragEvent", type=kind, x=700, y=400, data=data)
    page.wait_until("!!document.querySelector('.drop-zone')")
    page.send("Input.dispatchDragEvent", type="drop", x=700, y=400, data=data)


def submit(page: Page, name: str) -> None:
    """In the dialog, choose a new collection, name it, and add."""
    page.wait_until("!!document.querySelector('.adding')")
    page.run(CHOOSE_NEW)
    page.wait_until("document.activeElement?.matches('.adding input[type=text]')")
    page.run("document.activeElement.select()")
    page.send("Input.insertText", text=name)
    page.run("document.querySelector('.adding').requestSubmit()")
    page.wait_until(f"location.pathname === '/documents/{name}'")


def read_texts(page: Page, selector: str) -> list[str]:
    value: list[str] = page.run(f"[...document.querySelectorAll({json.dumps(selector)})].map((one) => one.textContent)")
    return value


def click(page: Page, selector: str, text: str) -> None:
    found = (
        f"[...document.querySelectorAll({json.dumps(selector)})].find((one) => one.textContent.startsWith({text!r}))"
    )
    page.wait_until(f"!!{found}")
    page.run(f"{found}.click()")


def test_a_folder_dropped_on_the_start_page_is_asked(page: Page, served: ServedPage, handbook: Path) -> None:
    page.visit(served.url, READY)
    drop(page, handbook)
    page.wait_until("document.activeElement?.value === 'handbook'")
    assert "3 files" in page.run("document.querySelector('.adding').innerText")
    assert "2 hidden files left out" in page.run("document.querySelector('.adding').innerText")
    page.press("Enter", key_code=ENTER, text="\r")
    page.wait_until(f"{STATE} === 'finished' && document.querySelectorAll('.cards tbody tr').length === 2")
    assert page.run("location.pathname") == "/documents/handbook"
    assert page.run("document.querySelector('.upload .summary').innerText") == "2 of 3 files indexed, 2 passages."
    [failure] = read_texts(page, ".upload .failed-files li")
    assert failure.startswith("handbook/broken.pdf not read: damaged")
    assert read_texts(page, ".cards td.path") == [
        f"handbook/hr/{HOSTILE_NAME}".replace("<", "").replace(">", ""),
        "handbook/leave.md",
    ]
    assert "2 of 3 files indexed" in page.run("document.querySelector('[role=status]').innerText")
    click(page, ".upload button", "Ask handbook")
    page.wait_until(f"{READY} && document.querySelector('.bar select').value === 'handbook'")
    page.run("document.querySelector('#question').focus()")
    page.send("Input.insertText", text="Who books train tickets?")
    page.press("Enter", key_code=ENTER)
    page.wait_until("document.querySelectorAll('.footer').length === 1")
    page.run("document.querySelector('button.source').click()")
    page.wait_until("document.querySelector('.source-pane mark')?.innerText.includes('travel desk of Vell')")
    address = "/documents/handbook"
    page.visit(served.url.rstrip("/") + address, "document.querySelectorAll('.cards tbody tr').length === 2")
    [failure] = read_texts(page, ".failures li")  # still named after a reload
    assert failure.startswith("handbook/broken.pdf damaged")
    original = page.run("document.querySelector('.actions a').href")
    assert httpx.get(original).text == "The travel desk of Vell books all train tickets."


def test_documents_and_collections_are_removed_only_after_a_question(
    page: Page, served: ServedPage, tmp_path: Path
) -> None:
    file = tmp_path / "a.txt"
    file.write_text("Words about the harbour.")
    page.visit(served.url, READY)
    page.send("DOM.enable")
    root = page.send("DOM.getDocument")["root"]["nodeId"]
    field = page.send("DOM.querySelector", nodeId=root, selector=".file-input")["nodeId"]
    page.send("DOM.setFileInputFiles", nodeId=field, files=[str(file)])
    page.wait_until("!!document.querySelector('.adding')")
    submit(page, "harbour")
    page.wait_until(f"{STATE} === 'finished'")
    click(page, ".actions .link", "Re-index")
    page.wait_until("document.querySelectorAll('.upload').length === 2")
    page.wait_until("[...document.querySelectorAll('.upload')].every((one) => one.dataset.state === 'finished')")
    page.visit(f"{served.url}documents/harbour", "document.querySelectorAll('.cards tbody tr').length === 1")
    click(page, ".tools .link", "Rename")
    page.wait_until("!!document.querySelector('.tools form input')")
    page.run("document.querySelector('.tools form').elements[0].value = 'port'")
    page.run("document.querySelector('.tools form').requestSubmit()")
    page.wait_until("location.pathname === '/documents/port'")
    page.wait_until("document.querySelectorAll('.cards tbody tr').length === 1")
    click(page, ".actions .link", "Remove")
    page.wait_until("document.activeElement?.innerText === 'Keep'")
    assert "Its 1 passage go" in page.run("document.querySelector('.dialog').innerText")
    page.run("document.activeElement.click()")
    page.wait_until("!document.querySelector('.dialog')")
    assert len(read_texts(page, ".cards tbody tr")) == 1
    click(page, ".tools .link", "Delete")
    page.wait_until("document.querySelector('.dialog')?.innerText.includes('1 document with 1 passage')")
    click(page, ".dialog .tools button", "Delete")
    page.wait_until("location.pathname === '/documents'")
    page.wait_until("![...document.querySelectorAll('.cards a')].some((one) => one.textContent === 'port')")


def test_an_upload_of_200_files_survives_a_reload_and_is_cancelled(
    page: Page, served: ServedPage, gate: Gate, tmp_path: Path
) -> None:
    folder = tmp_path / "many"
    folder.mkdir()
    for number in range(200):
        (folder / f"{number:03}.txt").write_text(f"File number {number} of the tower. " * 20)
    page.visit(f"{served.url}documents", "!!document.querySelector('.cards, .page-view p')")
    gate.is_open.clear()
    drop(page, folder)
    page.wait_until("!!document.querySelector('.adding')")
    assert "200 files" in page.run("document.querySelector('.adding').innerText")
    submit(page, "many")
    page.wait_until(f"{STATE} === 'indexing'")
    page.visit(f"{served.url}documents/many", f"{STATE} === 'indexing'")
    assert "of 200 files" in page.run("document.querySelector('.upload .summary').innerText")
    page.run("document.querySelector('.upload details').open = true")
    page.wait_until("document.querySelectorAll('.upload details li').length === 200")
    click(page, ".conversations a", "New question")
    page.wait_until("document.querySelector('.upload.short .summary')?.innerText.includes('of 200 files')")
    click(page, ".upload a", "many")
    click(page, ".upload .link", "Cancel")
    gate.is_open.set()
    page.wait_until(f"{STATE} === 'cancelled'")
    page.run("document.querySelector('.upload details').open = true")
    page.wait_until("document.querySelectorAll('.upload details li').length === 200")
    outcomes = [
        text.split(".txt ")[1].partition(":")[0].partition(",")[0] for text in read_texts(page, ".upload details li")
    ]
    assert set(outcomes) <= {"indexed", "cancelled"}
    assert "cancelled" in outcomes
    page.set_size(390, 800)
    page.set_color_scheme("dark")
    assert page.run("document.documentElement.scrollWidth") <= 390
    tree = page.send("Accessibility.getFullAXTree")["nodes"]
    roles = ("textbox", "searchbox", "combobox", "button", "link", "progressbar")
    fields = [one for one in tree if one.get("role", {}).get("value") in roles and not one.get("ignored")]
    assert [one["role"]["value"] for one in fields if not one.get("name", {}).get("value")] == []


def test_files_that_a_reload_keeps_from_being_sent_are_named(page: Page, served: ServedPage, tmp_path: Path) -> None:
    file = tmp_path / "large.txt"
    file.write_text("Words of the tower. " * 100_000)
    page.visit(f"{served.url}documents", "!!document.querySelector('.page-view p')")
    page.send(
        "Network.emulateNetworkConditions", offline=False, latency=0, downloadThroughput=-1, uploadThroughput=100_000
    )
    drop(page, file)
    page.wait_until("!!document.querySelector('.adding')")
    submit(page, "large")
    page.wait_until(f"{STATE} === 'sending'")
    page.visit(f"{served.url}documents/large", "!!document.querySelector('.failure summary')")
    assert page.dialogs == ["beforeunload"]
    page.send("Network.emulateNetworkConditions", offline=False, latency=0, downloadThroughput=-1, uploadThroughput=-1)
    page.run("document.querySelector('.failure details').open = true")
    page.wait_until("document.querySelectorAll('.failure details li').length === 1")
    assert read_texts(page, ".failure details li")[0].startswith("large.txt")


def test_cancelling_what_is_sent_ends_no_upload_of_another_tab(page: Page, served: ServedPage, tmp_path: Path) -> None:
    file, uploads = tmp_path / "large.txt", f"{served.url}v1/uploads?collection=shared"
    file.write_text("Words of the tower. " * 100_000)
    page.visit(f"{served.url}documents", "!!document.querySelector('.page-view p')")
    throughput = {"offline": False, "latency": 0, "downloadThroughput": -1}
    page.send("Network.emulateNetworkConditions", uploadThroughput=100_000, **throughput)
    drop(page, file)
    submit(page, "shared")
    page.wait_until(f"{STATE} === 'sending'")
    while not httpx.get(uploads).json()["data"]:
        pass
    host, _, port = served.url.removeprefix("http://").rstrip("/").partition(":")
    with socket.create_connection((host, int(port))) as other:  # newer, so that it is listed first
        part = b'--x\r\nContent-Disposition: form-data; name="files"; filename="b.txt"\r\n\r\nhalf'
        head = f"POST /v1/collections/shared/documents HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Length: 900\r\n"
        other.sendall(head.encode() + b"Content-Type: multipart/form-data; boundary=x\r\n\r\n" + part)
        while len(httpx.get(uploads).json()["data"]) < 2:
            pass
        click(page, ".upload .link", "Cancel")
        page.wait_until(f"{STATE} === 'cancelled'")
        while (listed := httpx.get(uploads).json()["data"])[1]["state"] == "receiving":
            pass
        assert listed[0]["state"] == "receiving"
        assert listed[1]["state"] in ("cancelled", "failed")  # the end of the connection may come before the word
    page.send("Network.emulateNetworkConditions", uploadThroughput=-1, **throughput)


def test_reading_the_collections_again_asks_nothing_anew_about_the_chosen_one(page: Page, served: ServedPage) -> None:
    for name in ("kept", "spare"):
        address = f"{served.url}v1/collections/{name}/documents"
        upload = httpx.post(address, files=[("files", ("a.txt", "The travel desk of Vell."))], timeout=60).json()
        while httpx.get(f"{served.url}v1/uploads/{upload['id']}").json()["state"] != "finished":
            pass
    page.visit(served.url, READY)
    page.run(f"localStorage.setItem('quorum.choice', {json.dumps(json.dumps({'collection': 'kept'}))})")
    page.visit(f"{served.url}documents/spare", "document.querySelectorAll('.cards tbody tr').length === 1")
    page.run(
        "window.asked = []; const before = window.fetch;"
        "window.fetch = (address, ...rest) => { window.asked.push(String(address)); return before(address, ...rest); }"
    )
    click(page, ".tools .link", "Delete")
    click(page, ".dialog .tools button", "Delete")
    page.wait_until("location.pathname === '/documents'")
    page.wait_until("![...document.querySelectorAll('.cards a')].some((one) => one.textContent === 'spare')")
    asked = page.run("window.asked")
    assert "/v1/collections" in asked
    assert [address for address in asked if "/questions" in address or "/efforts" in address] == []
