"""Uploads the results of an evaluation as a LangSmith dataset with an experiment for each method (`--langsmith NAME`).

The upload sends recorded results and asks nothing again. The dataset is found by its name, examples by their ids, an
experiment by dataset, method and configuration. A repeated upload adds the examples that are missing. It sends all rows
of a method again if one of them has changed, or if the method's last upload was interrupted.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar
from uuid import UUID

import langsmith
from langsmith.schemas import Dataset, TracerSession
from langsmith.utils import LangSmithNotFoundError

from quorum.core.errors import SetupError
from quorum.evaluation.report.langsmith_rows import (
    ExperimentTarget,
    make_example,
    make_example_id,
    make_feedback,
    make_runs,
)
from quorum.evaluation.run.column_scores import Row
from quorum.evaluation.run.config_file import read_json_file
from quorum.evaluation.run.corpus_files import compute_short_hash
from quorum.evaluation.run.details import LineIndex
from quorum.evaluation.run.source import ProgressCallback, ignore_progress
from quorum.models.langsmith_access import LANGSMITH_ERRORS, check_account, describe_error, silence_langsmith
from quorum.models.tracing import TraceClient, copy_without_secrets, hides_passages

CHUNK_SIZE = 100  # rows sent before the upload waits for LangSmith, or examples that one request looks up
PLAIN_TYPES = (str, int, float)  # the types of settings that an experiment's metadata show
T = TypeVar("T")


@dataclass(frozen=True)
class UploadSummary:
    """The result of an upload. url: the address of the dataset, if LangSmith reports it; experiments: the titles of the
    experiments; answer_count: how many answers this upload sent; LangSmith shows each as a run.
    """

    url: str | None
    experiments: list[str]
    answer_count: int


def check_access(name: str) -> None:
    """Raise a `SetupError` if the dataset's name is empty, if no account is set, or if LangSmith refuses access.

    Call it before any question is asked.
    """
    if not name.strip():
        raise SetupError(f"The name {name!r} for LangSmith is empty; write --langsmith NAME, the name of a dataset.")
    check_account(f"--langsmith {name}", "or leave --langsmith out")
    try:
        with connect_langsmith() as client:
            client.has_dataset(dataset_name=name)
    except LANGSMITH_ERRORS as error:
        raise SetupError(
            f"LangSmith cannot be used ({describe_error(error)}); check LANGSMITH_API_KEY and LANGSMITH_ENDPOINT, "
            "or leave --langsmith out."
        ) from None


def upload_to_langsmith(folder: Path, name: str, progress: ProgressCallback = ignore_progress) -> UploadSummary:
    """Send the results of a folder to the dataset `name`. Raises `SetupError` on failure; the results are kept."""
    try:
        with connect_langsmith() as client, LineIndex(folder / "results.jsonl") as lines:
            return send_results(client, read_json_file(folder / "config.json"), lines, name, progress)
    except LANGSMITH_ERRORS as error:
        raise SetupError(
            f"The results are in {folder}, but LangSmith did not accept them ({describe_error(error)}); run the same "
            "command again: it completes the upload and asks no question again."
        ) from None


@contextmanager
def connect_langsmith() -> Iterator["Sender"]:
    """A client that is closed at the end of the `with` block, in which LangSmith's log is silent."""
    with silence_langsmith():
        client = Sender()
        try:
            yield client
        finally:
            client.close(timeout=0)


class Sender(TraceClient):
    """A client that reports failures of its background work, and sends every run even if the tracing sample rate is
    below 1.
    """

    def __init__(self) -> None:
        self.failures: list[Exception] = []
        super().__init__(tracing_error_callback=self.failures.append, tracing_sampling_rate=1.0)

    def wait_for_uploads(self) -> None:
        """Wait until no upload is pending. Raises the first error of an upload, if one has failed."""
        self.flush()
        if self.failures:
            raise self.failures[0]


