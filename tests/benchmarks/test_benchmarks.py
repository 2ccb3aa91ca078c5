"""Tests of the functions on which the benchmarks rely."""

import json
import subprocess
from collections import Counter
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from unittest.mock import Mock

import pytest
from pydantic import ValidationError

from benchmarks import full_disk, fuzz
from benchmarks.bench import BENCHMARKS, compare_ratios
from benchmarks.fuzz import PARSERS, VALUE_TYPES, HashedEmbeddings, check_indexed, check_parsed, fuzz_documents
from benchmarks.poison import POISON_KINDS, Case, GullibleReader, make_poison, poison_case
from benchmarks.poison import main as measure_poison
from benchmarks.replies import VARIABLE, recognise_prompt
from quorum.core.context import Context
from quorum.core.state import Passage
from quorum.datasets.records import Record
from quorum.graphs import answer
from quorum.parsing.answers import Parsed
from quorum.prompts import BUILT_IN
from quorum.retrievers.index import index_documents


def test_every_parser_is_found_and_reads_an_empty_reply() -> None:
    assert {
        "parse_short_answer",
        "parse_candidates",
        "parse_passage_ids",
        "parse_copied_sentences",
        "parse_step",
    } <= set(PARSERS)
    for name, parse in PARSERS.items():
        check_parsed(parse(""), VALUE_TYPES[name])


@pytest.mark.parametrize(
    ("parser", "value"), [("parse_passage_ids", ["1"]), ("parse_validity", 1), ("parse_topic", None)]
)
def test_a_value_that_has_not_the_declared_type_of_its_parser_is_a_failure(parser: str, value: object) -> None:
    with pytest.raises(ValidationError):
        check_parsed(Parsed(value), VALUE_TYPES[parser])


def test_a_file_that_is_neither_indexed_nor_skipped_and_a_missing_passage_are_failures(tmp_path: Path) -> None:
    files, store = [tmp_path / "a.md", tmp_path / "b.jsonl"], tmp_path / "store"
    files[0].write_text("Joseph Haydn was born in Rohrau.", encoding="utf-8")
    files[1].write_text("no JSON\nnor this\n", encoding="utf-8")
    index_report = index_documents(files, collection="fuzz", store=store, embeddings=HashedEmbeddings())
    check_indexed(index_report, 2, store)
    with pytest.raises(ValueError, match="neither indexed nor skipped"):
        check_indexed(index_report, 3, store)
    with pytest.raises(ValueError, match="1 passages, but 2 were reported"):
        check_indexed(replace(index_report, passages=2), 2, store)
    with pytest.raises(ValueError, match="without a reason"):
        check_indexed(replace(index_report, skipped=[("b.jsonl", "")]), 2, store)


def test_the_documents_of_a_printed_failure_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> None:
        raise ValueError("a file is missing")

    monkeypatch.setattr(fuzz, "check_indexed", fail)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    # 100 files are indexed at once, so there are two failures. They are alike: only the first is printed.
    findings = fuzz_documents(101, seconds_per_input=5.0, seed_number=0)
    assert (findings.tried, findings.failures) == (101, 2)
    printed_lines = capsys.readouterr().out.splitlines()
    (kept_folder,) = [line.removeprefix("  its files are kept in ") for line in printed_lines if "are kept in" in line]
    assert len(list(Path(kept_folder).iterdir())) == 100


def run_fill_disk(monkeypatch: pytest.MonkeyPatch, folder: Path, failing_command: str) -> dict[str, object]:
    """The findings of `fill_disk` if `failing_command` fails: "mount", "remount" or "umount", or "" for none.

    Stubs replace the commands that mount the disk and those that write to it.
    """

    def run(command: list[str], *, check: bool = False, **_: object) -> subprocess.CompletedProcess[str]:
        name = "remount" if "-o" in command and command[2].startswith("remount") else command[0]
        code = 32 if name == failing_command else 0
        if code and check:
            raise subprocess.CalledProcessError(code, command)
        return subprocess.CompletedProcess(command, code, "", "permission denied\n")

    monkeypatch.setattr("benchmarks.full_disk.subprocess.run", run)
    monkeypatch.setattr(full_disk, "time_evaluation", lambda *_, **__: None)
    monkeypatch.setattr(full_disk, "wait_for_success", lambda _: None)
    monkeypatch.setattr(full_disk, "start_on_disk", lambda *_: Mock(finish=lambda: "", returncode=2))
    monkeypatch.setattr(full_disk, "read_rows_without_timing", lambda _: Counter())
    monkeypatch.setattr(full_disk, "read_collection", lambda *_: set())
    monkeypatch.setattr(Path, "read_bytes", lambda _: b"")
    return full_disk.fill_disk(Mock(), Mock(), folder, 1)


