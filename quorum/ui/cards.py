"""A question's run on the page: a card for each method, updated during the run."""

import json
import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from nicegui import html, ui

from quorum.core.text import format_count
from quorum.evaluation.shown.headline import make_headline
from quorum.evaluation.shown.support import ShownResult
from quorum.graphs import list_methods
from quorum.ui.details import list_detail_tabs
from quorum.ui.run import Answer, Run, count_calls_and_tokens, list_node_states, list_visited_nodes
from quorum.ui.texts import draw_table, draw_text

REDRAW_SECONDS = 0.1  # the time between two updates of the cards while a method runs
LONG_ANSWER = 60  # characters; a longer answer is shown in smaller type
MERMAID_SETTINGS = {
    "startOnLoad": False,
    "securityLevel": "strict",
    "theme": "base",
    "fontFamily": "ui-sans-serif, system-ui, sans-serif",
    "flowchart": {"nodeSpacing": 26, "rankSpacing": 30, "padding": 9, "useMaxWidth": True},
}
MERMAID_COLOURS = re.compile(r":::\w+|^\s*classDef .*\n?", re.MULTILINE)
PHASE_LABELS = {"running": "running", "done": "", "failed": "failed", "stopped": "stopped"}


@lru_cache(maxsize=64)
def render_mermaid(method: str) -> str | None:
    """A method's graph as `quorum methods NAME --diagram` prints it, without colours; None for an unknown method."""
    found_method = list_methods().get(method)
    if found_method is None:
        return None
    diagram = found_method.draw()
    return MERMAID_COLOURS.sub("", diagram)


class Card:
    """The card of one method's answer. `refresh` updates it and, when the method has ended, draws the details."""

    def __init__(self, answer: Answer, question: str) -> None:
        self.answer, self.question, self.drawn_version = answer, question, -1
        with html.article().classes("card") as self.root:
            with html.header():
                html.h3(answer.name)
                self.phase = draw_text("span").classes("phase")
            with html.div().classes("answer-block"):
                self.message = draw_text("p").classes("answer").props("aria-live=polite")
                self.wording = draw_text("p").classes("wording")
                self.support = html.div().classes("support")
                self.understood_question = draw_text("p").classes("understood-question")
            self.facts = draw_text("p").classes("facts")
            self.draw_graph()
            self.visited_nodes = draw_text("p").classes("visited-nodes").props('aria-label="Nodes that ran"')
            with html.div().classes("answer-details"):
                self.rationale = draw_text("p").classes("rationale")
                self.details = html.div()
        self.refresh()

    def draw_graph(self) -> None:
        diagram = render_mermaid(self.answer.method)
        with html.figure().classes("graph") as self.graph:
            self.graph.props["aria-label"] = f"The graph of {self.answer.method}"
            self.graph.props["role"] = "img"
            if diagram is not None:
                ui.mermaid(diagram, config=MERMAID_SETTINGS)

    def refresh(self) -> None:
        """Show what has changed since the last refresh."""
        if self.drawn_version == self.answer.version:
            return
        self.drawn_version, answer = self.answer.version, self.answer
        self.root.props["data-phase"] = answer.phase
        self.root.props["data-method"] = answer.name
        self.phase.text = PHASE_LABELS[answer.phase]
        node_states = {
            name: [node_state.phase, node_state.begin_count, node_state.end_count]
            for name, node_state in list_node_states(answer).items()
        }
        self.graph.props["data-node-states"] = json.dumps(node_states)
        self.visited_nodes.text = " → ".join(
            name + (f" ×{count}" if count > 1 else "") for name, count in list_visited_nodes(answer)
        )
        self.draw_answer()
        if answer.phase != "running":
            self.draw_details()

    def draw_answer(self) -> None:
        answer = self.answer
        text, kind = choose_headline(answer)
        self.message.text = text
        self.message.classes(replace=f"answer {kind}" + (" long" if len(text) > LONG_ANSWER or "\n" in text else ""))
        self.wording.text = (make_headline(answer.result).answer_text if answer.result else None) or ""
        self.draw_support()
        self.understood_question.text = describe_follow_up(answer, self.question)
        self.facts.text = " · ".join(list_facts(answer))
        self.rationale.text = (answer.result or {}).get("rationale") or ""

    def draw_support(self) -> None:
        """Draw the sentence that holds the answer, and its place in the document.

        If no sentence is certain to hold the answer, draw the one that fits the question best.
        """
        self.support.clear()
        support = describe_support(self.answer.result)
        if support is None:
            return
        heading, parts, place = support
        with self.support:
            if heading:
                html.small(heading)
            with html.p():
                for part, is_marked in parts:
                    (html.mark if is_marked else html.span)(part)
            html.small(place)

    def draw_details(self) -> None:
        """Draw the tabs with the details. The content of a tab is drawn when the tab is first opened."""
        self.details.clear()
        detail_tabs = list_detail_tabs(self.answer)
        if not detail_tabs:
            return
        with self.details:
            with ui.tabs().props("dense no-caps align=left") as tabs:
                for name, (title, _) in detail_tabs.items():
                    ui.tab(name, label=title)
            first_name = next(iter(detail_tabs))
            with ui.tab_panels(tabs, value=first_name, animated=False) as panels:
                panels_by_name = {name: ui.tab_panel(name) for name in detail_tabs}

        def draw(name: str) -> None:
            if name in panels_by_name and not panels_by_name[name].default_slot.children:
                with panels_by_name[name]:
                    detail_tabs[name][1]()

        panels.on_value_change(lambda event: draw(str(event.value)))
        draw(first_name)


