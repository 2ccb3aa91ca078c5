"""Judgements of the embedded model: which sentences help to answer a question, and yes or no."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from quorum.core.state import Passage
from quorum.core.text import find_sentences
from quorum.models.embedded import FOLDER, manifest
from quorum.models.embedded.batching import WORKER
from quorum.models.embedded.encoder import Encoder, encoder
from quorum.models.embedded.heads import Members, SentenceHead, Verdict, pooled, sentence_head, verdict_head
from quorum.models.embedded.reading import Window, windows

__all__ = ["Verdict", "filter_threshold", "sentence_probabilities", "verdict"]

Scored = tuple[int, int, float]  # (start, end, probability) of a sentence in its passage's text


async def sentence_probabilities(
    question: str, passages: Sequence[Passage], folder: Path = FOLDER
) -> list[list[Scored]]:
    """The sentences of each passage, in order, each with the probability (0..1) that it helps to answer the question.

    Each passage is read alone. If a sentence is cut between two windows, the better of its parts counts.
    `folder`: the filter to use instead of the built-in one.
    """
    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(WORKER, lambda: judged(question, passages, encoder(), sentence_head(folder)))


async def filter_threshold(folder: Path = FOLDER) -> float:
    """The lowest probability of a kept sentence, fitted on questions that no reported figure uses."""
    return (await asyncio.get_running_loop().run_in_executor(WORKER, sentence_head, folder)).threshold


async def verdict(question: str, passages: Sequence[Passage]) -> Verdict:
    """Whether the passages, read together, say yes to the question, say no, or do not settle it."""
    return await asyncio.get_running_loop().run_in_executor(WORKER, lambda: settled(question, passages, encoder()))


def judged(question: str, passages: Sequence[Passage], model: Encoder, head: SentenceHead) -> list[list[Scored]]:
    """As `sentence_probabilities`; blocking."""
    places = [find_sentences(passage["text"]) for passage in passages]
    made = [
        (number, window)
        for number, passage in enumerate(passages)
        for window in windows(model, question, [passage], manifest()["calibration"]["window"])
    ]
    states = model.hidden([window.ids for _, window in made], [window.types for _, window in made])
    found = head.probabilities(states, [members(window, places[number]) for number, window in made])
    best = [np.zeros(len(own), np.float32) for own in places]
    for (number, _), probabilities in zip(made, found, strict=True):
        best[number] = np.maximum(best[number], probabilities)
    return [
        [(start, end, float(chance)) for (start, end), chance in zip(own, chances, strict=True)]
        for own, chances in zip(places, best, strict=True)
    ]


def members(window: Window, places: Sequence[tuple[int, int]]) -> Members:
    """Which tokens of the window belong to which sentence of its one passage."""
    out = np.zeros((len(places), len(window.ids)), np.float32)
    for at, token in enumerate(window.tokens, start=window.first):
        if token is not None:
            for number, (start, end) in enumerate(places):
                if start <= token.start < end:
                    out[number, at] = 1
                    break
    return Members(out)


def settled(question: str, passages: Sequence[Passage], model: Encoder) -> Verdict:
    """As `verdict`; blocking. Unknown if there is no word to read."""
    made = windows(model, question, passages, manifest()["calibration"]["window"], packed=True)
    if not made or not passages:
        return Verdict(0.0, 0.0, 1.0)
    states = model.hidden([window.ids for window in made], [window.types for window in made])
    return verdict_head().verdict(pooled(states))
