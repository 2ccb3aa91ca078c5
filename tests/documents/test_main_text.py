"""The main text of saved web pages: what is taken away, and what must stay."""

from email.message import EmailMessage
from pathlib import Path

import pytest

from benchmarks.saved_pages import PAGES, add_up, measure_folder
from quorum.documents.read import read_document
from quorum.documents.readers.web_page import read

ARTICLE = "<h1>The mill</h1><p>The mill at Tam turns at twelve revolutions a minute. It was built in 1804.</p>" * 3
MENU = "".join(f"<li><a href='/{name}'>{name}</a></li>" for name in ("News", "Sport", "Weather", "Shop"))


def read_page(html: str) -> str:
    return read(html.encode(), "a.html").text


@pytest.mark.parametrize(("folder", "most_outside"), [("tuned", 0.03), ("kept", 0.065)])
def test_little_but_the_main_text_of_saved_pages_is_read(folder: str, most_outside: float) -> None:
    words = add_up(measure_folder(PAGES / folder))
    assert words.main > 1000
    assert words.outside < most_outside * words.indexed
    assert words.lost <= 0.005 * words.main


@pytest.mark.parametrize(
    "boilerplate",
    [
        f"<div class=topbar><ul>{MENU}</ul></div>",
        f"<div><h3>Read more</h3>{MENU}</div>",
        f"<div class='x7 related-posts'><p>Old ferry sinks</p>{MENU}</div>",
        "<p><a href='/'>Home</a> &gt; <a href='/mills'>Mills</a> &gt; Tam</p>",
        "<div><a href='#'>Share</a> | <a href='#'>Print</a></div>",
        "<div role=contentinfo>Published by the society of mills</div>",
        "<div><p>Previous message: <a href='/1'>Old ferry sinks</a></p></div>",
        f"<div class=comments><p>Nice.</p>{MENU}</div>",
        "<p>© 2026 Mill Ltd, <a href='/privacy'>Privacy</a></p>",
    ],
)
def test_what_stands_around_the_main_text_is_left_out(boilerplate: str) -> None:
    text = read_page(f"<body>{boilerplate}<div>{ARTICLE}</div></body>")
    assert text == read_page(f"<body><div>{ARTICLE}</div></body>")


@pytest.mark.parametrize(
    ("html", "kept"),
    [
        (f"<ul>{MENU}</ul>", "Weather"),  # a page of links is read whole
        (f"<main><p>Short.</p></main><div>{ARTICLE}</div>", "revolutions"),  # <main> is not where the text is
        (f"{ARTICLE}<section id=navigation><h2>Navigation</h2><p>Turn the wheel.</p></section>", "Turn the wheel."),
        (f"{ARTICLE}<p>To <a href='/a'>share</a>, use the menu.</p>", "To share, use the menu."),
        (f"{ARTICLE}<table><tr><th>Key<th>Does<tr><td>e<td><a href='/e'>reply</a></table>", "reply"),
        (f"{ARTICLE}<p>The commands:</p><ul><li>print</li><li>share</li><li>reply</li></ul>", "- reply"),
        (f"{ARTICLE}<h2>See also</h2><ul>{MENU}</ul>", "- Weather"),
        (f"<div class=newsletter-page>{ARTICLE}</div>", "revolutions"),
        (f"<h1>What do you count?</h1><div class=comments>{ARTICLE}</div>", "revolutions"),
        (f"<article>{ARTICLE}<footer><p>Measured in May by the society.</p></footer></article>", "Measured in May"),
        (f"{ARTICLE}<div><p><a href=/a>»</a></p><li><a href=/b>▲</a></li></div>", "revolutions"),  # signs only
        (f"{ARTICLE}<div class=bio>Dr Meier has led the clinic since 1998.</div>", "Dr Meier"),
        (f"{ARTICLE}<div id=votes>Votes: 14 yes, 3 no.</div>", "14 yes"),
        (f"{ARTICLE}<aside class=note><pre><a href='#a'>open</a>(<a href='#b'>gate</a>)</pre></aside>", "open(gate)"),
    ],
)
def test_what_belongs_to_the_main_text_stays(html: str, kept: str) -> None:
    assert kept in read_page(f"<body>{html}</body>")


def test_a_table_that_lays_out_a_page_is_no_data() -> None:
    columns = f"<td>{MENU}</td><td>{ARTICLE.replace('h1', 'p')}</td><td>Rain</td>"
    text = read_page(f"<table><tr><td>The Mill</td><td>Tam</td></tr><tr>{columns}</tr></table>")
    assert "Weather" not in text
    assert "\n\nThe mill at Tam turns at twelve revolutions a minute. It was built in 1804.\n\n" in text


def test_a_mail_is_no_web_page(tmp_path: Path) -> None:
    message = EmailMessage()
    message["Subject"] = "Mill"
    message.set_content(f"{ARTICLE}<div class=footer><ul>{MENU}</ul></div>", subtype="html")
    (tmp_path / "a.eml").write_bytes(message.as_bytes())
    assert "- Weather" in read_document(tmp_path / "a.eml").text
