"""The report of a comparison: report.html, which is one file and needs nothing else, report.md, report.csv and
questions.csv.

Questions, passages and replies are untrusted texts. The page escapes them, or packs them as data that its script shows
as text; a content security policy blocks any other script.
"""

import base64
import os
from contextlib import nullcontext
from hashlib import sha256
from html import escape
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING

from quorum.core.private_files import open_private_text
from quorum.evaluation.compare.recommend import NAMES
from quorum.evaluation.report.page import asset, write_body
from quorum.evaluation.report.questions import CHUNK, chunks, files_of, index_row, inert, questions_of
from quorum.evaluation.report.text import markdown, write_methods, write_questions
from quorum.evaluation.run.details import LineIndex
from quorum.evaluation.run.results import explain_write_errors
from quorum.evaluation.run.source import Progress, ignore_progress

if TYPE_CHECKING:
    from quorum.evaluation.compare.decide import Decision

PAGE = 50  # questions on a page of the table


def write_report(decision: "Decision", progress: Progress = ignore_progress) -> Path:
    """Write all files of the report beside the results; returns the path of the page. Memory holds only the index of
    the questions and one chunk of details.
    """
    folder = decision.scores.folder
    methods = [one.name for one in decision.figures]
    results, details = files_of(folder)
    judged = "judged" in decision.scores.measures
    with results, details, LineIndex(folder / "judged.jsonl") if judged else nullcontext() as verdicts:
        ids = questions_of(results)
        rows = [index_row(id_, results, methods, decision.measure) for id_ in ids]
        index = {"methods": methods, "measure": NAMES[decision.measure], "chunk": CHUNK, "page": PAGE, "rows": rows}
        before, after = page(decision, inert(index)).split("<!--chunks-->\n")
        draft = folder / "report.html.tmp"
        with explain_write_errors(draft), open_private_text(draft) as file:
            file.write(before)
            for number, packed in enumerate(chunks(ids, results, details, methods, verdicts)):
                file.write(f'<script type="text/plain" id="c{number}">{packed}</script>\n')
                progress("report", min((number + 1) * CHUNK, len(ids)), len(ids))
            file.write(after)
        os.replace(draft, folder / "report.html")
        write_questions(folder / "questions.csv", ids, methods, results)
    with open_private_text(folder / "report.md") as file:
        file.write(markdown(decision))
    write_methods(folder / "report.csv", decision.scores.summary, {one.name: one.cost for one in decision.figures})
    return folder / "report.html"


def page(decision: "Decision", index: str) -> str:
    """The page without the packed questions; they replace <!--chunks-->."""
    script = asset("report.js")
    return Template(asset("report.html")).substitute(
        title=escape(f"Quorum: {decision.recommendation.sentences[0]}"),
        style=asset("report.css"),
        body=write_body(decision),
        index=index,
        script=script,
        script_hash=base64.b64encode(sha256(script.encode()).digest()).decode(),
    )
