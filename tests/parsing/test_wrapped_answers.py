"""Answers in tags, boxes and formulas, and with the tokens that end a model's turn."""

import pytest

from quorum.parsing.answers import parse_reasoned_answer, parse_short_answer
from quorum.parsing.reasoning import parse_conclusion
from quorum.parsing.verdicts import parse_validity
from quorum.parsing.yes_no import parse_yes_no

REPLIES_WITH_PARIS = [
    "<answer>Paris</answer>",
    "<answer> Paris </answer>",
    "<answer>\nParis\n</answer>",
    "<ANSWER>Paris</ANSWER>",
    "<Answer>Paris</Answer>",
    "<answer>Paris",
    "Paris</answer>",
    "<result>Paris</result>",
    "<result>\nParis\n</result>\n",
    "<final_answer>Paris</final_answer>",
    "<final answer>Paris</final answer>",
    "<response>Paris</response>",
    "<output>Paris</output>",
    "<answer><b>Paris</b></answer>",
    "<answer>**Paris**</answer>",
    '<answer>"Paris"</answer>',
    "<answer>Paris.</answer>",
    "<answer>Answer: Paris</answer>",
    "<answer>The answer is Paris.</answer>",
    "The passages name the capital.\n<answer>Paris</answer>",
    "<answer>Lyon</answer>\nOn reflection that is wrong.\n<answer>Paris</answer>",
    "<reasoning>The second passage names it.</reasoning>\n<answer>Paris</answer>",
    "<thinking>Lyon? No.</thinking><answer>Paris</answer>",
    "<scratchpad>\nLyon or Paris\n</scratchpad>\nParis",
    "<answer>Paris</answer>\n<explanation>The second passage names it.</explanation>",
    "<answer>Paris</answer> The second passage names it.",
    "Answer: <answer>Paris</answer>",
    "**Answer:** <answer>Paris</answer>",
    "```xml\n<answer>Paris</answer>\n```",
    "<answer>\\boxed{Paris}</answer>",
    "\\boxed{Paris}",
    "$\\boxed{Paris}$",
    "$$\\boxed{\\text{Paris}}$$",
    "\\boxed{\\textbf{Paris}}",
    "\\[\\boxed{\\mathrm{Paris}}\\]",
    "The final answer is: $\\boxed{Paris}$",
    "It is the capital. Thus \\boxed{Paris}.",
    "\\boxed{Paris",
    "$Paris$",
    "$\\text{Paris}$",
    "Answer: $\\text{Paris}$",
    "\\(\\text{Paris}\\)",
    "Paris</s>",
    "Paris<|im_end|>",
    "Paris.<|im_end|>\n",
    "Paris<|eot_id|>",
    "Paris<end_of_turn>",
    "Paris<|endoftext|>",
    "Paris<|end|>",
    "Paris<eos>",
    "Paris[/INST]",
    "Paris\n</s></s></s>",
    "Paris<|im_end|>\n<|im_start|>user\nAnd of Spain?<|im_end|>",
    "Paris<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nAnd of Spain?",
    "<s>Paris</s>",
    "<|assistant|>\nParis",
    "Answer: Paris</s>",
    '{"answer": "Paris"}</s>',
    "<answer>Paris</answer></s>",
    "<answer>Paris</answer><|im_end|>",
    "[answer]Paris[/answer]",
    "<|begin_of_box|>Paris<|end_of_box|>",
    "<ans>Paris</ans>",
]
ANSWERS_WITH_SYMBOLS = ["$5", "$5 and $7", "US$300", "x < 5", "<3", "The <b> tag", "$5 million", "A$AP Rocky"]
OTHER_WRAPPED_ANSWERS = {  # reply -> answer
    "I <answer> you": "you",  # the answer begins after the tag, even if no tag closes it
    "$\\boxed{42}$": "42",
    "$42$": "42",
    "\\boxed{\\frac{1}{2}}": "\\frac{1}{2}",
    "\\boxed{1,000}": "1,000",
    "<answer>\n- Paris\n- Lyon\n</answer>": "Paris",  # the first item of a list is the answer
}


@pytest.mark.parametrize("reply", REPLIES_WITH_PARIS)
def test_wrappings_are_taken_off(reply: str) -> None:
    assert parse_short_answer(reply, "What is the capital of France?").value == "Paris"


@pytest.mark.parametrize(
    "reply", [reply for reply in REPLIES_WITH_PARIS if "<answer>" in reply.lower() or "boxed" in reply]
)
def test_parsers_of_reasoned_replies_read_wrapped_answers(reply: str) -> None:
    assert parse_reasoned_answer(reply, "What is the capital of France?").value.answer == "Paris"
    assert parse_conclusion(reply, "What is the capital of France?").value.answer == "Paris"


@pytest.mark.parametrize("reply", ANSWERS_WITH_SYMBOLS)
def test_symbols_that_belong_to_an_answer_stay(reply: str) -> None:
    assert parse_short_answer(reply).value == reply


@pytest.mark.parametrize(("reply", "answer"), OTHER_WRAPPED_ANSWERS.items())
def test_the_answer_inside_a_wrapping_is_read(reply: str, answer: str) -> None:
    assert parse_short_answer(reply).value == answer


@pytest.mark.parametrize(
    "wrapping", ["<answer>{}</answer>", "\\boxed{{{}}}", "$\\boxed{{\\text{{{}}}}}$", "{}</s>", "{}<|im_end|>"]
)
@pytest.mark.parametrize(("word", "verdict"), [("Yes", "yes"), ("no", "no")])
def test_wrapped_verdicts_are_read(wrapping: str, word: str, verdict: str) -> None:
    assert parse_yes_no(wrapping.format(word)).value == verdict
    assert parse_validity(wrapping.format(word)).value == (verdict == "yes")


def test_the_text_before_an_answer_tag_is_the_rationale() -> None:
    parsed_answer = parse_reasoned_answer("Passage 2 names it.\n<answer>Paris</answer>").value
    assert (parsed_answer.answer, parsed_answer.rationale) == ("Paris", "Passage 2 names it.")
