"""Judgements of the embedded model: which sentences help to answer a question, and whether its answer is yes or no."""

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

    Each passage is read alone. If a sentence is cut between two windows, the part with the higher probability
    counts. `folder`: the folder of the sentence filter, by default the built-in one (see `get_sentence_head`).
    """
    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(
        WORKER, lambda: score_sentences_blocking(question, passages, get_encoder(), get_sentence_head(folder))
    )


async def get_filter_threshold(folder: Path = FOLDER) -> float:
    """The lowest probability with which the sentence filter in `folder` keeps a sentence.

    That of the built-in filter was fitted on questions that are not used in any published score.
    """
    return (await asyncio.get_running_loop().run_in_executor(WORKER, get_sentence_head, folder)).threshold


async def judge_yes_no(question: str, passages: Sequence[Passage]) -> Verdict:
    """The probabilities that the passages, read together, say yes to the question, say no, or do not settle it."""
    return await asyncio.get_running_loop().run_in_executor(
        WORKER, lambda: judge_yes_no_blocking(question, passages, get_encoder())
    )


def score_sentences_blocking(
    question: str, passages: Sequence[Passage], model: Encoder, head: SentenceHead
) -> list[list[ScoredSentence]]:
    """Like `score_sentences`, but blocking."""
    sentences_by_passage = [find_sentences(passage["text"]) for passage in passages]
    windows = [
        (passage_index, window)
        for passage_index, passage in enumerate(passages)
        for window in make_windows(model, question, [passage], read_manifest()["calibration"]["window"])
    ]
    states = model.get_hidden_states([window.ids for _, window in windows], [window.types for _, window in windows])
    window_probabilities = head.compute_probabilities(
        states, [find_sentence_tokens(window, sentences_by_passage[index]) for index, window in windows]
    )
    best_probabilities = [np.zeros(len(sentences), np.float32) for sentences in sentences_by_passage]
    for (index, _), probabilities in zip(windows, window_probabilities, strict=True):
        best_probabilities[index] = np.maximum(best_probabilities[index], probabilities)
    return [
        [(start, end, float(probability)) for (start, end), probability in zip(sentences, probabilities, strict=True)]
        for sentences, probabilities in zip(sentences_by_passage, best_probabilities, strict=True)
    ]


def find_sentence_tokens(window: Window, sentences: Sequence[tuple[int, int]]) -> SentenceTokens:
    """Which tokens of the window belong to which sentence of its one passage. sentences: the (start, end) of each."""
    belongs = np.zeros((len(sentences), len(window.ids)), np.float32)
    for token_index, token in enumerate(window.tokens, start=window.tokens_start):
        if token is not None:
            for sentence_index, (start, end) in enumerate(sentences):
                if start <= token.start < end:
                    belongs[sentence_index, token_index] = 1
                    break
    return SentenceTokens(belongs)


def judge_yes_no_blocking(question: str, passages: Sequence[Passage], model: Encoder) -> Verdict:
    """Like `judge_yes_no`, but blocking. If the question is blank or there are no passages, `unknown` is 1."""
    windows = make_windows(model, question, passages, read_manifest()["calibration"]["window"], packed=True)
    if not windows or not passages:
        return Verdict(0.0, 0.0, 1.0)
    states = model.get_hidden_states([window.ids for window in windows], [window.types for window in windows])
    return get_verdict_head().compute_verdict(pool_states(states))
