"""What Quorum's own test of a filter lets through is what Chroma lets through, for any metadata and any filter."""

from typing import Any

import chromadb
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from quorum.core.errors import SetupError
from quorum.core.metadata import flat_metadata
from quorum.core.where import format_where, matches
from quorum.retrievers.collection_filters import CollectionFilters, find_kinds, read_filter
from quorum.retrievers.where_in_chroma import check_filter

SIGNS = ("=", "!=", "<", "<=", ">", ">=")
KEYS = st.sampled_from(["a", "b"])
SCALARS = st.sampled_from(
    [
        1,
        2,
        2.0,
        2.5,
        2.7,
        -3,
        -2.5,
        -2,
        0,
        0.5,
        True,
        False,
        "2",
        "true",
        "Hr leave",
        "hr",
        "2026-05",
        "2026-05-01",
        "2027",
    ]
)
METADATA = st.dictionaries(KEYS, SCALARS | st.lists(SCALARS, min_size=1, max_size=2), max_size=2)
SHORT = st.builds(
    lambda key, sign, value: f"{key} {sign} {value}",
    KEYS,
    st.sampled_from([*SIGNS, "in", "not in", "contains", "not contains"]),
    st.sampled_from(["2", "2.5", "-2.5", "0.5", "true", "hr", "2026-05", "2026-05-01", "1, hr", "2, 2.5, true"]),
)
TYPED = st.builds(
    lambda key, operator, value: {key: {operator: [value, 1] if operator in ("$in", "$nin") else value}},
    KEYS,
    st.sampled_from(["$eq", "$ne", "$lt", "$lte", "$gt", "$gte", "$in", "$nin", "$contains", "$not_contains"]),
    SCALARS,
)
FILTERS = st.recursive(
    SHORT | TYPED,
    lambda inner: st.builds(
        lambda operator, parts: {operator: parts},
        st.sampled_from(["$and", "$or"]),
        st.lists(inner, min_size=1, max_size=3),
    ),
    max_leaves=4,
)


@pytest.fixture(scope="module")
def client() -> Any:
    return chromadb.EphemeralClient()


@example(rows=[{"a": 2}, {"a": 2.5}, {"a": -2}, {}], filters=[f"a {sign} {v}" for v in (2.5, -2.5) for sign in SIGNS])
@given(rows=st.lists(METADATA, min_size=1, max_size=6), filters=st.lists(FILTERS, min_size=1, max_size=8))
def test_chroma_and_quorum_agree(client: Any, rows: list[dict[str, Any]], filters: list[Any]) -> None:
    collection = client.get_or_create_collection("agreement", embedding_function=None)
    stored = {str(number): flat_metadata({}, row) for number, row in enumerate(rows)}
    collection.add(
        ids=list(stored), embeddings=[[1.0]] * len(stored), metadatas=[metadata or None for metadata in stored.values()]
    )
    found = CollectionFilters()
    try:
        for number, where in enumerate(filters):
            text = format_where(where)
            assert text is not None
            part = read_filter(text)
            try:
                check_filter(part, find_kinds(stored.values()), "the collection")
            except SetupError:
                with pytest.raises(SetupError):
                    found.find_ids(collection, "1", text)
                continue
            passing = {id_ for id_, metadata in stored.items() if matches(part, metadata)}
            assert found.find_ids(collection, "1", text) == passing, (number, where)
    finally:
        collection.delete(ids=list(stored))  # a removed collection leaves lists to the next one