def send_results(
    client: Sender, config: Mapping[str, Any], lines: LineIndex, dataset_name: str, progress: ProgressCallback
) -> UploadSummary:
    """Send the dataset, its examples, then one experiment after the other."""
    dataset = find_dataset(client, dataset_name, config)
    keeps_ids = (config["data"].get("langsmith") or {}).get("id") == str(dataset.id)
    if not keeps_ids:
        add_examples(client, dataset.id, lines)
    titles, sent_count, unchanged_count, total = [], 0, 0, len(lines.offset_of_key)
    for method in config["methods"]:
        ids = [id_ for method_of_row, id_ in lines.offset_of_key if method_of_row == method]
        title = f"{dataset_name}: {method} {compute_short_hash(config)}"
        metadata = make_metadata(config, method)
        experiment = find_experiment(client, title, dataset.id, metadata, len(ids))
        digest = compute_digest(lines, method, ids)
        titles.append(title)
        if experiment.metadata.get("results") != digest:
            target = ExperimentTarget(
                *(
                    dataset.id,
                    experiment.id,
                    title,
                    method,
                    str(metadata.get("model")),
                    experiment.start_time,
                    keeps_ids,
                )
            )
            for chunk in split_into_chunks(ids):
                send_rows(client, target, [get_row(lines, method, id_) for id_ in chunk])
                sent_count += len(chunk)
                progress("upload", unchanged_count + sent_count, total)
            client.update_project(experiment.id, metadata=metadata | {"results": digest})
        else:
            unchanged_count += len(ids)
            progress("upload", unchanged_count + sent_count, total)
    return UploadSummary(dataset.url, titles, sent_count)


def find_dataset(client: langsmith.Client, name: str, config: Mapping[str, Any]) -> Dataset:
    """The dataset of that name, created if it is missing."""
    try:
        dataset: Dataset = client.read_dataset(dataset_name=name)
    except LangSmithNotFoundError:
        dataset = client.create_dataset(
            name,
            description=f"Questions of {config['data']['file']}, with their accepted answers.",
            metadata={"quorum": config["quorum"], "file": config["data"]["file"], "sha256": config["data"]["sha256"]},
        )
    return dataset


def add_examples(client: langsmith.Client, dataset_id: UUID, lines: LineIndex) -> None:
    """Add the questions that the dataset does not have yet."""
    method_of_id = {id_: method for method, id_ in lines.offset_of_key}
    for chunk in split_into_chunks(method_of_id.items()):
        rows = {make_example_id(dataset_id, row): row for row in (get_row(lines, method, id_) for id_, method in chunk)}
        existing_ids = {example.id for example in client.list_examples(dataset_id=dataset_id, example_ids=list(rows))}
        missing_examples = [
            make_example(dataset_id, row, hides_passages()) for id_, row in rows.items() if id_ not in existing_ids
        ]
        if missing_examples:
            client.create_examples(dataset_id=dataset_id, examples=missing_examples)


def find_experiment(
    client: langsmith.Client, title: str, dataset_id: UUID, metadata: dict[str, Any], row_count: int
) -> TracerSession:
    """The experiment with that title, created if it is missing. LangSmith's API calls an experiment a project."""
    try:
        project: TracerSession = client.read_project(project_name=title)
    except LangSmithNotFoundError:
        project = client.create_project(
            title, metadata=metadata, reference_dataset_id=dataset_id, num_examples=row_count
        )
    return project


def make_metadata(config: Mapping[str, Any], method: str) -> dict[str, Any]:
    """The metadata that identifies an experiment: its configuration, and those settings of its method that are
    texts or numbers.
    """
    settings = {name: format_model_identity(value) for name, value in config["methods"][method].items()}
    plain_settings = {name: value for name, value in settings.items() if isinstance(value, PLAIN_TYPES)}
    return dict(
        copy_without_secrets(
            {"quorum": config["quorum"], "configuration": compute_short_hash(config), **plain_settings},
            hide_passages=False,
        )
    )


def format_model_identity(value: Any) -> Any:
    """A model's identity as in the settings, "openai:gpt-4o"; any other value unchanged."""
    if not isinstance(value, dict) or "provider" not in value:
        return value
    return value["provider"] if value["provider"] == "embedded" else f"{value['provider']}:{value['model']}"


def compute_digest(lines: LineIndex, method: str, ids: Sequence[str]) -> str:
    """A digest of a method's rows. The experiment's metadata holds the digest of the last complete upload; if the two
    differ, the rows are sent again.
    """
    digest = hashlib.sha256()
    for id_ in ids:
        digest.update(json.dumps(get_row(lines, method, id_)).encode())
    return digest.hexdigest()[:12]


def split_into_chunks(items: Iterable[T]) -> Iterator[list[T]]:
    """Yield the items in lists of at most CHUNK_SIZE."""
    iterator = iter(items)
    while chunk := list(islice(iterator, CHUNK_SIZE)):
        yield chunk


def get_row(lines: LineIndex, method: str, id_: str) -> Row:
    return lines.get(method, id_)  # type: ignore[return-value]


def send_rows(client: Sender, target: ExperimentTarget, rows: Sequence[Row]) -> None:
    """Send runs with their feedback, and wait until LangSmith has them."""
    for row in rows:
        for run in make_runs(target, row):
            client.create_run(**run)
    client.wait_for_uploads()
    for row in rows:
        for feedback in make_feedback(target, row):
            client.create_feedback(**feedback)
    client.wait_for_uploads()