def choose_headline(answer: Answer) -> tuple[str, str]:
    """(the answer, or the text that is shown instead of it; the kind of this text, which is also its CSS class).

    The kinds are known, unknown and unsure for an answer, pending for a run without a result, and error.
    """
    if answer.phase == "failed":
        return answer.error or "The method failed.", "error"
    if answer.phase == "stopped":
        return "stopped", "pending"
    if answer.result is None and answer.partial_answer:
        return answer.partial_answer, "known"
    if answer.result is None:
        running_nodes = [name for name, node_state in list_node_states(answer).items() if node_state.phase == "running"]
        return (f"{', '.join(running_nodes)} …" if running_nodes else "…"), "pending"
    headline = make_headline(answer.result)
    return headline.shown_text, "unknown" if headline.is_unknown else "known" if headline.is_sure else "unsure"


def describe_support(result: ShownResult | None) -> tuple[str, list[tuple[str, bool]], str] | None:
    """The sentence that supports the answer: (heading, [(part, whether it is marked), ...], place).

    If no sentence is certain to support it, the sentence that fits the question best, with a heading that says so; else
    the heading is empty. None if there is no sentence to show.
    """
    headline = None if result is None else make_headline(result)
    if headline is None or headline.quote is None:
        return None
    return headline.quote_heading, headline.split_quote(), headline.place


def describe_follow_up(answer: Answer, question: str) -> str:
    """How a follow-up question was understood; empty if the question was asked as typed."""
    understood = (answer.result or {}).get("question")
    return f"Understood as: {understood}" if isinstance(understood, str) and understood != question else ""


