"""When an answer of the embedded reader is shown without a warning."""

from typing import Any

from quorum import Context, answer
from quorum.core.state import Passage
from quorum.evaluation.shown.headline import make_headline
from quorum.evaluation.shown.support import add_supporting_statement_and_language_note

MANUAL = [
    Passage(id="vault", title="heron", text="heron back\nBrings files back:\nheron back --all --into /tmp/restore"),
    Passage(id="push", title="heron", text="heron push\nSends what has changed since the last push to the server."),
]
PEOPLE = [
    Passage(id="a", title="Ada Korn", text="Ada Korn (born 3 May 1901 in Oslo) was a Norwegian painter."),
    Passage(id="b", title="Ida Brenn", text="Ida Brenn (born 9 June 1950 in Bergen) is a Norwegian singer."),
]


async def show(question: str, passages: list[Passage]) -> Any:
    result = await answer(question, "concat", Context(), given=passages)
    return await add_supporting_statement_and_language_note(question, result, Context(), passages)


async def test_steps_that_answer_surely_have_no_warning_and_stand_in_the_passages() -> None:
    result = await show("How do I bring all files back with heron back?", MANUAL)
    headline = make_headline(result)
    assert (headline.is_sure, headline.badge, result["answer_type"]) == (True, "stated", "long")
    assert headline.quote == "heron back --all --into /tmp/restore"
    assert result["support"]["certainty"] >= 0.5


async def test_steps_that_perhaps_do_not_answer_have_a_warning() -> None:
    result = await show("How do I delete a vault on the server?", MANUAL)
    assert not make_headline(result).is_sure


async def test_a_verdict_of_the_reader_has_a_warning_and_the_sentence_why() -> None:
    result = await show("Does heron send what has changed?", MANUAL)
    headline = make_headline(result)
    assert (result["answer_type"], headline.is_sure, headline.is_unknown) == ("yes_no", False, False)
    assert (headline.quote, headline.answer_text) == ("Sends what has changed since the last push to the server.", None)


async def test_a_verdict_by_rule_has_no_warning() -> None:
    result = await show("Are Ada Korn and Ida Brenn both Norwegian?", PEOPLE)
    assert (result["answer"], make_headline(result).is_sure) == ("yes", True)
