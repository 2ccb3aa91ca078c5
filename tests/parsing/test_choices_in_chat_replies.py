"""Choices among lettered candidates as chat models write them."""

import pytest

from quorum.core.text import is_unknown
from quorum.parsing.choices import parse_choice

METALS = ["iron", "copper", "tin", "silver", "gold"]
CHOOSE_THE_THIRD = [
    "C",
    "c",
    "(C)",
    "[C]",
    "C.",
    "C)",
    "**C**",
    "(c) tin",
    "C. tin",
    "C: tin",
    "C, tin.",
    "C - tin",
    "C – tin",
    "C tin",
    "tin",
    "Tin.",
    "tin (C)",
    "Answer: C",
    "Answer: (C) tin",
    "The answer is C.",
    "The answer is (C).",
    "The correct answer is C: tin.",
    "So the answer is C.",
    "the correct option is (c) tin.",
    "Option C",
    "Option C is correct.",
    "Choice C, tin.",
    "most likely C.",
    "probably C",
    "likely (C) tin.",
    "definitely C.",
    "clearly C, tin",
    "I think C.",
    "I think the answer is C.",
    "I would choose C.",
    "I'd go with (C).",
    "I would say C, because bronze is made of copper and tin.",
    "C, because bronze is made of copper and tin.",
    "C because bronze needs it",
    "C (tin).",
    "C) tin is the metal that bronze needs beside copper.",
    "(C) is the correct answer.",
    "C is the correct answer.",
    "C is correct.",
    "<answer>C</answer>",
    "<answer>\n(C) tin\n</answer>",
    "$\\boxed{C}$",
    "\\boxed{\\text{C}}",
    "The final answer is $\\boxed{C}$.",
    "C</s>",
    "C.<|im_end|>",
    "C<|eot_id|>",
    "tin<end_of_turn>",
    "(C)\n\nExplanation: bronze is an alloy of copper and tin.",
    "C\n\nBronze is an alloy of copper (B) and tin (C).",
    '{"answer": "C"}',
    '{"answer": "tin"}',
    "`C`",
    '"C"',
    "therefore C.",
    "Answer: C\nQuestion: Which metal is liquid?\nAnswer: A",
    "C. tin\n\nQ: Which metal rusts?\nA: iron",
    "Bronze is copper with a little of another metal. The answer is C.",
    "Out of these choices, C is the best.",
    "It is C.",
    "It's C, tin.",
    "The metal is tin, so the answer is C.",
    "The best answer would be C.",
    "must be C.",
    "C) The metal is tin",
    "C] The metal is tin",
    "C!",
]
CHOOSE_NONE = [
    "A or C",
    "A and C.",
    "A, C",
    "(A) or (B)",
    "A/B",
    "either B or C",
    "B, C, and D are all possible.",
    "not clear.",
    "I would need to see the picture.",
    "A B C",
    "None of the above",
    "one of the metals",
    "I am not sure whether it is A or C.",
    "F",
    "A metal is needed here.",
    "A is wrong, and so is B.",
    "not C.",
]


@pytest.mark.parametrize("reply", CHOOSE_THE_THIRD)
def test_one_letter_or_text_is_a_choice(reply: str) -> None:
    parsed_choice = parse_choice(reply, METALS)
    assert (parsed_choice.value, parsed_choice.malformed) == ("tin", False)


@pytest.mark.parametrize("reply", CHOOSE_NONE)
def test_a_reply_that_chooses_several_candidates_or_none_is_no_choice(reply: str) -> None:
    parsed_choice = parse_choice(reply, METALS)
    assert parsed_choice.malformed or is_unknown(parsed_choice.value)
    assert parsed_choice.value not in METALS


def test_an_article_is_no_letter() -> None:
    assert parse_choice("a tin", METALS).value != "iron"
    assert parse_choice("A copper coin", METALS).value != "iron"
