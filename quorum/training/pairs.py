"""Makes training examples for FILCO's filters and generators from silver data (Wang et al. 2023, sections 2.3 and 2.4;
arXiv:2311.08377).

A filter chooses the parts of the passages that help; a generator answers from them. An example is a prompt, as the
method's graph sends it to the filter or the generator, with the reply that it should get.
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
from quorum.prompts.escape import escape
from quorum.prompts.filco import FILTER_PROMPTS
from quorum.prompts.post_fusion import ANSWER

Kind = Literal["filter", "generator"]
Mode = Literal["filco", "psg"]
GeneratorContext = Literal["silver", "full"]
NO_PIECES = "None"  # the reply of a filter that chooses nothing


@dataclass(frozen=True)
class Pair:
    """A training example: a prompt as the graph sends it, and `target`, the reply to learn. id: the question's id."""

    id: str
    prompt: str
    target: str


@dataclass(frozen=True)
class TrainingTask:
    """What a model is trained to do.

    kind: whether it becomes a filter or a generator. mode: what a filter learns to choose, sentences (filco) or whole
    passages (psg); context: what a generator reads, only the silver parts of the passages (silver) or the
    whole passages (full).
    """

    kind: Kind
    mode: Mode = "filco"
    context: GeneratorContext = "silver"

    def get_prompt_name(self, line: SilverLine) -> str:
        """The name of the prompt. A generator's prompt depends on the answer type, as in the graph."""
        if self.kind == "filter":
            return FILTER_PROMPTS[self.mode].name
        return ANSWER.for_answer_type(line["answer_type"]).name

    def list_prompt_versions(self, lines: Sequence[SilverLine]) -> dict[str, str]:
        """{name: version} of the prompts that the examples of these lines use."""
        return {name: get_version(name) for name in sorted({self.get_prompt_name(line) for line in lines})}

    def make_pair(self, line: SilverLine, passage_count: int) -> Pair:
        """The example of a line, with the first `passage_count` of its prompt's passages."""
        passages = self.select_passages(line)[:passage_count]
        text = render_prompt(
            self.get_prompt_name(line), question=escape(line["question"]), passages=format_passages(passages)
        ).text
        return Pair(line["id"], text, self.make_target(line, passages))

    def select_passages(self, line: SilverLine) -> list[Passage]:
        """The passages of the prompt: all passages of the line or, for a generator with the context "silver", only
        their silver parts. If there are no silver parts, the prompt has the first passage.
        """
        if self.kind == "filter" or self.context == "full":
            return line["passages"]
        return shorten_passages(line["passages"], list_silver_pieces(line, line["passages"])) or line["passages"][:1]

    def make_target(self, line: SilverLine, passages: Sequence[Passage]) -> str:
        """The reply to learn. For a generator, it is the first accepted answer. For a filter, it is the silver
        sentences, one per line, or the numbers of the passages with silver; "None" if there is no silver in `passages`.
        """
        if self.kind == "generator":
            return next(answer for answer in line["answers"] if answer.strip())
        pieces = list_silver_pieces(line, passages)
        if self.mode == "psg":
            return ", ".join(map(str, sorted({piece.rank + 1 for piece in pieces}))) or NO_PIECES
        return "\n".join(" ".join(piece.text.split()) for piece in pieces) or NO_PIECES


def list_silver_pieces(line: SilverLine, passages: Sequence[Passage]) -> list[Piece]:
    """The silver sentences or passages of the line that are in `passages`, in reading order."""
    pieces = []
    for span in line["silver"]:
        rank = next((rank for rank, passage in enumerate(passages) if passage["id"] == span["passage"]), None)
        if rank is not None:
            pieces.append(Piece(rank, span["start"], span["end"], passages[rank]["title"], span["text"]))
    return sorted(pieces, key=lambda piece: (piece.rank, piece.start))


def read_lines(path: Path, kind: Kind, limit: int | None = None) -> list[SilverLine]:
    """The lines of a silver file that have passages and, for a generator, an accepted answer.

    limit: only the first `limit` lines of the file are looked at. Raises `SetupError` if no line is left.
    """
    lines = [line for line in take_first(read_silver(path), limit) if line["passages"]]
    lines = [line for line in lines if kind == "filter" or any(answer.strip() for answer in line["answers"])]
    if not lines:
        needed = "passages" if kind == "filter" else "passages and an accepted answer"
        raise SetupError(
            f"{path} holds no question with {needed} to learn from; check the questions from which it was made."
        )
    return lines


def take_first(lines: Iterator[SilverLine], limit: int | None) -> Iterator[SilverLine]:
    for number, line in enumerate(lines):
        if limit is not None and number >= limit:
            return
        yield line


def name_measures(lines: Sequence[SilverLine]) -> str:
    """The name of the measure by which the silver of the lines was chosen; several names are joined by +."""
    return "+".join(sorted({line["measure"] for line in lines}))
