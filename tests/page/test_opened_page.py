"""How the page is opened: with its token, by a link that fills the box; what its owner may do then."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import Page
from named_clients import TeamFile
from page_server import ServedPage, serve_page

from quorum import Context, index

TOKEN = "correct-horse-battery"
READY = "!!document.querySelector('#question') && document.querySelectorAll('.segments label').length === 3"
LINK = "q=Who+books+tickets%3F&methods=concat,sure[k=2]&set=temperature=0.5"


@pytest.fixture(scope="module")
def locked_page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedPage]:
    """A page that is opened with a token, over an empty store."""
    folder = tmp_path_factory.mktemp("locked page")
    with serve_page(folder, "--token", TOKEN, "--model", "openai:test", "--set", "journal=off") as running:
        running.model.reply("the travel desk")
        yield running
    assert TOKEN not in running.log.read_text()


def test_the_page_asks_for_its_token_and_a_link_fills_the_box_without_asking(
    page: Page, locked_page: ServedPage, tmp_path: Path
) -> None:
    page.set_size(1360)
    page.visit(locked_page.url, "!!document.querySelector('input[type=password]')")
    assert page.run("!!document.querySelector('#question')") is False
    page.visit(f"{locked_page.url}?token={TOKEN}&{LINK}", f"{READY} && !!document.querySelector('#question').value")
    assert page.run("document.querySelector('#question').value") == "Who books tickets?"
    assert page.run("document.querySelector('.bar .pick').innerText") == "Methods · 2"
    assert page.run("location.href") == locked_page.url
    assert {request.path for request in locked_page.model.requests} <= {"/v1/models"}
    page.errors.clear()  # the page that asks for a token has status 401, which the console calls an error
    # The owner, whom the cookie names, adds the store's first collection; a second one needs --collections all.
    file = tmp_path / "travel.txt"
    file.write_text("The travel desk books all train tickets.")
    data = {"items": [], "files": [str(file)], "dragOperationsMask": 1}
    for kind in ("dragEnter", "dragOver", "drop"):
        page.send("Input.dispatchDragEvent", type=kind, x=700, y=400, data=data)
    page.wait_until("document.activeElement?.value === 'my-documents'")
    page.run("document.querySelector('.adding').requestSubmit()")
    page.wait_until("document.querySelector('.upload')?.dataset.state === 'finished'")
    page.visit(f"{locked_page.url}documents", "!!document.querySelector('.cards a')")
    page.run("[...document.querySelectorAll('.page-view .pick')].at(-1).click()")
    page.wait_until("document.querySelector('.adding option')?.innerText === 'my-documents'")
    assert page.run("document.querySelectorAll('.adding option').length") == 1
    page.visit(locked_page.url, f"{READY} && document.querySelector('.bar select').value === 'my-documents'")
    page.run("document.querySelector('#question').focus()")
    page.press("Enter", key_code=13)
    page.wait_until("document.querySelectorAll('.footer').length === 1")
    assert page.run("document.querySelector('.answer').innerText") == "the travel desk"
    assert page.run("document.querySelectorAll('.table tbody tr').length") == 2
    assert page.errors == []


def test_a_member_of_a_team_opens_it_with_a_token_of_their_own(page: Page, tmp_path: Path) -> None:
    store = tmp_path / ".quorum"
    for name, text in (("travel", "The travel desk books all train tickets."), ("salaries", "Ada earns 90,000.")):
        (tmp_path / f"{name}.txt").write_text(text)
        index(tmp_path / f"{name}.txt", collection=name, context=Context(store=str(store)))
    file = TeamFile(tmp_path / "tokens.json")
    token = file.add("alice", collections=("travel",), methods=("concat", "sure"))
    options = ["--collections", "all", "--tokens", "tokens.json", "--model", "openai:test", "--set", "journal=off"]
    with serve_page(tmp_path, "--store", str(store), *options) as running:
        running.model.reply("the travel desk")
        page.visit(f"{running.url}?token={token}", "document.querySelector('.bar select')?.value === 'travel'")
        assert page.run("[...document.querySelectorAll('.bar select option')].map((o) => o.value)") == ["travel"]
        assert "salaries" not in page.run("document.body.innerText")
        page.errors.clear()  # the page that asks for a token has status 401
        page.visit(
            f"{running.url}?q=Who+books+train+tickets%3F", f"{READY} && !!document.querySelector('#question').value"
        )
        page.run("document.querySelector('#question').focus()")
        page.press("Enter", key_code=13)
        page.wait_until("document.querySelector('.answer')?.innerText === 'the travel desk'")
        page.visit(f"{running.url}documents/travel", "!!document.querySelector('.table tbody tr')")
        assert page.run("document.querySelectorAll('.table tbody tr').length") == 1
        assert page.run("document.body.innerText.includes('Add files')") is False
        assert page.errors == []
        file.revoke("alice")
        page.visit(running.url, "!!document.querySelector('input[type=password]')")
        page.errors.clear()
