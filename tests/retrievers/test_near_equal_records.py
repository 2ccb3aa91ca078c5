"""Hybrid search with the embedded model among records that differ in one code: the record that a question names is
found. All vectors of such records are nearly equal, so only the words tell them apart.
"""

import random
from dataclasses import replace

import pytest

from quorum.core.context import Context
from quorum.core.state import Passage
from quorum.retrievers import search
from quorum.retrievers.index import index_passages

RNG = random.Random(11)
CODES = [f"{series}-{number}" for series in ("VK", "HT") for number in RNG.sample(range(100, 1000), 120)]
RECORDS = [
    Passage(
        id=code,
        title=f"Valve {code}",
        text=f"Valve {code} is made of {RNG.choice(('brass', 'steel'))} and opens at {RNG.randint(2, 90)} bar.",
    )
    for code in CODES
]
COMMANDS = ["prune", "fetch", "rebase", "bisect", "cherry-pick", "reflog"]
PAGES = [
    Passage(id=name, title="Commands", text=f"The command {name} is described on page {page}.")
    for page, name in enumerate(COMMANDS, start=1)
]


@pytest.fixture(scope="module")
def context(tmp_path_factory: pytest.TempPathFactory) -> Context:
    store = tmp_path_factory.mktemp("store")
    index_passages([*RECORDS, *PAGES], collection="records", store=store)
    return Context(store=str(store), collection="records", journal="off")


async def search_ids(question: str, context: Context) -> list[str]:
    return [passage["id"] for passage in await search(question, context)]


@pytest.mark.parametrize("k", [3, 5])
async def test_a_record_named_by_its_code_is_found(k: int, context: Context) -> None:
    context = replace(context, k=k)
    for code in CODES[::8]:
        assert code in await search_ids(f"At what pressure does valve {code} open?", context)


async def test_two_records_named_in_one_question_are_found(context: Context) -> None:
    for first, second in zip(CODES[:15], CODES[120:135], strict=True):
        assert {first, second} <= set(await search_ids(f"Which opens earlier, {first} or {second}?", context))


async def test_a_command_named_in_a_question_is_found(context: Context) -> None:
    for name in COMMANDS:
        assert name in (await search_ids(f"How do I use {name}?", context))[:3]
