"""The reader's replies to the prompts answer, answer_candidates, pruning and summary, and what all replies share.

An extractive reader finds spans, keeps or drops passages and picks sentences; it knows nothing by itself. Each prompt
has one function of the same name, (inputs, sampler) -> reply, which replies in the form that the prompt asks for. The
functions of the other prompts are in replies_NAME.py. `inputs` holds the values of the prompt's variables; `sampler`
chooses one of the spans that the reader found.
"""

import asyncio
import hashlib
import math
import random
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from quorum.core.citation_marks import strip_marks
from quorum.core.sentences import find_sentences
from quorum.core.state import Passage
from quorum.core.text import normalize
from quorum.models.embedded import read_manifest
from quorum.models.embedded.batching import read_passages
from quorum.models.embedded.reading import Calibration, Reading, Span

UNKNOWN = "Unknown"
MAX_WORDS = 4  # of the spans that are preferred, see `find_preferred_span`
LEAD_OF_LONG_SPAN = 1.0  # log-odds by which a longer span must be better
# A span that is only such a word is no answer: a label in the text, or a part of "no limit".
NO_ANSWERS = ("answer", "question", "yes", "no")
LABEL_WITH_COLON = re.compile(r"\b(answer|question)[*_\"'`]*[ \t]*[:：]", re.IGNORECASE)


@dataclass(frozen=True)
class Sampler:
    """Chooses one of a reading's spans, or "Unknown" (see `choose`).

    temperature, top_p: as for any language model; seed: with an equal seed, random choices are equal.
    """

    temperature: float = 0.0
    top_p: float = 1.0
    seed: str = ""

    def choose(self, reading: Reading, threshold: float) -> str:
        """The text of the chosen span, or "Unknown".

        At temperature 0 it is the preferred span if the reading's probability is at least the threshold. At a higher
        temperature, two random draws decide: first whether there is an answer, then which span it is. The temperature
        flattens the odds of both draws; a low temperature acts almost like 0.
        """
        spans = [span for span in reading.spans if normalize(span.text) not in NO_ANSWERS]
        if not spans:
            return UNKNOWN
        if self.temperature <= 0:
            return join_lines(find_preferred_span(spans).text) if reading.probability >= threshold else UNKNOWN
        threshold_log_odds = math.log(threshold / (1 - threshold)) if 0 < threshold < 1 else 0.0
        rng = random.Random(int(hashlib.sha256(self.seed.encode()).hexdigest()[:16], 16))
        if self.sample([(reading.score - threshold_log_odds, "known"), (0.0, UNKNOWN)], rng) == UNKNOWN:
            return UNKNOWN
        return self.sample([(span.score, join_lines(span.text)) for span in spans], rng)

    def sample(self, choices: list[tuple[float, str]], rng: random.Random) -> str:
        """Draw one of the choices (score, text). Their probabilities are the softmax of score / temperature; only the
        most probable choices, which together reach `top_p`, can be drawn (nucleus sampling).
        """
        ranked = sorted(choices, key=lambda choice: -choice[0])
        weights = [math.exp(max(-700.0, (score - ranked[0][0]) / self.temperature)) for score, _ in ranked]
        total_weight, nucleus_weight, nucleus_size = sum(weights), 0.0, 0
        while nucleus_size < len(weights) and (nucleus_size == 0 or nucleus_weight / total_weight < self.top_p):
            nucleus_weight += weights[nucleus_size]
            nucleus_size += 1
        return rng.choices([text for _, text in ranked[:nucleus_size]], weights[:nucleus_size])[0]


def find_preferred_span(spans: Sequence[Span]) -> Span:
    """The best span of at most MAX_WORDS words (articles and punctuation aside); the best span of all if none is so
    short, or if it is clearly better (by more than LEAD_OF_LONG_SPAN). spans: at least one, best first.
    """
    short_span = next((span for span in spans if len(normalize(span.text).split()) <= MAX_WORDS), spans[0])
    return spans[0] if spans[0].score - short_span.score > LEAD_OF_LONG_SPAN else short_span


def join_lines(text: str) -> str:
    """The text on one line, as the parsers of replies require."""
    return " ".join(text.split())


def remove_label_colons(text: str) -> str:
    """Quoted text without the colons of "Answer:" and "Question:", which would end the rationale."""
    return LABEL_WITH_COLON.sub(r"\1", text)


Inputs = Mapping[str, Any]
Responder = Callable[[Inputs, Sampler], Awaitable[str]]


def get_calibration() -> Calibration:
    return Calibration.from_manifest(read_manifest())


