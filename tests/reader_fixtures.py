"""For tests of the embedded reader: three passages, messages with a prompt, and the parsers of the replies."""

from collections.abc import Callable
from functools import partial
from string import Template
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from quorum.core.state import Passage
from quorum.models.embedded import batching
from quorum.models.embedded.chat import EmbeddedReader
from quorum.nodes.ask import format_list
from quorum.parsing.answers import Parsed, parse_reasoned_answer, parse_short_answer
from quorum.parsing.candidates import parse_candidates
from quorum.parsing.choices import parse_choice
from quorum.parsing.long_answers import parse_long_answer, parse_turn
from quorum.parsing.passage_ids import parse_passage_ids
from quorum.parsing.preferences import parse_preference
from quorum.parsing.rankings import parse_ranking
from quorum.parsing.reasoning import parse_conclusion, parse_free_text, parse_topic, parse_yes_no_conclusion
from quorum.parsing.statements import parse_answer_with_notes, parse_masked_statement, parse_missing_words
from quorum.parsing.steps import parse_final_answer, parse_self_ask_step, parse_step
from quorum.parsing.summaries import parse_long_summary, parse_summary
from quorum.parsing.verdicts import parse_validity
from quorum.parsing.yes_no import parse_yes_no
from quorum.prompts import BUILT_IN, format_passages, render_prompt

BIRTH_QUESTION = "Where was Joseph Haydn born?"
PASSAGES = [
    Passage(id="a", title="Rohrau", text="The composer Joseph Haydn was born in Rohrau, a village on the Leitha."),
    Passage(id="b", title="Joseph Haydn", text="Joseph Haydn was born in Rohrau.\nHe died in Vienna in 1809."),
    Passage(id="c", title="Tea", text="Tea is a drink made from the leaves of a shrub. It came to Europe in 1610."),
]
# Prompt -> the parser of the reply. Other tests test the prompts that are missing here.
PARSERS: dict[str, Callable[[str], Parsed[Any]]] = {
    "answer": parse_short_answer,
    "answer_candidates": parse_short_answer,
    "pruning": parse_reasoned_answer,
    "summary": parse_reasoned_answer,
    "answer_base": parse_short_answer,
    "answer_base_closed": parse_short_answer,
    "zero_shot_cot": parse_reasoned_answer,
    "rank_passages": lambda reply: parse_ranking(reply, reply.count("[")),
    "inference": parse_answer_with_notes,
    "mask_condition": parse_masked_statement,
    "recover_condition": parse_missing_words,
    "preference": parse_preference,
    "react": parse_step,
    "react_action": parse_step,
    "self_ask": parse_self_ask_step,
    "self_ask_answer": parse_short_answer,
    "self_ask_final": parse_final_answer,
    "direct": parse_short_answer,
    "direct_yes_no": parse_yes_no,
    "direct_from_memory": parse_short_answer,
    "direct_from_memory_yes_no": parse_yes_no,
    "reason": parse_conclusion,
    "reason_yes_no": parse_yes_no_conclusion,
    "reason_from_memory": parse_conclusion,
    "reason_from_memory_yes_no": parse_yes_no_conclusion,
    "extract_answer": parse_short_answer,
    "extract_answer_yes_no": parse_yes_no,
    "internal": parse_free_text,
    "topic": parse_topic,
    "judge": parse_free_text,
    "judge_yes_no": parse_free_text,
    "choose": partial(parse_passage_ids, count=3),
    "choose_yes_no": partial(parse_passage_ids, count=3),
    "judge_and_choose": partial(parse_passage_ids, count=3),
    "judge_and_choose_yes_no": partial(parse_passage_ids, count=3),
    "candidates": partial(parse_candidates, limit=2),
    "conditional_summary": parse_summary,
    "conditional_summary_long": parse_long_summary,
    "generic_summary": parse_summary,
    "validity": parse_validity,
    "ranking": parse_preference,
    "answer_choices": partial(parse_choice, candidates=["Rohrau", "Vienna"]),
    "answer_summaries": parse_short_answer,
    "answer_summary": parse_short_answer,
    "answer_yes_no": parse_yes_no,
    "answer_candidates_yes_no": parse_yes_no,
    "answer_dialogue": parse_turn,
    "answer_candidates_dialogue": parse_turn,
    "answer_long": parse_long_answer,
    "answer_candidates_long": parse_long_answer,
}


# A value for every variable of these prompts, except the question and the passages.
OTHER_INPUTS: dict[str, str | list[str]] = {
    "candidates": ["Vienna", "Rohrau"],
    "examples": "",
    "notes": "",
    "count": "2",
    "form": "(a) answer (b) answer",
    "choices": "(a) Rohrau (b) Vienna",
    "prediction": "Rohrau",
    "summary": "Joseph Haydn was born in Rohrau.",
    "summaries": ["Joseph Haydn was born in Rohrau.", "Joseph Haydn died in Vienna."],
    "kind": "a name, a place, a date or a number",
    "step": "2",
    "steps": "",
    "topic": "composers",
    "judgement": "Passage 1 helps.",
    "reasoning": "Joseph Haydn was born in Rohrau. So the answer is Rohrau.",
    "thought": "Now the answer can be given.",
    "demonstrations": "",
    "answer": "Rohrau",
    "first": "Haydn was born in Rohrau.",
    "second": "Haydn died in Vienna.",
    "golds": ["Rohrau"],
    "statement": 'The answer to "Where was [MASK] born?" is Rohrau.',
}


def forget_readings() -> None:
    """Forget all readings, so that every passage is read again."""
    batching.RECENT_READINGS.clear()


@pytest.fixture(autouse=True)
def forget_readings_before_each_test() -> None:
    forget_readings()


def make_message(prompt: str, question: str, passages: list[Passage], **more_inputs: Any) -> HumanMessage:
    """A message as `quorum.models.call` sends it: the prompt's text with its name and inputs."""
    variables = Template(BUILT_IN[prompt]).get_identifiers()
    all_inputs = {**OTHER_INPUTS, **more_inputs, "question": question, "passages": passages}
    inputs: dict[str, Any] = {name: all_inputs[name] for name in variables}
    values = {name: v if isinstance(v, str) else format_list(v) for name, v in inputs.items() if name != "passages"}
    text = render_prompt(
        prompt, **values | ({"passages": format_passages(passages)} if "passages" in variables else {})
    ).text
    return HumanMessage(text, additional_kwargs={"quorum": {"prompt": prompt, "inputs": inputs, "sample": 0}})


async def reply(
    prompt: str, question: str = BIRTH_QUESTION, passages: list[Passage] = PASSAGES, **settings: Any
) -> AIMessage:
    """The embedded reader's reply to a prompt."""
    return await EmbeddedReader().ainvoke([make_message(prompt, question, passages)], **settings)
