"""The metadata of passages: flat, typed, and such that Chroma stores them."""

from collections.abc import Iterator
from typing import Any

import chromadb
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from quorum.core.errors import SetupError
from quorum.core.metadata import flat_metadata, parse_metadata_options

FLOATS = st.sampled_from([0.5, -2.25, float("nan"), float("inf")])  # Chroma rounds the last digit of some others
NUMBERS = st.integers() | FLOATS | st.decimals()
SCALARS = st.none() | st.booleans() | NUMBERS | st.text(max_size=5) | st.dates()
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


@pytest.fixture(scope="module")
def collection() -> Iterator[chromadb.Collection]:
    client = chromadb.EphemeralClient()
    yield client.create_collection("any-metadata", embedding_function=None)
    client.delete_collection("any-metadata")


@settings(max_examples=settings.default.max_examples // 2)  # each waits for Chroma
@given(
    user=st.dictionaries(st.sampled_from(["title", "hash", "$a", "#b", "chroma:c", ""]) | st.text(max_size=4), VALUES)
)
@example(user={"title": [1801439850948199, 0.5], "a": [900719925474099, 0.5], "b": [-900719925474099, 1.5]})
def test_chroma_stores_any_metadata_as_they_are(collection: chromadb.Collection, user: dict[str, Any]) -> None:
    flat = flat_metadata({"title": "Leave"}, user)
    collection.upsert(ids=["1"], embeddings=[[1.0]], metadatas=[flat])
    stored: Any = collection.get(ids=["1"])["metadatas"]
    assert {key: value for key, value in stored[0].items() if key in flat} == flat
    assert flat["title"] == "Leave"
    collection.delete(ids=["1"])  # else it keeps keys


def test_reserved_keys_win_and_a_user_s_key_with_the_same_value_is_not_repeated() -> None:
    user = {
        "source": "wiki",
        "title": "Leave",
        "hash": 1,
        "year": 2020,
        "a": {"b": [1, 2.5]},
        "none": None,
        "empty": [],
    }
    assert flat_metadata({"source": "a.md", "title": "Leave", "page": None}, user | {"page": 3}) == {
        "source": "a.md",
        "title": "Leave",
        "meta_source": "wiki",
        "meta_page": 3,
        "meta_hash": 1,
        "year": 2020,
        "a.b": [1.0, 2.5],
    }


def test_a_number_too_large_for_chroma_keeps_its_digits() -> None:
    assert flat_metadata({}, {"id": 2**70, "least": -(2**63)}) == {"id": str(2**70), "least": -(2**63)}


@pytest.mark.parametrize("option", ["year", "=2026", ":=1", "year:=twenty"])
def test_other_options_are_refused(option: str) -> None:
    with pytest.raises(SetupError, match="write key"):
        parse_metadata_options([option])
