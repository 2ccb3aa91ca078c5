"""The page of `quorum serve` in a browser: asking, comparing, errors, documents, past runs, links."""

import json
import time
from itertools import pairwise
from pathlib import Path

from browser import Page
from openai_bodies import Response, make_error
from page_server import ServedPage
from page_steps import (
    ALL_METHODS_ENDED,
    CARDS,
    PAGE_READY,
    QUESTION,
    ask_by_link,
    make_link,
    open_tab,
    read_texts,
    reset_page_and_check_errors,
    send_question,
)
from report_folder import HTML_ATTACK

__all__ = ["reset_page_and_check_errors"]  # a fixture that pytest uses for every test of this file

# JavaScript: appends "NODE STATE" to window.order whenever a node of a drawn graph changes its state.
RECORD_ORDER = """
window.order = [];
new MutationObserver((changes) => changes.forEach(({target}) => {
  const name = /flowchart-(.+)-[0-9]+$/.exec(target.id);
  if (name) window.order.push(name[1] + ' ' + target.dataset.state);
})).observe(document, {subtree: true, attributes: true, attributeFilter: ['data-state']});
"""


def test_two_methods_stand_side_by_side_and_their_nodes_are_lit_in_order(page: Page, served_page: ServedPage) -> None:
    page.visit(served_page.url, PAGE_READY)
    page.run("document.querySelector('textarea').focus()")
    page.send("Input.insertText", text=QUESTION)
    page.run("document.querySelector('[data-method=post_fusion]').click()")
    page.wait_until("document.querySelector('.methods legend').innerText === 'Methods · 2 chosen'")
    page.run(RECORD_ORDER)
    send_question(page)
    page.wait_until(ALL_METHODS_ENDED)
    page.wait_until("window.order.includes('vote done')")
    assert read_texts(page, ".card h3") == ["post_fusion", "concat_pf"]
    assert read_texts(page, ".comparison tbody td:first-child") == ["post_fusion", "concat_pf"]
    assert read_texts(page, ".card .answer") == read_texts(page, ".comparison td:nth-child(2)") != ["", ""]
    assert all(" calls" in item and " tokens" in item for item in read_texts(page, ".facts"))
    left, right = page.run(f"{CARDS}.map((card) => card.getBoundingClientRect().left)")
    assert right > left + 200
    page.wait_until("window.order.filter((one) => one === 'vote done').length === 2")
    ended_nodes = [item.split()[0] for item in page.run("window.order") if item.endswith(" done")]
    positions = [ended_nodes.index(name) for name in ("begin", "retrieve", "passage_answer", "vote")]
    assert positions == sorted(positions)
    answers = [item.removeprefix("not sure: perhaps ") for item in read_texts(page, ".card .answer")]
    assert answers[0] in read_texts(page, ".card:first-child .passage mark")
    assert page.run("document.querySelector('.run-count').textContent") == "×5"
    open_tab(page, 0, "Votes")
    assert answers[0] in read_texts(page, ".ballot > span")
    open_tab(page, 0, "Steps")
    page.run("document.querySelectorAll('.steps details').forEach((one) => { one.open = true; })")
    assert QUESTION in " ".join(read_texts(page, ".steps pre"))
    open_tab(page, 0, "Costs")
    page.wait_until(f"{CARDS}[0].innerText.includes('tokens in')")


