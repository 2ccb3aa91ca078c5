"""The page of `quorum serve`, of the base install, in a browser: asked, followed up, reloaded, attacked."""

import json
from collections.abc import Iterator
from urllib.parse import urlsplit

import httpx
import pytest
from browser import Page
from openai_bodies import Response, make_error
from openai_server import Request
from page_server import ServedPage, serve_page

import quorum

ENTER, ESCAPE = 13, 27
READY = "!!document.querySelector('#question') && document.querySelectorAll('.segments label').length === 3"
HOSTILE = '<img src="http://evil.example/a.png" onerror="window.attacked = 1"><script>window.attacked = 2</script>'
HOSTILE_MARKDOWN = f"![x](http://evil.example/b.png) [go](javascript:attack()) <http://evil.example/> {HOSTILE}"
MODEL = ("--model", "openai:test", "--set", "journal=off")


@pytest.fixture(scope="module")
def asked_page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedPage]:
    """The page over a collection whose only document is hostile in name, title and text."""
    folder = tmp_path_factory.mktemp("new page")
    document = folder / "in" / "a <img src=x onerror=alert(1)>.txt"
    document.parent.mkdir()
    document.write_text(f"{HOSTILE} Travel\n\nThe travel desk of Vell books all train tickets. {HOSTILE_MARKDOWN}\n")
    quorum.index(document.parent, collection="travel", context=quorum.Context(store=str(folder / ".quorum")))
    with serve_page(folder, "--collection", "travel", *MODEL) as running:
        yield running


@pytest.fixture(autouse=True)
def check_requests(page: Page, asked_page: ServedPage) -> Iterator[None]:
    """Before a test: a wide, light window and a model that knows. After it: no error, and no request elsewhere."""
    page.set_size(1360)
    page.set_color_scheme("light")
    asked_page.model.release_event.clear()
    asked_page.model.reply("the travel desk")
    yield
    asked_page.model.release_held_replies()
    assert page.errors == []
    assert {urlsplit(url).netloc for url in page.requested_urls} == {urlsplit(asked_page.url).netloc}


def type_and_send(page: Page, question: str) -> None:
    page.run("document.querySelector('#question').focus()")
    page.send("Input.insertText", text=question)
    page.press("Enter", key_code=ENTER)


def wait_for_quiet_reads(page: Page) -> None:
    """Let the page read its conversations again, unasked, as it does when its tab is shown, and wait until it has."""
    page.run("performance.clearResourceTimings(); document.dispatchEvent(new Event('visibilitychange'))")
    page.wait_until(
        "performance.getEntriesByType('resource').some((one) => one.name.includes('/v1/runs?') && one.responseEnd)"
    )
    page.run("new Promise((done) => setTimeout(done, 50))")  # what the page does with the reply


def count(page: Page, selector: str) -> int:
    value: int = page.run(f"document.querySelectorAll({json.dumps(selector)}).length")
    return value


def test_an_answer_opens_its_source_and_survives_reload_and_back(page: Page, asked_page: ServedPage) -> None:
    page.visit(asked_page.url, READY)
    page.wait_until("document.activeElement.id === 'question'")
    type_and_send(page, "Who books train tickets?")
    page.wait_until("document.querySelectorAll('.footer').length === 1")
    assert page.run("document.querySelector('.answer').innerText") == "the travel desk"
    assert page.run("document.querySelector('blockquote mark').innerText") == "The travel desk"
    assert page.run("document.title") == "Who books train tickets?"
    page.run("document.activeElement.blur()")
    page.press("1", key_code=49, text="1")
    page.wait_until("document.querySelector('.source-pane mark')?.innerText.includes('travel desk of Vell')")
    page.press("Escape", key_code=ESCAPE)
    page.wait_until("!document.querySelector('.source-pane')")
    page.run("document.querySelectorAll('.segments input')[2].click()")
    type_and_send(page, "And hotels?")
    page.wait_until("document.querySelectorAll('.footer').length === 2")
    assert count(page, ".table tbody tr") == 3
    page.run("[...document.querySelectorAll('.table tbody button')][1].click()")
    page.wait_until("document.querySelectorAll('.graph [data-node=vote][data-state=done]').length === 1")
    page.run("document.querySelector('#question').focus()")
    page.send("Input.insertText", text="a draft")
    address = page.run("location.href")
    page.visit(
        address, "document.querySelectorAll('.footer').length === 2 && !!document.querySelector('#question').value"
    )
    assert page.run("document.querySelector('#question').value") == "a draft"
    page.run("document.querySelector('.new').click()")
    page.wait_until("!!document.querySelector('.hero h1') && location.pathname === '/'")
    page.run("history.back()")
    page.wait_until("document.querySelectorAll('.footer').length === 2")


