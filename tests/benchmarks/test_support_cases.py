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


def test_support_is_found_in_a_part_of_the_cases() -> None:
    cases = [case for case in read_cases("first") if case.id.startswith("net")]
    counts = summarize(asyncio.run(judge_all(cases)))
    assert counts["precision"][0] >= 0.95 * counts["precision"][1] > 0
    assert counts["recall"][0] >= 0.9 * counts["recall"][1] > 0


@pytest.mark.long
def test_support_is_found_in_all_cases() -> None:
    counts = summarize(asyncio.run(judge_all(read_cases())))
    assert counts["precision"][0] >= 0.95 * counts["precision"][1]
    assert counts["recall"][0] >= 0.9 * counts["recall"][1]
