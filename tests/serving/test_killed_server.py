"""A server that is killed again and again loses no event of a run, and sends none twice."""

from pathlib import Path

import pytest

from benchmarks.killed_server import measure


@pytest.mark.long
def test_no_event_is_lost_and_none_comes_twice_though_the_server_is_killed(tmp_path: Path) -> None:
    counts = measure(runs=12, clients=4, most_kills=4, seed=1, folder=tmp_path)
    assert counts["kills"] > 0
    assert counts["events"] > 200
    assert [counts[name] for name in ("lost", "twice", "different", "unanswered")] == [0, 0, 0, 0]
