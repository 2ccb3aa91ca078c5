"""`quorum compare --race` with methods whose accuracy is known: whole races, interrupted ones, races under limits and
races in which calls fail.
"""

import json
import random
import re
import shutil
from collections import Counter
from pathlib import Path

import pytest
from openai_bodies import Response, make_error
from openai_server import OpenAIServer, Request
from quorum_command import Quorum
from race_fixtures import (
    METHODS,
    QUESTION_COUNT,
    read_outcome,
    read_question_number,
    read_rows,
    reply_right_more_often_with_more_passages,
    run_race,
    write_questions,
)

from quorum.cli.race_progress import show_race
from quorum.core.errors import SetupError
from quorum.evaluation.run.race import RunningRace

# Method -> its share of right answers in the races of `test_the_best_is_hardly_ever_dropped`.
SHARE_RIGHT = {"a": 0.5, "b": 0.5, "c": 0.4, "d": 0.2}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A file of QUESTION_COUNT questions; each brings three passages."""
    path = tmp_path / "data.jsonl"
    write_questions(path, QUESTION_COUNT)
    return path


async def test_methods_that_cannot_win_are_no_longer_asked(data: Path, openai_server: OpenAIServer) -> None:
    openai_server.reply(reply_right_more_often_with_more_passages)
    decision = await run_race(data, concurrency=4)
    result = decision.scores.race
    assert result is not None
    assert (result.survivors, [item.method for item in result.dropped_standings]) == (
        ["concat[k=3]"],
        ["concat", "concat[k=2]"],
    )
    concat_asked_count, k2_asked_count = (standing.asked_count for standing in result.dropped_standings)
    assert concat_asked_count < k2_asked_count < QUESTION_COUNT
    asked_counts = Counter(row["method"] for row in read_rows(decision.scores.folder))
    assert asked_counts["concat[k=3]"] == QUESTION_COUNT
    # Before its drop is decided, a method may be asked some questions beyond the settled ones: with 4 at once, the next
    # question and AHEAD_FACTOR * 4 = 8 more (see race.py), so fewer than 3 * 4.
    assert concat_asked_count <= asked_counts["concat"] <= concat_asked_count + 3 * 4
    assert decision.scores.summary["concat"]["n"] == concat_asked_count
    assert decision.recommendation.best == "concat[k=3]"
    sentences = decision.recommendation.sentences
    assert sentences[0].startswith("concat[k=3] won the race: exact match 100.0%")
    assert f"concat after {concat_asked_count} of {QUESTION_COUNT} questions" in sentences[1]
    assert "at most 5%" in sentences[2]
    page = (decision.scores.folder / "report.html").read_text(encoding="utf-8")
    text = (decision.scores.folder / "report.md").read_text(encoding="utf-8")
    for report in (page, text):
        assert "When methods were dropped" in report
        assert f"{concat_asked_count} of {QUESTION_COUNT}" in report
    content = json.loads((decision.scores.folder / "race.json").read_text(encoding="utf-8"))
    assert (content["seed"], content["mode"], content["survivors"]) == (0, "questions", ["concat[k=3]"])
    config = json.loads((decision.scores.folder / "config.json").read_text(encoding="utf-8"))
    assert config["race"] == {"mode": "questions", "error": 0.05, "seed": 0}


async def test_a_dropped_method_is_not_tested_and_the_others_are(data: Path, openai_server: OpenAIServer) -> None:
    openai_server.reply(
        lambda request: (
            Response("wrong")
            if request.text.count("Passage ") == 1
            else reply_right_more_often_with_more_passages(request)
        )
    )
    decision = await run_race(data, methods="concat[k=3],concat[k=3;seed=1],concat", concurrency=4)
    [comparison] = decision.scores.comparisons
    dropped_difference, equal_difference = (
        comparison["methods"]["concat"]["em"],
        comparison["methods"]["concat[k=3;seed=1]"]["em"],
    )
    assert (dropped_difference["test"], dropped_difference["p"], dropped_difference["p_holm"]) == ("race", 1.0, 1.0)
    assert dropped_difference["low"] == dropped_difference["difference"] == -1 < dropped_difference["high"] < 0.1
    assert (equal_difference["test"], equal_difference["p_holm"], comparison["n"]) == ("step-down", 1.0, QUESTION_COUNT)
    assert decision.recommendation.equal_methods == ["concat[k=3;seed=1]"]
    assert "dropped" in (decision.scores.folder / "report.md").read_text(encoding="utf-8")


async def test_holm_counts_the_methods_that_were_dropped(data: Path, openai_server: OpenAIServer) -> None:
    """Of the two methods that stay, one is wrong on four questions; the third is always wrong, and dropped."""

    def answer(request: Request) -> str:
        passage_count, number = request.text.count("Passage "), read_question_number(request)
        return f"person {number}" if passage_count == 3 or (passage_count == 2 and number % 6) else "unknown"

    openai_server.reply(answer)
    full_run = await run_race(data, "whole", mode=None, methods="concat[k=3],concat[k=2],concat")
    # "future": a method is dropped when it is unlikely to be the best on new questions like these
    race_run = await run_race(data, "raced", mode="future", methods="concat[k=3],concat[k=2],concat")
    assert race_run.scores.race is not None
    assert race_run.scores.race.survivors == ["concat[k=3]", "concat[k=2]"]
    full_p, race_p = (
        item.scores.comparisons[0]["methods"]["concat[k=2]"]["em"]["p_holm"] for item in (full_run, race_run)
    )
    # The two methods that stay differ on four questions, so the p-value of concat[k=2] alone is 2 / 2**4. In the full
    # run it is the larger of two, and stays as it is. In the race, concat was dropped, so its p-value is 1, and that
    # of concat[k=2] is doubled.
    assert (full_p, race_p) == pytest.approx((2 / 2**4, 2 * 2 / 2**4), abs=0.01)
    assert race_run.recommendation.equal_methods == ["concat[k=2]"]


@pytest.mark.long
async def test_an_interrupted_race_ends_like_an_uninterrupted_one(data: Path, openai_server: OpenAIServer) -> None:
    openai_server.reply(reply_right_more_often_with_more_passages)
    full_folder = (await run_race(data, "whole", concurrency=3)).scores.folder
    results = (full_folder / "results.jsonl").read_bytes()
    for byte_count in (0, 1, len(results) // 7, len(results) // 3, len(results) // 2 + 5, len(results) - 1):
        folder = data.parent / f"cut{byte_count}"
        shutil.copytree(full_folder, folder)
        (folder / "results.jsonl").write_bytes(results[:byte_count])
        continued_run = await run_race(data, folder.name, concurrency=3)
        # Without the last byte, only the last answer is lost. If a dropped method gave it, there is no new answer,
        # because this method is not asked again.
        assert continued_run.scores.new_answers > 0 or byte_count == len(results) - 1
        assert read_outcome(folder) == read_outcome(full_folder)
    request_count = len(openai_server.requests)
    repeated_run = await run_race(data, "whole", concurrency=3)
    assert (repeated_run.scores.new_answers, len(openai_server.requests)) == (0, request_count)


async def test_a_failed_answer_may_be_right_or_wrong_until_it_is_asked_again(
    data: Path, openai_server: OpenAIServer
) -> None:
    """The worst method might have been right on the question where its call failed, so it is dropped later. The same
    command asks this question again and ends like a race without failures.
    """
    openai_server.reply(reply_right_more_often_with_more_passages)
    without_failures = await run_race(data, "plain")
    assert without_failures.scores.race is not None
    first_id = without_failures.scores.race.units[0][0]

    def reply_with_one_failure(request: Request) -> Response:
        has_one_passage = request.text.count("Passage ") == 1
        return (
            make_error(400, "no")
            if has_one_passage and read_question_number(request) == int(first_id[1:])
            else reply_right_more_often_with_more_passages(request)
        )

    openai_server.reply(reply_with_one_failure)
    failing_run = await run_race(data, "failing")
    assert failing_run.scores.race is not None
    assert (
        failing_run.scores.race.standings["concat"].asked_count
        > without_failures.scores.race.standings["concat"].asked_count
    )
    assert failing_run.scores.summary["concat"]["errors"] == 1
    openai_server.reply(reply_right_more_often_with_more_passages)
    repeated_run = await run_race(data, "failing")
    assert read_outcome(repeated_run.scores.folder) == read_outcome(without_failures.scores.folder)


async def test_at_the_limit_on_cost_the_survivors_are_named(
    data: Path, tmp_path: Path, openai_server: OpenAIServer
) -> None:
    openai_server.reply(reply_right_more_often_with_more_passages)
    prices = tmp_path / "prices.toml"
    prices.write_text('["openai:test"]\ninput = 1000\noutput = 0\n', encoding="utf-8")
    # a question costs 10 cents with one passage, 20 with two and 30 with three
    stopped_run = await run_race(data, max_cost=4, prices=prices, concurrency=1)
    result = stopped_run.scores.race
    assert result is not None
    assert 0 < result.settled_count < QUESTION_COUNT
    assert (stopped_run.recommendation.best, result.survivors) == (None, ["concat[k=2]", "concat[k=3]"])
    first_sentence = stopped_run.recommendation.sentences[0]
    assert first_sentence.startswith(
        f"The race stopped at the limit of $4, after {result.settled_count} of {QUESTION_COUNT} questions."
    )
    assert first_sentence.endswith("none of them certified as the best: concat[k=2] and concat[k=3].")
    assert all(method["em"]["p"] == 1 for method in stopped_run.scores.comparisons[0]["methods"].values())
    continued_run = await run_race(data, max_cost=100, prices=prices, concurrency=1)
    full_run = await run_race(data, "whole", prices=prices, concurrency=1)
    assert read_outcome(continued_run.scores.folder) == read_outcome(full_run.scores.folder)


async def test_only_methods_within_the_budget_drop_others(data: Path, openai_server: OpenAIServer) -> None:
    """The best method reads three passages, beyond the budget: it is not recommended, and drops no other."""
    openai_server.reply(reply_right_more_often_with_more_passages)
    decision = await run_race(data, budget={"tokens": 250})
    result = decision.scores.race
    assert result is not None
    assert set(result.survivors) == {"concat[k=2]", "concat[k=3]"}
    assert decision.recommendation.best == "concat[k=2]"
    assert "Without the limit concat[k=3] would be ahead" in " ".join(decision.recommendation.sentences)


async def test_a_method_that_turns_out_too_expensive_drops_no_other(data: Path, openai_server: OpenAIServer) -> None:
    """By the estimate all methods keep within the budget, but the server counts far more tokens for the best one. The
    race is then decided again without that method. A method that only the expensive one had beaten comes back, and
    is asked the questions that were skipped after its drop.
    """

    def reply_with_many_tokens(request: Request) -> Response:
        reply = reply_right_more_often_with_more_passages(request)
        if request.text.count("Passage ") == 3:
            reply.usage["prompt_tokens"] = 100_000
        return reply

    openai_server.reply(reply_with_many_tokens)
    decision = await run_race(data, budget={"tokens": 2000}, concurrency=2)
    result = decision.scores.race
    assert result is not None
    assert decision.recommendation.best == "concat[k=2]"
    assert result.standings["concat[k=2]"].asked_count == QUESTION_COUNT


async def test_a_race_may_be_between_models(data: Path, openai_server: OpenAIServer) -> None:
    openai_server.reply(
        lambda request: (
            reply_right_more_often_with_more_passages(request) if request.body["model"] == "good" else Response("wrong")
        )
    )
    decision = await run_race(data, methods="concat", models=["openai:good", "openai:bad"], k=3)
    result = decision.scores.race
    assert result is not None
    assert (result.survivors, len(result.dropped_standings)) == (["concat[model=openai:good]"], 1)


async def test_changed_methods_or_race_settings_need_another_folder(data: Path, openai_server: OpenAIServer) -> None:
    openai_server.reply(reply_right_more_often_with_more_passages)
    await run_race(data, limit=10)
    with pytest.raises(
        SetupError, match=r"another configuration \(methods\.concat\[k=3;seed=2\] was absent, now present"
    ):
        await run_race(data, methods=f"{METHODS},concat[k=3;seed=2]", limit=10)
    with pytest.raises(SetupError, match="race was present, now absent"):
        await run_race(data, mode=None, limit=10)
    with pytest.raises(SetupError, match="--race 'fast' does not fit; give exact, questions or future"):
        await run_race(data, mode="fast")


async def test_questions_of_one_document_are_one_unit_of_the_race(tmp_path: Path, openai_server: OpenAIServer) -> None:
    data = tmp_path / "grouped.jsonl"
    write_questions(data, 40, meta=lambda number: {"document": f"d{number % 10}"})
    openai_server.reply(reply_right_more_often_with_more_passages)
    decision = await run_race(data, mode="future")
    result = decision.scores.race
    assert result is not None
    assert sorted(map(len, result.units)) == [4] * 10
    assert all(standing.asked_count % 4 == 0 for standing in result.standings.values())
    assert read_rows(decision.scores.folder)[0]["group"].startswith("d")
    for unit in result.units:
        assert len({int(id_[1:]) % 10 for id_ in unit}) == 1


def test_a_race_on_the_command_line_prints_json_lines(data: Path, openai_server: OpenAIServer, quorum: Quorum) -> None:
    openai_server.reply(reply_right_more_often_with_more_passages)
    settings = ["--models", "openai:test", "--set", "k=1", "--set", "journal=off", "--concurrency", "4"]
    command = ["compare", "given", str(data), "--methods", METHODS, *settings, "--race", "questions"]
    without_json = quorum(*command, "--out", "plain")
    assert without_json.code == 0, without_json.err
    assert re.search(rf"quorum: the race dropped concat after \d+ of {QUESTION_COUNT} questions\.", without_json.err)
    assert f"The race after {QUESTION_COUNT} of {QUESTION_COUNT} questions" in without_json.out
    run = quorum(*command, "--out", "json", "--json")
    assert run.code == 0, run.err
    lines = [json.loads(line) for line in run.out.splitlines()]
    assert [line["event"] for line in lines] == ["race"] * (len(lines) - 1) + ["result"]
    assert (lines[-2]["settled"], lines[-1]["best"]) == (QUESTION_COUNT, "concat[k=3]")
    assert [method["method"] for method in lines[-2]["methods"] if not method["dropped"]] == ["concat[k=3]"]
    assert all(method["low"] <= method["mean"] <= method["high"] for method in lines[-2]["methods"])
    assert quorum(*command[:-1], "fast").code == 2  # there is no mode "fast"


def test_json_lines_come_with_each_part_and_each_dropped_method(capsys: pytest.CaptureFixture[str]) -> None:
    """A line comes at the start, after each part (a twentieth of the questions, here 5 of 100) and after each drop.

    If a part is settled and a method is dropped at the same time, one line is printed. The next settled question prints
    none.
    """
    race = RunningRace(["a", "b", "c"], tuple((f"q{n}",) for n in range(100)), mode="questions", measure="em")
    printed_line_counts = []
    with show_race(as_json=True) as (_, watch):
        two_drops = {"b": 5, "c": 7}
        for settled_count, dropped in ((0, {}), (4, {}), (5, {"b": 5}), (6, {"b": 5}), (7, two_drops), (10, two_drops)):
            race.settled_count, race.asked_when_dropped = settled_count, dropped
            watch(race)
            printed_line_counts.append(len(capsys.readouterr().out.splitlines()))
    assert printed_line_counts == [1, 0, 1, 0, 1, 1]


def test_the_best_is_hardly_ever_dropped(tmp_path: Path) -> None:
    """Each race gets the answers of a random table in random order.

    The best method is the one with the highest mean in the table, or each of those that share the highest mean.
    """
    races_without_the_best, race_count = 0, 60
    for seed in range(race_count):
        rng = random.Random(seed)
        units = tuple((f"q{n}",) for n in range(60))
        table = {(name, f"q{n}"): float(rng.random() < share) for name, share in SHARE_RIGHT.items() for n in range(60)}
        race = RunningRace(list(SHARE_RIGHT), units, mode="questions", measure="em")
        for name, id_ in sorted(table, key=lambda _: rng.random()):
            if race.is_live(name):
                race.record(name, id_, table[name, id_], unknown=False)
                race.settle()
        means = {name: sum(table[name, f"q{n}"] for n in range(60)) for name in SHARE_RIGHT}
        races_without_the_best += not any(
            race.is_live(name) for name in SHARE_RIGHT if means[name] == max(means.values())
        )
        assert race.is_finished
    # At most 5% of the races, plus three standard deviations.
    assert races_without_the_best <= 0.05 * race_count + 3 * (0.05 * 0.95 * race_count) ** 0.5
