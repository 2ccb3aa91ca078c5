"""Parsing three kinds of replies to the prompts of SuRe's baselines.

The first holds a statement with a mask, and the words that the mask hides. The second holds only the words for a mask.
The third holds an answer with notes.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorum.core.state import MaskedStatement
from quorum.core.text import normalize
from quorum.parsing.answers import Parsed, ReasonedAnswer
from quorum.parsing.statements import MASK, parse_answer_with_notes, parse_masked_statement, parse_missing_words

MASKED_STATEMENT = MaskedStatement(statement="The [MASK] was finished in 1931.", hidden_words="Lumen Tower")


@pytest.mark.parametrize(
    "reply",
    [
        "Statement: The [MASK] was finished in 1931.\nHidden: Lumen Tower",
        "The [MASK] was finished in 1931.\nHidden: Lumen Tower",
        "The [MASK] was finished in 1931.\nHidden: Lumen Tower.",
        "The [MASK] was finished in 1931.\n\nHidden:\nLumen Tower",
        "The [mask] was finished in 1931.\nHidden: Lumen Tower",
        "The [MASKED] was finished in 1931.\nHidden: Lumen Tower",
        "The <MASK> was finished in 1931.\nHidden: Lumen Tower",
        "The ____ was finished in 1931.\nHidden: Lumen Tower",
        "The [____] was finished in 1931.\nHidden: Lumen Tower",
        "The [BLANK] was finished in 1931.\nHidden: Lumen Tower",
        "The [...] was finished in 1931.\nHidden: Lumen Tower",
        "**Statement:** The [MASK] was finished in 1931.\n**Hidden:** Lumen Tower",
        "**Statement**: The [MASK] was finished in 1931.\n**Hidden**: **Lumen Tower**",
        "- Statement: The [MASK] was finished in 1931.\n- Hidden: Lumen Tower",
        'Statement: The [MASK] was finished in 1931.\nHidden: "Lumen Tower"',
        "Masked statement: The [MASK] was finished in 1931.\nHidden words: Lumen Tower",
        "Statement: The [MASK] was finished in 1931.\nHidden condition: Lumen Tower",
        "Statement: The [MASK] was finished in 1931.\nMasked words: Lumen Tower",
        "Statement: The [MASK] was finished in 1931.\nCondition: Lumen Tower",
        "Statement: The [MASK] was finished in 1931.\n[MASK] = Lumen Tower",
        "Statement: The [MASK] was finished in 1931.\n[MASK]: Lumen Tower",
        "Statement: The [MASK]\nwas finished in 1931.\nHidden: Lumen Tower",
        "Here is the statement.\nStatement: The [MASK] was finished in 1931.\nHidden: Lumen Tower",
        "```\nStatement: The [MASK] was finished in 1931.\nHidden: Lumen Tower\n```",
        '{"statement": "The [MASK] was finished in 1931.", "hidden": "Lumen Tower"}',
        '```json\n{"Statement": "The [MASK] was finished in 1931.", "Condition": "Lumen Tower"}\n```',
        "Statement: The [MASK] was finished in 1931.\nHidden: Lumen Tower\n\nQuestion: Who?\nAnswer: He\nStatement: x",
        "Statement: The [MASK] was finished in 1931.\nHidden: Lumen Tower\n(The tower is named in the question.)",
    ],
)
def test_a_masked_statement_is_read(reply: str) -> None:
    assert parse_masked_statement(reply, "1931") == Parsed(MASKED_STATEMENT)


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ("Statement: The Lumen Tower was finished in 1931.\nHidden: Lumen Tower", MASKED_STATEMENT),
        ("Statement: The lumen tower was finished in 1931.\nHidden: Lumen Tower", MASKED_STATEMENT),
        ("Statement: The Lumen Towers were finished in 1931.\nHidden: Lumen Tower", None),
        ("Statement: The Lumen Tower was finished in [MASK].\nHidden: 1931", None),
        ("Statement: The Lumen Tower was finished in [MASK].\nHidden: 1931.", None),
        ("Statement: The [MASK] was finished in 1931.\nHidden:", None),
        ("Statement: The [MASK] was finished in 1931.\nHidden: ...", None),
        ("Statement: The [MASK] was finished in 1931.", None),
        ("Masked statement: The [MASK] was finished in 1931.", None),
        ("The [MASK] was finis", None),
        ("Hidden: Lumen Tower", None),
        ('{"statement": "The [MASK] was finished in 1931."}', None),
        ('{"hidden": "Lumen Tower"}', None),
        ("I cannot do that.", None),
        ("", None),
    ],
)
def test_a_masked_statement_in_another_form_is_marked_malformed(reply: str, value: MaskedStatement | None) -> None:
    assert parse_masked_statement(reply, "1931") == Parsed(value, malformed=True)


@pytest.mark.parametrize("none", ["none", "None.", "nothing", "N/A", "unknown"])
def test_a_statement_that_hides_no_words_is_well_formed(none: str) -> None:
    assert parse_masked_statement(f"Statement: It was finished in 1931.\nHidden: {none}", "1931") == Parsed(None)


def test_the_hidden_words_are_masked_wherever_they_stand() -> None:
    reply = "Statement: The Lumen Tower, [MASK], was finished in 1931.\nHidden: the Lumen Tower"
    masked_statement = parse_masked_statement(reply, "1931").value
    assert masked_statement == MaskedStatement(
        statement="[MASK], [MASK], was finished in 1931.", hidden_words="the Lumen Tower"
    )
    with_symbols = parse_masked_statement("Statement: C++ (\\d) is [MASK].\nHidden: C++ (\\d)", "old").value
    assert with_symbols is not None
    assert "C++" not in with_symbols["statement"]


WORDS = st.from_regex(r"[A-Z][a-z]{2,8}( [A-Z][a-z]{2,8}){0,2}", fullmatch=True).filter(
    lambda words: normalize(words) not in ("", "none", "nothing", "unknown", "answer", "hidden", "condition")
)


@given(WORDS, WORDS, WORDS)
def test_hidden_words_do_not_appear_in_the_statement(before: str, hidden_words: str, after: str) -> None:
    reply = f"Statement: {before} {hidden_words} {after}\nHidden: {hidden_words}"
    parsed_reply = parse_masked_statement(reply, "1931").value
    if parsed_reply is not None:
        assert MASK in parsed_reply["statement"]
        assert f" {hidden_words} ".lower() not in f" {parsed_reply['statement']} ".lower()


@given(st.text(max_size=120))
def test_parsers_never_raise(reply: str) -> None:
    masked_statement = parse_masked_statement(reply, "x").value
    assert masked_statement is None or MASK in masked_statement["statement"]
    assert parse_missing_words(reply).value
    assert parse_answer_with_notes(reply).value.answer


@pytest.mark.parametrize(
    "reply",
    [
        "Lumen Tower",
        "Lumen Tower.",
        "**Lumen Tower**",
        '"Lumen Tower"',
        "Hidden: Lumen Tower",
        "Hidden words: Lumen Tower",
        "**Hidden:** Lumen Tower",
        "Missing words: Lumen Tower",
        "The missing words are Lumen Tower.",
        "The hidden words were: Lumen Tower",
        "[MASK] = Lumen Tower",
        "[MASK]: Lumen Tower",
        "[MASK] is Lumen Tower",
        "Answer: Lumen Tower",
        "```\nLumen Tower\n```",
        '{"answer": "Lumen Tower"}',
    ],
)
def test_the_missing_words_are_read(reply: str) -> None:
    assert parse_missing_words(reply) == Parsed("Lumen Tower")


@pytest.mark.parametrize(("reply", "words"), [("", "unknown"), ("Lumen Tower\nIron Mast", "Lumen Tower")])
def test_missing_words_in_another_form_are_marked_malformed(reply: str, words: str) -> None:
    assert parse_missing_words(reply) == Parsed(words, malformed=True)


@pytest.mark.parametrize(
    ("reply", "answer", "notes"),
    [
        ("Notes: It ended in 1931.\nAnswer: 1931", "1931", "It ended in 1931."),
        ("**Notes:** It ended in 1931.\n**Answer:** 1931.", "1931", "It ended in 1931."),
        (
            "Notes:\n- It ended in 1931.\n- After a strike.\n\nAnswer: 1931",
            "1931",
            "- It ended in 1931.\n- After a strike.",
        ),
        ("Updated notes: It ended in 1931.\nAnswer: 1931", "1931", "It ended in 1931."),
        ("Notes so far: It ended in 1931.\nAnswer: 1931", "1931", "It ended in 1931."),
        ("It ended in 1931.\nAnswer: 1931", "1931", "It ended in 1931."),
        ("Notes: Nothing yet.\nAnswer: Unknown", "Unknown", "Nothing yet."),
        ("Notes: It ended in 1931.\n\nAnswer:\n1931", "1931", "It ended in 1931."),
        ("```\nNotes: It ended in 1931.\nAnswer: 1931\n```", "1931", "It ended in 1931."),
        ('{"notes": "It ended in 1931.", "answer": "1931"}', "1931", "It ended in 1931."),
        (
            "Notes: It ended.\nAnswer: 1931\n\nPassages:\n[1] x\n\nQuestion: Who?\nNotes: y\nAnswer: z",
            "1931",
            "It ended.",
        ),
    ],
)
def test_an_answer_and_its_notes_are_read(reply: str, answer: str, notes: str) -> None:
    assert parse_answer_with_notes(reply, "When?") == Parsed(ReasonedAnswer(answer, notes))


@pytest.mark.parametrize(
    ("reply", "answer", "notes"),
    [
        ("Answer: 1931", "1931", None),
        ("1931", "1931", None),
        ("Notes: It ended in 1931.", "unknown", "It ended in 1931"),
        ("Notes: It ended in 1931.\n1931", "1931", "It ended in 1931."),
        ("Notes: It ended.\nAnswer:", "unknown", "It ended."),
        ("", "unknown", None),
        ('{"answer": "1931"}', "1931", None),
    ],
)
def test_notes_in_another_form_are_marked_malformed(reply: str, answer: str, notes: str | None) -> None:
    assert parse_answer_with_notes(reply, "When?") == Parsed(ReasonedAnswer(answer, notes), malformed=True)
