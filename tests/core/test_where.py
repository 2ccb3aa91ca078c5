"""The setting `where`: its forms, its mistakes, and what passes."""

import json
from typing import Any

import pytest

from quorum.core.context import Context, make_context
from quorum.core.errors import SetupError
from quorum.core.where import conjoin, describe_filter, format_where, matches, parse_where, read_date

HANDBOOK = {"source": "handbook.pdf", "year": 2020, "draft": False, "tags": ["hr", "leave"], "made": "2026-05-01"}
PASSING: list[Any] = [
    "source=handbook.pdf",
    'source="handbook.pdf"',
    "year>=2020 and source = handbook.pdf",
    "year != 2021",
    "year=2020.0",
    "year in 2019, 2020",
    "year in [2019, 2020]",
    "year not in 2019",
    "draft=false",
    "tags contains hr",
    "tags not contains pay",
    "source contains HANDBOOK",
    "made>=2026",
    "made<=2026-05",
    "made<2026-05-02T00:00:00",
    "missing!=1",
    ["year>2019", {"draft": False}],
    '["year>2019", {"draft": false}]',
    {"year": {"$gte": 2020, "$lt": 2021}, "draft": False},
    '{"$or": [{"year": 1}, {"tags": {"$contains": "hr"}}]}',
    {"$and": ["year<2021", {"$or": ["year=1", "draft=false"]}]},
    {"made": {"$gt": "2026-04-30"}},
    {"source": {"$nin": ["a", "b"]}},
]
FAILING: list[Any] = [
    "source=handbook",
    "year>2020",
    "year<abc",
    {"year": "2020"},
    {"year": True},
    {"year": {"$in": ["2020"]}},
    {"tags": "hr"},
    "tags=hr",
    "missing=1",
    "missing contains 1",
    "made>2026-05-01T10:00:00",
    "draft!=false",
    {"tags": {"$contains": 1}},
]


@pytest.mark.parametrize(("where", "passes"), [*((w, True) for w in PASSING), *((w, False) for w in FAILING)])
def test_what_passes(where: Any, passes: bool) -> None:
    part, text = parse_where(Context(where=where).where), format_where(where)
    assert part is not None
    assert matches(part, HANDBOOK) is passes
    assert parse_where(text) == part
    assert format_where(text) == text


@pytest.mark.parametrize(
    ("where", "reason"),
    [
        ("nonsense", "no condition"),
        ("year>=", "no condition"),
        ("year==", "no condition"),
        ('{"year"', "no JSON"),
        ("year in ,", "empty"),
        ("year in [1", "no JSON"),
        ({"year": {"$foo": 1}}, r"\$foo"),
        ({"$not": []}, r"\$not"),
        ({"$or": []}, "list of conditions"),
        ({"year": {}}, "no operator"),
        ({"year": None}, "None"),
        ({"year": {"$in": []}}, "list of values"),
        ({"year": {"$gt": float("nan")}}, "nan"),
        ([1], "no condition"),
        (json.loads("[" * 30 + '"a=1"' + "]" * 30), "nested too deeply"),
    ],
)
def test_one_sentence_says_what_does_not_fit(where: Any, reason: str) -> None:
    with pytest.raises(SetupError, match=rf"where=.*{reason}.*write for example") as error:
        Context(where=where)
    assert str(error.value).count("\n") == 0


def test_nothing_set_lets_everything_through() -> None:
    for where in (None, "", " ", {}, []):
        assert parse_where(where) is None
        assert conjoin(where, "year=1") == conjoin("year=1", where) == "year=1"
    assert make_context({"where": "none"}).where is None


def test_two_filters_are_one_that_lets_through_what_both_do() -> None:
    both = conjoin(["year>=2020"], {"draft": True})
    assert format_where(both) == '{"$and": ["year>=2020", {"draft": {"$eq": true}}]}'
    assert not matches(parse_where(both), HANDBOOK)  # type: ignore[arg-type]
    assert conjoin("year>=2020", "year>=2020") == "year>=2020"


def test_values_of_one_spelling_and_two_types_are_two_filters() -> None:
    texts = [format_where({"year": value}) for value in (1, 1.0, True, "1")]
    assert len({*texts, format_where("year=1")}) == 5


def test_an_and_may_belong_to_a_value() -> None:
    descriptions = {
        "title=Salt and Pepper": "title=Salt and Pepper",
        'title="a and b=c" and year<3': 'title="a and b=c" and year<3',
        "title=a AND year not  in 1,2": "title=a and year not in 1, 2",
    }
    assert {text: describe_filter(parse_where(text)) for text in descriptions} == descriptions  # type: ignore[arg-type]


def test_dates_of_other_zones_are_compared_as_the_same_moment() -> None:
    assert read_date("2026-05-01T01:30:00+02:00") == "2026-04-30T23:30:00"
    assert read_date("2026-13-01T25:00") is None
