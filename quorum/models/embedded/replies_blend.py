"""The reader's replies to the prompts of BlendFilter and of few-shot answering.

Its chain of thought is the sentence that contains the answer. To judge passages, it reads each passage alone. Where a
prompt asks for the model's own knowledge, it replies unknown, because it has none.
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
    """The sentence that holds the chosen span, then the span as the answer; if no span is chosen, unknown."""
    passages = inputs["passages"]
    reading = (await read_passages(inputs["question"], passages)).reading
    chosen_answer = sampler.choose(reading, get_threshold(passages))
    span = next((span for span in reading.spans if join_lines(span.text) == chosen_answer), None)
    if span is None:
        return write_conclusion("The passages do not tell.", UNKNOWN)
    return write_conclusion(find_sentence(passages[span.passage]["text"], span), chosen_answer)


async def reason_yes_no(inputs: Inputs, sampler: Sampler) -> str:
    """The sentence that holds the best span, then the verdict: yes, no or unknown.

    If there is no span, or if the verdict is unknown, "The passages do not settle it." replaces the sentence.
    """
    question, passages = inputs["question"], inputs["passages"]
    spans = (await read_passages(question, passages)).reading.spans
    verdict = await choose_verdict(question, passages)
    if not spans or verdict == UNKNOWN:
        return write_conclusion("The passages do not settle it.", verdict)
    return write_conclusion(find_sentence(passages[spans[0].passage]["text"], spans[0]), verdict)


def write_conclusion(thought: str, answer_text: str) -> str:
    """A chain of thought and its conclusion, "So the answer is ANSWER_TEXT."

    "So the answer is" in the quoted thought becomes "So the reply is", so that only the last sentence states an answer.
    """
    quoted = ANSWER_IN_CONCLUSION.sub("reply ", remove_label_colons(join_lines(thought)))
    return f"{quoted} So the answer is {remove_label_colons(answer_text)}."


async def choose_verdict(question: str, passages: list[Passage]) -> str:
    """The likeliest of yes, no and unknown, judged by all passages together."""
    probabilities = await judging.judge_yes_no(question, passages)
    return max((probabilities.unknown, UNKNOWN), (probabilities.yes, "Yes"), (probabilities.no, "No"))[1]


async def answer_yes_no(inputs: Inputs, sampler: Sampler) -> str:
    """The likeliest of yes, no and unknown."""
    return await choose_verdict(inputs["question"], inputs["passages"])


async def write_unknown(inputs: Inputs, sampler: Sampler) -> str:
    """Unknown: the reader knows nothing that is not in the passages."""
    return UNKNOWN


async def write_unknown_conclusion(inputs: Inputs, sampler: Sampler) -> str:
    """A chain of thought that concludes unknown, for a prompt without passages."""
    return write_conclusion("Without a passage nothing can be told.", UNKNOWN)


async def extract_answer(inputs: Inputs, sampler: Sampler) -> str:
    """The answer that the reasoning states, else the best span in it."""
    reasoning = inputs["reasoning"]
    if conclusion := STATED_CONCLUSION.match(reasoning):
        return join_lines(conclusion["answer"]).removesuffix(".") or UNKNOWN
    passage = Passage(id="reasoning", title="", text=reasoning)
    return await answer({"question": inputs["question"], "passages": [passage]}, sampler)


async def extract_answer_yes_no(inputs: Inputs, sampler: Sampler) -> str:
    """The verdict that the reasoning states, else the verdict of the reader, which reads the reasoning as a passage."""
    reasoning = inputs["reasoning"]
    conclusion = STATED_CONCLUSION.match(reasoning)
    if conclusion and (verdict := VERDICT.match(conclusion["answer"])):
        return verdict[0].capitalize()
    return await choose_verdict(inputs["question"], [Passage(id="reasoning", title="", text=reasoning)])


async def write_topic(inputs: Inputs, sampler: Sampler) -> str:
    """The first eight content words of the question; if it has none, its first eight words; else "anything"."""
    words = re.findall(r"[^\W_]+(?:[-'’][^\W_]+)*", inputs["question"])
    content_words = [word for word in words if word.lower() not in FUNCTION_WORDS]
    return " ".join(content_words[:8] or words[:8]) or "anything"


async def find_relevant_passages(inputs: Inputs) -> list[tuple[int, Reading]]:
    """(number from 1, reading) of each passage in which the reader finds an answer when it reads this passage alone."""
    readings = await read_each(inputs["question"], inputs["passages"])
    return [
        (n, reading)
        for n, reading in enumerate(readings, start=1)
        if reading.spans and reading.probability >= get_calibration().threshold_one_passage
    ]


async def judge_passages(inputs: Inputs, sampler: Sampler) -> str:
    """A line for each passage: its number, whether it is relevant, and if so, the sentence that holds the answer.

    Without passages, the reply is "There is no passage."
    """
    relevant_readings, passages = dict(await find_relevant_passages(inputs)), inputs["passages"]
    lines = [
        f"Passage {n}: relevant. {find_sentence(passage['text'], relevant_readings[n].spans[0])}"
        if n in relevant_readings
        else f"Passage {n}: not relevant."
        for n, passage in enumerate(passages, start=1)
    ]
    return "\n".join(map(remove_label_colons, lines)) or "There is no passage."


async def choose_passages(inputs: Inputs, sampler: Sampler) -> str:
    """The numbers of the relevant passages, or the word "none"."""
    return ", ".join(str(n) for n, _ in await find_relevant_passages(inputs)) or "none"


async def judge_and_choose_passages(inputs: Inputs, sampler: Sampler) -> str:
    """The judgement of each passage, then the numbers of the relevant ones."""
    return f"{await judge_passages(inputs, sampler)}\nRelevant passages: {await choose_passages(inputs, sampler)}"
