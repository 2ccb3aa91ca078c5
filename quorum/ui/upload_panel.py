"""The part of the left column where documents are dropped."""

from collections.abc import Awaitable, Callable
from typing import Any

from nicegui import background_tasks, html, ui

from quorum.core.context import Context
from quorum.core.errors import SetupError
from quorum.core.text import format_count
from quorum.documents.readers import READERS
from quorum.retrievers.collection_names import SAMPLE
from quorum.ui.run import describe_error
from quorum.ui.texts import draw_table, draw_text
from quorum.ui.uploads import LARGEST_FILE, LARGEST_UPLOAD, IndexingJob, check_upload_collection, index_uploads

DEFAULT_COLLECTION = "my-documents"
ACCEPTED_SUFFIXES = ",".join([*READERS, ".jsonl", ".ndjson", ".jsonl.gz", ".gz"])
REDRAW_SECONDS = 0.2  # time between two updates of the progress while documents are indexed


class UploadPanel:
    """A field for a collection's name, an area to drop files, and what became of each file.

    After an upload is indexed, `on_indexed` is called with the collection's name, unless the collection is empty.
    """

    def __init__(self, server_context: Context, collection: str, on_indexed: Callable[[str], Awaitable[None]]) -> None:
        self.server_context, self.on_indexed = server_context, on_indexed
        self.job: IndexingJob | None = None
        with ui.expansion("Add documents").props("dense switch-toggle-side").classes("documents"):
            self.collection_field = ui.input(
                "Into the collection", value=DEFAULT_COLLECTION if collection in ("", SAMPLE) else collection
            )
            self.collection_field.props("outlined dense")
            self.upload_area = ui.upload(
                label="Drop files here, or press +",
                multiple=True,
                auto_upload=True,
                max_file_size=LARGEST_FILE,
                max_total_size=LARGEST_UPLOAD,
                on_multi_upload=self.accept_files,
                on_rejected=self.reject_files,
            )
            self.upload_area.props(f'flat accept="{ACCEPTED_SUFFIXES}" aria-label="Documents"')
            html.small(
                "txt, md, html, pdf, docx, pptx, xlsx, odt, rtf, csv, epub, eml, msg, json or code; up to 100 MB each."
            )
            self.message = draw_text("p").props("role=status").classes("upload-status")
            self.progress_bar = ui.linear_progress(value=0, show_value=False).props("instant-feedback")
            self.progress_bar.props["aria-label"] = "Indexed so far"
            self.progress_bar.set_visibility(False)
            self.outcomes = html.div().classes("results")
        self.timer: Any = ui.timer(REDRAW_SECONDS, self.refresh, active=False)

    def reject_files(self) -> None:
        self.show_message(
            "Some files were refused: their type is not supported, they are larger than 100 MB, or all files together "
            "are larger than 500 MB.",
            is_error=True,
        )

    def show_message(self, message: str, *, is_error: bool = False) -> None:
        self.message.text = message
        self.message.classes(replace="error" if is_error else "upload-status")

    def accept_files(self, event: Any) -> None:
        """Start to index the dropped files, unless an earlier upload is still being indexed.

        The indexing continues if the page is closed.
        """
        self.outcomes.clear()
        self.upload_area.reset()
        if self.job is not None and not self.job.is_over:
            self.show_message(
                "Other documents are still being indexed; drop these again when that is done.", is_error=True
            )
            return
        try:
            self.job = IndexingJob(check_upload_collection(str(self.collection_field.value or "")))
        except SetupError as error:
            self.show_message(describe_error(error), is_error=True)
            return
        uploads = [(file.name, file.save) for file in event.files]
        background_tasks.create(
            index_uploads(self.job, uploads, self.server_context), name=f"index into {self.job.collection}"
        )
        self.timer.activate()

    async def refresh(self) -> None:
        """Show the progress and, at the end, the outcome of each file."""
        job = self.job
        if job is None:
            return
        self.progress_bar.set_visibility(not job.is_over)
        if not job.is_over:
            # Each line of a file of JSON lines counts as one, and so does any other file.
            self.progress_bar.value = job.files_and_lines_done / max(1, job.file_and_line_count)
            self.show_message(
                f"Indexing {job.current_file or format_count(len(job.outcomes), 'file')}: "
                f"{job.files_and_lines_done:,} of {job.file_and_line_count:,}"
            )
            return
        self.timer.deactivate()
        if job.error:
            self.show_message(job.error, is_error=True)
            return
        self.show_message(f"{job.collection} holds {format_count(job.passage_count or 0, 'passage')}.")
        with self.outcomes:
            draw_table(["file", ""], job.outcomes.items())
        if job.passage_count:
            await self.on_indexed(job.collection)
