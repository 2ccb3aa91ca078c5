"""Attacks on the page of `quorum serve` in a real Chromium, as a visitor and as a document would make them.

Each of 30 payloads is put into eight places: the question, the conversation's title, a document's text, its title and
its file name, a short reply, a long reply in Markdown, and the address. An attempt has succeeded if a script of its own
ran, an element of the page has its address or its code, a request left for it, or a window opened.
"""

import json
import random
import sys
from pathlib import Path
from urllib.parse import quote

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "page"))

import httpx
from browser import Page, open_browser
from page_server import ServedPage, serve_page

import quorum

# {hit}: JavaScript that marks the attempt; {host}: a machine that nobody may ask.
PAYLOADS = (
    "<script>{hit}</script>",
    '<img src="//{host}/a.png" onerror="{hit}">',
    "<svg/onload={hit}>",
    '<svg><a href="javascript:{hit}"><text y="9">x</text></a></svg>',
    '<iframe src="//{host}/" srcdoc="<script>parent.{hit}</script>"></iframe>',
    '<object data="//{host}/a"></object><embed src="//{host}/b">',
    '<link rel="stylesheet" href="//{host}/a.css"><style>@import "//{host}/b.css";</style>',
    '<meta http-equiv="refresh" content="0;url=//{host}/">',
    '<base href="//{host}/">',
    '<form action="//{host}/"><button autofocus onfocus="{hit}">x</button></form>',
    '<details open ontoggle="{hit}"><summary>x</summary></details>',
    '<video src="//{host}/a.mp4" autoplay onerror="{hit}"></video>',
    '<p style="background:url(//{host}/a.png)" onmouseover="{hit}">x</p>',
    "<math><mtext><table><mglyph><style><img src onerror={hit}></style>",
    '"><img src=x onerror={hit}>',
    "'-{hit}-'",
    "</textarea></title></script><script>{hit}</script>",
    "<!--><img src=x onerror={hit}>-->",
    "&lt;img src=x onerror={hit}&gt; &#60;script&#62;{hit}&#60;/script&#62;",
    "![x](http://{host}/a.png)",
    "[x](javascript:{hit})",
    "[x](http://{host}/)  <http://{host}/>",
    "![x][r]\n\n[r]: http://{host}/a.png",
    "[x](data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==) http://{host}/",
    '<a href="http://{host}/" target=_blank>x</a>',
    "`<img src=x onerror={hit}>` ```<script>{hit}</script>```",
    "| <img src=//{host}/a.png> |\n|---|\n| [x](javascript:{hit}) |",
    "[x](java\tscript:{hit}) [y](&#106;avascript:{hit})",
    "{{constructor.constructor('{hit}')()}} ${{{hit}}} <%= {hit} %>",
    "<x id=root><x id=question name=fetch><form name=body>{hit}",
)
PLACES = ("question", "title", "text", "heading", "name", "short reply", "long reply", "address")
# JavaScript: every attribute of the page that loads, leads elsewhere or runs something.
ACTIVE_ATTRIBUTES = """
[...document.querySelectorAll('*')].flatMap(element => [...element.attributes]
  .filter(one => /^(on.*|src|srcset|srcdoc|href|xlink:href|action|formaction)$/i.test(one.name)
    || /^(data|style|content|poster)$/i.test(one.name))
  .map(one => one.value))
"""
FACT = "The Lumen Tower of Vell was finished in 1931."


def write(payload: str, number: int, place: str) -> str:
    """A payload that says where it stood."""
    mark = f"hit{number}{place.replace(' ', '')}"
    return payload.format(hit=f"window.{mark}=1", host=f"{mark}.evil.example")


def write_documents(folder: Path) -> None:
    """A document for each payload, with it in its text, its title and its file's name."""
    folder.mkdir()
    for number, payload in enumerate(PAYLOADS):
        name = write(payload, number, "name").replace("/", "\u2215").replace("\n", " ").replace("\t", " ")[:120]
        heading = " ".join(write(payload, number, "heading").split())
        text = write(payload, number, "text")
        (folder / f"{number} {name}.txt").write_text(f"{heading}\n\nDocument {number}. {FACT}\n\n{text}\n")


