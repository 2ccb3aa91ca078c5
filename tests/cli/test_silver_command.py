"""`quorum filter silver`: what it writes and prints, and the mistakes that it refuses.

FILCO's measures are strinc (does the text contain the answer?), lexical (overlap with the answer) and cxmi (how much
more probable the text makes the answer).
"""

from pathlib import Path

import pytest
from openai_server import OpenAIServer
from silver_records import RECORDS, list_silver_texts, write_records

from quorum.cli.main import main


def run_filter_silver(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as command_exit:
        main(["filter", "silver", *args])
    return (int(command_exit.value.code or 0), *capsys.readouterr())


def test_the_command_writes_silver_lines_and_prints_their_statistics(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, out = write_records(tmp_path / "data.jsonl"), tmp_path / "silver.jsonl"
    code, output, errors = run_filter_silver(capsys, str(data), "--measure", "strinc", "--out", str(out))
    assert code == 0
    assert output.splitlines() == [
        "5 questions, silver for 3 (60%), nothing for 2.",
        "Words per question: 7.8 in the passages, 2.6 in the silver.",
        "Unigram precision against the answers: passages 5.6%, silver 13.3% (0 for an empty silver).",
    ]
    assert errors == f"quorum: silver lines in {out}\n"


def test_cxmi_is_scored_by_a_server(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], openai_server: OpenAIServer
) -> None:
    """The loopback server gives a high probability to an answer that the prompt contains."""
    data, out = write_records(tmp_path / "data.jsonl", RECORDS[:2]), tmp_path / "silver.jsonl"
    code, output, _ = run_filter_silver(
        capsys, str(data), "--measure", "cxmi", "--scorer", "completions:any", "--out", str(out)
    )
    assert code == 0
    assert output.startswith("2 questions, silver for 1 (50%)")
    assert list_silver_texts(out) == [["It was built in 1931."], []]


def test_the_measure_chosen_for_dialogue_can_count_characters(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without --measure, dialogue is measured by lexical. "mountain" and "mountains" are different words, but have
    almost the same characters.
    """
    passages = [{"id": "p", "title": "", "text": "The mountain. Tea!"}]
    record = {"question": "And then?", "answers": ["mountains"], "passages": passages}
    data = write_records(tmp_path / "data.jsonl", [record | {"id": "q", "meta": {"answer_type": "dialogue"}}])
    texts = {}
    for tokens in ("words", "characters"):
        out = tmp_path / f"{tokens}.jsonl"
        code, _, errors = run_filter_silver(capsys, str(data), "--tokens", tokens, "--out", str(out))
        assert code == 0, errors
        texts[tokens] = list_silver_texts(out)
    assert texts == {"words": [[]], "characters": [["The mountain."]]}


def test_mistakes_on_the_command_line_are_refused_in_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = str(write_records(tmp_path / "data.jsonl"))
    for options, message in (
        (["--measure", "cxmi"], "needs a model that gives log-probabilities; add --scorer"),
        (["--measure", "strinc", "--scorer", "completions:x"], "strinc asks no model"),
        (["--measure", "strinc", "--tokens", "characters"], "strinc counts no tokens"),
        (["--measure", "cxmi", "--scorer", "embedded"], "scorer='embedded' cannot be used for cxmi"),
    ):
        code, _, errors = run_filter_silver(capsys, data, *options, "--out", str(tmp_path / "silver.jsonl"))
        assert code == 2
        assert message in errors
        assert errors.count("\n") == 1


def test_a_file_that_cannot_be_written_is_refused_in_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = write_records(tmp_path / "data.jsonl")
    out = data / "silver.jsonl"  # in a file, not in a folder
    code, _, errors = run_filter_silver(capsys, str(data), "--measure", "strinc", "--out", str(out))
    assert (code, errors.count("\n")) == (2, 1)
    assert f"{out} cannot be written" in errors
    code, _, errors = run_filter_silver(capsys, str(data), "--measure", "strinc", "--out", str(tmp_path))
    assert (code, errors.count("\n")) == (2, 1)
    assert f"{tmp_path} is a folder" in errors
