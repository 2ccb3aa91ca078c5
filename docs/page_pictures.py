"""Take the pictures of the page for docs/page.md, each of a real state: make pictures. It needs Chromium."""

import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "page")]

from browser import Page, open_browser  # noqa: E402
from openai_bodies import Response, make_error  # noqa: E402
from openai_server import Request  # noqa: E402
from page_server import ServedPage, serve_page  # noqa: E402
from pdf_files import write_lines, write_pdf  # noqa: E402

import quorum  # noqa: E402

READY = "!!document.querySelector('#question') && document.querySelectorAll('.segments label').length === 3"
QUESTION = "Who led the first expedition to reach the South Pole?"
LINES = (
    *("Travel", "", "Every journey is approved by the head of the team before it is booked."),
    *("The travel desk books all train tickets and hotels, at most 165 EUR a night.", "It opens at nine."),
)


def take(page: Page, name: str) -> None:
    """Save a picture of the window in docs/pictures."""
    page.run("new Promise((done) => setTimeout(done, 500))")  # scrolling and colours take a moment
    page.save_picture(ROOT / "docs" / "pictures" / f"page-{name}.png", is_whole_page=False)


def ask(page: Page, question: str, effort: str) -> None:
    """Ask a question as a visitor does."""
    page.run(f"[...document.querySelectorAll('.segments label')].find((one) => one.innerText === '{effort}').click()")
    page.run("document.querySelector('#question').focus()")
    page.send("Input.insertText", text=question)
    page.press("Enter", key_code=13)


def wait_for_answers(page: Page, turns: int = 1) -> None:
    page.wait_until(f"document.querySelectorAll('.footer').length === {turns}")
    page.run("document.querySelector('main').scrollTo(0, 0)")


def reply(request: Request) -> str:
    """What the scripted model says: where a prompt does not name Amundsen, another name, so that methods differ."""
    return "Roald Amundsen" if "Amundsen" in request.text else "Robert Falcon Scott"


def take_pictures_of_the_sample(page: Page, served: ServedPage) -> None:
    """The start, several methods that do not agree, one of them opened, a model that does not answer, a phone."""
    page.visit(served.url, f"{READY} && document.querySelectorAll('.examples button').length === 3")
    take(page, "start")
    served.model.reply(reply)
    ask(page, QUESTION, "Thorough")
    wait_for_answers(page)
    take(page, "several")
    page.run("[...document.querySelectorAll('.table tbody button')][1].click()")
    page.wait_until("document.querySelectorAll('.graph [data-state=done]').length > 3")
    page.run("document.querySelector('.calls').open = true")
    page.wait_until("document.querySelectorAll('.calls details').length > 0")
    page.run("document.querySelector('.details').scrollIntoView()")
    take(page, "method")
    page.set_size(390, 844)
    page.set_color_scheme("dark")
    page.run("document.querySelector('.details header button').click()")
    page.run("document.querySelector('main').scrollTo(0, 0)")
    take(page, "phone")
    page.set_size(1360, 850)
    page.set_color_scheme("light")
    page.run("document.querySelector('.new').click()")
    page.wait_until("!!document.querySelector('.hero h1')")
    served.model.reply([make_error(503, "busy", Retry_After="20"), Response("Roald Amundsen", hold=True)])
    ask(page, "How tall is the Eiffel Tower?", "Fast")
    page.wait_until("!!document.querySelector('.retrying')")
    take(page, "retrying")
    page.run("document.querySelector('.running .link').click()")
    page.wait_until("!!document.querySelector('.failure')")
    page.run("document.querySelector('.new').click()")
    page.wait_until("!!document.querySelector('.hero h1')")
    served.model.reply(make_error(401, "no such key"))
    ask(page, "How tall is the Eiffel Tower?", "Thorough")
    page.wait_until("!!document.querySelector('.failure')")
    take(page, "failed")


def take_picture_of_a_source(page: Page, folder: Path) -> None:
    """An answer from a PDF, whose page is open beside it with the sentence marked."""
    write_pdf(folder / "travel.pdf", [write_lines(list(LINES))])
    quorum.index(folder / "travel.pdf", collection="handbook", context=quorum.Context(store=str(folder / ".quorum")))
    with serve_page(folder, "--collection", "handbook", "--model", "openai:test") as served:
        served.model.reply("165 EUR a night")
        page.visit(served.url, READY)
        ask(page, "What may a hotel cost?", "Careful")
        wait_for_answers(page)
        page.run("document.querySelector('button.source').click()")
        page.wait_until("document.querySelector('figcaption')?.innerText.includes(' of 1')")
        take(page, "source")


def main() -> None:
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name,
        open_browser(Path(name) / "profile") as page,
    ):
        page.send("Emulation.setScrollbarsHidden", hidden=True)
        page.set_size(1360, 850)
        page.set_color_scheme("light")
        for part in ("sample", "own"):
            (Path(name) / part).mkdir()
        with serve_page(Path(name) / "sample", "--model", "openai:test") as served:
            take_pictures_of_the_sample(page, served)
        take_picture_of_a_source(page, Path(name) / "own")


if __name__ == "__main__":
    main()
