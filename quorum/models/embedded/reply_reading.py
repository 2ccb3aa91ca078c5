"""Reads the short answer in a model's wordy reply: the embedded reader is asked the question over the reply alone.

The reader reads the reply twice, whole and only its beginning, and the scores of the two readings are added. The answer
mostly stands at the beginning, and what follows explains it; the whole reply decides if the beginning does not answer.
"""

import asyncio
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from quorum.core.sentences import find_sentences
from quorum.core.state import Passage
from quorum.core.text import normalize
from quorum.models.embedded import read_manifest
from quorum.models.embedded.batching import WORKER, Job, JobResult, read_jobs, read_passages
from quorum.models.embedded.question_words import is_no_answer
from quorum.models.embedded.reading import Calibration, Reading, Span

FIRST_SENTENCES = 2  # the beginning of a reply
LONGEST_READ = 6000  # characters of a reply that are read
VAGUE_START = re.compile(r"(?:various|several|many|different|multiple|some|numerous|a number of)\b", re.IGNORECASE)
CLAUSE = re.compile(r",?\s+(?:who|which|where|also known as)\s.*\Z", re.DOTALL)
UNCLOSED_BRACKET = re.compile(r"\s*\([^()]*\Z")
GLOSS = re.compile(r"(?<=\w)\s+\([^()]*\)\Z")
QUOTATION_MARKS = '"“”«»'


@dataclass(frozen=True)
class ReadAnswer:
    """An answer that the reader found in a reply. is_sure: whether the reader is as sure as it must be to answer from a
    single passage.
    """

    answer: str
    is_sure: bool


async def read_reply_answer(question: str, reply: str) -> ReadAnswer:
    """The answer to a question in a reply. The encoder runs in its own thread."""
    jobs = make_jobs(question, reply)
    return choose_answer(question, await asyncio.gather(*(read_passages(job.question, job.passages) for job in jobs)))


def read_reply_answer_blocking(question: str, reply: str) -> ReadAnswer:
    """Like `read_reply_answer`, but blocking."""
    return choose_answer(question, WORKER.submit(read_jobs, make_jobs(question, reply)).result())


def make_jobs(question: str, reply: str) -> list[Job]:
    """What the reader reads: the reply and its beginning, each as a passage without a title."""
    text = reply[:LONGEST_READ]
    spans = find_sentences(text)[:FIRST_SENTENCES]
    texts = dict.fromkeys((text, text[spans[0][0] : spans[-1][1]] if spans else text))
    return [Job(question, [Passage(id="reply", title="", text=part)]) for part in texts]


def choose_answer(question: str, results: Sequence[JobResult]) -> ReadAnswer:
    """The best span of the readings together that, tidied, is an answer."""
    calibration = Calibration.from_manifest(read_manifest())
    for text, score in rank_spans([result.reading for result in results]):
        answer = tidy_span(text)
        if answer and not VAGUE_START.match(answer) and not is_no_answer(answer, question):
            return ReadAnswer(answer, Reading([], score).probability >= calibration.threshold_one_passage)
    return ReadAnswer("", is_sure=False)


def rank_spans(readings: Sequence[Reading]) -> Iterator[tuple[str, float]]:
    """The texts of the spans with the mean of their scores, best first.

    A reading without a span gives it a score below that of its worst one.
    """
    spans_of_readings = [{normalize(span.text): span for span in reversed(reading.spans)} for reading in readings]
    lowest_scores = [min((span.score for span in reading.spans), default=0.0) - 1 for reading in readings]
    first_spans: dict[str, Span] = {}
    for spans in spans_of_readings:
        for key, span in spans.items():
            first_spans.setdefault(key, span)
    means = {
        key: sum(
            spans[key].score if key in spans else lowest
            for spans, lowest in zip(spans_of_readings, lowest_scores, strict=True)
        )
        / len(readings)
        for key in first_spans
    }
    for key in sorted(means, key=lambda key: -means[key]):
        yield first_spans[key].text, means[key]


def tidy_span(text: str) -> str:
    """A span up to the end of its sentence or line, without a relative clause, a gloss or an unpaired mark.

    >>> tidy_span("the engineer Ida Brenn (1871-1949), who planned it")
    'the engineer Ida Brenn'
    >>> tidy_span('the "mast'), tidy_span("in Oslo. It was")
    ('the mast', 'in Oslo')
    """
    line = text.strip().partition("\n")[0]
    sentences = find_sentences(line)
    answer = line[slice(*sentences[0])] if sentences else ""
    answer = GLOSS.sub("", UNCLOSED_BRACKET.sub("", CLAUSE.sub("", answer)).rstrip(" ,;:"))
    if sum(answer.count(mark) for mark in QUOTATION_MARKS) % 2:
        answer = answer.translate(str.maketrans("", "", QUOTATION_MARKS))
    answer = answer.strip(" \t\n.,;:*")
    return answer.strip(QUOTATION_MARKS) if answer[:1] in QUOTATION_MARKS and answer[-1:] in QUOTATION_MARKS else answer
