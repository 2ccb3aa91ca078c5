"""The reader's replies to the prompts answer, answer_candidates, pruning and summary, and what all replies share.

An extractive reader finds spans, keeps or drops passages and picks sentences; it knows nothing by itself. Each prompt
has one function, (inputs, sampler) -> reply, which replies in the form that the prompt asks for. The functions of the
other prompts are in replies_NAME.py. `sampler` picks one of the spans: the best at temperature 0, else at random by
weight.
"""

import asyncio
import hashlib
import math
import random
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from quorum.core.sentences import find_sentences
from quorum.core.state import Passage
from quorum.core.text import normalize
from quorum.models.embedded import read_manifest
from quorum.models.embedded.batching import read_passages
from quorum.models.embedded.reading import NO_ANSWER, Calibration, Reading, Span

UNKNOWN = "Unknown"
LABELS = ("answer", "question")  # a span that is only such a word is a label in the text, not an answer
SLOT = re.compile(r"\b(answer|question)[*_\"'`]*[ \t]*[:：]", re.IGNORECASE)


@dataclass(frozen=True)
class Sampler:
    """Chooses one of the spans or "unknown": the best at temperature 0; above, at random by weight (see `choose`)."""

    temperature: float = 0.0
    top_p: float = 1.0
    seed: str = ""

    def choose(self, reading: Reading, threshold: float) -> str:
        """The answer, or Unknown. At temperature 0 the threshold decides. Above, the reader first draws whether there
        is an answer, then which one, by odds that the temperature flattens: a low temperature acts almost like 0.
        """
        spans = [span for span in reading.spans if normalize(span.text) not in LABELS]
        if not spans:
            return UNKNOWN
        if self.temperature <= 0:
            return join_lines(spans[0].text) if reading.probability >= threshold else UNKNOWN
        limit = math.log(threshold / (1 - threshold)) if 0 < threshold < 1 else 0.0
        rng = random.Random(int(hashlib.sha256(self.seed.encode()).hexdigest()[:16], 16))
        if self.sample([(reading.score - limit, "known"), (0.0, UNKNOWN)], rng) == UNKNOWN:
            return UNKNOWN
        return self.sample([(span.score, join_lines(span.text)) for span in spans], rng)

    def sample(self, choices: list[tuple[float, str]], rng: random.Random) -> str:
        """One of the choices by the softmax of their scores over the temperature, within the nucleus."""
        ranked = sorted(choices, key=lambda choice: -choice[0])
        weights = [math.exp(max(-700.0, (score - ranked[0][0]) / self.temperature)) for score, _ in ranked]
        total, reached, kept = sum(weights), 0.0, 0
        while kept < len(weights) and (kept == 0 or reached / total < self.top_p):
            reached += weights[kept]
            kept += 1
        return rng.choices([text for _, text in ranked[:kept]], weights[:kept])[0]


def join_lines(text: str) -> str:
    """The text on one line, as the parsers of replies require."""
    return " ".join(text.split())


def remove_label_colons(text: str) -> str:
    """Quoted text without the colons of "Answer:" and "Question:", which would end the rationale."""
    return SLOT.sub(r"\1", text)


Inputs = Mapping[str, Any]
Responder = Callable[[Inputs, Sampler], Awaitable[str]]


def get_calibration() -> Calibration:
    return Calibration.from_manifest(read_manifest())


def get_threshold(passages: list[Passage]) -> float:
    return (
        get_calibration().threshold_one_passage if len(passages) == 1 else get_calibration().threshold_several_passages
    )


async def answer(inputs: Inputs, sampler: Sampler) -> str:
    """The best span over all passages, read together."""
    passages = inputs["passages"]
    return sampler.choose((await read_passages(inputs["question"], passages)).reading, get_threshold(passages))


async def answer_candidates(inputs: Inputs, sampler: Sampler) -> str:
    """As `answer`, but a span gets a bonus if an earlier reading of a single passage found it."""
    names = {normalize(candidate) for candidate in inputs["candidates"]}
    reading = (await read_passages(inputs["question"], inputs["passages"])).reading
    bonus = get_calibration().candidate_bonus
    raised = [replace(s, score=s.score + bonus) if normalize(s.text) in names else s for s in reading.spans]
    raised.sort(key=lambda span: -span.score)
    best = raised[0].score if raised else reading.score
    return sampler.choose(Reading(raised, best), get_threshold(inputs["passages"]))


async def read_each(question: str, passages: list[Passage]) -> list[Reading]:
    """One reading per passage alone."""
    return [
        done.reading for done in await asyncio.gather(*(read_passages(question, [passage]) for passage in passages))
    ]


async def pruning(inputs: Inputs, sampler: Sampler) -> str:
    """Rules out the passages that do not answer alone, and reads the rest together."""
    question, passages = inputs["question"], inputs["passages"]
    readings = await read_each(question, passages)
    limit = get_calibration().threshold_one_passage
    kept = [n for n, reading in enumerate(readings) if reading.probability >= limit]
    if not kept:
        return f"Rationale: No passage answers the question.\nAnswer: {sampler.choose(Reading([], NO_ANSWER), 1.0)}"
    rest = [passages[n] for n in kept]
    chosen = sampler.choose((await read_passages(question, rest)).reading, get_threshold(rest))
    ruled_out = [str(n + 1) for n in range(len(passages)) if n not in kept]
    dropped = f"Passages that do not answer the question, by number: {', '.join(ruled_out)}. " if ruled_out else ""
    left = ", ".join(str(n + 1) for n in kept)
    return f"Rationale: {dropped}Passages that remain: {left}.\nAnswer: {remove_label_colons(chosen)}"


async def summary(inputs: Inputs, sampler: Sampler) -> str:
    """Picks the sentence with the best span of each passage, at most three, and reads the answer from them."""
    question, passages = inputs["question"], inputs["passages"]
    readings = await read_each(question, passages)
    found = [(reading.score, n, reading.spans[0]) for n, reading in enumerate(readings) if reading.spans]
    found.sort(key=lambda item: (-item[0], item[1]))
    picked = sorted((n, find_sentence(passages[n]["text"], span)) for _, n, span in found[:3])
    text = " ".join(sentence for _, sentence in picked)
    if not text:
        return f"Rationale: The passages say nothing.\nAnswer: {UNKNOWN}"
    title = passages[found[0][1]]["title"]
    shown = Passage(id="summary", title=title, text=text)
    chosen = sampler.choose((await read_passages(question, [shown])).reading, get_calibration().threshold_one_passage)
    quotes = " ".join(f"Passage {n + 1} says: {sentence}" for n, sentence in picked)
    return f"Rationale: {remove_label_colons(quotes)}\nAnswer: {remove_label_colons(chosen)}"


def find_sentence(text: str, span: Span) -> str:
    """The sentence that contains the span."""
    for start, end in find_sentences(text):
        if start <= span.start < end:
            return join_lines(text[start:end])
    return join_lines(text)


RESPONDERS: dict[str, Responder] = {
    "answer": answer,
    "answer_candidates": answer_candidates,
    "pruning": pruning,
    "summary": summary,
}