def ask(served: ServedPage, number: int, payload: str, place: str) -> str:
    """Ask a question whose reply, in one form, is the payload. Returns the id of the run, after it has ended."""
    kind = {"short reply": "short", "long reply": "long"}[place]
    question = f"Document {number}: when was the Lumen Tower finished? {write(payload, number, 'question')}"
    body = {"question": question, "methods": ["concat", "post_fusion"], "settings": {"answer_type": kind, "k": 3}}
    run = httpx.post(f"{served.url}v1/runs", json=body, timeout=60).json()["id"]
    httpx.get(f"{served.url}v1/runs/{run}/events", timeout=120)  # until it has ended
    httpx.patch(f"{served.url}v1/runs/{run}", json={"title": write(payload, number, "title")[:190]}, timeout=60)
    return str(run)


def look(page: Page, address: str, is_conversation: bool) -> str:
    """Visit an address and open all that opens. Returns what acted there, as one text."""
    if is_conversation:
        page.visit(address, "document.querySelectorAll('.footer').length > 0")
        page.run("document.querySelectorAll('.table tbody button')[1].click()")
        page.wait_until("!!document.querySelector('.calls')")
        page.run("document.querySelectorAll('details').forEach(one => { one.open = true; })")
        page.wait_until("document.querySelectorAll('.calls details').length > 0")
        page.run("document.querySelectorAll('.calls details').forEach(one => { one.open = true; })")
        page.run("document.querySelector('button.source')?.click()")
        page.run("document.querySelector('.conversations .more').click()")
        page.wait_until("!document.querySelector('.markdown.plain')")
    else:
        page.visit(address, "document.readyState === 'complete'")
    return observe(page, address)


def observe(page: Page, address: str) -> str:
    """What acted on a page since it was loaded, as one text."""
    page.run("new Promise(done => setTimeout(done, 150))")
    requested = [url for url in page.requested_urls if "evil.example" in url.split("/")[2]]
    hits = page.run("Object.keys(window).filter(one => one.startsWith('hit'))")
    attributes = [one for one in page.run(ACTIVE_ATTRIBUTES) if "hit" in one and not one.startswith(address)]
    is_elsewhere = not str(page.run("location.href")).startswith(address.split("/c/")[0][:20])
    return json.dumps([requested, hits, attributes, is_elsewhere])


def attack_page(rng: random.Random, folder: Path) -> list[bool]:
    """Whether each attempt failed, by payload and place."""
    write_documents(folder / "in")
    store = quorum.Context(store=str(folder / ".quorum"))
    quorum.index(folder / "in", collection="towers", context=store)
    held: list[bool] = []
    options = ("--collection", "towers", "--model", "openai:test", "--set", "journal=off", "--set", "retriever=bm25")
    with serve_page(folder, *options) as served, open_browser(folder / "profile") as page:
        page.visit(served.url, "!!document.querySelector('#question')")
        page.run(f"document.body.insertAdjacentHTML('beforeend', {json.dumps(write(PAYLOADS[1], 0, 'control'))}), 0")
        if "hit0control" not in observe(page, served.url):
            raise RuntimeError("an attack that succeeds is not seen")
        order = list(enumerate(PAYLOADS))
        rng.shuffle(order)
        for number, payload in order:
            seen = ""
            for place in ("short reply", "long reply"):
                served.model.reply(write_reply(payload, number, place))
                run = ask(served, number, payload, place)
                seen += look(page, f"{served.url}c/{run}", is_conversation=True)
            text = quote(write(payload, number, "address"), safe="")
            for path in (f"c/{text}", f"documents/{text}", f"?q={text}#{text}"):
                seen += look(page, served.url + path, is_conversation=False).replace(text, "")
            held += [f"hit{number}{place.replace(' ', '')}" not in seen for place in PLACES]
    return held


def write_reply(payload: str, number: int, place: str) -> str:
    """A reply with the payload, and with a part of the truth, so that the page quotes a document."""
    return (
        f"1931 {write(payload, number, place)}"
        if place == "short reply"
        else (f"It was finished in 1931 [1].\n\n{write(payload, number, place)}\n\n- {write(payload, number, place)}")
    )
