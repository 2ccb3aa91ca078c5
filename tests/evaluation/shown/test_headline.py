"""The headline: every view says the same about a result, and no mark contradicts the answer."""

import io
from typing import Any

import pytest
from rich.console import Console

from quorum import Context, Passage, Result
from quorum.api.langchain import format_answer
from quorum.cli.conversation import Exchange, name_sources
from quorum.cli.show import format_result
from quorum.core.conversation import (
    CLOSEST_SENTENCE_HEADING,
    CLOSEST_WITHOUT_HEADING,
    NO_PASSAGE_CONTAINS,
    STATED_HEADING,
    UNSURE_PREFIX,
    remove_served_additions,
)
from quorum.evaluation.shown.headline import make_headline
from quorum.evaluation.shown.public_result import describe_result
from quorum.evaluation.shown.support import ShownResult, add_supporting_statement_and_language_note
from quorum.serving.replies import make_served_answer

PASSAGES = [
    Passage(id="limits", title="Travel", text="Hotels may cost 190 EUR a night.\nCountry: Peru; Limit: 165 EUR"),
    Passage(id="desk", title="Desk", text="The desk does not lend laptops. Maren Solvik repairs the printers."),
    Passage(id="codes", title="Errors of the boiler", text="E-4021: the water pressure is too low."),
]
CHAT, OFFLINE = Context(model="openai:test"), Context()
# question, answer, the context, the state, the quoted sentence, the marked words, whether the answer is sure
TABLE = [
    ("Who repairs the printers?", "Maren Solvik", CHAT, "stated", PASSAGES[1]["text"][32:], "Maren Solvik", True),
    (
        "Who looks after the printers?",
        "They are repaired by Maren Solvik, the passages say.",
        *(CHAT, "by_content", PASSAGES[1]["text"][32:], None, True),
    ),
    ("Does the desk lend laptops?", "no", CHAT, "by_content", PASSAGES[1]["text"][:31], None, True),
    ("Does the desk lend laptops?", "yes", CHAT, "none", None, None, True),
    ("Who repairs the printers?", "Ada Korn repairs the printers.", CHAT, "none", None, None, True),
    ("Who repairs the printers?", "unknown", CHAT, "none", None, None, False),
    # The best statement names 190 EUR: the row with the answer is quoted, and the best statement stands below it.
    ("What may a hotel cost a night?", "165 EUR", OFFLINE, "stated", PASSAGES[0]["text"][33:], "165 EUR", False),
    ("What is E-4021?", "the water pressure is too low", CHAT, "stated", PASSAGES[2]["text"], "the water", True),
    (
        "What does E-4022 mean?",
        "the water pressure is too low",
        CHAT,
        "stated",
        PASSAGES[2]["text"],
        "the water",
        False,
    ),
]


async def show(question: str, answer: str, context: Context) -> ShownResult:
    result = Result(answer=answer, unknown=answer == "unknown", evidence=[], passages=PASSAGES)
    return await add_supporting_statement_and_language_note(question, result, context)


def print_result(result: ShownResult) -> str:
    console = Console(file=io.StringIO(), width=200, markup=False, highlight=False)
    console.print(format_result(result, "concat", colours=False))
    return str(console.file.getvalue())  # type: ignore[attr-defined]


@pytest.mark.parametrize(("question", "answer", "context", "state", "quote", "mark", "is_sure"), TABLE)
@pytest.mark.usefixtures("sample_vectors")
async def test_every_view_shows_the_same_headline(
    question: str, answer: str, context: Context, state: str, quote: str | None, mark: str | None, is_sure: bool
) -> None:
    result = await show(question, answer, context)
    headline = make_headline(result)
    support = result["support"]
    assert support is not None
    assert (support["state"], headline.quote, headline.is_sure) == (state, quote, is_sure)
    marked_words = "".join(text for text, is_marked in headline.split_quote() if is_marked)
    assert marked_words.startswith(mark or "")
    assert bool(marked_words) == (mark is not None)
    printed, served = print_result(result), make_served_answer(result, wants_sources=True)
    assert printed.splitlines()[0] == headline.shown_text == Exchange("", "concat", result).shown_answer
    assert served.answer == (headline.text if is_sure or headline.is_unknown else UNSURE_PREFIX + headline.text)
    assert remove_served_additions(served.answer + served.sources) == headline.text
    assert format_answer(result).splitlines()[0] == headline.shown_text
    for shown in (printed, served.sources, format_answer(result)):
        assert (NO_PASSAGE_CONTAINS in shown) == (state == "none" and not headline.is_unknown)
        assert all(passage["title"] in shown for passage in PASSAGES)  # what was read is always listed
    assert len(name_sources(result)) == len(PASSAGES)
    if quote is not None:
        for words in (marked_words, quote.partition(marked_words)[2]) if marked_words else (quote,):
            assert words in printed.replace("[[", "").replace("]]", "")
            assert words in served.sources.replace("**", "")


@pytest.mark.usefixtures("sample_vectors")
async def test_the_sentence_below_a_doubtful_answer_holds_it_or_is_said_not_to() -> None:
    """The closest sentence says something else: where it is shown, every view says so."""
    question = "What may a hotel cost a night?"
    for answer, heading, quote in [
        ("165 EUR", STATED_HEADING, "Country: Peru; Limit: 165 EUR"),
        ("190 EUR", CLOSEST_SENTENCE_HEADING, "Hotels may cost 190 EUR a night."),
        ("240 EUR", CLOSEST_WITHOUT_HEADING, "Hotels may cost 190 EUR a night."),
    ]:
        result = await show(question, answer, OFFLINE)
        assert result["support"] is not None
        result["support"]["is_certain"] = False
        headline = make_headline(result)
        assert (headline.quote_heading, headline.quote) == (heading, quote)
        assert headline.closest == ("Hotels may cost 190 EUR a night." if answer == "165 EUR" else None)
        served = make_served_answer(result, wants_sources=True)
        for shown in (print_result(result), served.sources):
            before_closest = shown.partition(CLOSEST_WITHOUT_HEADING)[0]
            assert shown.count(CLOSEST_WITHOUT_HEADING) == (answer != "190 EUR")
            assert ("Hotels may" in before_closest.partition("Evidence")[0].partition("Sources")[0]) == (
                answer == "190 EUR"
            )
        assert remove_served_additions(served.answer + served.sources) == answer
        shown_headline = describe_result(result)["headline"]
        assert (shown_headline["closest"], bool(shown_headline["closest_heading"])) == (
            headline.closest,
            headline.closest is not None,
        )


def test_a_result_without_support_says_nothing_about_the_passages() -> None:
    headline = make_headline({"answer": "1931", "unknown": False, "evidence": []})
    assert (headline.text, headline.badge, headline.badge_text, headline.quote) == ("1931", "unchecked", "", None)


@pytest.mark.parametrize(
    ("text", "shown_text"),
    [("Sure! The answer is **165 EUR**.", None), ("It is 165 EUR, in Peru.", "It is 165 EUR, in Peru.")],
)
def test_the_whole_reply_is_shown_where_it_says_more(text: str, shown_text: str | None) -> None:
    result: Any = {"answer": "165 EUR", "answer_text": text, "unknown": False}
    assert make_headline(result).answer_text == shown_text


def test_a_long_answer_is_shown_as_it_was_written() -> None:
    text = "- The desk repairs printers.\n- It does not lend laptops, screens, keyboards or any other machine."
    result = {"answer": " ".join(text.split()), "answer_text": text, "citations": [], "unknown": False}
    assert (make_headline(result).text, make_headline(result).answer_text) == (text, None)
