"""Chooses which passages of the found documents are read, and which are left out first."""

from collections.abc import Iterable, Mapping, Sequence

from quorum.core.state import Passage
from quorum.documents.document_names import DocumentName
from quorum.models.token_estimate import estimate_tokens
from quorum.prompts.documents import describe_document
from quorum.retrievers.documents import Documents, count_tokens, cut_run

HEADER_TOKENS = 8  # of "Document 12: " and the blank lines around


def choose_passages(found: Sequence[Passage], documents: Documents, budget: int) -> tuple[list[Passage], int]:
    """(the passages to read, in the order of their documents; how many passages of the found documents are left out).

    Documents come by the rank of their best passage, whole while they fit. Of the first that does not fit, the widest
    run of passages around its best passage is read, and nothing of those after it. The best passage of all is read in
    any case. found: best first; budget: tokens.
    """
    members_of = list_found_documents(found, documents)
    chosen: dict[str, tuple[DocumentName, Passage]] = {}  # by id; documents may share a passage, which is read once
    left = budget
    for name, (best, members) in members_of.items():
        new = [passage for passage in members if passage["id"] not in chosen]
        left -= HEADER_TOKENS + estimate_tokens(describe_document(members))
        size = sum(map(count_tokens, new))
        if size > left:
            run = cut_run(members, best["id"], left)
            if not chosen or sum(map(count_tokens, run)) <= left:
                chosen |= {p["id"]: (name, p) for p in run if p["id"] not in chosen}
            break
        chosen |= {passage["id"]: (name, passage) for passage in new}
        left -= size
    everything = {passage["id"] for _, members in members_of.values() for passage in members}
    return sort_passages(chosen.values(), members_of, documents, found), len(everything) - len(chosen)


def list_found_documents(
    found: Sequence[Passage], documents: Documents
) -> dict[DocumentName, tuple[Passage, Sequence[Passage]]]:
    """{name of a found document: (its best passage, its passages)}, by the rank of the best passage. A passage that the
    collection has lost since is a document of its own.
    """
    members_of: dict[DocumentName, tuple[Passage, Sequence[Passage]]] = {}
    for passage in found:
        name = documents.find_name(passage)
        own_name = name or DocumentName("", passage["id"])
        members_of.setdefault(own_name, (passage, [passage] if name is None else documents.by_name[name]))
    return members_of


def sort_passages(
    chosen: Iterable[tuple[DocumentName, Passage]],
    members_of: Mapping[DocumentName, tuple[Passage, Sequence[Passage]]],
    documents: Documents,
    found: Sequence[Passage],
) -> list[Passage]:
    """The chosen passages by document and position; those that were found keep their scores. chosen: each with the
    document for which it was chosen.
    """
    last = len(documents.order)
    scores = {passage["id"]: get_scores(passage) for passage in found}
    chosen_of: dict[DocumentName, dict[str, Passage]] = {}
    for name, passage in chosen:
        chosen_of.setdefault(name, {})[passage["id"]] = passage
    in_order = [
        chosen_of[name][member["id"]]
        for name in sorted(chosen_of, key=lambda name: documents.order.get(name, last))
        for member in members_of[name][1]
        if member["id"] in chosen_of[name]
    ]
    return [{**passage, **scores.get(passage["id"], {})} for passage in in_order]  # type: ignore[typeddict-item]


def get_scores(passage: Passage) -> dict[str, float]:
    """The scores that search and reranker gave a passage."""
    return {name: passage[name] for name in ("score", "retriever_score") if name in passage}


def order_for_dropping(passages: Sequence[Passage], retrieved: Sequence[str]) -> list[int]:
    """The numbers of the passages, from 0, in the order in which they are left out where they do not fit: those that
    were not found, the last first, then the worst of those found.

    >>> three = [Passage(id=name, title="", text="") for name in "abc"]
    >>> order_for_dropping(three, ["c", "a"])
    [1, 0, 2]
    """
    ranks = {id_: rank for rank, id_ in reversed(list(enumerate(retrieved)))}
    worst = len(retrieved)
    numbers = range(len(passages))
    return sorted(numbers, key=lambda number: (ranks.get(passages[number]["id"], worst), number), reverse=True)