def test_a_cascade_is_written_in_the_picker_and_asked(page: Page, asked_page: ServedPage) -> None:
    page.visit(asked_page.url, READY)
    page.run("document.querySelector('.pick[aria-haspopup=dialog]').click()")
    # When the dialog opens, it takes the focus.
    page.wait_until("document.querySelector('[aria-label=Cascade]')?.closest('dialog')?.open")
    for text, shown in (("base>concat", "offer no answer"), ("concat then base", "")):
        page.run("document.querySelector('[aria-label=Cascade]').focus()")
        page.run("document.querySelector('[aria-label=Cascade]').select()")
        page.send("Input.insertText", text=text)
        page.press("Enter", key_code=ENTER, text="\r")
        if shown:
            page.wait_until(f"document.body.innerText.includes({json.dumps(shown)})")
            wait_for_quiet_reads(page)
            assert shown in page.run("document.querySelector('dialog .notice').innerText")  # not behind the dialog
    page.wait_until("[...document.querySelectorAll('.method input:checked')].length === 1")
    assert "concat>base" in page.run("document.querySelector('.method').innerText")
    page.press("Escape", key_code=ESCAPE)
    asked_page.model.reply(["unknown", "the travel desk"])
    type_and_send(page, "Who books train tickets?")
    page.wait_until("document.querySelectorAll('.footer').length === 1")
    assert page.run("document.querySelector('.answer').innerText") == "the travel desk"
    page.run("localStorage.removeItem('quorum.choice')")
    page.errors.clear()  # the browser reports the refused cascade's status 400


def test_markup_of_documents_and_replies_is_text(page: Page, asked_page: ServedPage) -> None:
    asked_page.model.reply(HOSTILE_MARKDOWN)
    page.visit(asked_page.url, READY)
    type_and_send(page, f"Who {HOSTILE}?")
    page.wait_until("document.querySelectorAll('.footer').length === 1")
    page.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    page.run("[...document.querySelectorAll('button.source')].at(-1).click()")
    page.wait_until("!!document.querySelector('.source-pane')")
    page.wait_until("!document.querySelector('.markdown.plain')")
    assert count(page, "#root img, #root script, #root iframe, #root a[href^='javascript'], #root a[href*='evil']") == 0
    assert page.run("window.attacked") is None
    assert HOSTILE[:20] in page.run("document.querySelector('.source-pane .text').innerText")
    assert page.run("document.querySelector('.turn h2').innerText").startswith("Who <img")


def test_an_error_is_told_once_and_retried_and_a_run_stops(page: Page, asked_page: ServedPage) -> None:
    asked_page.model.reply(make_error(401, "no such key"))
    page.visit(asked_page.url, READY)
    page.run("document.querySelectorAll('.segments input')[2].click()")
    type_and_send(page, "Who books flights?")
    page.wait_until("document.querySelectorAll('.failure').length === 1")
    assert count(page, ".failure .chip") == 3
    assert (
        page.run("[...document.querySelectorAll('.table tr.failed td:nth-child(2)')].map(td => td.innerText)")
        == ["failed"] * 3
    )
    page.run("document.querySelectorAll('.failure .pick')[1].click()")
    page.wait_until("!document.querySelector('.failure') && document.querySelectorAll('.footer').length === 1")
    assert "by the offline reader" in page.run("document.querySelector('.table tbody').innerText")
    type_and_send(page, "Who books boats?")
    page.wait_until("document.querySelectorAll('.failure').length === 1")
    asked_page.model.reply("the travel desk")
    page.run("document.querySelector('.failure .pick').click()")
    page.wait_until("!document.querySelector('.failure') && document.querySelectorAll('.footer').length === 2")
    asked_page.model.reply(Response("the travel desk", hold=True))
    page.run("document.querySelectorAll('.segments input')[0].click()")
    type_and_send(page, "Who books ships?")
    page.wait_until("document.querySelector('.running .phase')?.innerText.includes('reading')")
    page.run("document.querySelector('.running .link').click()")
    page.wait_until("document.querySelectorAll('.failure').length === 1")


