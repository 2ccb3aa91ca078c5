"""`quorum compare`, interrupted at random points and resumed, ends as if nothing had happened; so does a race."""

import json
import os
import random
import re
import signal
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from command_starter import Commands, start_commands
from openai_bodies import Response
from openai_server import OpenAIServer, Request

QUESTION_COUNT = 24
CALL_COUNT = 3 * QUESTION_COUNT  # for each question one call over both passages, and one for each passage
MAX_CALLS_BETWEEN_STOPS = 7  # so ten interruptions come before the 72 calls of a run are done
MAX_OPEN_CALLS = 4  # two questions at once, with one call for each of their two passages
WRITTEN_FILES = ("summary.json", "comparison.json", "recommendation.json", "uncertainty.json")


class Trap:
    """Replies to each call of a model, counts the calls, and sends a signal to a process at a given number of calls.

    The reply names the right person, but for every third question it is "unknown" if the prompt shows the passage that
    begins with "Nobody" (see the fixture `data`).
    """

    def __init__(self) -> None:
        self.guard = threading.Lock()
        self.calls_left = 0

    def set(self, process: int, stop: signal.Signals, call_count: int) -> None:
        """Send the signal `stop` to the process with this id at the call number `call_count` from now on."""
        with self.guard:
            self.process, self.stop, self.calls_left = process, stop, call_count

    def __call__(self, request: Request) -> str | Response:
        with self.guard:
            self.calls_left -= 1
            if self.calls_left == 0:
                os.kill(self.process, self.stop)
        if not request.body:
            return Response(drop=True)  # the client was killed while it sent the request
        number = request.text.rpartition("thing ")[2].partition("?")[0]
        has_only_right_passage = "Nobody" not in request.text
        return f"person {number}" if int(number) % 3 or has_only_right_passage else "unknown"


@pytest.fixture
def commands(openai_server: OpenAIServer) -> Iterator[Commands]:
    with start_commands() as commands:
        yield commands


@pytest.fixture
def data(tmp_path: Path) -> str:
    """The path of a file of questions, each with two given passages, of which the first names the person."""
    lines = [
        {
            "id": f"q{n}",
            "question": f"Who found thing {n}?",
            "answers": [f"person {n}"],
            "passages": [
                {"id": f"p{n}", "title": "", "text": f"Thing {n} was found by person {n}."},
                {"id": f"o{n}", "title": "", "text": f"Nobody found thing {n}."},
            ],
        }
        for n in range(QUESTION_COUNT)
    ]
    path = tmp_path / "data.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return str(path)


def make_command(data: str, out: str, *extra_options: str) -> list[str]:
    options = ["--models", "openai:test", "--concurrency", "2", "--set", f"journal={out}.sqlite", "--out", out]
    return ["compare", "given", data, "--methods", "concat,post_fusion", *options, *extra_options]


def remove_times(value: Any) -> Any:
    """A value from a JSON file without the times in it, and without the number of answers that were not timed."""
    if isinstance(value, dict):
        keys = [key for key in value if "seconds" not in key and key != "answers_not_timed"]
        return {key: remove_times(value[key]) for key in keys}
    if isinstance(value, list):
        return [remove_times(item) for item in value]
    median = r"(half of the answers come within [\d.,]+ s, )?"
    times = rf", and {median}95% (of the answers come )?within [\d.,]+ s|[\d.,]+ s \(p95\)"
    return re.sub(times, "", value) if isinstance(value, str) else value


def read_json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


@pytest.mark.long
def test_a_comparison_interrupted_at_ten_random_points_ends_with_the_same_results(
    data: str, tmp_path: Path, openai_server: OpenAIServer, commands: Commands
) -> None:
    trap, rng = Trap(), random.Random(5)
    openai_server.reply(trap)
    for stop in [signal.SIGKILL, signal.SIGINT] * 5:
        trap.set(commands.start(make_command(data, "stopped")), stop, rng.randint(1, MAX_CALLS_BETWEEN_STOPS))
        assert commands.read_number() == (130 if stop == signal.SIGINT else -stop)
        assert not (tmp_path / "stopped" / "summary.json").exists()
    commands.run(make_command(data, "stopped"))
    repeated_calls = len(openai_server.requests) - CALL_COUNT
    assert 0 <= repeated_calls <= 10 * MAX_OPEN_CALLS  # only calls that were open at an interruption
    commands.run(make_command(data, "whole"))
    for name in WRITTEN_FILES:
        assert remove_times(read_json(tmp_path / "stopped" / name)) == remove_times(
            read_json(tmp_path / "whole" / name)
        ), name
    lines = (tmp_path / "stopped" / "results.jsonl").read_text(encoding="utf-8").splitlines()
    answer_counts = Counter((row["method"], row["id"]) for row in map(json.loads, lines))
    assert (len(answer_counts), set(answer_counts.values())) == (2 * QUESTION_COUNT, {1})


@pytest.mark.long
def test_a_race_interrupted_at_six_random_points_ends_with_the_same_results(
    data: str, tmp_path: Path, openai_server: OpenAIServer, commands: Commands
) -> None:
    trap, rng, race = Trap(), random.Random(7), ("--race", "questions")
    openai_server.reply(trap)
    for stop in [signal.SIGKILL, signal.SIGINT] * 3:
        trap.set(commands.start(make_command(data, "stopped", *race)), stop, rng.randint(1, MAX_CALLS_BETWEEN_STOPS))
        assert commands.read_number() == (130 if stop == signal.SIGINT else -stop)
    commands.run(make_command(data, "stopped", *race))
    commands.run(make_command(data, "whole", *race))
    for name in ("summary.json", "comparison.json", "recommendation.json", "race.json"):
        assert remove_times(read_json(tmp_path / "stopped" / name)) == remove_times(
            read_json(tmp_path / "whole" / name)
        ), name
    result = read_json(tmp_path / "whole" / "race.json")
    assert (result["survivors"], result["finished"]) == (["post_fusion"], True)
    lines = (tmp_path / "stopped" / "results.jsonl").read_text(encoding="utf-8").splitlines()
    answer_counts = Counter((row["method"], row["id"]) for row in map(json.loads, lines))
    assert set(answer_counts.values()) == {1}
    assert sum(answer_counts.values()) < 2 * QUESTION_COUNT
