"""Draws the passages to write questions about, evenly from all documents: single passages, or pairs of related ones."""

import random
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Literal, get_args

from quorum.core.errors import SetupError
from quorum.core.state import Passage
from quorum.datasets.records import hash_content
from quorum.documents.split import count_half_words
from quorum.retrievers.bm25 import STOP_WORDS
from quorum.retrievers.passages import make_indexed_text

# The kinds of questions: about one passage, about two related passages, or about one passage that does not answer it.
Kind = Literal["single", "two", "unanswerable"]
QUESTION_KINDS: tuple[Kind, ...] = get_args(Kind)
# The model writes the draft of a question for each draw. After at most this many drafts, the questions are saved.
DRAFTS_PER_SAVE = 32
MOST_NEIGHBOURS = 12  # the most candidates for the second passage of a pair
WORD = re.compile(r"[^\W\d_][\w'’-]{2,}")
NeighbourSearch = Callable[[str, int], Sequence[Passage]]  # (text, k) -> the k passages nearest to the text


@dataclass(frozen=True)
class Draw:
    """The passage, or the two passages, that one question is about."""

    kind: Kind
    passages: tuple[Passage, ...]

    @property
    def id(self) -> str:
        """The question's id: the same for the same kind and passages."""
        return f"q-{hash_content(self.kind, ' '.join(passage['id'] for passage in self.passages))}"


def read_mix(text: str) -> dict[Kind, float]:
    """The share of each kind, from 'single=70,two=15,unanswerable=15'. A kind that is not named gets no questions."""
    mix: dict[Kind, float] = {}
    for item in filter(str.strip, text.split(",")):
        name, _, number = (part.strip() for part in item.partition("="))
        kind = next((known_kind for known_kind in QUESTION_KINDS if known_kind == name), None)
        share = float(number) if re.fullmatch(r"\d{1,9}(\.\d{1,9})?", number) else None
        if kind is None or share is None or kind in mix:
            raise SetupError(
                f"The mix {text!r} cannot be read at {item.strip()!r}; give each kind ({', '.join(QUESTION_KINDS)}) "
                "at most once, with its share, for example single=70,two=15,unanswerable=15."
            )
        mix[kind] = share
    if not sum(mix.values()):
        raise SetupError(f"The mix {text!r} asks for nothing; write for example single=70,two=15,unanswerable=15.")
    return mix


def split_by_mix(n: int, mix: Mapping[Kind, float]) -> dict[Kind, int]:
    """How many of `n` questions are of each kind: whole numbers that add up to n (largest remainder method)."""
    exact_counts = {kind: n * mix.get(kind, 0) / sum(mix.values()) for kind in QUESTION_KINDS}
    counts = {kind: int(exact_count) for kind, exact_count in exact_counts.items()}
    for kind in sorted(QUESTION_KINDS, key=lambda kind: counts[kind] - exact_counts[kind])[: n - sum(counts.values())]:
        counts[kind] += 1
    return counts


def select_long_passages(passages: Sequence[Passage], min_words: int) -> list[Passage]:
    """The passages of at least `min_words` words (in scripts without spaces, two characters count as one word)."""
    return [passage for passage in passages if count_half_words(passage["text"]) >= 2 * min_words]


def order_by_documents(passages: Sequence[Passage], seed: str) -> list[Passage]:
    """All passages in random order: one passage from every document, then the next one from every document, and so on.

    Passages with the same title form a document; a passage without a title is a document by itself.
    """
    documents: dict[tuple[str, str], list[Passage]] = defaultdict(list)
    for passage in passages:
        documents[passage["title"], "" if passage["title"] else passage["id"]].append(passage)
    generator, documents_in_order = random.Random(seed), list(documents.values())
    generator.shuffle(documents_in_order)
    for document in documents_in_order:
        generator.shuffle(document)
    return [
        document[place]
        for place in range(max(map(len, documents_in_order), default=0))
        for document in documents_in_order
        if place < len(document)
    ]


