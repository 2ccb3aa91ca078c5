"""Places gold passages among the retrieved ones, to measure how their position affects a method (Liu et al. 2024).

The gold passages of a question are those that the data list for it. If the data list none, they are the passages that
contain an accepted answer.
"""

import asyncio
import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

from quorum.core.context import Context
from quorum.core.errors import SetupError
from quorum.core.state import Passage
from quorum.core.text import squad_contains_answer
from quorum.datasets.records import Record, read_passages
from quorum.evaluation.run.columns import Column
from quorum.evaluation.run.dataset import DataSet
from quorum.evaluation.run.shared_retrieval import share_retrieval

GoldPosition = Literal["inserted", "retrieved", "top", "bottom"]

SEARCH_DEPTH = 100  # how many passages are retrieved to find one with an answer, if the data list no gold passages
SEARCHES_AT_ONCE = 8
TASKS_WITHOUT_SPANS = ("yes_no", "label")  # tasks whose answers are not contained in a passage


def select_gold(passages: Sequence[Passage], record: Record, task: str) -> list[Passage]:
    """The gold passages among `passages`, in the same order."""
    listed_ids = set(record["gold"])
    if listed_ids:
        return [passage for passage in passages if passage["id"] in listed_ids]
    if task in TASKS_WITHOUT_SPANS:
        return []
    return [passage for passage in passages if squad_contains_answer(passage["text"], record["answers"])]


def list_gold_with_texts(record: Record, task: str) -> list[Passage]:
    """The question's gold passages with known texts: those that the question brings or that `add_gold` added."""
    return select_gold([*record["passages"], *record.get("gold_passages", [])], record, task)


def find_gold_rank(passages: Sequence[Passage], record: Record, task: str) -> int | None:
    """The rank of the first gold passage among `passages`, from 1; None if no gold passage is among them."""
    gold = select_gold(passages, record, task)
    return passages.index(gold[0]) + 1 if gold else None


def place_gold(
    passages: Sequence[Passage], record: Record, task: str, context: Context, position: str
) -> list[Passage]:
    """The retrieved passages, with gold passages among them.

    If no gold passage was retrieved, the question's first known gold passage replaces the passage at rank k. If none
    is known, nothing is replaced.

    position: one of GoldPosition. "inserted": a gold passage that replaced another moves to a random rank, drawn from
    the context's seed and the question's id; "retrieved": it stays at rank k; "top", "bottom": all gold passages come
    before, or after, the other passages.
    """
    gold = select_gold(passages, record, task)
    if not gold:
        gold = list_gold_with_texts(record, task)[:1]
        kept_passages = list(passages[: context.k - 1 if gold else context.k])
        gold_index = len(kept_passages)
        if position == "inserted":
            gold_index = random.Random(f"{context.seed}:{record['id']}").randrange(len(kept_passages) + 1)
        passages = [*kept_passages[:gold_index], *gold, *kept_passages[gold_index:]]
    if position in ("inserted", "retrieved"):
        return list(passages)
    others = [passage for passage in passages if passage not in gold]
    return [*gold, *others] if position == "top" else [*others, *gold]


async def add_gold(
    dataset: DataSet, columns: Sequence[Column], *, retrieves: bool, gold_file: Path | None, task: str | None
) -> DataSet:
    """Add gold passages to the questions that bring none. Questions for which none is found are left out.

    If the data list gold passages for such a question, they are taken from the corpus or from `gold_file`, a file of
    passages. If the data list none, the question gets the first passage found in the corpus that contains an answer.

    The corpus is the collection that the first column (a method with its settings) searches; it must be filled.
    retrieves: False if the columns search nothing, so that there is no corpus. task: the task of every question; None:
    each question has its own.
    """
    tasks = {record["id"]: task or dataset.get_task(record) for record in dataset.read_records()}
    records_without_gold = [
        record for record in dataset.read_records() if not list_gold_with_texts(record, tasks[record["id"]])
    ]
    wanted_ids = {passage_id for record in records_without_gold for passage_id in record["gold"]}
    passages_by_id = await asyncio.to_thread(
        find_passages_by_id, wanted_ids, columns[0].context if retrieves else None, gold_file
    )
    found_gold = {
        record["id"]: [passages_by_id[passage_id] for passage_id in record["gold"] if passage_id in passages_by_id]
        for record in records_without_gold
    }
    if retrieves:
        records_without_gold_ids = [record for record in records_without_gold if not record["gold"]]
        found_gold |= await search_gold(records_without_gold_ids, tasks, columns[0])
    added_gold = {question_id: passages for question_id, passages in found_gold.items() if passages}
    excluded_ids = frozenset(found_gold.keys() - added_gold.keys())
    if len(excluded_ids) == dataset.count:
        raise SetupError(
            f"None of the {dataset.count} questions in {dataset.path} has a gold passage with a known text: list the "
            "passages' ids under 'gold' and name where their texts are with --corpus or --gold-from, or give each "
            "question passages that contain an answer."
        )
    return replace(
        dataset, count=dataset.count - len(excluded_ids), excluded_ids=excluded_ids, gold_passages=added_gold
    )


def find_passages_by_id(wanted_ids: set[str], context: Context | None, gold_file: Path | None) -> Mapping[str, Passage]:
    """The wanted passages that the context's collection or the file holds, by id.

    If both hold a passage, the file's text counts. Blocks the thread while it reads them.
    """
    passages_by_id: dict[str, Passage] = {}
    if wanted_ids and context is not None:
        from quorum.retrievers.collections import list_passages

        passages_by_id |= {passage["id"]: passage for passage in list_passages(context) if passage["id"] in wanted_ids}
    if gold_file is not None:
        passages_by_id |= {
            passage["id"]: passage for passage in read_passages(gold_file) if passage["id"] in wanted_ids
        }
    return passages_by_id


async def search_gold(records: Sequence[Record], tasks: Mapping[str, str], column: Column) -> dict[str, list[Passage]]:
    """{question id: passages}: a list with the first of the SEARCH_DEPTH best passages that contains an answer, or an
    empty list if none does.
    """
    if not records:
        return {}
    from quorum.retrievers import search

    (deep_column,) = await asyncio.to_thread(
        share_retrieval, [replace(column, context=replace(column.context, k=SEARCH_DEPTH))]
    )
    slots = asyncio.Semaphore(SEARCHES_AT_ONCE)

    async def find_first(record: Record) -> list[Passage]:
        async with slots:
            passages = await search(record["question"], deep_column.context)
        return select_gold(passages, record, tasks[record["id"]])[:1]

    first_passages = await asyncio.gather(*(find_first(record) for record in records))
    return {record["id"]: passages for record, passages in zip(records, first_passages, strict=True)}
