"""The nodes `begin` and `search`, called directly."""

from typing import Any, get_type_hints

import pytest
from langgraph.types import Overwrite
from method_fixtures import PASSAGES, QUESTION, make_runtime

from quorum.core.errors import SetupError
from quorum.core.state import State
from quorum.nodes.begin import EMPTY_INNER_VALUES, begin
from quorum.nodes.search import search


async def test_begin_resets_every_key_of_an_earlier_question() -> None:
    update: dict[str, Any] = dict(await begin({"question": QUESTION, "given": PASSAGES, "dropped": 3}, make_runtime()))
    assert update.pop("given_passages") == PASSAGES
    assert update == {
        "given": None,
        "gold_answers": None,
        "given_gold_answers": None,
        "answer": "",
        "answer_text": None,
        "answer_type": "short",
        "unknown": True,
        "confidence": None,
        "certified": None,
        "voters_without_evidence": None,
        "action": None,
        "rationale": None,
        "evidence": [],
        "citations": None,
        "votes": Overwrite(None),
        "candidates": None,
        "summaries": None,
        "validity": None,
        "scores": None,
        "passages": [],
        "retrieved": None,
        "withheld": None,
        "usage": Overwrite({}),
        "malformed": Overwrite({}),
        "wordy_answers": Overwrite({}),
        "temperature_refused": Overwrite(False),
        "dropped": Overwrite(0),
    }


async def test_begin_empties_what_an_earlier_question_left() -> None:
    update: Any = await begin({"question": QUESTION, "steps": [], "query": "old", "notes": "old"}, make_runtime())
    assert (update["query"], update["notes"], "steps" in update) == (None, None, False)
    left_over: Any = {name: ["old"] for name in EMPTY_INNER_VALUES}
    update = await begin({"question": QUESTION, **left_over}, make_runtime())
    untouched = {"question", "rank", "pair"}  # the last two are sent to a branch of a fan-out only
    assert set(update) == set(get_type_hints(State)) - untouched


@pytest.mark.parametrize("question", ["", "  \n", None, 5])
async def test_begin_refuses_an_empty_question(question: Any) -> None:
    with pytest.raises(SetupError, match="The question is empty"):
        await begin({"question": question}, make_runtime())


async def test_begin_refuses_unusable_passages() -> None:
    with pytest.raises(SetupError, match="list of given passages is empty"):
        await begin({"question": QUESTION, "given": []}, make_runtime())
    with pytest.raises(SetupError, match="Given passage 2: expected a passage"):
        await begin({"question": QUESTION, "given": [PASSAGES[0], {"id": "x"}]}, make_runtime())  # type: ignore[typeddict-item]


async def test_search_takes_the_first_k_of_the_given_passages() -> None:
    assert await search({"question": QUESTION, "given_passages": PASSAGES}, make_runtime(k=2)) == {
        "passages": PASSAGES[:2]
    }
