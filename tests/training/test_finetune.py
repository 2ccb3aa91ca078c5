"""Filters and generators are trained on the prompts that the graphs send. These tests need no PyTorch."""

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from quorum.cli.main import main
from quorum.core.context import Context
from quorum.core.errors import SetupError
from quorum.datasets.silver import SilverLine, read_silver
from quorum.graphs import answer
from quorum.models.pretrained import ModelManifest
from quorum.models.scripted import ScriptedModel
from quorum.prompts import get_version
from quorum.training.finetune import Settings
from quorum.training.finetune_card import make_card_text
from quorum.training.finetune_jsonl import check_file, export_examples
from quorum.training.pairs import TrainingTask, name_measures, read_lines

TEXTS = [
    "The tower is old. It was finished in 1931. Rain fell.",
    "Masts rust.",
    "The tower,\nfinished in 1931, is red.",
]
# SPLIT_SENTENCE has a line break inside.
SENTENCE, SPLIT_SENTENCE = "It was finished in 1931.", "The tower,\nfinished in 1931, is red."


def make_silver_line(number: int = 0, spans: list[tuple[str, str]] | None = None, **changes: Any) -> dict[str, Any]:
    """A line of a silver file.

    spans: (passage id, text) of each silver sentence; None: one sentence. changes: values that replace the usual ones.
    """
    spans = [("p1", SENTENCE)] if spans is None else spans
    starts = [TEXTS[int(passage[1]) - 1].index(text) for passage, text in spans]
    return {
        "id": f"q{number}",
        "question": f"When was tower {number} finished?",
        "answers": ["1931", "in 1931"],
        "passages": [{"id": f"p{i}", "title": f"Title {i}", "text": text} for i, text in enumerate(TEXTS, start=1)],
        "silver": [
            {"passage": passage, "start": start, "end": start + len(text), "text": text}
            for (passage, text), start in zip(spans, starts, strict=True)
        ],
        "measure": "strinc",
    } | changes