def test_a_follow_up_question_is_understood_and_the_next_one_follows_it(page: Page, served_page: ServedPage) -> None:
    ask_by_link(page, make_link(served_page))
    page.wait_until(ALL_METHODS_ENDED)
    click_script = "[...document.querySelectorAll('button')].find((one) => one.innerText === '{}').click()"
    page.run(click_script.format("Follow up"))
    page.wait_until(
        f"document.querySelector('.followed-question')?.innerText.startsWith({json.dumps('Follows: ' + QUESTION)})"
    )
    page.run("document.querySelector('textarea').focus()")
    page.send("Input.insertText", text="How tall is it?")
    send_question(page)
    page.wait_until(f"{CARDS}.length === 2 && {ALL_METHODS_ENDED}")
    page.wait_until("document.querySelector('.card .answer').innerText === '330 metres'")
    assert read_texts(page, ".card .understood-question")[0] == "Understood as: How tall is it? (Eiffel Tower)"
    assert read_texts(page, ".card .support p")[0] != ""
    boxes = page.run(
        f"[...{CARDS}[0].children].map((part) => part.getBoundingClientRect()).map((box) => [box.top, box.bottom])"
    )
    # No part of the card overlaps the part below it.
    assert all(bottom <= top for (_, bottom), (top, _) in pairwise(boxes))
    page.wait_until("document.querySelector('.card [data-state=done]')?.id.includes('flowchart-')")
    page.wait_until("document.querySelector('.followed-question')?.innerText.startsWith('Follows: How tall is it?')")
    page.run(click_script.format("Begin anew"))
    page.wait_until("!document.querySelector('.followed-question')?.offsetParent")


def test_a_node_is_lit_while_it_runs_and_a_run_can_be_stopped(page: Page, served_page: ServedPage) -> None:
    served_page.model.reply(Response("Stephen Sauvestre", hold=True))
    page.visit(make_link(served_page, methods="post_fusion", more_parameters="&model=openai:test&k=2"), PAGE_READY)
    send_question(page)
    page.wait_until("document.querySelector('[data-state=running]')?.id.includes('-passage_answer-')")
    page.wait_until("document.querySelector('.run-count')?.textContent === '0/2'")
    assert read_texts(page, ".answer") == ["passage_answer …"]
    page.run("document.querySelector('textarea').focus()")
    page.run("[...document.querySelectorAll('button')].find((one) => one.innerText === 'Stop').click()")
    page.wait_until(ALL_METHODS_ENDED)
    page.wait_until("!!document.querySelector('[data-state=stopped]')")
    assert read_texts(page, ".answer") == ["stopped"]


def test_a_second_question_is_asked_while_the_first_runs(page: Page, served_page: ServedPage) -> None:
    served_page.model.reply(Response("slow", hold=True))
    page.visit(make_link(served_page, methods="concat", more_parameters="&model=openai:test"), PAGE_READY)
    request_count = len(served_page.model.requests)
    send_question(page)
    page.wait_until("document.querySelectorAll('.run').length === 1")
    served_page.model.wait_for_requests(request_count + 1)
    page.wait_until("!!document.querySelector('[data-state=running]')")
    page.run("document.querySelector('[aria-label=Model]').focus()")
    page.run("document.querySelector('[aria-label=Model]').select()")
    page.send("Input.insertText", text="embedded")
    send_question(page)
    page.wait_until("document.querySelectorAll('.run').length === 2")
    page.wait_until("document.querySelector('.run .card').dataset.phase === 'done'")
    assert page.run(f"{CARDS}.map((card) => card.dataset.phase)") == ["done", "running"]
    served_page.model.release_held_replies()
    page.wait_until(ALL_METHODS_ENDED)
    assert read_texts(page, ".answer")[1] == "slow"


def test_an_error_is_a_sentence_on_its_own_card(page: Page, served_page: ServedPage) -> None:
    served_page.model.reply(make_error(401, "Incorrect API key provided"))
    page.visit(
        make_link(served_page, methods="concat,concat[model=openai:test],concat[collection=nowhere]"), PAGE_READY
    )
    send_question(page)
    page.wait_until(ALL_METHODS_ENDED)
    # In the form, methods with settings stand before all others; the cards have the same order.
    assert page.run(f"{CARDS}.map((card) => card.dataset.phase)") == ["failed", "failed", "done"]
    answers = read_texts(page, ".answer")
    assert "Incorrect API key provided" in answers[0]
    assert "no collection 'nowhere'" in answers[1]
    page.wait_until("!!document.querySelector('[data-state=failed]')")