def generate_draws(
    kind: Kind, passages: Sequence[Passage], seed: int, search_neighbours: NeighbourSearch
) -> Iterator[Draw]:
    """The draws for questions of a kind, one after the other. Each passage is the first passage of at most one draw."""
    allowed_ids, drawn_pairs = {passage["id"] for passage in passages}, set[frozenset[str]]()
    name_counts = Counter(name for passage in passages for name in find_names(passage)) if kind == "two" else Counter()
    for passage in order_by_documents(passages, f"{seed} {kind}"):
        if kind != "two":
            yield Draw(kind, (passage,))
            continue
        partner = find_partner(
            passage, search_neighbours(make_indexed_text(passage), MOST_NEIGHBOURS), allowed_ids, name_counts
        )
        if partner is not None and (pair := frozenset((passage["id"], partner["id"]))) not in drawn_pairs:
            drawn_pairs.add(pair)
            yield Draw(kind, (passage, partner))


class DrawQueue:
    """The draws of each kind that were not taken yet.

    finished_ids: the ids of the draws that are left out, because an earlier run has written their questions.
    most_draws: for each kind, how many draws may be taken. end_reasons: for each kind of which no more draws can be
    taken, why: "corpus" (no passages are left) or "tries" (`most_draws` were taken).
    """

    def __init__(
        self,
        passages: Sequence[Passage],
        seed: int,
        search_neighbours: NeighbourSearch,
        finished_ids: set[str],
        most_draws: Mapping[Kind, int],
    ) -> None:
        self.remaining_counts = {kind: max(0, count) for kind, count in most_draws.items()}
        self.draws_by_kind = {
            kind: (
                draw for draw in generate_draws(kind, passages, seed, search_neighbours) if draw.id not in finished_ids
            )
            for kind in QUESTION_KINDS
        }
        self.end_reasons: dict[Kind, str] = {}

    def take_draws(self, missing_counts: Mapping[Kind, int]) -> list[Draw]:
        """The next draws of each kind: at most as many as `missing_counts` says, and at most DRAFTS_PER_SAVE in all.

        Blocks while it searches for pairs.
        """
        batch: list[Draw] = []
        for kind, count in missing_counts.items():
            if not self.remaining_counts[kind]:
                self.end_reasons[kind] = "tries"
            wanted_count = min(count, self.remaining_counts[kind], DRAFTS_PER_SAVE - len(batch))
            draws = list(islice(self.draws_by_kind[kind], wanted_count))
            self.remaining_counts[kind] -= len(draws)
            if len(draws) < wanted_count:
                self.end_reasons[kind] = "corpus"
            batch += draws
        return batch


def find_partner(
    passage: Passage, neighbours: Sequence[Passage], allowed_ids: set[str], name_counts: Mapping[str, int]
) -> Passage | None:
    """The partner of a passage: a neighbour that shares a name with it; None if there is none.

    A neighbour in the same document is chosen only if there is none in another document. Among several neighbours, the
    one with the rarest shared name is chosen; if several share a name that is equally rare, the nearest of them. If the
    passage has no names (or its script has no capitals), neighbours need not share one.

    allowed_ids: the ids of the passages that may be a partner; name_counts: for each name, the number of passages in
    which it occurs.
    """
    names, candidates = find_names(passage), list[tuple[bool, int, int]]()
    for rank, neighbour in enumerate(neighbours):
        shared_names = names & find_names(neighbour)
        if neighbour["id"] in allowed_ids and neighbour["text"] != passage["text"] and (shared_names or not names):
            is_same_document = bool(neighbour["title"]) and neighbour["title"] == passage["title"]
            candidates.append(
                (is_same_document, min((name_counts.get(name, 1) for name in shared_names), default=0), rank)
            )
    if not candidates:
        return None
    partner = neighbours[min(candidates)[2]]
    return Passage(id=partner["id"], title=partner["title"], text=partner["text"])


def find_names(passage: Passage) -> set[str]:
    """The words that begin with a capital letter wherever they occur in the passage, without stop words."""
    words = set(WORD.findall(make_indexed_text(passage)))
    return {word for word in words if word[0].isupper() and word.lower() not in words | STOP_WORDS}
