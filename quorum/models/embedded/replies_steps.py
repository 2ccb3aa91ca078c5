"""The reader's replies to prompts that go step by step.

The reader cannot decompose a question: react and agent search once for the whole question, and self_ask gets no
follow-up question. Then the reader reads the answer from the passages that were found.
"""

from typing import Self

from quorum.models.embedded.batching import read_passages
from quorum.models.embedded.replies import (
    UNKNOWN,
    Inputs,
    Sampler,
    answer,
    find_sentence,
    get_threshold,
    join_lines,
    remove_label_colons,
)
from quorum.models.embedded.replies_blend import choose_verdict

SEARCH_THOUGHT = "This reader cannot decompose a question, so it searches for the whole question."


async def react(inputs: Inputs, sampler: Sampler) -> str:
    """In the first step a thought and a search for the whole question; in later steps a thought and the answer."""
    if inputs["step"] == "1":
        return f"{SEARCH_THOUGHT}\nAction 1: {await react_action(inputs, sampler)}"
    answer_text, thought = await find_answer_and_thought(inputs, sampler)
    return f"{thought}\nAction {inputs['step']}: Finish[{balance_brackets(answer_text)}]"


async def react_action(inputs: Inputs, sampler: Sampler) -> str:
    """The action alone, without a thought: in the first step a search for the question, in later steps the answer."""
    if inputs["step"] == "1":
        return f"Search[{balance_brackets(join_lines(inputs['question'])) or 'question'}]"
    return f"Finish[{balance_brackets((await find_answer_and_thought(inputs, sampler))[0])}]"


class SearchCall(str):
    """A reply that calls the tool `search` with a query. The text is the thought beside the call."""

    query: str

    def __new__(cls, thought: str, query: str) -> Self:
        reply = super().__new__(cls, thought)
        reply.query = query
        return reply


async def call_search(inputs: Inputs, sampler: Sampler) -> str:
    """In the first turn a call of the search tool for the whole question, unless there are passages already; in later
    turns a thought and the answer. The reader chooses no tools itself: it does what it does for react.
    """
    if inputs["step"] == "1" and not inputs["passages"]:
        return SearchCall(SEARCH_THOUGHT, join_lines(inputs["question"]) or "question")
    answer_text, thought = await find_answer_and_thought(inputs, sampler)
    return f"{thought}\nAnswer: {answer_text}"


async def find_answer_and_thought(inputs: Inputs, sampler: Sampler) -> tuple[str, str]:
    """The answer from all passages, and the thought to write before it.

    The thought is the sentence that contains the answer. If the question is a yes/no question, or if no answer is
    found, the thought only says whether the passages answer the question.
    """
    question, passages = inputs["question"], inputs["passages"]
    if wants_yes_no(inputs):
        answer_text = await choose_verdict(question, passages)
        return answer_text, f"The passages {'do not settle it' if answer_text == UNKNOWN else 'settle it'}."
    reading = (await read_passages(question, passages)).reading
    answer_text = sampler.choose(reading, get_threshold(passages))
    span = next((span for span in reading.spans if join_lines(span.text) == answer_text), None)
    thought = "The passages do not tell." if span is None else find_sentence(passages[span.passage]["text"], span)
    return remove_label_colons(answer_text), remove_label_colons(thought)


def wants_yes_no(inputs: Inputs) -> bool:
    """Whether the prompt's variable `kind`, the form of the answer that it asks for, is "Yes or No"."""
    return str(inputs["kind"]) == "Yes or No"


def balance_brackets(text: str) -> str:
    """The text to write between "[" and "]". If it has not as many "[" as "]", all its square brackets are removed."""
    return text if text.count("[") == text.count("]") else text.replace("[", "").replace("]", "").strip()


async def self_ask(inputs: Inputs, sampler: Sampler) -> str:
    """Says that no follow-up questions are needed, because the reader cannot decompose a question."""
    return "No."


async def self_ask_final(inputs: Inputs, sampler: Sampler) -> str:
    """The best span over the passages, or "Unknown" if it is not certain enough; for a yes/no question the likeliest
    of yes, no and unknown.
    """
    if wants_yes_no(inputs):
        return await choose_verdict(inputs["question"], inputs["passages"])
    return await answer(inputs, sampler)
