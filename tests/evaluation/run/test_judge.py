"""Accuracy by a judge: which answers it judges, what stays unscored, how its calls count, how a run continues."""

import csv
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from openai_bodies import make_error
from openai_server import OpenAIServer, Request

from quorum.cli.main import main
from quorum.core.context import Context
from quorum.core.errors import SetupError
from quorum.evaluation.comparison import compare, plan_comparison
from quorum.evaluation.run.evaluate import evaluate
from quorum.evaluation.run.options import Options
from quorum.evaluation.run.score import Scores
from quorum.parsing.correctness import parse_correctness

CONTEXT = Context(model="openai:test", attempts=1)
ANSWER_ABOUT_RIVER = {
    "Rhine": "the town of Basel",
    "Thames": "London",
    "Danube": "Budapest",
    "Elbe": "unknown",
    "Styx": "Hades",
}
TOWNS_OF_RIVER = {"Rhine": ["Basel"], "Thames": ["London"], "Danube": ["Vienna"], "Elbe": ["Hamburg"], "Styx": []}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Five questions. The model answers the first in other words, the second exactly, the third wrongly and the fourth
    with "unknown"; the fifth has no accepted answer.
    """
    path = tmp_path / "rivers.jsonl"
    lines = [
        {"id": river, "question": f"Which town lies on the {river}?", "answers": towns, "gold": []}
        | {"passages": [{"id": f"p-{river}", "title": "", "text": f"The {river} flows through it."}]}
        for river, towns in TOWNS_OF_RIVER.items()
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def reply_by_model(request: Request, verdicts: dict[str, Any] | None = None) -> Any:
    """Reply as the methods' model or as the judge."""
    river = next(river for river in TOWNS_OF_RIVER if f"the {river}?" in request.text)
    if request.body["model"].startswith("judge"):
        return (verdicts or {"Rhine": "Correct", "Danube": "Incorrect."})[river]
    return ANSWER_ABOUT_RIVER[river]


def list_judge_requests(server: OpenAIServer) -> list[Request]:
    return [request for request in server.chats() if request.body["model"].startswith("judge")]


async def run(data: Path, methods: str = "concat", judge: str | None = "openai:judge", **fields: Any) -> Scores:
    context = fields.pop("context", CONTEXT)
    options = Options(data=data, out=data.parent / "out", methods=methods, context=context, judge=judge, **fields)
    return await evaluate(options)


def make_options(data: Path, context: Context = CONTEXT, **options: Any) -> Options:
    """The options of a comparison in which each question is answered from its own passages."""
    return Options(data=data, corpus="given", context=context, out=data.parent / "out", **options)


@pytest.mark.parametrize(
    ("reply", "verdict"),
    [
        ("Correct", True),
        ("**Incorrect**", False),
        ("Verdict: correct", True),
        ("The answer is not correct.", False),
        ("Not correct", False),
        ("It names the accepted town; correct.", True),
        ("The answer contradicts the accepted one: incorrect", False),
        ("wrong", False),
        ('{"correct": false}', False),
        ("Incorrect. The accepted answer is yes.", False),
        ("Correct. The accepted answer is no, and so it says.", True),
        ("It is incorrect: the accepted answer is yes.", False),
        ("**Verdict:** Incorrect\nThe accepted answer is true.", False),
        ("Correct (though the spelling is wrong).", True),
        ("Correct. The town is named.\nFinal verdict: incorrect", None),
        ("Partially correct", None),
        ("correct/incorrect", None),
        ("neither correct nor incorrect", None),
        ("I cannot tell whether it is correct.", None),
        ("Hmm, correct?", None),
        ("", None),
    ],
)
def test_a_verdict_of_the_judge_is_read(reply: str, verdict: bool | None) -> None:
    parsed_reply = parse_correctness(reply)
    assert (None if parsed_reply.malformed else parsed_reply.value) is verdict
    assert not (parsed_reply.malformed and parsed_reply.value)


async def test_the_judge_is_asked_only_where_nothing_else_decides(data: Path, openai_server: OpenAIServer) -> None:
    openai_server.reply(reply_by_model)
    report = await run(data)
    summary = report.summary["concat"]
    assert (summary["em"], summary["judged"], summary["unscored"], summary["judge_errors"]) == (0.2, 0.4, 0, 0)
    assert summary["judged_low"] <= summary["judged"] <= summary["judged_high"]  # type: ignore[operator]
    assert report.measures == ("em", "f1", "judged")
    judge_requests = list_judge_requests(openai_server)
    judged_rivers = {river for request in judge_requests for river in TOWNS_OF_RIVER if f"the {river}?" in request.text}
    assert judged_rivers == {"Rhine", "Danube"}
    rhine = next(request.text for request in judge_requests if "Rhine" in request.text)
    assert "- Basel" in rhine
    assert "the town of Basel" in rhine
    lines = [json.loads(line) for line in (report.folder / "judged.jsonl").read_text().splitlines()]
    assert {line["id"]: (line["judged"], line["asked"]) for line in lines} == {
        "Rhine": (1, True),
        "Thames": (1, False),
        "Danube": (0, True),
        "Elbe": (0, False),
        "Styx": (0, False),
    }
    assert json.loads((report.folder / "judge.json").read_text())["judge"]


