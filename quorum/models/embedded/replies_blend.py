"""The reader's replies to the prompts of BlendFilter and of few-shot answering.

A chain of thought is the sentence that contains the answer; a judgement reads each passage alone. The reader has no
knowledge of its own, and says so.
"""

import re

from quorum.core.sentences import make_word_set
from quorum.core.state import Passage
from quorum.models.embedded import judging
from quorum.models.embedded.batching import read_passages
from quorum.models.embedded.reading import Reading
from quorum.models.embedded.replies import (
    UNKNOWN,
    Inputs,
    Responder,
    Sampler,
    answer,
    find_sentence,
    get_calibration,
    get_threshold,
    join_lines,
    read_each,
    remove_label_colons,
)

ANSWER_IN_CONCLUSION = re.compile(r"(?<=so the )answer (?=is\b)", re.IGNORECASE)
STATED_CONCLUSION = re.compile(r".*\bso the answer is[ \t]*[:：]?[ \t]*(?P<answer>[^\n]+)", re.IGNORECASE | re.DOTALL)
VERDICT = re.compile(r"(?:yes|no|unknown)\b", re.IGNORECASE)
FUNCTION_WORDS = make_word_set(
    """a an and any are as at be been by can could did do does for from had has have her his how in into is it its
    many may might much must of on or shall should that the their them there these they this those to was were what
    when where which who whom whose why will with would you your"""
)


async def reason(inputs: Inputs, sampler: Sampler) -> str:
    """The sentence that holds the best span over all passages, then the span."""
    passages = inputs["passages"]
    reading = (await read_passages(inputs["question"], passages)).reading
    chosen = sampler.choose(reading, get_threshold(passages))
    span = next((span for span in reading.spans if join_lines(span.text) == chosen), None)
    if span is None:
        return write_conclusion("The passages do not tell.", UNKNOWN)
    return write_conclusion(find_sentence(passages[span.passage]["text"], span), chosen)


async def reason_yes_no(inputs: Inputs, sampler: Sampler) -> str:
    """The sentence that holds the best span, then the likeliest of yes, no and unknown."""
    question, passages = inputs["question"], inputs["passages"]
    spans = (await read_passages(question, passages)).reading.spans
    said = await choose_verdict(question, passages)
    if not spans or said == UNKNOWN:
        return write_conclusion("The passages do not settle it.", said)
    return write_conclusion(find_sentence(passages[spans[0].passage]["text"], spans[0]), said)


def write_conclusion(thought: str, said: str) -> str:
    """A chain of thought and its conclusion.

    "So the answer is" in the quoted thought becomes "So the reply is", so that only the last sentence states an answer.
    """
    quoted = ANSWER_IN_CONCLUSION.sub("reply ", remove_label_colons(join_lines(thought)))
    return f"{quoted} So the answer is {remove_label_colons(said)}."


async def choose_verdict(question: str, passages: list[Passage]) -> str:
    verdict = await judging.judge_yes_no(question, passages)
    return max((verdict.unknown, UNKNOWN), (verdict.yes, "Yes"), (verdict.no, "No"))[1]


async def direct_yes_no(inputs: Inputs, sampler: Sampler) -> str:
    """The likeliest of yes, no and unknown."""
    return await choose_verdict(inputs["question"], inputs["passages"])


async def write_unknown(inputs: Inputs, sampler: Sampler) -> str:
    """Unknown: the reader knows nothing that is not in the passages."""
    return UNKNOWN


async def write_unknown_conclusion(inputs: Inputs, sampler: Sampler) -> str:
    return write_conclusion("Without a passage nothing can be told.", UNKNOWN)


async def extract_answer(inputs: Inputs, sampler: Sampler) -> str:
    """The answer that the reasoning states, else the best span in it."""
    reasoning = inputs["reasoning"]
    if stated := STATED_CONCLUSION.match(reasoning):
        return join_lines(stated["answer"]).removesuffix(".") or UNKNOWN
    passage = Passage(id="reasoning", title="", text=reasoning)
    return await answer({"question": inputs["question"], "passages": [passage]}, sampler)


async def extract_answer_yes_no(inputs: Inputs, sampler: Sampler) -> str:
    """The verdict that the reasoning states, else the one that the reader finds in it."""
    reasoning = inputs["reasoning"]
    stated = STATED_CONCLUSION.match(reasoning)
    if stated and (said := VERDICT.match(stated["answer"])):
        return said[0].capitalize()
    return await choose_verdict(inputs["question"], [Passage(id="reasoning", title="", text=reasoning)])


async def topic(inputs: Inputs, sampler: Sampler) -> str:
    """The content words of the question."""
    words = re.findall(r"[^\W_]+(?:[-'’][^\W_]+)*", inputs["question"])
    content_words = [word for word in words if word.lower() not in FUNCTION_WORDS]
    return " ".join(content_words[:8] or words[:8]) or "anything"


async def find_helpful(inputs: Inputs) -> list[tuple[int, Reading]]:
    """(number from 1, reading) of each passage that answers alone."""
    readings = await read_each(inputs["question"], inputs["passages"])
    return [
        (n, reading)
        for n, reading in enumerate(readings, start=1)
        if reading.probability >= get_calibration().threshold_one_passage
    ]


async def judge(inputs: Inputs, sampler: Sampler) -> str:
    """A line for each passage: its number and the sentence that may answer."""
    found, passages = dict(await find_helpful(inputs)), inputs["passages"]
    lines = [
        f"Passage {n}: relevant. {find_sentence(passage['text'], found[n].spans[0])}"
        if n in found
        else f"Passage {n}: not relevant."
        for n, passage in enumerate(passages, start=1)
    ]
    return "\n".join(map(remove_label_colons, lines)) or "There is no passage."


async def choose(inputs: Inputs, sampler: Sampler) -> str:
    """The numbers of the passages that answer alone."""
    return ", ".join(str(n) for n, _ in await find_helpful(inputs)) or "none"


async def judge_and_choose(inputs: Inputs, sampler: Sampler) -> str:
    return f"{await judge(inputs, sampler)}\nRelevant passages: {await choose(inputs, sampler)}"


RESPONDERS: dict[str, Responder] = {
    "direct": answer,
    "direct_yes_no": direct_yes_no,
    "direct_from_memory": write_unknown,
    "direct_from_memory_yes_no": write_unknown,
    "reason": reason,
    "reason_yes_no": reason_yes_no,
    "reason_from_memory": write_unknown_conclusion,
    "reason_from_memory_yes_no": write_unknown_conclusion,
    "extract_answer": extract_answer,
    "extract_answer_yes_no": extract_answer_yes_no,
    "internal": write_unknown,
    "topic": topic,
    "judge": judge,
    "judge_yes_no": judge,
    "choose": choose,
    "choose_yes_no": choose,
    "judge_and_choose": judge_and_choose,
    "judge_and_choose_yes_no": judge_and_choose,
}