def test_a_refusal_is_told_until_the_next_action(page: Page, asked_page: ServedPage) -> None:
    page.visit(asked_page.url, READY)
    page.run("document.querySelectorAll('.segments input')[0].click()")
    type_and_send(page, "Who books train tickets?")
    page.wait_until("document.querySelectorAll('.footer').length === 1")
    run = page.run("location.pathname").split("/")[-1]
    item = f"[...document.querySelectorAll('.conversations .item')].find((one) => one.innerHTML.includes('/c/{run}'))"
    page.wait_until(f"!!{item}")
    page.run(  # as if the conversation had been deleted elsewhere
        "void (window.fetchNow = window.fetch, window.fetch = (url, init) =>"
        " fetchNow(init?.method === 'PATCH' ? `${url}-gone` : url, init))"
    )
    page.run(f"{item}.querySelector('.more').click()")
    page.wait_until(f"!!{item}.querySelector('.actions .link')")
    page.run(f"{item}.querySelector('.actions .link').click()")
    page.wait_until("document.activeElement.getAttribute('aria-label') === 'Title'")
    page.send("Input.insertText", text="Trains")
    page.press("Enter", key_code=ENTER)
    page.wait_until("!!document.querySelector('.notice')")
    wait_for_quiet_reads(page)
    assert f"{run}-gone" in page.run("document.querySelector('.notice').innerText")
    page.run("document.querySelector('.new').click()")
    page.wait_until("!!document.querySelector('.hero h1')")
    type_and_send(page, "Who books train tickets?")
    page.wait_until("document.querySelectorAll('.footer').length === 1")
    assert count(page, ".notice") == 0
    page.errors.clear()  # the browser reports the refused name's status 404


def test_a_slow_search_does_not_replace_a_later_one(page: Page, asked_page: ServedPage) -> None:
    page.visit(asked_page.url, READY)
    type_and_send(page, "Who books train tickets?")
    page.wait_until("document.querySelectorAll('.conversations .item').length > 0")
    page.run(
        "void (window.heldReply = new Promise((done) => { window.release = done; }), window.fetchNow = window.fetch,"
        "window.fetch = async (url, ...rest) => {"
        " const reply = await fetchNow(url, ...rest);"
        " if (!String(url).includes('zebra')) return reply;"
        " await window.heldReply; setTimeout(() => { window.isTaken = true; }, 50); return reply; })"
    )
    for words in ("zebra", ""):
        page.run(
            f"void ((field) => {{ field.value = {json.dumps(words)};"
            "field.dispatchEvent(new Event('input', {bubbles: true})); })"
            "(document.querySelector('.conversations input[type=search]'))"
        )
    page.wait_until("document.querySelectorAll('.conversations .item').length > 0")
    wait_for_quiet_reads(page)
    page.run("void window.release()")
    page.wait_until("!!window.isTaken")
    assert count(page, ".conversations .item") > 0


