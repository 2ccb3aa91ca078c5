"""The 220 answers of data/support, and how well their support is found."""

import asyncio
from collections import Counter

import pytest

from benchmarks.support import judge_all, read_cases, summarize


def test_the_cases_are_whole() -> None:
    cases = read_cases()
    assert len(cases) == len({case.id for case in cases}) == 220
    assert Counter(case.part for case in cases) == {"first": 74, "second": 86, "later": 60}
    for case in cases:
        assert bool(case.quotes) == (case.miss is None), case.id
        for quote in case.quotes:
            assert any(quote in passage["text"] for passage in case.passages), case.id


@pytest.mark.long
@pytest.mark.parametrize("part", ["first", "second"])
def test_support_is_found_in_the_cases_that_the_rules_were_made_with(part: str) -> None:
    counts = summarize(asyncio.run(judge_all(read_cases(part))))
    assert counts["precision"][0] >= 0.95 * counts["precision"][1]
    assert counts["recall"][0] >= 0.9 * counts["recall"][1]


@pytest.mark.long
def test_support_in_later_cases_is_not_found_worse_than_measured() -> None:
    """The aims, a precision of .95 and a recall of .9, are missed here: no rule was made with these cases in view."""
    counts = summarize(asyncio.run(judge_all(read_cases("later"))))
    assert counts["precision"][0] >= 0.78 * counts["precision"][1] > 0
    assert counts["recall"][0] >= 0.86 * counts["recall"][1] > 0