async def test_the_judges_calls_are_counted_separately(data: Path, openai_server: OpenAIServer) -> None:
    openai_server.reply(reply_by_model)
    report = await run(data)
    assert report.judge_spending is not None
    assert (report.spending.calls, report.judge_spending.calls) == (5, 2)
    summary = report.summary["concat"]
    assert (summary["calls"], summary["judge_calls"]) == (1, 0.4)
    assert report.judge_spending.input_tokens == pytest.approx(5 * float(summary["judge_input_tokens"] or 0))


async def test_a_judge_can_be_added_to_a_finished_run_and_continues_after_a_kill(
    data: Path, openai_server: OpenAIServer
) -> None:
    openai_server.reply(reply_by_model)
    without_judge = await run(data, judge=None)
    assert "judged" not in without_judge.summary["concat"]
    assert without_judge.judge_spending is None
    report = await run(data)
    assert (report.new_answers, report.summary["concat"]["judged"]) == (0, 0.4)
    judged_file = report.folder / "judged.jsonl"
    judged_file.write_bytes(judged_file.read_bytes()[:-20])  # a kill in the middle of the last line
    continued_run = await run(data, context=Context(model="openai:test", attempts=1, journal="off"))
    assert continued_run.judge_spending is not None
    assert (continued_run.judge_spending.calls <= 1, continued_run.summary) == (True, report.summary)
    openai_server.reply(lambda request: reply_by_model(request, dict.fromkeys(TOWNS_OF_RIVER, "Incorrect")))
    request_count = len(list_judge_requests(openai_server))
    other_run = await run(data, judge="openai:judge2")
    assert (other_run.summary["concat"]["judged"], len(list_judge_requests(openai_server)) - request_count) == (0.2, 2)


async def test_a_changed_answer_is_judged_again(data: Path, openai_server: OpenAIServer) -> None:
    openai_server.reply(reply_by_model)
    report = await run(data)
    (report.folder / "results.jsonl").unlink()
    judged_file = report.folder / "judged.jsonl"
    line_without_verdict = '{"id": "Rhine", "method": "concat"}\n'  # lacks fields, so it must be ignored
    judged_file.write_text(line_without_verdict + judged_file.read_text())
    openai_server.reply(lambda request: "Incorrect" if request.body["model"].startswith("judge") else "Bern")
    second_run = await run(data, context=Context(model="openai:test", attempts=1, journal="off"))
    assert second_run.summary["concat"]["judged"] == 0


async def test_unreadable_verdicts_stay_unscored_and_failed_calls_are_asked_again(
    data: Path, openai_server: OpenAIServer
) -> None:
    openai_server.reply(
        lambda request: reply_by_model(request, {"Rhine": "Who knows?", "Danube": make_error(400, "not today")})
    )
    report = await run(data)
    summary = report.summary["concat"]
    assert (summary["unscored"], summary["judge_errors"], summary["judged"]) == (1, 1, 0.333333)
    openai_server.reply(reply_by_model)
    summary = (await run(data)).summary["concat"]
    assert (summary["unscored"], summary["judge_errors"], summary["judged"]) == (1, 0, 0.25)


async def test_methods_are_compared_by_the_judges_verdicts(data: Path, openai_server: OpenAIServer) -> None:
    openai_server.reply(reply_by_model)
    report = await run(data, "concat,concat[k=1]")
    difference = report.comparisons[0]["methods"]["concat[k=1]"]["judged"]
    assert (difference["difference"], difference["test"], difference["questions_needed"]) == (0, "step-down", None)


async def test_the_embedded_reader_judges_nothing(data: Path, openai_server: OpenAIServer) -> None:
    with pytest.raises(SetupError, match="cannot judge answers, because it only finds text"):
        await run(data, judge="embedded")
    with pytest.raises(SetupError, match="names no provider"):
        await run(data, judge="gpt")
    assert openai_server.requests == []
    assert not (data.parent / "out").exists()


