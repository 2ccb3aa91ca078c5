"""Indexes uploaded documents into a collection. The file names are untrusted."""

import asyncio
import re
import sys
import traceback
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from quorum.core.context import Context
from quorum.core.errors import QuorumError, SetupError
from quorum.retrievers.collection_names import SAMPLE, check_collection_name
from quorum.retrievers.index import index_documents
from quorum.retrievers.index_report import IndexReport
from quorum.serving.documents.upload_names import make_unique_names
from quorum.ui.past_runs import find_saved_data_folder
from quorum.ui.run import describe_bug, describe_error

LARGEST_FILE = 100_000_000  # bytes
LARGEST_UPLOAD = 500_000_000  # bytes, of all files dropped at once
LINE_OF_FILE = re.compile(r"(.+), line (\d+)", re.DOTALL)  # how an `IndexReport` names a line of a file
INDEXING_LOCK = asyncio.Lock()

SaveUpload = Callable[[Path], Awaitable[None]]  # writes one uploaded file to the path


@dataclass
class IndexingJob:
    """The progress of indexing the files of one upload.

    outcomes: by file name, "waits" and later what became of the file (see `record_outcomes`). files_and_lines_done: how
    many of the `file_and_line_count` are done; each line of a file of JSON lines counts as one, and so does any other
    file. passage_count: how many passages the collection has at the end. error: why the indexing failed, in one
    sentence.
    """

    collection: str
    outcomes: dict[str, str] = field(default_factory=dict)
    files_and_lines_done: int = 0
    file_and_line_count: int = 0
    current_file: str = ""
    is_over: bool = False
    passage_count: int | None = None
    error: str | None = None

    def update(self, done: int, total: int, path: str) -> None:
        """Record the progress of `index_documents`, which calls this on its thread."""
        self.files_and_lines_done, self.file_and_line_count, self.current_file = done, total, Path(path).name


def check_upload_collection(collection: str) -> str:
    """The name of the collection for uploads, stripped. Raises `SetupError` for a name that cannot be used."""
    if check_collection_name(collection.strip()) == SAMPLE:
        raise SetupError(f"The collection {SAMPLE!r} is reserved for the sample documents; give another name.")
    return collection.strip()


async def index_uploads(job: IndexingJob, uploads: Sequence[tuple[str, SaveUpload]], server_context: Context) -> None:
    """Write uploaded files to a folder, index them into `job.collection`, and remove them from the folder. `job` shows
    the progress.

    uploads: for each file, (its name, the function that writes it). A file replaces the document of the same name in
    the collection.
    """
    job.outcomes = dict.fromkeys(make_unique_names([name for name, _ in uploads]), "waits")
    folder = find_saved_data_folder(server_context) / "uploads" / job.collection
    try:
        async with INDEXING_LOCK:
            report = await asyncio.shield(write_and_index(job, [save for _, save in uploads], folder, server_context))
        record_outcomes(job, report)
    except QuorumError as error:
        job.error = describe_error(error)
    except OSError as error:
        reason = f"The documents cannot be kept in '{folder}' ({error.strerror}); check the permissions of the folder."
        # `describe_error` removes the path from the message for the page, and prints the whole message on the terminal.
        job.error = describe_error(SetupError(reason))
    except Exception as error:  # noqa: BLE001  a bug is shown on the page, and in full on the terminal
        traceback.print_exc(file=sys.stderr)
        job.error = describe_bug(error)
    finally:
        job.is_over = True


async def write_and_index(
    job: IndexingJob, saves: Sequence[SaveUpload], folder: Path, server_context: Context
) -> IndexReport:
    """Write the files, index them on a thread, and remove them."""
    paths = [folder / name for name in job.outcomes]
    await asyncio.to_thread(folder.mkdir, parents=True, exist_ok=True)
    try:
        for path, save in zip(paths, saves, strict=True):
            await save(path)
        work = partial(
            index_documents,
            collection=job.collection,
            store=server_context.store,
            embeddings=server_context.embeddings,
            embedding_batch=server_context.embedding_batch,
        )
        return await asyncio.to_thread(work, paths, progress=job.update)
    finally:
        await asyncio.to_thread(remove_files, paths)


def remove_files(paths: Sequence[Path]) -> None:
    for path in paths:
        path.unlink(missing_ok=True)


def record_outcomes(job: IndexingJob, report: IndexReport) -> None:
    """Record the outcome of each file.

    It is "indexed", "indexed; NOTE", "indexed, without line 3: REASON (and 2 more)" or "not read: REASON".
    """
    job.passage_count = report.passages
    job.outcomes = dict.fromkeys(job.outcomes, "indexed")
    for path_or_line, note in report.notes:
        if Path(path_or_line).name in job.outcomes:
            job.outcomes[Path(path_or_line).name] = f"indexed; {note}"
    problems_by_file: dict[str, list[str]] = {}
    for path_or_line, reason in report.skipped:
        is_uploaded_file = Path(path_or_line).name in job.outcomes  # a file may be named "part, line 4"
        line = None if is_uploaded_file else LINE_OF_FILE.fullmatch(path_or_line)
        path, problem = (path_or_line, reason) if line is None else (line[1], f"line {line[2]}: {reason}")
        problems_by_file.setdefault(Path(path).name, []).append(problem)
    for name, problems in problems_by_file.items():
        is_unread = not problems[0].startswith("line ")
        more_text = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        job.outcomes[name] = f"not read: {problems[0]}" if is_unread else f"indexed, without {problems[0]}{more_text}"