def list_facts(answer: Answer) -> list[str]:
    """Confidence, calls, tokens, seconds and problems of a method's run; empty while the method runs.

    First comes `note`, if there is one: it warns that the question is not English, and the built-in reader reads
    English only.
    """
    result, (calls, tokens_in, tokens_out) = answer.result or {}, count_calls_and_tokens(answer)
    if answer.seconds is None:
        return []
    badge_text = make_headline(result).badge_text
    confidence, certified_count = result.get("confidence"), result.get("certified")
    malformed = sum(replies["count"] for replies in (result.get("malformed") or {}).values())
    wordy_answers = sum(replies["count"] for replies in (result.get("wordy_answers") or {}).values())
    return [
        *([str(result["note"])] if result.get("note") else []),
        *([badge_text] if badge_text else []),
        *([str(result["search_note"]).removesuffix(".")] if result.get("search_note") else []),
        *([f"confidence {confidence:.2f}"] if confidence is not None else []),
        *([f"certified against {format_count(certified_count, 'replaced passage')}"] if certified_count else []),
        *([format_count(calls, "call"), f"{tokens_in + tokens_out:,} tokens"] if result else []),
        f"{answer.seconds:.2f} s",
        *([format_count(malformed, "malformed reply", "malformed replies")] if malformed else []),
        *([format_count(wordy_answers, "wordy answer")] if wordy_answers else []),
        *(["temperature refused: the model does not take temperature 0"] if result.get("temperature_refused") else []),
        *([f"{format_count(result['dropped'], 'passage')} dropped"] if result.get("dropped") else []),
    ]


class RunView:
    """A run: its question, the methods' cards and, for several methods, a table that compares them.

    begin_follow_up: called with the run when the visitor presses "Follow up".
    """

    def __init__(self, run: Run, begin_follow_up: Callable[[Run], None]) -> None:
        self.run, self.begin_follow_up = run, begin_follow_up
        run.viewer_count += 1
        ui.context.client.on_delete(run.leave)
        with html.section().classes("run").props(f"data-run={run.id}") as self.root:
            self.draw_header()
            self.comparison = html.div().classes("comparison-block")
            with html.div().classes("cards").props(f"data-count={len(run.answers)}"):
                self.cards = [Card(answer, run.query.question) for answer in run.answers]
            self.timer: Any = ui.timer(REDRAW_SECONDS, self.refresh, active=run.is_running)
        self.drawn_version = -1
        self.refresh()

    def draw_header(self) -> None:
        settings = [f"{name} {value}" for name, value in self.run.query.settings.items()]
        with html.header().classes("run-header"):
            html.h2(self.run.query.question)
            with html.p().classes("run-info"):
                if settings:
                    html.span(" · ".join(settings))
                ui.link("Link to this run", f"/run/{self.run.id}").classes("permanent")
                ui.link("Ask again", self.run.query.make_link()).classes("ask-again")
                follow_button = ui.button("Follow up", on_click=lambda: self.begin_follow_up(self.run))
                follow_button.props("flat dense no-caps").classes("follow-up")
                self.stop_button = ui.button("Stop", on_click=self.run.stop).props("flat dense no-caps").classes("stop")
            self.save_error = draw_text("p").classes("error")

    def refresh(self) -> None:
        """Update all cards. The last refresh comes when the run has ended and is saved."""
        for card in self.cards:
            card.refresh()
        version = sum(answer.version for answer in self.run.answers)
        if version != self.drawn_version and len(self.run.answers) > 1:
            self.draw_comparison()
        self.drawn_version = version
        self.stop_button.set_visibility(self.run.is_running)
        self.save_error.text = self.run.save_error or ""
        task = self.run.task
        if not self.run.is_running and (task is None or task.done()):
            self.timer.deactivate()

    def draw_comparison(self) -> None:
        """Draw all answers in one table."""
        self.comparison.clear()
        headers = ["method", "answer", "confidence", "calls", "tokens", "seconds"]
        with self.comparison:
            draw_table(headers, [make_comparison_row(answer) for answer in self.run.answers], "comparison")


def make_comparison_row(answer: Answer) -> list[Any]:
    result, (calls, tokens_in, tokens_out) = answer.result or {}, count_calls_and_tokens(answer)
    text, kind = choose_headline(answer)
    shown_text = text if kind in ("known", "unknown", "unsure") else answer.phase
    has_result = bool(result)
    return [
        answer.name,
        shown_text,
        result.get("confidence"),
        calls if has_result else None,
        tokens_in + tokens_out if has_result else None,
        None if answer.seconds is None else round(answer.seconds, 2),
    ]
