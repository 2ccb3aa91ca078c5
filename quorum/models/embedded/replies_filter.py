"""The reader's replies to prompts that filter passages, and to prompts for a turn of a conversation or a label."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from quorum.algorithms.filco_measures import Piece
from quorum.cascades.rehearsal import IS_REHEARSAL
from quorum.core.errors import SetupError
from quorum.core.labels import NOT_ENOUGH_INFO, SUPPORTS
from quorum.core.state import Passage
from quorum.models.embedded import FOLDER, judging
from quorum.models.embedded.replies import UNKNOWN, Inputs, Sampler, cite, join_lines

NOTHING_HELPS = "None"
TURN_START = re.compile(r"^[ \t]*[^\W\d_][\w .'-]{0,30}:[ \t]+", re.MULTILINE)


def get_last_turn(question: str) -> str:
    """The last speaker's words if the question is a conversation with lines "Name: words", else the question."""
    turns = list(TURN_START.finditer(question))
    return question[turns[-1].end() :].strip() if len(turns) > 1 else question


async def score_pieces(question: str, passages: Sequence[Passage], folder: Path = FOLDER) -> list[tuple[float, Piece]]:
    """For every sentence, in reading order: (the probability that it helps to answer the question, the sentence)."""
    probabilities = await judging.score_sentences(get_last_turn(question), passages, folder)
    return [
        (probability, Piece(rank, start, end, passages[rank]["title"], passages[rank]["text"][start:end]))
        for rank, scored_sentences in enumerate(probabilities)
        for start, end, probability in scored_sentences
    ]


async def pick_pieces(
    question: str, passages: Sequence[Passage], mode: Literal["psg", "filco"], folder: Path = FOLDER
) -> list[Piece]:
    """The sentences that help to answer the question (mode "filco"), or each passage that contains one, whole ("psg").

    The filter in `folder` decides which sentences help.
    """
    threshold = await judging.get_filter_threshold(folder)
    scored_sentences = await score_pieces(question, passages, folder)
    helpful_sentences = [sentence for probability, sentence in scored_sentences if probability >= threshold]
    if mode == "filco":
        return helpful_sentences
    ranks = {sentence.rank for sentence in helpful_sentences}
    return [Piece(rank, 0, len(p["text"]), p["title"], p["text"]) for rank, p in enumerate(passages) if rank in ranks]


async def filter_sentences(inputs: Inputs, sampler: Sampler) -> str:
    """The sentences that help, copied verbatim, one per line; "None" if no sentence helps."""
    chosen = await pick_pieces(inputs["question"], inputs["passages"], "filco")
    return "\n".join(join_lines(piece.text) for piece in chosen) or NOTHING_HELPS


async def filter_passages(inputs: Inputs, sampler: Sampler) -> str:
    """The numbers of the passages with a sentence that helps, with commas between them; "None" if there are none."""
    chosen = await pick_pieces(inputs["question"], inputs["passages"], "psg")
    return ", ".join(str(piece.rank + 1) for piece in chosen) or NOTHING_HELPS


async def choose_best_pieces(inputs: Inputs, count: int) -> list[Piece]:
    """The sentences that the filter keeps and that are most likely to help, at most `count`, in reading order."""
    scored_sentences = await score_pieces(inputs["question"], inputs["passages"])
    threshold = await judging.get_filter_threshold()
    best = sorted((item for item in scored_sentences if item[0] >= threshold), key=lambda item: -item[0])[:count]
    return sorted((sentence for _, sentence in best), key=lambda sentence: (sentence.rank, sentence.start))


async def answer_dialogue(inputs: Inputs, sampler: Sampler) -> str:
    """The sentence most likely to help; Unknown if the filter keeps none."""
    return " ".join(cite(piece.text, piece.rank + 1) for piece in await choose_best_pieces(inputs, 1)) or UNKNOWN


async def answer_label(inputs: Inputs, sampler: Sampler) -> str:
    """Raises a SetupError: the reader was not trained to recognise refuted claims.

    In a rehearsal, which only counts calls and tokens, it is SUPPORTS if the filter keeps a sentence.
    """
    if IS_REHEARSAL.get():
        return SUPPORTS if await choose_best_pieces(inputs, 1) else NOT_ENOUGH_INFO
    raise SetupError(
        "The embedded reader cannot check claims (answer_type=label), because it only finds text in passages; choose a "
        "chat model, for example --model openai:gpt-4o-mini, or --model openai:NAME with OPENAI_BASE_URL set to the "
        "address of your own server."
    )