def test_the_full_disk_part_is_skipped_only_if_no_tmpfs_can_be_mounted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders = [tmp_path / name for name in ("mount", "remount", "umount", "none")]
    for folder in folders:
        folder.mkdir()
    with monkeypatch.context() as patch:
        findings = run_fill_disk(patch, folders[0], "mount")
    assert findings == {"skipped": "no tmpfs can be mounted here (permission denied)"}
    for folder in folders[1:3]:  # remount and umount
        with monkeypatch.context() as patch, pytest.raises(subprocess.CalledProcessError):
            run_fill_disk(patch, folder, failing_command=folder.name)
    with monkeypatch.context() as patch:
        assert list(run_fill_disk(patch, folders[3], "")) == ["results", "journal", "index"]


def test_poison_replaces_the_given_number_of_passages() -> None:
    passages = [Passage(id=f"p{n}", title="", text=f"It was {'Rohrau' if n == 2 else 'there'}.") for n in range(5)]
    record = Record(id="1", question="Where?", answers=["Rohrau"], passages=passages, gold=[])
    for kind in POISON_KINDS:
        for count in (1, 2):
            result = poison_case(Case(record, passages, "Vienna"), kind, count)
            changed_passages = [new for old, new in zip(passages, result, strict=True) if new != old]
            assert result[2] == passages[2]
            assert sorted(p["id"] for p in changed_passages) == [f"poison-{n}" for n in range(count)]
            assert all("Vienna" in p["text"] for p in changed_passages)


async def test_a_gullible_model_believes_a_poisoned_passage_and_otherwise_reads() -> None:
    passages = [Passage(id="a", title="", text="Haydn was born in Rohrau. He died in 1809.")]
    context = Context(model=GullibleReader(), journal="off")
    assert (await answer("Where was Haydn born?", "concat", context, given=passages))["answer"] == "Rohrau"
    poisons = [make_poison(kind, "Where was Haydn born?", "Vienna", 0) for kind in POISON_KINDS]
    for poison in poisons:
        assert (await answer("Where was Haydn born?", "concat", context, given=[*passages, poison]))[
            "answer"
        ] == "Vienna"


@pytest.mark.long
@pytest.mark.parametrize(("broken_count", "exit_code"), [(0, 0), (1, 1)])
def test_the_benchmark_fails_if_poison_changes_a_certified_answer_of_one_of_two_models(
    broken_count: int, exit_code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """broken_1, broken_2: how many certified answers one or two poisoned passages changed. The last printed line is
    JSON and names each method and model that missed the target of 0.
    """

    async def measure_all(*_: object) -> list[dict[str, object]]:
        broken_counts = {"embedded": broken_count, "gullible": 0}
        row = {"method": "post_fusion", "broken_1": 0}
        return [row | {"model": model, "broken_2": count} for model, count in broken_counts.items()]

    monkeypatch.setattr("benchmarks.poison.measure_all", measure_all)
    monkeypatch.setattr("sys.argv", ["poison", "--questions", "2"])
    with pytest.raises(SystemExit) as system_exit:
        measure_poison()
    findings = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (system_exit.value.code, findings["missed"]) == (exit_code, ["post_fusion with embedded"] * broken_count)


def test_every_prompt_is_recognised_by_its_fixed_text() -> None:
    for name, text in BUILT_IN.items():
        filled_prompt = VARIABLE.sub(lambda match: f"some {match[1] or match[2]}\n", text)
        assert recognise_prompt(filled_prompt)[0] == name.partition(".")[0]


def test_a_benchmark_whose_ratio_fell_by_more_than_a_tenth_is_slower() -> None:
    """A higher ratio is better."""
    recorded_ratios = {"a": 0.5, "b": 0.5, "c": 0.5}
    verdicts = [row[-1] for row in compare_ratios({"a": 0.44, "b": 0.46, "c": 0.6, "d": 1.0}, recorded_ratios)]
    assert verdicts == ["slower", "same", "faster", "new"]


def test_every_short_benchmark_measures_ratios() -> None:
    assert all(callable(import_module(f"benchmarks.{name}").measure_ratios) for name in BENCHMARKS)
