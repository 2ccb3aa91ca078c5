"""The parts of the engine `ray` that need no Ray: which questions are asked again, which rows are stored, what workers
share, and which clusters are refused. See also tests/ray.
"""

import asyncio
import json
import pickle
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from wordvectors import WordVectors

from quorum.cluster.ray_cluster import check_address, check_engine, check_machine, find_version, read_ray_address
from quorum.cluster.ray_workers import ItemWorker, make_portable
from quorum.core.context import Context
from quorum.core.errors import CallError, SetupError
from quorum.core.state import Passage
from quorum.datasets.records import Record
from quorum.documents.read import Unreadable
from quorum.evaluation.run.ask_question import Questioner
from quorum.evaluation.run.columns import Column, parse_columns
from quorum.evaluation.run.dataset import DataSet, read_data
from quorum.evaluation.run.details import Details, LineIndex
from quorum.evaluation.run.engine_ray import (
    AnswerWriter,
    find_needed_files,
    iterate_on_thread,
    make_raiser,
    share_concurrency,
    size_worker_pool,
)
from quorum.evaluation.run.engine_worker import Answers, Services, select_environment
from quorum.evaluation.run.evaluate import evaluate
from quorum.evaluation.run.options import Options
from quorum.evaluation.run.results import Results
from quorum.evaluation.run.rounds import QuestionRound, Recorder
from quorum.evaluation.run.rows import make_failed_row
from quorum.evaluation.run.shared_retrieval import share_retrieval
from quorum.evaluation.run.spending import Spending, SpendingCounts
from quorum.models.journal_database import Record as Reply
from quorum.retrievers.index_on_ray import FilePart, PrecomputedEmbeddings, digest_passage, split_files


def test_an_unknown_engine_is_refused() -> None:
    with pytest.raises(SetupError, match="no engine 'spark'; choose one of: local, ray"):
        check_engine("spark")


@pytest.mark.skipif(find_version("ray") is not None, reason="Ray is installed")
async def test_a_missing_extra_is_named(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match=r"pip install 'quorum-rag\[ray\]'"):
        await evaluate(Options(data=tmp_path / "data.jsonl", engine="ray"), parse_columns("concat", Context()))


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("127.0.0.1:1", "No Ray cluster answers at RAY_ADDRESS=127.0.0.1:1"),
        ("ray://127.0.0.1:10001", "Ray's client protocol"),
        ("127.0.0.1:many", "No Ray cluster answers"),
    ],
)
def test_an_address_that_cannot_be_used_is_refused_at_once(address: str, message: str) -> None:
    with pytest.raises(SetupError, match=message):
        check_address(address)


