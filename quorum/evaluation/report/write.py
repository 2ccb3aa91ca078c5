"""Writes the report of a comparison: report.md with figure.svg, report.csv, questions.csv, and the page report.html,
which needs no other file.

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
from quorum.evaluation.report.csv_files import write_methods_csv, write_questions_csv
from quorum.evaluation.report.figure import STYLE, draw_figure
from quorum.evaluation.report.figure_rows import collect_figure
from quorum.evaluation.report.markdown import render_markdown
from quorum.evaluation.report.page import read_asset, render_body
from quorum.evaluation.report.questions import (
    QUESTIONS_PER_CHUNK,
    list_questions,
    make_index_row,
    open_results,
    pack,
    pack_details,
)
from quorum.evaluation.report.sentences import describe_decision
from quorum.evaluation.run.details import LineIndex
from quorum.evaluation.run.result_files import explain_write_errors
from quorum.evaluation.run.source import ProgressCallback, ignore_progress

if TYPE_CHECKING:
    from quorum.evaluation.decisions.decide import Decision

QUESTIONS_PER_PAGE = 50  # report.html shows so many rows of its table of questions at once
PLACE_OF_QUESTIONS = "<!--write.py inserts the packed questions here-->"  # a line of report.html


def write_report(decision: "Decision", progress: ProgressCallback = ignore_progress) -> Path:
    """Write all files of the report beside the results, and return the path of report.html. Memory holds only the index
    of the questions and one chunk of details.
    """
    folder, words = decision.scores.folder, describe_decision(decision)
    methods = [figure.name for figure in decision.figures]
    results, details = open_results(folder)
    is_judged = "judged" in decision.scores.measures
    with results, details, LineIndex(folder / "judged.jsonl") if is_judged else nullcontext() as verdicts:
        ids = list_questions(results, decision.scores.plan.dataset)
        rows = [make_index_row(id_, results, methods, decision.measure) for id_ in ids]
        index = {
            "methods": methods,
            "questions_per_chunk": QUESTIONS_PER_CHUNK,
            "questions_per_page": QUESTIONS_PER_PAGE,
            "rows": rows,
        }
        page = make_page(words.headline, render_body(decision, words), pack(index))
        page_start, page_end = page.split(f"{PLACE_OF_QUESTIONS}\n")
        draft = folder / "report.html.tmp"
        with explain_write_errors(draft), open_private_text(draft) as file:
            file.write(page_start)
            for number, packed_chunk in enumerate(pack_details(ids, results, details, methods, verdicts)):
                file.write(f'<script type="text/plain" id="c{number}">{packed_chunk}</script>\n')
                progress("report", min((number + 1) * QUESTIONS_PER_CHUNK, len(ids)), len(ids))
            file.write(page_end)
        os.replace(draft, folder / "report.html")
        write_questions_csv(folder / "questions.csv", ids, methods, results)
    with open_private_text(folder / "figure.svg") as file:
        file.write(draw_figure(collect_figure(decision.figures, decision.recommendation, decision.scores.race)))
    with open_private_text(folder / "report.md") as file:
        file.write(render_markdown(decision, words))
    write_methods_csv(
        folder / "report.csv", decision.scores.summary, {figure.name: figure.cost for figure in decision.figures}
    )
    return folder / "report.html"


def make_page(headline: str, body: str, index: str) -> str:
    """The text of report.html, with the line PLACE_OF_QUESTIONS, where `write_report` inserts the packed questions.

    body: the sections, as HTML; index: the index of the questions, packed.
    """
    script, style = read_asset("report.js"), read_asset("report.css")
    return Template(read_asset("report.html")).substitute(
        title=escape(f"Quorum: {headline}"),
        style=style,
        style_hashes=" ".join(f"'{hash_source(text)}'" for text in (f"\n{style}\n", STYLE)),
        body=body,
        index=index,
        script=script,
        script_hash=hash_source(script),
    )


def hash_source(text: str) -> str:
    """The name of an inline script or style sheet in a content security policy."""
    return f"sha256-{base64.b64encode(sha256(text.encode()).digest()).decode()}"
