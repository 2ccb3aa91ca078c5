"""What the events of a run amount to: the answer of each method so far, as JSON and as Markdown."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from quorum.core.files import INVISIBLE_CHARACTERS
from quorum.core.harmless_markdown import make_harmless
from quorum.core.text import format_count
from quorum.documents.places import format_pages

MARKUP = re.compile(r"[\\`*\[\]<>&~|]")
State = Literal["running", "finished", "failed"]


@dataclass
class MethodAnswer:
    """The answer of one method so far. text: of a running method, the answer as far as it is written; result, seconds:
    of one that has finished; error: code, sentence and remedy of one that has failed; reader_text: as in `RunStarted`.
    """

    method: str
    state: State = "running"
    text: str = ""
    result: Mapping[str, Any] | None = None
    seconds: float | None = None
    error: Mapping[str, Any] | None = None
    reader_text: str = ""

    def to_json(self) -> dict[str, Any]:
        values = {"text": self.text, "result": self.result, "seconds": self.seconds, "error": self.error}
        values |= {"reader_text": self.reader_text}
        shown = {name: value for name, value in values.items() if value not in (None, "")}
        return {"method": self.method, "state": self.state, **shown}


def read_answers(events: Iterable[Mapping[str, Any]]) -> dict[str, MethodAnswer]:
    """The answers after these events, by method."""
    answers: dict[str, MethodAnswer] = {}
    for event in events:
        kind = event["type"]
        if kind == "run_started":
            reader_text = event.get("reader_text", "")
            answers |= {method: MethodAnswer(method, reader_text=reader_text) for method in event["methods"]}
            continue
        answer = answers.get(event.get("method", ""))
        if answer is None:
            continue
        if kind == "answer_text":
            answer.text = event["text"] if event["replaces"] else answer.text + event["text"]
        elif kind == "method_finished":
            answer.state, answer.text = "finished", ""
            answer.result, answer.seconds = event["result"], event["seconds"]
        elif kind == "error":
            answer.state, answer.error = "failed", {name: event[name] for name in ("code", "sentence", "remedy")}
    return answers


def format_markdown(title: str, turns: Sequence[tuple[Mapping[str, Any], Sequence[MethodAnswer]]]) -> str:
    """A conversation as Markdown: every question, and for every method its answer, what supports it, and what it cost.

    turns: (what the run's file says in its first line, its answers), in the order in which the questions were asked.
    Nothing in it acts: links, pictures and tags in questions, answers and documents are escaped.
    """
    lines = [f"# {escape_line(title)}"]
    for head, answers in turns:
        question = head["request"]["question"]
        if len(turns) > 1:
            lines += [f"## {escape_line(question)}"]
        elif " ".join(question.split()) != title:
            lines += [quote(question)]
        lines += format_turn(head["request"], answers, "###" if len(turns) > 1 else "##")
    return "\n\n".join(lines) + "\n"


def format_turn(request: Mapping[str, Any], answers: Sequence[MethodAnswer], heading: str) -> list[str]:
    """The paragraphs about the answers to one question. heading: the marks before the name of a method."""
    facts = [f"{name}: {escape_line(request[name])}" for name in ("collection",) if request.get(name)]
    facts += [f"{escape_line(name)}: {escape_line(value)}" for name, value in request.get("settings", {}).items()]
    lines = [" · ".join(facts)] if facts else []
    for answer in answers:
        lines += [f"{heading} {escape_line(answer.method)}", *format_answer(answer)]
    return lines


def format_answer(answer: MethodAnswer) -> list[str]:
    """The paragraphs about one method's answer."""
    if answer.error is not None:
        return [f"*{escape_line(answer.error['sentence'])}*"]
    if answer.result is None:
        return [show_lines(answer.text), "*The answer is not complete.*"]
    result = answer.result
    headline = result.get("headline") or {}
    parts = [show_lines(str(result.get("answer_markdown") or ""))]
    parts += [str(result["verdict_text"])] if result.get("verdict_text") else []
    if headline.get("quote"):
        parts += [quote(headline["quote"]), f"({escape_line(headline['place'])})"]
    passages = {passage["id"]: passage for passage in result.get("passages") or []}
    sources = [
        f"- [{item['n']}] {escape_line(item['document'])}{format_page(item)}: "
        f"{escape_line(passages[item['passage']]['text'][slice(item['start'], item['end'])])}"
        for item in result.get("citations") or []
        if item["passage"] in passages and item["start"] is not None
    ]
    parts += ["\n".join(sources)] if sources else []
    totals = result.get("totals") or {}
    facts = [format_count(totals["calls"], "call")] if totals else []
    facts += [format_count(totals["input_tokens"] + totals["output_tokens"], "token")] if totals else []
    facts += [] if answer.seconds is None else [f"{answer.seconds:.1f} s"]
    facts += [answer.reader_text] if answer.reader_text else []
    return [*(part for part in parts if part), " · ".join(facts)]


def format_page(citation: Mapping[str, Any]) -> str:
    return "" if citation.get("page") is None else f", p. {format_pages(citation['page'], citation.get('last_page'))}"


def quote(text: str) -> str:
    """A block quotation of a text on one line."""
    return f"> {escape_line(text)}"


def show_lines(markdown: str) -> str:
    """Markdown without invisible characters, except those that scripts join letters with. What a character kept apart
    may act once it is gone, so the rest is made harmless again.
    """
    text = re.sub("\r\n?", "\n", markdown)
    kept = INVISIBLE_CHARACTERS.sub(lambda match: match[0] if match[0] in "\n\t\u200c\u200d" else "", text)
    return make_harmless(kept)


def escape_line(text: Any) -> str:
    r"""A text on one line, without invisible characters, so that nothing in it acts as Markdown.

    >>> print(escape_line("a\n![b](http://c.example) <d> `e`"))
    a !\[b\](http://c.example) \<d\> \`e\`
    """
    return MARKUP.sub(r"\\\g<0>", " ".join(INVISIBLE_CHARACTERS.sub(" ", str(text)).split()))