@pytest.mark.parametrize(("value", "address"), [("", ""), (" local ", ""), ("localhost:6379", "localhost:6379")])
def test_local_is_no_address(value: str, address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_ADDRESS", value)
    assert read_ray_address() == address


@pytest.mark.parametrize(
    ("missing_packages", "version", "missing_files", "message"),
    [
        (["quorum"], "unknown", [], "machine far cannot import Quorum"),
        ([], "0.0.1", [], "machine far has Quorum 0.0.1, this one"),
        (
            [],
            find_version("quorum-rag") or "unknown",
            ["/data/store"],
            r"machine far does not see /data/store.*--store http",
        ),
    ],
)
def test_what_a_machine_of_the_cluster_lacks_is_named(
    missing_packages: list[str], version: str, missing_files: list[str], message: str
) -> None:
    with pytest.raises(SetupError, match=message):
        check_machine("far", missing_packages, version, missing_files)
    check_machine("far", [], find_version("quorum-rag") or "unknown", [])


def make_columns(methods: str = "concat,post_fusion", **settings: Any) -> list[Column]:
    return parse_columns(methods, Context(**settings))


@pytest.mark.parametrize(
    ("question_concurrency", "cores", "call_concurrency", "workers", "at_once"),
    [(8, 2, 16, 2, 4), (8, 64, 16, 8, 1), (64, 64, 16, 16, 4), (1, 8, 16, 1, 1), (8, 3, 16, 3, 2), (8, 8, 2, 2, 4)],
)
def test_workers_never_ask_more_at_once_than_one_process_would(
    question_concurrency: int, cores: int, call_concurrency: int, workers: int, at_once: int
) -> None:
    columns = make_columns(concurrency=call_concurrency)
    pool = size_worker_pool(columns, question_concurrency, cores)
    assert (pool.workers, pool.at_once) == (workers, at_once)
    assert pool.workers * pool.at_once <= question_concurrency
    assert pool.workers * share_concurrency(columns[0], pool.workers).context.concurrency <= call_concurrency


async def test_workers_share_rate_limits_journal_and_warnings(tmp_path: Path) -> None:
    services = Services(str(tmp_path))
    amount_id = await services.take_amount("tokens", "m", limit=100, amount=80)
    waiting_task = asyncio.ensure_future(services.take_amount("tokens", "m", limit=100, amount=60))
    await asyncio.sleep(0)
    assert not waiting_task.done()
    await services.take_amount("requests", "m", limit=100, amount=1)  # requests have a limit of their own
    await services.correct_amount(amount_id, 10)
    assert services.rate_limits["tokens", "m"].compute_wait(amount=60, now=0) == 0
    waiting_task.cancel()
    reply = Reply("text", "stop", 1, 2, 0, 0.5)
    await services.put_reply("j.sqlite", "key", reply)
    assert (await services.get_reply("j.sqlite", "key"), await services.get_reply("j.sqlite", "other")) == (reply, None)
    for _ in range(2):  # as if two workers reported the same warning, which is kept once
        await services.report_warning("The server is gone.")
    assert await services.wait_for_warning() == "The server is gone."
    assert services.unread_warnings.empty()


def test_workers_get_server_addresses_and_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://there/v1")
    monkeypatch.setenv("SOME_API_KEY", "key")
    monkeypatch.setenv("UNRELATED", "no")
    variables = select_environment()
    assert (variables["OPENAI_BASE_URL"], variables["SOME_API_KEY"], variables.get("UNRELATED")) == (
        "http://there/v1",
        "key",
        None,
    )


@pytest.fixture
def dataset(tmp_path: Path) -> DataSet:
    path = tmp_path / "data.jsonl"
    lines = [
        {
            "id": f"q{n}",
            "question": f"Who is {n}?",
            "answers": ["x"],
            "passages": [{"id": "p", "title": "", "text": "x"}],
        }
        for n in range(3)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return read_data(path)


def test_remaining_questions_are_asked_and_lost_ones_are_error_rows(dataset: DataSet, tmp_path: Path) -> None:
    columns, progress = make_columns(), []
    with Results(tmp_path / "results.jsonl", [column.name for column in columns]) as results:
        recorder = Recorder(results, None, Spending(), lambda: progress.append(len(results.answered_pairs)))
        writer = AnswerWriter(QuestionRound(columns, dataset), recorder)
        records = [record for record, _ in writer.make_remaining_questions_reader()()]

        def make_row(record: Record, name: str, error: str | None = None) -> Any:
            return make_failed_row(record, name, "short", "", seconds=0) | {"error": error, "malformed": 0}

        writer.write_answers(
            Answers(
                [make_row(records[0], "concat"), make_row(records[0], "post_fusion")], spending=SpendingCounts(2, 30, 4)
            )
        )
        # This row arrives a second time, because its worker ended before the row was confirmed.
        writer.write_answers(Answers([make_row(records[0], "concat")]))
        writer.write_answers(Answers([make_row(records[1], "concat", "refused")], spending=SpendingCounts(1, 10, 0)))
        assert [(record["id"], names) for record, names in writer.make_remaining_questions_reader()()] == [
            ("q1", ["post_fusion"]),
            ("q2", ["concat", "post_fusion"]),
        ]
        spending = recorder.spending
        assert (spending.calls, spending.input_tokens, spending.output_tokens) == (3, 40, 4)
        lost_rows = list(writer.make_worker_exit_rows(Questioner(uses_given_passages=True)))
        assert [(row["id"], row["method"]) for row in lost_rows] == [
            ("q1", "post_fusion"),
            ("q2", "concat"),
            ("q2", "post_fusion"),
        ]
        assert all("worker process exited each of the 4 times" in str(row["error"]) for row in lost_rows)
        assert (len(progress), (tmp_path / "results.jsonl").read_text().count("\n")) == (3, 3)


def test_a_question_asked_twice_keeps_the_details_of_its_first_row(dataset: DataSet, tmp_path: Path) -> None:
    columns, path = make_columns(), tmp_path / "details.jsonl"
    with Results(tmp_path / "results.jsonl", [column.name for column in columns]) as results, Details(path) as details:
        writer = AnswerWriter(QuestionRound(columns, dataset), Recorder(results, details, Spending(), lambda: None))
        record = next(record for record, _ in writer.make_remaining_questions_reader()())
        row: Any = make_failed_row(record, "concat", "short", "", seconds=0) | {"error": None, "malformed": 0}
        for rationale in ("first", "second"):
            detail: Any = {"id": record["id"], "method": "concat", "rationale": rationale}
            writer.write_answers(Answers([row], [detail]))
    with LineIndex(path) as lines:
        assert (lines.get("concat", record["id"]) or {})["rationale"] == "first"


def test_files_and_folders_that_every_machine_must_see_are_listed() -> None:
    columns = share_retrieval(make_columns(store="stored", collection="notes", examples="examples.jsonl"))
    assert find_needed_files(columns) == ["stored", "examples.jsonl"]
    assert find_needed_files(share_retrieval(make_columns(store="http://there:8000", collection="notes"))) == []
    assert find_needed_files(make_columns()) == []


async def test_an_iterator_on_a_thread_hands_over_its_items_and_its_error() -> None:
    def yield_items() -> Iterator[int]:
        yield from (1, 2)
        raise SetupError("no more")

    items = iterate_on_thread(yield_items)
    assert [await anext(items), await anext(items)] == [1, 2]
    with pytest.raises(SetupError, match="no more"):
        await anext(items)
    assert [number async for number in iterate_on_thread(lambda: iter([3]))] == [3]


def test_worker_errors_can_be_pickled() -> None:
    class UnpicklableError(Exception):
        def __init__(self) -> None:
            super().__init__("some failure")
            self.loop = lambda: None  # cannot be pickled
            self.cause: Exception | None = None

    assert str(make_portable(UnpicklableError())) == "some failure"
    error = pickle.loads(pickle.dumps(make_portable(CallError("refused", 400))))
    assert (type(error), error.status) == (CallError, 400)
    wrapped_error = UnpicklableError()
    wrapped_error.cause = SetupError("no journal")  # as Ray wraps what an actor raises
    restored_error = pickle.loads(pickle.dumps(make_portable(wrapped_error)))
    assert (type(restored_error), str(restored_error)) == (SetupError, "no journal")
    broken_worker = ItemWorker(make_raiser(SetupError("no store")), ())
    kind, value = broken_worker.process(("item", 1))
    assert (kind, str(value)) == ("error", "no store")
    working_worker = ItemWorker(lambda: lambda item: 6 // item, ())
    assert working_worker.process(("item", 3)) == ("item", 2)
    assert working_worker.process(("item", 0))[0] == "error"
    assert working_worker.process(("error", value)) == ("error", value)


def test_files_are_split_into_parts_for_the_workers(tmp_path: Path) -> None:
    lines_file, document, broken_file = tmp_path / "a.jsonl", tmp_path / "b.md", tmp_path / "c.jsonl.gz"
    lines_file.write_text("".join(json.dumps({"id": f"p{n}", "text": f"text {n}"}) + "\n" for n in range(65)))
    broken_file.write_bytes(b"no gzip")
    parts = list(split_files([lines_file, document, broken_file]))
    assert [len(part.lines or ()) for part in parts] == [64, 1, 0, 0]
    assert parts[2] == FilePart(document)
    assert "gzip" in parts[3].stop_reason


def test_the_driver_embeds_only_texts_without_a_vector_from_a_worker() -> None:
    model = WordVectors()
    embeddings = PrecomputedEmbeddings(lambda: model)
    vector = np.asarray(model.embed_query("a river"), dtype=np.float32)
    embeddings.vectors["a river"] = vector
    vectors = embeddings.embed_documents(["a river", "a lake", "a river"])
    assert model.embedded_count == 1
    assert vectors[0] == vectors[2] == vector.tolist()
    assert vectors[1] == model.embed_query("a lake")
    assert embeddings.vectors == {}


def test_swapping_the_id_and_the_hash_changes_the_digest_of_a_passage() -> None:
    assert digest_passage("a", "b") != digest_passage("b", "a")


def test_a_file_whose_rest_cannot_be_read_is_an_error_after_its_passages(tmp_path: Path) -> None:
    from quorum.retrievers.index_on_ray import ReadPart, take_passages
    from quorum.retrievers.index_report import IndexReport, ProgressCounter

    class StandInLedger:
        """Takes the place of a `Ledger` in which no passage waits to be stored."""

        new_passages: dict[str, Passage] = {}

    part = ReadPart(
        tmp_path,
        [(Passage(id="p", title="", text="x"), None)],
        skipped=[("x, line 2", "no JSON")],
        line_count=2,
        stop_reason="cut",
    )
    report, progress_counts = IndexReport(), []
    counter = ProgressCounter(lambda done, total, path: progress_counts.append(done), 4)

    def take_from_part(read_part: ReadPart) -> Iterator[Passage]:
        ledger: Any = StandInLedger()
        return take_passages([read_part], ledger, PrecomputedEmbeddings(WordVectors), report, counter)

    passages = take_from_part(part)
    assert next(passages)["id"] == "p"
    with pytest.raises(Unreadable, match="cut"):
        next(passages)
    assert (report.skipped, progress_counts) == ([("x, line 2", "no JSON")], [1, 2])
    assert [passage["id"] for passage in take_from_part(replace(part, stop_reason="", skipped=[]))] == ["p"]
    assert (report.skipped, progress_counts) == ([("x, line 2", "no JSON")], [1, 2, 3, 4])