def get_threshold(passages: list[Passage]) -> float:
    """The lowest probability at which the reader answers: one threshold for a single passage, another for several."""
    calibration = get_calibration()
    return calibration.threshold_one_passage if len(passages) == 1 else calibration.threshold_several_passages


async def answer(inputs: Inputs, sampler: Sampler) -> str:
    """The best span over all passages, read together, or "Unknown" if it is not certain enough."""
    passages = inputs["passages"]
    return sampler.choose((await read_passages(inputs["question"], passages)).reading, get_threshold(passages))


async def answer_candidates(inputs: Inputs, sampler: Sampler) -> str:
    """As `answer`, but a span gets a bonus if it is one of the candidates: the answers found in single passages."""
    candidate_keys = {normalize(candidate) for candidate in inputs["candidates"]}
    reading = (await read_passages(inputs["question"], inputs["passages"])).reading
    bonus = get_calibration().candidate_bonus
    spans = [replace(s, score=s.score + bonus) if normalize(s.text) in candidate_keys else s for s in reading.spans]
    spans.sort(key=lambda span: -span.score)
    best_score = spans[0].score if spans else reading.score
    return sampler.choose(Reading(spans, best_score), get_threshold(inputs["passages"]))


async def read_each(question: str, passages: list[Passage]) -> list[Reading]:
    """The reading of each passage, in order; each passage is read alone."""
    results = await asyncio.gather(*(read_passages(question, [passage]) for passage in passages))
    return [result.reading for result in results]


async def pruning(inputs: Inputs, sampler: Sampler) -> str:
    """Reads each passage alone, rules out those without an answer, and reads the others together."""
    question, passages = inputs["question"], inputs["passages"]
    readings = await read_each(question, passages)
    threshold = get_calibration().threshold_one_passage
    kept_indexes = [n for n, reading in enumerate(readings) if reading.probability >= threshold]
    if not kept_indexes:
        return f"Rationale: No passage answers the question.\nAnswer: {UNKNOWN}"
    kept_passages = [passages[n] for n in kept_indexes]
    reading = (await read_passages(question, kept_passages)).reading
    chosen_answer = sampler.choose(reading, get_threshold(kept_passages))
    ruled_out = ", ".join(str(n + 1) for n in range(len(passages)) if n not in kept_indexes)
    ruled_out_sentence = f"Passages that do not answer the question, by number: {ruled_out}. " if ruled_out else ""
    kept_numbers = ", ".join(str(n + 1) for n in kept_indexes)
    rationale = f"{ruled_out_sentence}Passages that remain: {kept_numbers}."
    return f"Rationale: {rationale}\nAnswer: {remove_label_colons(chosen_answer)}"


async def summary(inputs: Inputs, sampler: Sampler) -> str:
    """Takes the three passages with the best spans, picks from each the sentence with its best span, and reads the
    answer from these sentences.
    """
    question, passages = inputs["question"], inputs["passages"]
    readings = await read_each(question, passages)
    ranked = [(reading.score, n, reading.spans[0]) for n, reading in enumerate(readings) if reading.spans]
    ranked.sort(key=lambda item: (-item[0], item[1]))
    numbered_sentences = sorted((n, find_sentence(passages[n]["text"], span)) for _, n, span in ranked[:3])
    text = " ".join(sentence for _, sentence in numbered_sentences)
    if not text:
        return f"Rationale: The passages say nothing.\nAnswer: {UNKNOWN}"
    _, best_passage, _ = ranked[0]
    summary_passage = Passage(id="summary", title=passages[best_passage]["title"], text=text)
    reading = (await read_passages(question, [summary_passage])).reading
    chosen_answer = sampler.choose(reading, get_calibration().threshold_one_passage)
    quotes = " ".join(f"Passage {n + 1} says: {sentence}" for n, sentence in numbered_sentences)
    return f"Rationale: {remove_label_colons(quotes)}\nAnswer: {remove_label_colons(chosen_answer)}"


def cite(sentence: str, number: int) -> str:
    """A sentence of a passage with the passage's number, before the full stop if it ends with one.

    Marks that the passage itself has are left out: its numbers are not those of the prompt.

    >>> cite("It opened in 1874.[5]", 2)
    'It opened in 1874 [2].'
    """
    text = join_lines(strip_marks(sentence)).rstrip()
    body = text[:-1] if text.endswith((".", "!", "?")) and not text.endswith("..") else text
    return f"{body} [{number}]{text[len(body) :]}"


def find_sentence(text: str, span: Span) -> str:
    """The sentence of a passage's text in which the span begins, on one line; the whole text if there is none."""
    for start, end in find_sentences(text):
        if start <= span.start < end:
            return join_lines(text[start:end])
    return join_lines(text)
