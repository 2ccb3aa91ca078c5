"""Replies without end, as a model in a loop writes them.

Every parser reads only a limited part of such a reply, and the removal of thoughts and the test for a refusal also cope
with it.
"""

import pytest

from benchmarks.fuzz import find_parsers
from benchmarks.reply_shapes import SHAPES
from quorum.core.refusals.unknown import is_unknown
from quorum.core.thinking import remove_thinking
from quorum.parsing.wrapping import LONGEST_READ_TEXT, shorten_reply

PARSERS = find_parsers()
# Contains something to find for every parser: if a parser reads this text, its result is not that of an empty reply.
MIDDLE = """
Question: Who died?
Answer: Vienna
Verdict: True. Label: SUPPORTS. Passage 2 is better. Yes.
Relevant passages: 2, 4
(a) Vienna (b) Rohrau
He died in Vienna in 1809.
So the answer is yes.
Action 1: Finish[Vienna]
Follow up: Who?
Statement: [MASK] died.
Hidden: He
[DONE]
"""


def surround_middle(filler: str) -> str:
    return f"{filler}{MIDDLE}{filler}"


@pytest.mark.parametrize(
    "shape",
    [
        "answers",
        "thoughts in thoughts",
        *(
            pytest.param(shape, marks=pytest.mark.long)
            for shape in ("words", "spaces", "new lines", "opening brackets")
        ),
    ],
)
def test_the_middle_of_an_endless_reply_is_not_read(shape: str) -> None:
    reply = surround_middle(filler=SHAPES[shape](LONGEST_READ_TEXT))
    shortened_reply = shorten_reply(reply, LONGEST_READ_TEXT)
    assert MIDDLE not in shortened_reply
    for name, parse in PARSERS.items():
        assert parse(reply) == parse(shortened_reply), name


def test_an_answer_in_the_middle_is_read_if_the_reply_is_short_enough() -> None:
    parsed_with_answer = {name: parse(surround_middle(" \n")) for name, parse in PARSERS.items()}
    parsed_without_answer = {name: parse(" \n \n") for name, parse in PARSERS.items()}
    assert {name for name in PARSERS if parsed_with_answer[name] == parsed_without_answer[name]} == set()


@pytest.mark.parametrize(("shape", "expected"), [("thoughts never closed", ""), ("thoughts in thoughts", "Rohrau")])
def test_endless_thoughts_are_removed(shape: str, expected: str) -> None:
    assert remove_thinking(f"{SHAPES[shape](300_000)} Rohrau") == expected


def test_endless_tags_that_mark_no_thought_are_kept() -> None:
    reply = f"{SHAPES['tags'](300_000)} Rohrau"
    assert remove_thinking(reply) == reply


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("<think>a</think> b", "b"),
        ("<THINK >a</Think > b", "b"),
        ("a</think> b", "b"),
        ("a <think>b", "a"),
        ("a <think>b</think> c <think>d</think> e", "a  c  e"),
        ("<think>a <think>b</think> c</think> d", "d"),
        ("<think>a</think> b </think> c <think>d", "c"),
        ("<thinking>a</thinking>b", "b"),
        ("[THINK]a[/THINK]b", "b"),
        ("◁think▷a◁/think▷b", "b"),
        ("the <thinker> of Rodin", "the <thinker> of Rodin"),
    ],
)
def test_thoughts_are_removed(reply: str, expected: str) -> None:
    assert remove_thinking(reply) == expected


@pytest.mark.parametrize("shape", SHAPES)
def test_a_refusal_is_recognised_by_the_beginning_of_a_text(shape: str) -> None:
    text = SHAPES[shape](50_000)
    assert is_unknown(f"I do not know. {text}")
    assert not is_unknown(f"Joseph Haydn. {text}")
