"""Training examples of filters and generators: the prompts that the graph sends and the replies that it should get
(FILCO: Wang et al. 2023, sections 2.3 and 2.4; arXiv:2311.08377).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from quorum.algorithms.filco_measures import Piece, shorten_passages
from quorum.core.errors import SetupError
from quorum.core.state import Passage
from quorum.datasets.silver import SilverLine, read_silver
from quorum.prompts import format_passages, get_version, render_prompt

Kind = Literal["filter", "generator"]
Mode = Literal["filco", "psg"]
GeneratorContext = Literal["silver", "full"]
FILTER_PROMPTS: dict[Mode, str] = {"filco": "filter_sentences", "psg": "filter_passages"}
NO_PIECES = "None"


@dataclass(frozen=True)
class Pair:
    """A prompt as the graph sends it, and the reply to learn."""

    id: str
    prompt: str
    target: str


@dataclass(frozen=True)
class Task:
    """The task to learn.

    mode: what a filter learns to choose, sentences (filco) or whole passages (psg); context: the passages that a
    generator reads.
    """

    kind: Kind
    mode: Mode = "filco"
    context: GeneratorContext = "silver"

    def get_prompt_name(self, line: SilverLine) -> str:
        """The name of the prompt. A generator's prompt depends on the answer type, as in the graph."""
        if self.kind == "filter":
            return FILTER_PROMPTS[self.mode]
        return "answer" if line["answer_type"] == "short" else f"answer_{line['answer_type']}"

    def list_prompt_versions(self, lines: Sequence[SilverLine]) -> dict[str, str]:
        """Name -> version of the prompts in the data."""
        return {name: get_version(name) for name in sorted({self.get_prompt_name(line) for line in lines})}

    def make_pair(self, line: SilverLine, passage_count: int) -> Pair:
        """The example of a line, with the first `passage_count` of its prompt's passages."""
        passages = self.select_passages(line)[:passage_count]
        text = render_prompt(
            self.get_prompt_name(line), question=line["question"], passages=format_passages(passages)
        ).text
        return Pair(line["id"], text, self.make_target(line, passages))

    def select_passages(self, line: SilverLine) -> list[Passage]:
        """The prompt's passages. A generator learns from the silver context or, if that is empty, from passage 1."""
        if self.kind == "filter" or self.context == "full":
            return line["passages"]
        return shorten_passages(line["passages"], list_silver_pieces(line, line["passages"])) or line["passages"][:1]

    def make_target(self, line: SilverLine, passages: Sequence[Passage]) -> str:
        """A generator's reply: the first answer. A filter's: silver sentences, one per line, or passage numbers."""
        if self.kind == "generator":
            return next(answer for answer in line["answers"] if answer.strip())
        pieces = list_silver_pieces(line, passages)
        if self.mode == "psg":
            return ", ".join(map(str, sorted({piece.rank + 1 for piece in pieces}))) or NO_PIECES
        return "\n".join(" ".join(piece.text.split()) for piece in pieces) or NO_PIECES


def list_silver_pieces(line: SilverLine, passages: Sequence[Passage]) -> list[Piece]:
    """The silver pieces in these passages, in reading order."""
    pieces = []
    for span in line["silver"]:
        rank = next((rank for rank, passage in enumerate(passages) if passage["id"] == span["passage"]), None)
        if rank is not None:
            pieces.append(Piece(rank, span["start"], span["end"], passages[rank]["title"], span["text"]))
    return sorted(pieces, key=lambda piece: (piece.rank, piece.start))


def read_lines(path: Path, kind: Kind, limit: int | None = None) -> list[SilverLine]:
    """The silver lines with passages and, for a generator, an answer. Raises `SetupError` if there are none."""
    lines = [line for line in take_first(read_silver(path), limit) if line["passages"]]
    lines = [line for line in lines if kind == "filter" or any(answer.strip() for answer in line["answers"])]
    if not lines:
        raise SetupError(f"{path} holds no question with passages to learn from; check the data it was made of.")
    return lines


def take_first(lines: Iterator[SilverLine], limit: int | None) -> Iterator[SilverLine]:
    for number, line in enumerate(lines):
        if limit is not None and number >= limit:
            return
        yield line


def name_measures(lines: Sequence[SilverLine]) -> str:
    """The name of the measure that made the data; several names with + if it was not the same for all lines."""
    return "+".join(sorted({line["measure"] for line in lines}))