def write_lines(path: Path, *lines: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def write_and_read_silver(path: Path, *lines: dict[str, Any]) -> list[SilverLine]:
    return list(read_silver(write_lines(path, *lines)))


async def get_sent_prompt(method: str, silver: SilverLine, prompt_name: str, **settings: Any) -> str:
    """The text of the prompt `prompt_name`, as the method's graph sends it for the question of the silver line."""
    model = ScriptedModel().on("filter_sentences", SENTENCE).on("filter_passages", "1").on("answer", "1931")
    context = Context(model=model, **settings)
    await answer(silver["question"], method, context, given=silver["passages"], gold_answers=silver["answers"])
    return next(request.text for request in model.history if request.prompt_name == prompt_name)


@pytest.mark.parametrize(
    ("task", "method", "settings"),
    [
        (TrainingTask("filter", mode="filco"), "filco", {"context_filter": "llm"}),
        (TrainingTask("filter", mode="psg"), "filco", {"context_filter": "llm", "filter_mode": "psg"}),
        (TrainingTask("generator", context="full"), "concat", {}),
        (TrainingTask("generator", context="full"), "filco", {"filter_mode": "full"}),
        (TrainingTask("generator", context="silver"), "filco", {"filter_mode": "silver"}),
        (TrainingTask("generator", context="silver"), "filco", {"context_filter": "llm"}),
    ],
)
async def test_prompts_are_those_that_the_graph_sends(
    task: TrainingTask, method: str, settings: dict[str, Any], tmp_path: Path
) -> None:
    (silver,) = write_and_read_silver(tmp_path / "silver.jsonl", make_silver_line())
    pair = task.make_pair(silver, len(task.select_passages(silver)))
    assert pair.prompt == await get_sent_prompt(method, silver, task.get_prompt_name(silver), **settings)
    export_examples(task, [silver], tmp_path / "chat.jsonl")
    (example,) = (json.loads(text) for text in (tmp_path / "chat.jsonl").read_text(encoding="utf-8").splitlines())
    assert example == {
        "messages": [{"role": "user", "content": pair.prompt}, {"role": "assistant", "content": pair.target}]
    }


def test_each_task_has_its_own_form_of_target(tmp_path: Path) -> None:
    two_sentences, no_spans = write_and_read_silver(
        tmp_path / "silver.jsonl",
        make_silver_line(spans=[("p3", SPLIT_SENTENCE), ("p1", SENTENCE)]),
        make_silver_line(1, spans=[]),
    )
    sentence_filter, passage_filter = TrainingTask("filter", mode="filco"), TrainingTask("filter", mode="psg")
    assert sentence_filter.make_pair(two_sentences, 3).target == f"{SENTENCE}\nThe tower, finished in 1931, is red."
    assert sentence_filter.make_pair(two_sentences, 2).target == SENTENCE  # the prompt does not show p3
    assert passage_filter.make_pair(two_sentences, 3).target == "1, 3"
    assert {task.make_pair(no_spans, 3).target for task in (sentence_filter, passage_filter)} == {"None"}
    generator = TrainingTask("generator")
    assert generator.make_pair(two_sentences, 2).target == "1931"
    assert [passage["text"] for passage in generator.select_passages(two_sentences)] == [SENTENCE, SPLIT_SENTENCE]
    # Without silver sentences, the prompt shows the first passage.
    assert [passage["text"] for passage in generator.select_passages(no_spans)] == TEXTS[:1]


def test_each_task_skips_the_lines_that_it_cannot_learn_from(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path / "silver.jsonl",
        make_silver_line(),
        make_silver_line(1, spans=[], passages=[]),
        make_silver_line(2, answers=[" "]),
        make_silver_line(3, measure="cxmi", answers=["", "1931"]),
    )
    assert [line["id"] for line in read_lines(path, "filter")] == ["q0", "q2", "q3"]
    lines = read_lines(path, "generator")
    assert [line["id"] for line in lines] == ["q0", "q3"]
    assert [TrainingTask("generator").make_pair(line, 1).target for line in lines] == ["1931", "1931"]
    assert name_measures(lines) == "cxmi+strinc"
    assert len(read_lines(path, "filter", limit=1)) == 1
    with pytest.raises(SetupError, match="holds no question with passages to learn from"):
        read_lines(write_lines(path, make_silver_line(spans=[], passages=[])), "filter")
    with pytest.raises(SetupError, match="holds no question with passages and an accepted answer to learn from"):
        read_lines(write_lines(path, make_silver_line(answers=[" "])), "generator")


def test_a_generator_learns_the_prompts_of_its_answer_types(tmp_path: Path) -> None:
    lines = write_and_read_silver(
        tmp_path / "silver.jsonl",
        make_silver_line(),
        make_silver_line(1, answer_type="label"),
        make_silver_line(2, answer_type="yes_no"),
    )
    task = TrainingTask("generator", context="full")
    assert [task.get_prompt_name(line) for line in lines] == ["answer", "answer_label", "answer_yes_no"]
    assert task.list_prompt_versions(lines) == {
        name: get_version(name) for name in ("answer", "answer_label", "answer_yes_no")
    }
    assert "Claim: When was tower 1 finished?" in task.make_pair(lines[1], 1).prompt
    assert list(TrainingTask("filter").list_prompt_versions(lines)) == ["filter_sentences"]


def make_example(number: int, reply: str = "None") -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": f"Q{number}"}, {"role": "assistant", "content": reply}]}


def test_a_valid_file_has_no_problems(tmp_path: Path) -> None:
    lines = write_and_read_silver(tmp_path / "silver.jsonl", *(make_silver_line(number) for number in range(12)))
    assert export_examples(TrainingTask("filter", mode="filco"), lines, tmp_path / "chat.jsonl") == 12
    report = check_file(tmp_path / "chat.jsonl")
    assert (report.examples, report.problems, report.notes, report.none_replies) == (12, [], [], 0)
    # The 12 examples differ only in the number of the tower, so they are almost equally long.
    assert report.longest * 11 < report.tokens <= report.longest * 12
    with pytest.raises(SetupError, match="is there already; name another file with --out"):
        export_examples(TrainingTask("filter", mode="filco"), lines, tmp_path / "chat.jsonl")


def test_every_problem_is_reported_with_its_line(tmp_path: Path) -> None:
    examples = [
        make_example(0),
        make_example(0),
        make_example(0, "Another."),
        {"messages": "none"},
        {"messages": [{"role": "user", "content": "Q"}]},
        {"messages": [{"role": "human", "content": "Q"}, {"role": "assistant", "content": " "}]},
        {"messages": [{"role": "user", "content": None}, {"role": "assistant", "content": "x"}]},
        {"messages": [{"role": "user", "content": "x" * 400}, {"role": "assistant", "content": "x"}]},
    ]
    report = check_file(write_lines(tmp_path / "chat.jsonl", *examples), window=100)
    assert report.problems == [
        "line 2: repeats line 1; keep one of them.",
        "line 3: contradicts line 1; keep one of them.",
        'line 4: expected {"messages": [{"role": ..., "content": ...}, ...]}.',
        "line 5: expected a message with the role user, and a last message with the role assistant.",
        "line 6: the role 'human' is unknown; use system, user, assistant.",
        "line 6: expected a message with the role user, and a last message with the role assistant.",
        "line 6: the content of the message with the role assistant is empty; write None where no sentence helps.",
        "line 7: the content of the message with the role user is not a text.",
        "line 8: about 135 tokens, more than the window of 100; make the silver data with fewer passages "
        "(quorum filter silver --k N).",
        "8 examples; a fine-tuning service requires at least 10.",
    ]
    report = check_file(write_lines(tmp_path / "chat.jsonl", *(make_example(number) for number in range(10))))
    assert report.problems == []
    assert report.notes == ["10 of 10 replies are None; the model may learn nothing else."]


def run_command(*arguments: str) -> int:
    """Run `quorum` with these arguments, and return its exit code."""
    with pytest.raises(SystemExit) as command_exit:
        main([*arguments])
    return int(command_exit.value.code or 0)


def test_the_commands_write_and_check_training_data(capsys: pytest.CaptureFixture[str]) -> None:
    write_lines(Path("silver.jsonl"), *(make_silver_line(number) for number in range(10)))
    assert run_command("filter", "export", "silver.jsonl", "--out", "filter.jsonl") == 0
    assert "10 examples for a filter in filter.jsonl" in capsys.readouterr().out
    assert (
        run_command("filter", "export", "silver.jsonl", "--out", "reader.jsonl", "--for", "generator", "--limit", "2")
        == 0
    )
    assert run_command("filter", "check", "filter.jsonl") == 0
    assert "10 examples, about" in capsys.readouterr().out
    assert run_command("filter", "check", "reader.jsonl") == 1
    assert "2 examples; a fine-tuning service requires at least 10." in capsys.readouterr().err
    assert run_command("filter", "check", "nowhere.jsonl") == 2
    assert run_command("filter", "export", "filter.jsonl", "--out", "x.jsonl") == 2
    assert "expected a line that `quorum filter silver` wrote" in capsys.readouterr().err


@pytest.mark.skipif(find_spec("torch") is not None, reason="PyTorch is installed")
@pytest.mark.parametrize("command", ["filter", "generator"])
def test_training_without_its_packages_says_what_to_install(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    write_lines(Path("silver.jsonl"), make_silver_line())
    assert run_command(command, "train", "silver.jsonl", "--out", "made", "--base", "nowhere") == 2
    output = capsys.readouterr().err
    assert f"Training a {command} needs the package torch" in output
    assert "pip install 'quorum-rag[train]' (in a checkout: pip install -e '.[train]')" in output
    assert not Path("made").exists()
    write_lines(Path("passages.jsonl"), {"id": "p", "text": TEXTS[0]})
    ask_command = ["ask", "Who?", "--method", "filco", "--passages", "passages.jsonl"]
    assert run_command(*ask_command, "--set", "context_filter=transformers:made") == 2
    assert "needs the package torch" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"rate": 0}, "rate=0"),
        ({"epochs": 0}, "epochs=0"),
        ({"output": 0}, "output=0"),
        ({"at_once": -1}, "at_once=-1"),
    ],
)
def test_invalid_settings_are_refused(setting: dict[str, Any], message: str) -> None:
    with pytest.raises(SetupError, match=message):
        Settings(**setting)


@pytest.mark.parametrize(("context", "method"), [("silver", "filco"), ("full", "concat")])
def test_the_card_of_a_generator_names_the_method_that_sends_what_it_was_trained_on(context: str, method: str) -> None:
    manifest = ModelManifest(
        kind="generator",
        prompts={"answer": "1"},
        measure="strinc",
        length=1024,
        output=128,
        base="t5",
        base_hash="0",
        adapter=False,
        weights="0",
    )
    settings = {"rate": 5e-5, "epochs": 1, "batch": 32, "seed": 0}
    run = {
        "task": {"context": context},
        "base": {"name": "t5"},
        "data": {"file": "silver.jsonl", "sha256": "0"},
        "settings": settings,
    }
    report = {"examples": 1, "left_out": 0, "shortened": 0, "losses": [0.5]}
    text = make_card_text(manifest, {"run": run, "report": report, "versions": {}}, "my-reader")
    assert f"--method {method} --model transformers:my-reader" in text
    assert ("context_filter" in text) == (method == "filco")