def test_an_empty_question_and_a_setting_out_of_bounds_are_refused(page: Page, served_page: ServedPage) -> None:
    page.visit(served_page.url, PAGE_READY)
    send_question(page)
    page.wait_until("document.querySelector('.ask [role=alert]').innerText.startsWith('There is no question yet')")
    page.visit(f"{served_page.url}?k=0", PAGE_READY)
    assert "Setting k=0 does not fit" in read_texts(page, ".runs > .error")[0]


def test_a_link_reproduces_a_view_and_with_run_1_asks_its_question(page: Page, served_page: ServedPage) -> None:
    settings = "&collection=sample&k=3&set=temperature%3D0.5&set=seed%3D7"
    page.visit(make_link(served_page, methods="concat,sure[ranking=lazy]", more_parameters=settings), PAGE_READY)
    assert page.run("document.querySelector('textarea').value") == QUESTION
    assert page.run("document.querySelector('[aria-label=Passages]').value") == "3"
    ticked_methods = "[...document.querySelectorAll('.methods [aria-checked=true]')].map((one) => one.dataset.method)"
    assert page.run(ticked_methods) == ["sure[ranking=lazy]", "concat"]
    assert "All settings · 2 changed" in page.run("document.querySelector('.settings').innerText")
    assert page.run(f"{CARDS}.length") == 0
    ask_by_link(page, make_link(served_page, methods="concat", more_parameters=settings))
    page.wait_until(ALL_METHODS_ENDED)
    assert page.run("document.querySelectorAll('.card .passage').length") == 3
    assert "seed 7" in read_texts(page, ".run-info")[0]
    link = page.run("document.querySelector('.ask-again').href")
    page.visit(link, PAGE_READY)
    assert page.run("document.querySelector('[aria-label=Passages]').value") == "3"


def test_a_link_of_another_site_does_not_make_the_page_ask(page: Page, served_page: ServedPage, tmp_path: Path) -> None:
    (tmp_path / "evil.html").write_text(f"<a href='{make_link(served_page, more_parameters='&run=1')}'>come</a>")
    page.open(tmp_path / "evil.html")
    page.requested_urls.clear()
    page.run("document.querySelector('a').click()")
    page.wait_until(f"location.protocol === 'http:' && {PAGE_READY}")
    page.wait_until("document.querySelector('textarea').value !== ''")
    assert page.run(f"{CARDS}.length") == 0


def test_a_past_run_is_opened_again(page: Page, served_page: ServedPage) -> None:
    ask_by_link(page, make_link(served_page, methods="post_fusion"))
    page.wait_until(ALL_METHODS_ENDED)
    page.wait_until("location.pathname.startsWith('/run/')")
    address, answers, passages = page.run("location.href"), read_texts(page, ".answer"), read_texts(page, ".passage p")
    page.wait_until("!document.querySelector('.stop')?.offsetParent")
    file = served_page.folder / ".quorum" / "runs" / f"{address.rpartition('/')[2]}.json"
    assert json.loads(file.read_text(encoding="utf-8"))["question"] == QUESTION
    page.visit(address, f"{PAGE_READY} && {ALL_METHODS_ENDED}")
    assert (read_texts(page, ".answer"), read_texts(page, ".passage p")) == (answers, passages)
    assert page.run("document.querySelector('textarea').value") == QUESTION
    page.wait_until("!!document.querySelector('[data-state=done]')")
    page.run("document.querySelector('.past-runs .q-item').click()")
    page.wait_until(f"document.querySelector('.past-runs a')?.href.endsWith('{file.stem}')")
    page.visit(f"{served_page.url}run/20200101-000000-abcdef", PAGE_READY)
    assert read_texts(page, ".runs > .error")[0].startswith("There is no run '20200101-000000-abcdef'")


