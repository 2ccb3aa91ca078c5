"""Parsing a model's verdict: does a text support a prediction? The last three tests also parse replies that say which
of two passages is preferred.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorum.core.thinking import remove_thinking
from quorum.parsing.answers import Parsed
from quorum.parsing.preferences import parse_preference
from quorum.parsing.verdicts import parse_validity

TRUE_REPLIES = [
    "True",
    "true.",
    "TRUE",
    "**True**",
    "`True`",
    '"True"',
    "[True]",
    "T",
    "(a) True",
    "A) True",
    "Yes",
    "Yes.",
    "Correct.",
    "Supported",
    "Answer: True",
    "**Answer:** True",
    "Answer: **True**",
    "Verdict = true",
    "Supported: yes",
    "is_true: true",
    "The answer is True.",
    "Choices: [True, False]. Answer: True",
    "True or False? True",
    "True. The passage states it.",
    "True, because the text says so.",
    "True - the text says so",
    "True (the passage supports it)",
    "True\n\nThe text says that he was born in Rohrau.",
    "The passage supports the prediction.",
    "The passage clearly and correctly supports this prediction.",
    "The statement is supported by the passage",
    "The prediction is correct.",
    "It is true.",
    "not false",
    "It isn't false.",
    "It is not the case that the prediction is false.",
    "The text does not fail to support the prediction.",
    "The text mentions it. Therefore, True.",
    "I first thought False.\nAnswer: True",
    "While it is not stated word by word, the text supports the prediction.",
    '{"is_true": true}',
    '{"answer": "True"}',
    '{"supported": "yes", "reason": "It says so."}',
    '{"is_false": false}',
    '{"unsupported": false, "reason": "It stands in the text."}',
    '{"is_supported": true, "invalid_claims": "none are wrong"}',
    "{'is_true': True}",
    '```json\n{"verdict": true}\n```',
    "\\boxed{True}",
    "<answer>True</answer>",
    "<think>It says Rohrau, so False? No.</think>True",
    "Reasoning: it says so.</think>\n\nTrue",
    "Verdadero",
    "Verdadeiro.",
    "Vrai.",
    "C'est vrai",
    "Wahr",
    "Das ist wahr.",
    "Richtig.",
    "Ja, das stimmt",
    "Vero",
    "Sí",
    "Oui",
    "Да",
    "Верно.",
    "真",
    "正确",
    "正しい。",
    "はい",
    "참",
]
FALSE_REPLIES = [
    "False",
    "false.",
    "**False**",
    "F",
    "(b) False",
    "No",
    "No.",
    "Incorrect.",
    "Invalid",
    "Not true",
    "not true.",
    "untrue",
    "Untrue.",
    "isn't supported",
    "It isn’t supported.",
    "Not supported",
    "unsupported",
    "It is false",
    "Answer: False",
    "Conclusion: not supported",
    "is_true: false",
    "Supported: no",
    "True or False: False",
    "Choices: [True, False]. Answer: False",
    "False, because the text is about tea.",
    "I was asked whether it is true. The text does not support it.",
    "**False**\n\nThe text names another place.",
    "False. While it is true that he lived there, he was born elsewhere.",
    "It is true that he lived there, but the text does not support the prediction.",
    "The passage does not support the prediction.",
    "The text doesn't correctly support it.",
    "The prediction is incorrect.",
    "The prediction is not correct.",
    "The claim isn't true.",
    "The text never supports that.",
    "No evidence supports the prediction.",
    "Nothing in the text supports this.",
    "There is no support for the prediction.",
    "The passage fails to support the prediction",
    "The passage neither mentions nor supports it.",
    "The passage does not provide enough evidence to support the prediction.",
    "It is not the case that the text supports the prediction.",
    "Therefore, the prediction is not supported by the passage.",
    "The text is about Vienna. So the answer is False.",
    '{"is_true": false}',
    '{"is_true": "false"}',
    '{"supported": "no"}',
    '{"is_false": true}',
    '{"is_incorrect": true, "reason": "He was born in Rohrau."}',
    '{"is_incorrect": "yes", "reason": "He was born in Rohrau."}',
    '{"valid": false, "invalid_reason": "The prediction is wrong."}',
    '{"supported": "no", "unsupported_reason": "The text does not support it."}',
    '{"true": false, "reason": "It is true that he lived there."}',
    "{'is_true': False}",
    '```json\n{"verdict": false}\n```',
    "<think>True?</think>False",
    "Falso",
    "Faux.",
    "n'est pas vrai",
    "Falsch",
    "Nein.",
    "Das ist nicht wahr",
    "Não",
    "Нет",
    "Неверно",
    "假",
    "不正确",
    "いいえ",
    "거짓",
]
UNDECIDED_REPLIES = [
    "",
    "   ",
    "...",
    "True or False",
    "True and False",
    "True/False",
    "True, False",
    "[True, False]",
    "True. False.",
    "True\nFalse",
    "Answer: True or False",
    "yes and no",
    "No, it is true.",
    "Yes, the text does not support it.",
    "Both",
    "Maybe",
    "Half true",
    "Partially true",
    "The text only partly supports it.",
    "It's unclear whether this is true.",
    "It is uncertain if this is true.",
    "It depends on whether the text is true.",
    "Unknown",
    "I cannot tell.",
    "I'm sorry, but I can't help with that.",
    "The passage is about tea.",
    "Tru",
    "42",
    "Passage 1",
    "{}",
    '{"is_true": null}',
    "<think>It says Rohrau, so True",
]


@pytest.mark.parametrize("reply", TRUE_REPLIES)
def test_true_verdicts_are_read(reply: str) -> None:
    assert parse_validity(remove_thinking(reply)) == Parsed(True)


@pytest.mark.parametrize("reply", FALSE_REPLIES)
def test_false_verdicts_are_read(reply: str) -> None:
    assert parse_validity(remove_thinking(reply)) == Parsed(False)


@pytest.mark.parametrize("reply", UNDECIDED_REPLIES)
def test_a_reply_without_a_verdict_or_with_two_that_disagree_is_malformed(reply: str) -> None:
    assert parse_validity(remove_thinking(reply)) == Parsed(False, malformed=True)


REPLY_WORDS = "true false not is supported Passage 1 2 than more . , : Answer: both { } \" ' ( ) n't é"
WORDS = st.lists(st.sampled_from([*REPLY_WORDS.split(), "\n"]), max_size=25).map(" ".join)


@given(st.text() | WORDS)
def test_any_reply_is_read(reply: str) -> None:
    verdict, preference = parse_validity(reply), parse_preference(reply)
    assert not (verdict.value and verdict.malformed)
    assert preference.value in (None, 0, 1)
    assert preference.value is None or not preference.malformed


@given(st.sampled_from(["True", "False", "Passage 1", "Passage 2", "Both"]), st.sampled_from(["", "**", "`", '"', "_"]))
def test_wrapping_changes_nothing(bare_reply: str, mark: str) -> None:
    wrapped_reply = f"{mark}{bare_reply}{mark}"
    for reply in (wrapped_reply, f" {wrapped_reply}.\n", f"Answer: {wrapped_reply}"):
        assert parse_validity(reply) == parse_validity(bare_reply)
        assert parse_preference(reply) == parse_preference(bare_reply)


@pytest.mark.parametrize(
    "reply", ["true " * 3000, "Answer: " * 3000, "while " * 3000, "Passage 1 " * 3000, "than " * 3000, "{" * 9000]
)
def test_a_reply_that_repeats_itself_is_read(reply: str) -> None:
    assert parse_validity(reply).value in (True, False)
    assert parse_preference(reply).value in (None, 0, 1)