def test_differences_prompts_sets_and_settings(page: Page, asked_page: ServedPage) -> None:
    def reply(request: Request) -> str:
        return "the travel desk" if "The travel desk of Vell" in request.text else "Mira Oduya"

    asked_page.model.reply(reply)
    page.visit(asked_page.url, READY)
    page.run("localStorage.clear()")
    page.run("document.querySelectorAll('.bar .pick')[0].click()")
    page.wait_until("document.querySelectorAll('.method').length > 20")
    for name in ("concat", "post_fusion", "no_retrieval"):
        page.run(f"[...document.querySelectorAll('.method')].find(one => one.innerText.includes('{name} ·')).click()")
    page.run("document.querySelector('.dialog.methods input[type=text]').focus()")
    page.send("Input.insertText", text="three")
    page.press("Enter", key_code=ENTER, text="\r")
    page.wait_until("document.querySelector('.saved-set')?.innerText.startsWith('three (3)')")
    page.press("Escape", key_code=ESCAPE)
    page.run("document.querySelectorAll('.bar .pick')[1].click()")
    page.wait_until("document.querySelectorAll('.setting').length > 10")
    setting = "[...document.querySelectorAll('.setting')].find((one) => one.innerText.startsWith('k\\n'))"
    field = f"{setting}.querySelector('input')"
    page.run(f"{field}.value = '1'; {field}.dispatchEvent(new Event('change', {{bubbles: true}}))")
    page.press("Escape", key_code=ESCAPE)
    page.wait_until("document.querySelectorAll('.bar .pick')[1].innerText === 'Settings · 1'")
    type_and_send(page, "Who books train tickets?")
    page.wait_until("document.querySelectorAll('.footer').length === 1")
    texts = page.run("[...document.querySelectorAll('.group .by')].map(one => one.innerText)")
    assert [text.split(":")[0] for text in texts] == ["2 of 3 methods", "1 of 3 methods"]
    assert page.run("document.querySelector('.passages summary').innerText") == "1 passage read, by 2 methods"
    page.run("document.querySelector('.switch input').click()")
    page.wait_until("document.querySelectorAll('.table tbody tr').length === 1")
    page.run("document.querySelector('.switch input').click()")
    page.run("document.querySelector('.table tbody button').click()")
    page.wait_until("!!document.querySelector('.calls')")
    page.run("document.querySelector('.calls').open = true")
    page.wait_until("document.querySelectorAll('.calls pre').length > 1")
    prompt = page.run("document.querySelector('.calls pre').textContent")
    assert HOSTILE in prompt  # the document's markup, as text
    assert page.run("window.attacked") is None


def test_what_another_tab_asks_is_shown(page: Page, asked_page: ServedPage) -> None:
    page.visit(asked_page.url, READY)
    page.run("document.querySelectorAll('.segments input')[0].click()")
    type_and_send(page, "Who books train tickets?")
    page.wait_until("document.querySelectorAll('.footer').length === 1")
    body = {"question": "And hotels?", "methods": ["concat"], "follows": page.run("location.pathname").split("/")[-1]}
    assert httpx.post(f"{asked_page.url}v1/runs", json=body, timeout=60).status_code == 201
    page.run("new BroadcastChannel('quorum').postMessage('')")
    page.wait_until("document.querySelectorAll('.footer').length === 2")
    assert page.run("[...document.querySelectorAll('.turn h2')].at(-1).innerText") == "And hotels?"


def test_a_phone_needs_no_scrolling_sideways_and_every_field_has_a_name(page: Page, asked_page: ServedPage) -> None:
    page.set_size(390, 800)
    page.set_color_scheme("dark")
    page.visit(asked_page.url, READY)
    page.run("document.querySelectorAll('.segments input')[2].click()")
    type_and_send(page, "Who books train tickets?")
    page.wait_until("document.querySelectorAll('.footer').length === 1")
    page.run("document.querySelector('.burger').click()")
    page.wait_until("document.querySelectorAll('.conversations .item').length > 0")
    page.run("document.querySelector('.bar .pick').click()")
    page.wait_until("document.querySelectorAll('.method').length > 20")
    assert page.run("document.documentElement.scrollWidth") <= 390
    tree = page.send("Accessibility.getFullAXTree")["nodes"]
    roles = ("textbox", "searchbox", "checkbox", "radio", "combobox", "button", "link")
    fields = [one for one in tree if one.get("role", {}).get("value") in roles and not one.get("ignored")]
    assert [one["role"]["value"] for one in fields if not one.get("name", {}).get("value")] == []
    assert len(fields) > 20
