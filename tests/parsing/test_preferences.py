"""Parsing a judge's reply: which of two passages is better?

The parsed value is the place of the better passage (0 or 1), or None if the reply prefers neither or is malformed.
"""

import re

import pytest

from quorum.core.thinking import remove_thinking
from quorum.parsing.answers import Parsed
from quorum.parsing.preferences import parse_preference

FIRST_IS_BETTER = [  # each is also read with the passages exchanged
    "Passage 1",
    "passage 1.",
    "**Passage 1**",
    '"Passage 1"',
    "1",
    "1.",
    "[1]",
    "(1)",
    "P1",
    "Passage #1",
    "Passage [1]",
    "Passage_1",
    "Passage A",
    "Passage one",
    "The first passage",
    "The first",
    "First",
    "The former",
    "Summary 1",
    "Pasaje 1",
    "Answer: Passage 1",
    "**Answer:** 1",
    "The answer is Passage 1.",
    "Choices: [Passage 1, Passage 2]. Answer: Passage 1",
    "I would choose Passage 1.",
    "I prefer Passage 1 over Passage 2.",
    "Passage 1 rather than Passage 2",
    "Passage 1 > Passage 2",
    "Not Passage 2.",
    "Passage 1, because it names the place.",
    "Passage 1 (it names the place)",
    "Passage 1: it names the village.",
    "Passage 1\n\nPassage 2 only mentions Vienna.",
    "Passage 1. Both passages mention Haydn.",
    "Passage 1 is more informative.",
    "Passage 1 provides a more informative answer.",
    "The more informative passage is Passage 1.",
    "Passage 1 is more informative than Passage 2.",
    "Passage 2 is less informative than Passage 1.",
    "Compared to Passage 2, Passage 1 gives the year.",
    "Unlike Passage 2, Passage 1 answers the question.",
    "Between Passage 1 and Passage 2, Passage 1 is more relevant.",
    "Passage 2 does not answer the question.",
    "Passage 2 mentions tea, while Passage 1 directly answers the question.",
    "Passage 2 fails to name the place, whereas Passage 1 names it.",
    "Passage 1 is better, as Passage 2 does not name the place.",
    "Passage 1 is better than Passage 2 because Passage 2 is vague.",
    "Passage 1 is more precise than Passage 2, while Passage 2 is about tea.",
    "Compared to Passage 2, which is about tea, Passage 1 gives the year.",
    "Unlike Passage 2, while it is shorter, Passage 1 gives the year.",
    "Both passages mention Haydn, but Passage 1 is more precise.",
    "Passage 2 is about tea. Therefore, Passage 1.",
    "Passage 2 is short.\nFinal answer: Passage 1",
    '{"answer": "Passage 1"}',
    '{"choice": 1}',
    '{"reason": "Passage 2 is vague.", "answer": "Passage 1"}',
    '```json\n{"winner": "passage_1"}\n```',
    "```\nPassage 1\n```",
    "<answer>Passage 1</answer>",
    "\\boxed{1}",
    "<think>Passage 2 has more.</think>Passage 1",
]
TIE_REPLIES = [
    "Both",
    "Both.",
    "Both passages",
    "Neither",
    "Neither passage answers the question.",
    "Neither Passage 1 nor Passage 2",
    "Tie",
    "It's a tie.",
    "They are equal.",
    "No difference",
    "Equally informative",
    "Both passages are equally informative.",
    "Passage 1 and Passage 2 are equally informative.",
    "Passages 1 and 2 are the same.",
    "Passage 1 is as informative as Passage 2.",
    "Passage 1 = Passage 2",
    "Answer: Both",
    '{"answer": "both"}',
]
MALFORMED_REPLIES = [
    "",
    "   ",
    "...",
    "Passage",
    "Pass",
    "Passage 3",
    "3",
    "12",
    "Passage 1 or Passage 2",
    "Passage 1 / Passage 2",
    "[Passage 1, Passage 2]",
    "Passage 1\nPassage 2",
    "Passage 1. Passage 2.",
    "It depends.",
    "True",
    "Unknown",
    "I cannot tell.",
    "I'm sorry, but I can't help with that.",
    "The text is about tea.",
    "{}",
    "<think>Passage 1 is better, so",
]
SWAPPED_WORDS = {"1": "2", "2": "1", "First": "Second", "first": "second", "former": "latter", "one": "two", "A": "B"}


def exchange_passages(reply: str) -> str:
    """The reply that prefers the other passage."""
    return re.sub(r"(?<![a-z])(?:[12]|[Ff]irst|former|one|A(?=\Z))", lambda match: SWAPPED_WORDS[match[0]], reply)


@pytest.mark.parametrize("reply", FIRST_IS_BETTER)
def test_a_preference_is_read_for_either_passage(reply: str) -> None:
    assert parse_preference(remove_thinking(reply)) == Parsed(0)
    assert parse_preference(remove_thinking(exchange_passages(reply))) == Parsed(1)


@pytest.mark.parametrize("reply", TIE_REPLIES)
def test_a_tie_prefers_neither_passage(reply: str) -> None:
    assert parse_preference(reply) == Parsed(None)


@pytest.mark.parametrize("reply", MALFORMED_REPLIES)
def test_a_reply_without_a_preference_or_with_two_that_disagree_is_malformed(reply: str) -> None:
    assert parse_preference(remove_thinking(reply)) == Parsed(None, malformed=True)
