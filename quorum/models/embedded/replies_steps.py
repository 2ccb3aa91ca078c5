"""The reader's replies to prompts that go step by step.

The reader cannot decompose a question: react searches once for the whole question, and self_ask gets no follow-up
question. Then it reads the answer from the passages that were found.
"""

from quorum.models.embedded.batching import read_passages
from quorum.models.embedded.replies import (
    UNKNOWN,
    Inputs,
    Responder,
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
    """First a search for the question; then the sentence that contains the answer, and the answer."""
    if inputs["step"] == "1":
        return f"{SEARCH_THOUGHT}\nAction 1: {await react_action(inputs, sampler)}"
    answer_text, evidence = await conclude(inputs, sampler)
    return f"{evidence}\nAction {inputs['step']}: Finish[{balance_brackets(answer_text)}]"


async def react_action(inputs: Inputs, sampler: Sampler) -> str:
    """In the first step a search for the question, then the answer."""
    if inputs["step"] == "1":
        return f"Search[{balance_brackets(join_lines(inputs['question'])) or 'question'}]"
    return f"Finish[{balance_brackets((await conclude(inputs, sampler))[0])}]"


async def conclude(inputs: Inputs, sampler: Sampler) -> tuple[str, str]:
    """The answer over all passages, and the sentence that holds it."""
    question, passages = inputs["question"], inputs["passages"]
    if asks_yes_or_no(inputs):
        answer_text = await choose_verdict(question, passages)
        return answer_text, f"The passages {'do not settle it' if answer_text == UNKNOWN else 'settle it'}."
    reading = (await read_passages(question, passages)).reading
    answer_text = sampler.choose(reading, get_threshold(passages))
    span = next((span for span in reading.spans if join_lines(span.text) == answer_text), None)
    evidence = "The passages do not tell." if span is None else find_sentence(passages[span.passage]["text"], span)
    return remove_label_colons(answer_text), remove_label_colons(evidence)


def asks_yes_or_no(inputs: Inputs) -> bool:
    return str(inputs["kind"]) == "Yes or No"


def balance_brackets(text: str) -> str:
    """The text for use in brackets: without any square brackets if it has more of one kind than of the other."""
    return text if text.count("[") == text.count("]") else text.replace("[", "").replace("]", "").strip()


async def self_ask(inputs: Inputs, sampler: Sampler) -> str:
    """No follow-up question: the reader cannot decompose a question."""
    return "No."


async def self_ask_final(inputs: Inputs, sampler: Sampler) -> str:
    """The best span over the passages, or the likeliest of yes, no and unknown."""
    if asks_yes_or_no(inputs):
        return await choose_verdict(inputs["question"], inputs["passages"])
    return await answer(inputs, sampler)


RESPONDERS: dict[str, Responder] = {
    "react": react,
    "react_action": react_action,
    "self_ask": self_ask,
    "self_ask_answer": answer,
    "self_ask_final": self_ask_final,
}
