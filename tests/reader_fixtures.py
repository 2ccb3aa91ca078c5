"""For tests of the embedded reader: three passages, messages with a prompt, and the parsers of the replies."""

from collections.abc import Callable, Mapping
from functools import partial
from string import Template
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from quorum.core.state import Passage
from quorum.models.embedded import batching
from quorum.models.embedded.chat import EmbeddedReader
from quorum.models.embedded.replies import Sampler
from quorum.nodes.ask import format_list
from quorum.parsing.answers import Parsed
from quorum.parsing.candidates import parse_candidates
from quorum.parsing.choices import parse_choice
from quorum.parsing.passage_ids import parse_passage_ids
from quorum.parsing.rankings import parse_ranking
from quorum.prompts import BUILT_IN, format_passages, render_prompt
from quorum.prompts.registry import PROMPTS

BIRTH_QUESTION = "Where was Joseph Haydn born?"
PASSAGES = [
    Passage(id="a", title="Rohrau", text="The composer Joseph Haydn was born in Rohrau, a village on the Leitha."),
    Passage(id="b", title="Joseph Haydn", text="Joseph Haydn was born in Rohrau.\nHe died in Vienna in 1809."),
    Passage(id="c", title="Tea", text="Tea is a drink made from the leaves of a shrub. It came to Europe in 1610."),
]
# Other tests test what the reader replies to these prompts.
TESTED_ELSEWHERE = {
    *("filter_sentences", "filter_passages"),  # tests/models/test_context_filters.py
    *("answer_label", "answer_candidates_label"),  # the reader refuses them
    "stand_alone",  # the reply is a question: test_replies_follow_up.py
}
# Prompt -> the parser of the reply.
PARSERS: dict[str, Callable[[str], Parsed[Any]]] = {
    **{
        name: prompt.parse
        for name, prompt in PROMPTS.items()
        if callable(prompt.offline) and name not in TESTED_ELSEWHERE
    },
    "rank_passages": lambda reply: parse_ranking(reply, reply.count("[")),
    **dict.fromkeys(
        ("choose", "choose_yes_no", "judge_and_choose", "judge_and_choose_yes_no"), partial(parse_passage_ids, count=3)
    ),
    "candidates": partial(parse_candidates, limit=2),
    "answer_choices": partial(parse_choice, candidates=["Rohrau", "Vienna"]),
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
    "max_steps": "5",
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
    # The prompt of agent has its variables in several messages.
    names = [*variables, *(("question", "passages", "step") if prompt == "agent" else ())]
    inputs: dict[str, Any] = {name: all_inputs[name] for name in names}
    values = {name: v if isinstance(v, str) else format_list(v) for name, v in inputs.items() if name in variables}
    values.pop("passages", None)
    text = render_prompt(
        prompt, **values | ({"passages": format_passages(passages)} if "passages" in variables else {})
    ).text
    return HumanMessage(text, additional_kwargs={"quorum": {"prompt": prompt, "inputs": inputs, "sample": 0}})


async def write_offline(prompt: str, inputs: Mapping[str, Any], sampler: Sampler) -> str:
    """The reader's reply to a prompt with these inputs."""
    offline = PROMPTS[prompt].offline
    assert callable(offline)
    return await offline(inputs, sampler)


async def reply(
    prompt: str, question: str = BIRTH_QUESTION, passages: list[Passage] = PASSAGES, **settings: Any
) -> AIMessage:
    """The embedded reader's reply to a prompt."""
    return await EmbeddedReader().ainvoke([make_message(prompt, question, passages)], **settings)
