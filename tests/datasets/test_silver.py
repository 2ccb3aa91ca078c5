"""Silver data are made from questions with passages, continued after an interruption, and read again."""

import asyncio
import signal
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from silver_records import RECORDS, list_silver_texts, make_record, write_records

from quorum.cli.main import main
from quorum.core.context import Context
from quorum.core.errors import SetupError
from quorum.datasets.silver import read_silver
from quorum.retrievers.index import index_documents
from quorum.training.silver import Recipe, Statistics, make_silver

STRINC = Recipe(measure="strinc")


def write_silver(data: Path, out: Path, recipe: Recipe = STRINC, **options: Any) -> Statistics:
    return asyncio.run(make_silver(data, out, recipe, **options))


@pytest.mark.parametrize("name", ["data.jsonl", "data.jsonl.gz"])
def test_silver_lines_and_their_statistics_are_written(name: str, tmp_path: Path) -> None:
    out = tmp_path / "new" / "silver.jsonl"
    statistics = write_silver(write_records(tmp_path / name), out)
    assert list_silver_texts(out) == [["It was built in 1931."], [], ["Yes, it is."], [], ["Built in 1950 by Lee."]]
    first_line = next(read_silver(out))
    assert first_line == {
        "id": "q1",
        "question": "Which, 1?",
        "answers": ["1931"],
        "passages": RECORDS[0]["passages"],
        "silver": [{"passage": "1-1", "start": 0, "end": 21, "text": "It was built in 1931."}],
        "measure": "strinc",
        "answer_type": "short",
    }
    assert [line["answer_type"] for line in read_silver(out)] == ["short", "short", "yes_no", "short", "short"]
    assert (statistics.questions, statistics.with_silver) == (5, 3)
    assert statistics.words_before == pytest.approx((14 + 4 + 6 + 4 + 11) / 5)
    assert statistics.words_after == pytest.approx((5 + 3 + 5) / 5)
    # Both precisions are means over q1, q2 and q5, because q3's answer is a verdict and q4 has no answer. In q1, 1 of
    # the 13 tokens of the passages and 1 of the 5 tokens of the silver is the answer; in q5, 1 of 11 and 1 of 5; in q2,
    # no token is. Articles are not counted as tokens.
    assert statistics.precision_before == pytest.approx((1 / 13 + 1 / 11) / 3, abs=1e-9)
    assert statistics.precision_after == pytest.approx((1 / 5 + 1 / 5) / 3)
    assert list(out.parent.iterdir()) == [out]


def test_the_settings_top_unit_k_and_limit_choose_what_is_written(tmp_path: Path) -> None:
    data, out = write_records(tmp_path / "data.jsonl"), tmp_path / "silver.jsonl"
    write_silver(data, out, replace(STRINC, top="per_passage"))
    assert list_silver_texts(out)[4] == ["Built in 1950 by Lee.", "Painted in 1950."]
    write_silver(data, out, replace(STRINC, unit="passage"))
    assert list_silver_texts(out)[0] == ["It was built in 1931. It is red."]
    statistics = write_silver(data, out, replace(STRINC, k=1, limit=2))
    assert (list_silver_texts(out), statistics.questions) == ([[], []], 2)
    assert [len(line["passages"]) for line in read_silver(out)] == [1, 1]


def test_the_answer_type_of_a_record_is_written(tmp_path: Path) -> None:
    typed_records = [{**RECORDS[0], "meta": {"answer_type": "long"}}, {**RECORDS[2], "answers": ["REFUTES"]}]
    out = tmp_path / "silver.jsonl"
    write_silver(write_records(tmp_path / "data.jsonl", typed_records), out)
    assert [line["answer_type"] for line in read_silver(out)] == ["long", "label"]


def test_the_answer_type_of_the_recipe_is_written_to_the_file(tmp_path: Path) -> None:
    data, out, scorer = (
        write_records(tmp_path / "data.jsonl", RECORDS[:1]),
        tmp_path / "silver.jsonl",
        RecordingScorer(),
    )
    recipe = Recipe(measure="cxmi", answer_type="dialogue", scorer="completions:x")
    write_silver(data, out, recipe, scorer=scorer)
    assert [line["answer_type"] for line in read_silver(out)] == ["dialogue"]
    assert all(prompt.endswith("Conversation:\nWhich, 1?\nNext turn:") for prompt, _ in scorer.pairs)
    # The scorer gets the prompt with which `filco` asks for the answer: first without a passage, then with each
    # sentence as the only passage. The third prompt holds the second sentence.
    assert "[1] T\nIt is old.\n" in scorer.pairs[2][0]


