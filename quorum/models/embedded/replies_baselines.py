"""The reader's replies to the prompts of the methods that the SuRe paper compares with (its baselines).

The reader only extracts. Its chain of thought is the sentence that contains the answer. It ranks passages by how
certain an answer from each passage alone is. Its notes are sentences of the passages. Self-verification asks for a
statement in which one part of the question, the condition, is hidden. The reader cannot write a statement: it quotes
the question and masks a name, a number or the longest content word in it. To recover the condition, it reads the masked
statement as a question.
"""

import re
from dataclasses import replace

from quorum.core.state import Passage
from quorum.core.text import normalize
from quorum.models.embedded.batching import read_passages
from quorum.models.embedded.reading import SEPARATOR, Reading
from quorum.models.embedded.replies import (
    UNKNOWN,
    Inputs,
    Sampler,
    find_sentence,
    get_calibration,
    get_threshold,
    join_lines,
    read_each,
    remove_label_colons,
)
from quorum.models.embedded.replies_blend import FUNCTION_WORDS

MAX_SPAN_WORDS = 3  # a span of more words is not short, see `keep_short_spans`
MAX_NOTES = 5  # sentences; the oldest notes are kept, and further ones are dropped
NO_NOTES = "Nothing so far."
MASK = "[MASK]"
NAME = re.compile(r"\b[A-Z][\w'’-]*(?:[ ](?:(?:of|the|de|von|van|and)[ ]){0,2}[A-Z][\w'’-]*){0,6}")
NUMBER = re.compile(r"\b\d[\d,.]*\b")
# A statement as `mask_condition` writes it. Group 1: the question without its first word; group 2: the answer.
MASKED_STATEMENT = re.compile(r'\AThe answer to "(?:\w+ )?(.*)" is (.*)\.\Z')
WORD = re.compile(r"[^\W_]+(?:[-'’][^\W_]+)*")


def keep_short_spans(reading: Reading) -> Reading:
    """The reading with only its spans of at most three words; with all its spans if none is so short."""
    return replace(
        reading, spans=[span for span in reading.spans if len(span.text.split()) <= MAX_SPAN_WORDS] or reading.spans
    )


async def answer_base(inputs: Inputs, sampler: Sampler) -> str:
    """The best short span over all passages, read together."""
    passages = inputs["passages"]
    return sampler.choose(
        keep_short_spans((await read_passages(inputs["question"], passages)).reading), get_threshold(passages)
    )


async def zero_shot_cot(inputs: Inputs, sampler: Sampler) -> str:
    """The rationale is the sentence that contains the best short span over all passages; the answer is this span."""
    passages = inputs["passages"]
    reading = keep_short_spans((await read_passages(inputs["question"], passages)).reading)
    chosen = sampler.choose(reading, get_threshold(passages))
    span = next((span for span in reading.spans if join_lines(span.text) == chosen), None)
    if span is None:
        return f"Rationale: The passages do not tell.\nAnswer: {UNKNOWN}"
    quote = f"Passage {span.passage + 1} says: {find_sentence(passages[span.passage]['text'], span)}"
    return f"Rationale: {remove_label_colons(quote)}\nAnswer: {remove_label_colons(chosen)}"


async def rank_passages(inputs: Inputs, sampler: Sampler) -> str:
    """The passages' numbers, ordered by how certain the answer from each passage alone is; ties keep their order."""
    readings = await read_each(inputs["question"], inputs["passages"])
    order = sorted(range(len(readings)), key=lambda place: -readings[place].score)
    return " > ".join(f"[{place + 1}]" for place in order) or "none"


async def inference(inputs: Inputs, sampler: Sampler) -> str:
    """Adds to the notes, for each passage with an answer, the sentence that contains the best span. The answer is the
    best short span of the notes.
    """
    question, passages = inputs["question"], inputs["passages"]
    lines = [] if inputs["notes"] in ("", NO_NOTES) else inputs["notes"].split("\n")
    for passage, reading in zip(passages, await read_each(question, passages), strict=True):
        if reading.spans and reading.probability >= get_calibration().threshold_one_passage:
            heading = join_lines(passage["title"]) + SEPARATOR if passage["title"] else ""
            lines.append(remove_label_colons(heading + find_sentence(passage["text"], reading.spans[0])))
    notes = "\n".join(list(dict.fromkeys(lines))[:MAX_NOTES])
    note_passages = [Passage(id="notes", title="", text=notes)] if notes else []
    chosen = sampler.choose(
        keep_short_spans((await read_passages(question, note_passages)).reading),
        get_calibration().threshold_one_passage,
    )
    return f"Notes: {notes or NO_NOTES}\nAnswer: {remove_label_colons(chosen)}"


async def mask_condition(inputs: Inputs, sampler: Sampler) -> str:
    """Quotes the question and hides a condition in it: a name, else a number, else its longest content word. If the
    question has no condition other than the answer, nothing is hidden.
    """
    question, answer = join_lines(inputs["question"]), join_lines(inputs["answer"])
    condition = next(
        (part for part in find_conditions(question) if normalize(part) not in ("", normalize(answer))), None
    )
    if condition is None:
        return (
            f'Statement: "{remove_label_colons(question)}" is answered by: {remove_label_colons(answer)}.\nHidden: none'
        )
    masked_question = re.sub(rf"(?<!\w){re.escape(condition)}(?!\w)", MASK, question)
    statement = f'The answer to "{remove_label_colons(masked_question)}" is {remove_label_colons(answer)}.'
    return f"Statement: {statement}\nHidden: {condition}"


def find_conditions(question: str) -> list[str]:
    """The parts of a question that may be hidden: names, then numbers, then content words, the longest first."""
    opening, _, rest = question.partition(" ")
    # In "Which Nobel Prize", the name begins after "Which".
    capitalized = NAME.findall(rest if opening.lower() in FUNCTION_WORDS else question)
    names = [name for name in capitalized if name.lower() not in FUNCTION_WORDS]
    words = [word for word in WORD.findall(question) if word.lower() not in FUNCTION_WORDS]
    return [*names, *NUMBER.findall(question), *sorted(words, key=len, reverse=True)]


async def recover_condition(inputs: Inputs, sampler: Sampler) -> str:
    """Reads the statement as a question. The reply is the best span of all passages that is not in the statement."""
    passages, statement_words = inputs["passages"], f" {normalize(inputs['statement'])} "
    question = MASKED_STATEMENT.sub(r"\1 \2", inputs["statement"]).replace(MASK, "what")
    reading = (await read_passages(question, passages)).reading
    spans = [span for span in reading.spans if f" {normalize(span.text)} " not in statement_words]
    return sampler.choose(replace(reading, spans=spans), get_threshold(passages))