def test_leaving_the_page_stops_the_run(page: Page, served_page: ServedPage) -> None:
    served_page.model.reply(Response("Stephen Sauvestre", hold=True))
    before, requests_before = len(served_page.model.chats()), len(served_page.model.requests)
    settings = "&model=openai:test&set=concurrency%3D1"
    ask_by_link(page, make_link(served_page, "Who climbs the tower?", "post_fusion", settings))
    page.wait_until("location.pathname.startsWith('/run/')")
    run_file = served_page.folder / ".quorum" / "runs" / f"{page.run('location.pathname').rpartition('/')[2]}.json"
    served_page.model.wait_for_requests(requests_before + 1)
    page.visit(served_page.url, PAGE_READY)
    deadline = time.monotonic() + 60  # the server waits a few seconds for the page to come back
    while not run_file.exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    answers = json.loads(run_file.read_text(encoding="utf-8"))["page"]["answers"]
    assert [answer["phase"] for answer in answers] == ["stopped"]
    served_page.model.release_held_replies()
    served_page.model.wait_idle()
    assert len(served_page.model.chats()) - before == 1


def choose_files(page: Page, *files: Path) -> None:
    """Choose files for upload in the documents part of the page, as a user does."""
    page.run("document.querySelector('.documents [role=button], .documents .q-item').click()")
    page.wait_until("!!document.querySelector('.documents input[type=file]')")
    root = page.send("DOM.getDocument")["root"]["nodeId"]
    field = page.send("DOM.querySelector", nodeId=root, selector=".documents input[type=file]")["nodeId"]
    page.send("DOM.setFileInputFiles", nodeId=field, files=[str(file) for file in files])


def test_documents_are_uploaded_and_asked_about_and_their_html_stays_text(
    page: Page, served_page: ServedPage, tmp_path: Path
) -> None:
    passage = {
        "id": HTML_ATTACK,
        "title": HTML_ATTACK,
        "text": f"The bridge of Ilmen was built by Ruta Venclova. {HTML_ATTACK}",
    }
    (tmp_path / "bridge.jsonl").write_text(json.dumps(passage) + "\n", encoding="utf-8")
    (tmp_path / "<img src=x onerror=alert(1)>.md").write_text("# Rivers\nThe Ilmen is a river.\n", encoding="utf-8")
    (tmp_path / "scan.pdf").write_bytes(b"%PDF-1.4 nothing to read")
    page.visit(served_page.url, PAGE_READY)
    choose_files(page, *sorted(tmp_path.iterdir()))
    page.wait_until("document.querySelectorAll('.results tbody tr').length === 3")
    outcomes = dict(row.split("\t") for row in read_texts(page, ".results tbody tr"))
    assert (outcomes["bridge.jsonl"], outcomes["img src=x onerror=alert(1).md"]) == ("indexed", "indexed")
    assert outcomes["scan.pdf"].startswith("not read: ")
    assert read_texts(page, ".documents .upload-status") == ["my-documents holds 2 passages."]
    page.wait_until("document.querySelector('.ask').innerText.includes('my-documents')")
    page.run("document.querySelector('textarea').focus()")
    page.send("Input.insertText", text=f"Who built the bridge of Ilmen? {HTML_ATTACK}")
    send_question(page)
    page.wait_until(ALL_METHODS_ENDED)
    address = page.run("location.href")
    for is_reopened in (False, True):
        if is_reopened:
            page.visit(address, f"{PAGE_READY} && {ALL_METHODS_ENDED}")
        for tab in ("Votes", "Steps", "Costs", "Passages"):
            open_tab(page, 0, tab)
        page.wait_until("!!document.querySelector('.passage')")
        page.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        assert HTML_ATTACK in " ".join(read_texts(page, ".passage p"))
        assert HTML_ATTACK in " ".join(read_texts(page, ".passage b"))
        assert HTML_ATTACK in read_texts(page, ".run-header h2")[0]
        assert page.run("typeof window.hacked") == "undefined"
        assert page.run("document.querySelectorAll('img').length") == 0