class RecordingScorer:
    """A scorer that records its requests."""

    def __init__(self) -> None:
        self.pairs: list[tuple[str, str]] = []

    async def log_probabilities(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        self.pairs += pairs
        return [0.0 for _ in pairs]


def test_the_measure_auto_depends_on_the_answer_type(tmp_path: Path) -> None:
    typed_records = [
        RECORDS[0],
        {**RECORDS[0], "id": "d", "meta": {"answer_type": "dialogue"}},
        {**RECORDS[2], "id": "c"},
    ]
    out = tmp_path / "silver.jsonl"
    write_silver(
        write_records(tmp_path / "data.jsonl", typed_records), out, Recipe(measure="auto"), scorer=RecordingScorer()
    )
    assert [line["measure"] for line in read_silver(out)] == ["strinc", "lexical", "cxmi"]
    with pytest.raises(
        SetupError, match=r"measure cxmi, which needs a model that gives log-probabilities; add --scorer"
    ):
        write_silver(write_records(tmp_path / "data.jsonl", typed_records), out, Recipe(measure="auto"))


def test_lexical_counts_words_like_the_paper_or_characters_like_its_published_code(tmp_path: Path) -> None:
    """No sentence exceeds 0.5, the default threshold of the measure lexical. A sentence without a word of the answer
    exceeds 0.3 only if characters are counted.
    """
    data, out = write_records(tmp_path / "data.jsonl", RECORDS[:2]), tmp_path / "silver.jsonl"
    texts = {}
    for tokens in ("words", "characters"):
        for threshold in (None, 0.3):
            write_silver(data, out, Recipe(measure="lexical", tokens=tokens, threshold=threshold))
            texts[tokens, threshold] = list_silver_texts(out)
    assert texts["words", None] == texts["characters", None] == [[], []]
    assert texts["words", 0.3] == [["It was built in 1931."], []]
    assert texts["characters", 0.3] == [["It was built in 1931."], ["It rains."]]


def test_mostly_empty_silver_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = write_records(tmp_path / "data.jsonl", [RECORDS[1], {**RECORDS[1], "id": "q9"}, RECORDS[0]])
    with pytest.raises(SystemExit) as command_exit:
        main(["filter", "silver", str(data), "--measure", "strinc", "--out", str(tmp_path / "s.jsonl")])
    assert not command_exit.value.code
    assert (
        "67% of the questions have no silver, so that a filter would mostly learn to keep nothing"
        in capsys.readouterr().err
    )


class InterruptedScorer:
    """A scorer that raises SIGINT, as Ctrl-C does, in one of its requests.

    interrupted_request: the number of this request, counted from 1; 0: no request is interrupted.
    """

    def __init__(self, interrupted_request: int) -> None:
        self.interrupted_request, self.request_count = interrupted_request, 0

    async def log_probabilities(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        self.request_count += 1
        if self.request_count == self.interrupted_request:
            signal.raise_signal(signal.SIGINT)
            await asyncio.sleep(60)
        return [float(len(prompt)) for prompt, _ in pairs]


@pytest.mark.usefixtures("ctrl_c_raises")
def test_a_continued_run_writes_the_same_bytes(tmp_path: Path) -> None:
    records = [{**RECORDS[number % 3], "id": f"m{number}"} for number in range(50)]
    data, cxmi = write_records(tmp_path / "data.jsonl", records), Recipe(measure="cxmi")
    uninterrupted_file, interrupted_file = tmp_path / "whole.jsonl", tmp_path / "broken.jsonl"
    write_silver(data, uninterrupted_file, cxmi, scorer=InterruptedScorer(0))
    scorer = InterruptedScorer(40)
    with pytest.raises(KeyboardInterrupt):
        write_silver(data, interrupted_file, cxmi, scorer=scorer)
    assert not interrupted_file.exists()
    (part,) = tmp_path.glob(".broken.jsonl.*.part")
    # 16 questions are processed at the same time, one request for each: request 40 belongs to the third batch.
    assert part.read_text(encoding="utf-8").count("\n") == 32
    with part.open("a", encoding="utf-8") as file:
        file.write('{"id": "m32", "quest')  # the process was killed while it wrote a line
    progress_counts: list[int] = []
    write_silver(data, interrupted_file, cxmi, scorer=scorer, progress=progress_counts.append)
    assert interrupted_file.read_bytes() == uninterrupted_file.read_bytes()
    assert progress_counts == list(range(33, 51))
    assert not part.exists()


@pytest.mark.usefixtures("ctrl_c_raises")
def test_a_changed_recipe_or_data_set_starts_over(tmp_path: Path) -> None:
    """An interrupted run leaves finished lines. Only a run with the same recipe over the same data continues it."""
    records = [{**RECORDS[number % 3], "id": f"m{number}"} for number in range(50)]
    data, out = write_records(tmp_path / "data.jsonl", records), tmp_path / "silver.jsonl"
    cxmi = Recipe(measure="cxmi")
    with pytest.raises(KeyboardInterrupt):
        write_silver(data, out, cxmi, scorer=InterruptedScorer(40))
    (part,) = tmp_path.glob(".silver.jsonl.*.part")
    assert part.read_text(encoding="utf-8").count("\n") == 32  # two batches of 16 questions
    write_silver(data, out)
    first_content = out.read_bytes()
    assert [(line["id"], line["measure"]) for line in read_silver(out)] == [(r["id"], "strinc") for r in records]
    write_records(data, records[::-1])
    write_silver(data, out)
    assert out.read_bytes().splitlines() == first_content.splitlines()[::-1]
    progress_counts: list[int] = []
    write_silver(data, out, cxmi, scorer=InterruptedScorer(0), progress=progress_counts.append)
    assert progress_counts == list(range(1, 51))
    assert [line["id"] for line in read_silver(out)] == [record["id"] for record in reversed(records)]


@pytest.mark.parametrize(
    ("records", "message"),
    [
        ([], "There are no questions in .*data.jsonl"),
        ([make_record(1, [], "A text.")], "No question in .*data.jsonl has gold answers"),
        ([make_record(1, ["a"])], "'q1' has no passages; .* --collection NAME"),
        ([{"question": "Q?"}], "line 1"),
    ],
)
def test_unusable_data_leave_no_file(records: list[dict[str, Any]], message: str, tmp_path: Path) -> None:
    data = write_records(tmp_path / "data.jsonl", records)
    with pytest.raises(SetupError, match=message):
        write_silver(data, tmp_path / "silver.jsonl")
    assert list(tmp_path.iterdir()) == [data]


def test_unusable_paths_are_setup_errors(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="There is no file"):
        write_silver(tmp_path / "none.jsonl", tmp_path / "silver.jsonl")
    with pytest.raises(SetupError, match="write a plain"):
        write_silver(write_records(tmp_path / "data.jsonl"), tmp_path / "silver.jsonl.gz")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("", "is empty; make silver data with"),
        ('{"question": "Q?", "answers": []}', "line 1: expected a line that `quorum filter silver` wrote"),
        (
            '{"question": "Q?", "answers": ["a"], "measure": "strinc", "passages": [{"id": "p", "text": "abc"}],'
            ' "silver": [{"passage": "p", "start": 1, "end": 2, "text": "x"}]}',
            "line 1: the span .* is not in its passage",
        ),
        (
            '{"question": "Q?", "answers": ["a"], "measure": "strinc", "passages": [], "silver": ["x"]}',
            "line 1: the span",
        ),
    ],
)
def test_other_files_are_refused_as_silver_data(line: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "silver.jsonl"
    path.write_text(line, encoding="utf-8")
    with pytest.raises(SetupError, match=message):
        list(read_silver(path))


def test_passages_are_retrieved_for_questions_without_any(tmp_path: Path) -> None:
    docs, out, store = tmp_path / "docs", tmp_path / "silver.jsonl", str(tmp_path / "store")
    docs.mkdir()
    (docs / "tower.md").write_text("The Lumen Tower was finished in 1931. It is tall.", encoding="utf-8")
    (docs / "mast.md").write_text("The Iron Mast was painted in 1950.", encoding="utf-8")
    index_documents([docs], collection="own", store=store)
    claim = {**make_record(1, ["SUPPORTS"]), "question": "The Lumen Tower was finished in 1931."}
    recipe = Recipe(measure="lexical", k=1, collection="own")
    context = Context(k=1, collection="own", retriever="bm25", store=store)
    write_silver(write_records(tmp_path / "data.jsonl", [claim]), out, recipe, context=context)
    (line,) = read_silver(out)
    assert [passage["text"] for passage in line["passages"]] == ["The Lumen Tower was finished in 1931. It is tall."]
    assert (list_silver_texts(out), line["answer_type"]) == ([["The Lumen Tower was finished in 1931."]], "label")
