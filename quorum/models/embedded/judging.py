"""Judgements of the embedded model: which sentences help to answer a question, and yes or no."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from quorum.core.state import Passage
from quorum.core.text import find_sentences
from quorum.models.embedded import FOLDER, read_manifest
from quorum.models.embedded.batching import WORKER
from quorum.models.embedded.encoder import Encoder, get_encoder
from quorum.models.embedded.heads import (
    SentenceHead,
    SentenceTokens,
    Verdict,
    get_sentence_head,
    get_verdict_head,
    pool_states,
)
from quorum.models.embedded.reading import Window, make_windows

__all__ = ["Verdict", "get_filter_threshold", "judge_yes_no", "score_sentences"]

ScoredSentence = tuple[int, int, float]  # (start, end, probability) of a sentence in its passage's text


async def score_sentences(
    question: str, passages: Sequence[Passage], folder: Path = FOLDER
) -> list[list[ScoredSentence]]:
    """The sentences of each passage, in order, each with the probability (0..1) that it helps to answer the question.

    Each passage is read alone. If a sentence is cut between two windows, the better of its parts counts.
    `folder`: the filter to use instead of the built-in one.
    """
    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(
        WORKER, lambda: score_sentences_blocking(question, passages, get_encoder(), get_sentence_head(folder))
    )


async def get_filter_threshold(folder: Path = FOLDER) -> float:
    """The lowest probability of a kept sentence. It was fitted on questions that no published score was measured on."""
    return (await asyncio.get_running_loop().run_in_executor(WORKER, get_sentence_head, folder)).threshold


async def judge_yes_no(question: str, passages: Sequence[Passage]) -> Verdict:
    """Whether the passages, read together, say yes to the question, say no, or do not settle it."""
    return await asyncio.get_running_loop().run_in_executor(
        WORKER, lambda: judge_yes_no_blocking(question, passages, get_encoder())
    )


def score_sentences_blocking(
    question: str, passages: Sequence[Passage], model: Encoder, head: SentenceHead
) -> list[list[ScoredSentence]]:
    """As `score_sentences`; blocking."""
    places = [find_sentences(passage["text"]) for passage in passages]
    windows = [
        (number, window)
        for number, passage in enumerate(passages)
        for window in make_windows(model, question, [passage], read_manifest()["calibration"]["window"])
    ]
    states = model.hidden([window.ids for _, window in windows], [window.types for _, window in windows])
    found = head.probabilities(states, [find_sentence_tokens(window, places[number]) for number, window in windows])
    best = [np.zeros(len(own), np.float32) for own in places]
    for (number, _), probabilities in zip(windows, found, strict=True):
        best[number] = np.maximum(best[number], probabilities)
    return [
        [(start, end, float(chance)) for (start, end), chance in zip(own, chances, strict=True)]
        for own, chances in zip(places, best, strict=True)
    ]


def find_sentence_tokens(window: Window, places: Sequence[tuple[int, int]]) -> SentenceTokens:
    """Which tokens of the window belong to which sentence of its one passage."""
    out = np.zeros((len(places), len(window.ids)), np.float32)
    for at, token in enumerate(window.tokens, start=window.first):
        if token is not None:
            for number, (start, end) in enumerate(places):
                if start <= token.start < end:
                    out[number, at] = 1
                    break
    return SentenceTokens(out)


def judge_yes_no_blocking(question: str, passages: Sequence[Passage], model: Encoder) -> Verdict:
    """As `judge_yes_no`; blocking. Unknown if the question is blank, or if there are no passages."""
    windows = make_windows(model, question, passages, read_manifest()["calibration"]["window"], packed=True)
    if not windows or not passages:
        return Verdict(0.0, 0.0, 1.0)
    states = model.hidden([window.ids for window in windows], [window.types for window in windows])
    return get_verdict_head().verdict(pool_states(states))