async def test_a_comparison_with_a_judge_reports_its_verdicts_and_spending(
    data: Path, openai_server: OpenAIServer, tmp_path: Path
) -> None:
    """spent.json counts the judge's calls separately, and every table has a column for its verdicts."""
    prices = tmp_path / "prices.toml"
    prices.write_text('["openai:test"]\ninput = 1.0\noutput = 1.0\n["openai:judge"]\ninput = 1.0\noutput = 1.0\n')
    openai_server.reply(reply_by_model)
    # Both methods give the same answers. The judge is called once for each different answer that it must judge; for the
    # second method its reply is reused.
    context = replace(CONTEXT, journal=str(tmp_path / "journal.sqlite"))
    options = make_options(
        data, context=context, methods="concat,concat_pf", judge="openai:judge", prices=prices, max_cost=5
    )
    decision = await compare(await plan_comparison(options))
    assert decision.spent["judge"]["models"]["openai:judge"]["calls"] == 2
    assert "openai:judge" not in decision.spent["models"]
    assert json.loads((tmp_path / "out" / "spent.json").read_text()) == decision.spent
    assert decision.measure == "em"
    folder = decision.scores.folder
    assert '<th scope="col">judged</th>' in (folder / "report.html").read_text()
    text = (folder / "report.md").read_text()
    assert "| method | exact match, % | judged, % |" in text
    assert "Separately from the methods, openai:judge judged answers: 2 calls really made" in text
    with (folder / "report.csv").open(newline="") as file:
        assert {row["judged"] for row in csv.DictReader(file)} == {"0.4"}
    repeated_decision = await compare(await plan_comparison(options))
    assert repeated_decision.spent["judge"] == decision.spent["judge"]
    without_judge = await compare(await plan_comparison(make_options(data, methods="concat,concat_pf", prices=prices)))
    assert without_judge.spent["judge"] == decision.spent["judge"]  # what the judge spent in earlier runs stays
    assert "judged" not in without_judge.scores.measures


async def test_the_limit_on_cost_includes_the_judges_calls(
    data: Path, openai_server: OpenAIServer, tmp_path: Path
) -> None:
    prices = tmp_path / "prices.toml"
    prices.write_text('["openai:test"]\ninput = 0.0\noutput = 0.0\n["openai:judge"]\ninput = 1e6\noutput = 1e6\n')
    openai_server.reply(reply_by_model)
    limits = {"prices": prices, "max_cost": 1, "concurrency": 1}
    comparison_plan = await plan_comparison(make_options(data, methods="concat", judge="openai:judge", **limits))
    with pytest.raises(SetupError, match=r"have cost \$.* the limit is \$1"):
        await compare(comparison_plan)
    assert len(list_judge_requests(openai_server)) == 1


async def test_a_limit_on_cost_needs_the_judges_price(data: Path, openai_server: OpenAIServer, tmp_path: Path) -> None:
    prices = tmp_path / "prices.toml"
    prices.write_text('["openai:test"]\ninput = 1.0\noutput = 1.0\n')
    options = make_options(data, methods="concat", judge="openai:judge", prices=prices, max_cost=5)
    with pytest.raises(SetupError, match="a model has no price"):
        await plan_comparison(options)
    assert openai_server.requests == []


async def test_the_judge_ignores_the_methods_own_settings(
    data: Path, openai_server: OpenAIServer, tmp_path: Path
) -> None:
    """A prompt of the judge that is longer than a method's context_window is sent nevertheless."""
    openai_server.reply(reply_by_model)
    options = make_options(data, methods="concat[context_window=600],concat", judge="openai:judge")
    long_question = json.loads(data.read_text().splitlines()[0])
    long_question["answers"] += [f"Basel, {'the town on the Rhine ' * 9}{number}" for number in range(9)]
    data.write_text(json.dumps(long_question) + "\n")
    decision = await compare(await plan_comparison(options))
    assert {row["judge_errors"] for row in decision.scores.summary.values()} == {0}


@pytest.fixture
def quorum(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Runs the command `quorum` with the arguments that it gets; returns its exit code, stdout and stderr."""

    def command(*args: str) -> tuple[int, str, str]:
        try:
            main([str(arg) for arg in args])
            code: Any = 0
        except SystemExit as exit_:
            code = exit_.code or 0
        return code, *capsys.readouterr()

    return command


def test_eval_prints_the_judges_figures(
    quorum: Callable[..., tuple[int, str, str]],
    data: Path,
    openai_server: OpenAIServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "140")
    openai_server.reply(
        lambda request: reply_by_model(request, {"Rhine": "Who knows?", "Danube": make_error(400, "not today")})
    )
    command = ("eval", str(data), "--methods", "concat", "--model", "openai:test", "--out", "o")
    code, out, err = quorum(*command, "--judge", "openai:judge")
    head, line = out.splitlines()[:2]
    assert head.split() == ["method", "n", "EM", "F1", "judged", "contains", "%Unk", "unscored", "judge", "errors"]
    assert (line.split()[0], line.split()[-2:]) == ("concat", ["1", "1"])
    assert "judged: right answers as a chat model judges them, %" in " ".join(out.split())
    assert "made 5 calls now" in err
    assert "the judge made 1 further call now (" in err
    assert (
        code,
        "the judge failed on 1 answer; run the same command again to ask the judge only where it failed" in err,
    ) == (
        1,
        True,
    )
    openai_server.reply(reply_by_model)
    code, _, err = quorum(*command, "--judge", "openai:judge")
    assert (code, "the judge made 1 further call now (" in err, "made 0 calls now" in err) == (0, True, True)
    code, out, err = quorum(*command, "--judge", "embedded")
    assert (code, out, "cannot judge answers" in err) == (2, "", True)
