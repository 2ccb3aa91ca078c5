"""Makes silver data (Wang et al. 2023, FILCO, sections 2.2 and 2.3): for each question, the sentences of its passages
that help to answer it.
"""

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Literal

from quorum.algorithms.filco_measures import (
    LogProbabilityModel,
    Measure,
    Tokens,
    Top,
    Unit,
    choose_measure,
    choose_silver_pieces,
    compute_unigram_precision,
)
from quorum.core.context import Context
from quorum.core.errors import SetupError
from quorum.core.labels import are_verdicts, infer_answer_type
from quorum.core.state import Passage
from quorum.core.text import AnswerMeasure
from quorum.datasets.questions import read_questions
from quorum.datasets.records import Record
from quorum.datasets.silver import SilverLine, make_spans, read_silver
from quorum.prompts.cxmi import make_cxmi_prompt_writer

QUESTIONS_AT_ONCE = 16  # processed at the same time: if the scorer is a server, it can answer requests in parallel
Progress = Callable[[int], None]  # is called with the number of finished questions


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """The settings of silver data.

    measure: what chooses the silver pieces; "auto" takes the paper's choice for each question (section 5.1). unit: what
    a piece is, a sentence or a whole passage. top: choose one piece over all passages, as in the paper, or one of each
    passage, as in the paper's code. k: how many of a question's own passages are used. scorer: the name of the model
    that CXMI asks. limit: how many questions are used, from the first on; None: all. collection: where passages are
    retrieved for questions without any. tokens: what the measure "lexical" compares. threshold: used instead of the
    measure's own threshold. answer_type: used instead of the answer types in the data.
    answer_measure: how "strinc" and "lexical" compare texts; "squad_exact_match" is the published way.
    """

    measure: Measure | Literal["auto"]
    unit: Unit = "sentence"
    top: Top = "one"
    k: int = 5
    scorer: str | None = None
    limit: int | None = None
    collection: str | None = None
    tokens: Tokens = "words"
    threshold: float | None = None
    answer_type: str | None = None
    answer_measure: AnswerMeasure = "exact_match"


@dataclass(frozen=True, kw_only=True)
class Statistics:
    """Numbers of questions, and means over them: "before" for the passages, "after" for their silver sentences.

    questions, with_silver: how many questions there are, and how many of them have silver sentences. words_before,
    words_after: words per question. precision_before, precision_after: unigram precision with respect to the answers,
    over the questions whose answers are not verdicts (yes, no, SUPPORTS ...). An empty silver counts as 0, as in the
    paper. None if all answers are verdicts.
    """

    questions: int
    with_silver: int
    words_before: float
    words_after: float
    precision_before: float | None
    precision_after: float | None


async def make_silver(
    data: Path,
    out: Path,
    recipe: Recipe,
    *,
    scorer: LogProbabilityModel | None = None,
    context: Context | None = None,
    progress: Progress = lambda finished_count: None,
) -> Statistics:
    """Write the silver lines of a data set to the file `out`, and return their statistics.

    `out` appears when all lines are complete; the same call continues a stopped run. scorer: the model that the recipe
    names as its scorer. context: for retrieval. It has the recipe's k and collection; a question without passages of
    its own gets them from this collection. A question without gold answers gets an empty silver. Raises SetupError for
    a question without passages if the recipe names no collection, and for data without any gold answer.
    """
    if out.suffix == ".gz":
        raise SetupError(
            f"--out {out} is a gzip file, which cannot be continued after an interruption; write a plain .jsonl file."
        )
    part_file = prepare_part_file(data, out, recipe, context if recipe.collection else None)
    finished_count = count_finished_lines(part_file)
    try:
        with part_file.open("a", encoding="utf-8", newline="\n") as file:
            async for line in make_lines(read_records(data, recipe, finished_count), recipe, scorer, context):
                file.write(json.dumps(line, ensure_ascii=False) + "\n")
                file.flush()
                finished_count += 1
                progress(finished_count)
    finally:
        if not finished_count:
            part_file.unlink()
    if not finished_count:
        raise SetupError(f"There are no questions in {data}; give JSON lines of question, answers and passages.")
    statistics = compute_statistics(part_file, recipe.answer_measure)
    if statistics is None:
        part_file.unlink()
        raise SetupError(
            f"No question in {data} has gold answers, but silver data are made from them; give a data set with answers."
        )
    part_file.replace(out)
    return statistics


def prepare_part_file(data: Path, out: Path, recipe: Recipe, context: Context | None) -> Path:
    """The path of the file that holds the finished lines until the run is complete; created if it is missing.

    The file's name depends on the data file (path, size, time of change), the recipe and the settings of retrieval, so
    that only the same call continues it. context: None if nothing is retrieved. Raises SetupError if the file cannot be
    written.
    """
    if not data.is_file():
        raise SetupError(f"There is no file {data}; give a data set of questions with passages.")
    stat = data.stat()
    retrieval = [context.store, str(context.retriever), str(context.embeddings)] if context else []
    identity = json.dumps([str(data.resolve()), stat.st_size, stat.st_mtime_ns, asdict(recipe), *retrieval])
    part_file = out.with_name(f".{out.name}.{hashlib.sha256(identity.encode()).hexdigest()[:10]}.part")
    if out.is_dir():
        raise SetupError(f"{out} is a folder; give --out the name of a file.")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        part_file.touch()
    except OSError as error:
        raise SetupError(f"{out} cannot be written ({error.strerror}); give another --out.") from None
    return part_file


def count_finished_lines(part_file: Path) -> int:
    """The number of complete lines that an earlier run left. An incomplete last line is cut off."""
    complete_bytes, lines = 0, 0
    with part_file.open("rb+") as file:
        for line in file:
            if line.endswith(b"\n"):
                complete_bytes, lines = complete_bytes + len(line), lines + 1
        file.truncate(complete_bytes)
    return lines


def read_records(data: Path, recipe: Recipe, finished_count: int) -> Iterator[Record]:
    """The questions that remain after the first `finished_count`, up to the recipe's limit."""
    return islice(read_questions(data), finished_count, recipe.limit)


async def make_lines(
    questions: Iterator[Record], recipe: Recipe, scorer: LogProbabilityModel | None, context: Context | None
) -> AsyncIterator[SilverLine]:
    """The silver lines of the questions, in their order. Several questions are processed at the same time."""
    while batch := list(islice(questions, QUESTIONS_AT_ONCE)):
        for line in await asyncio.gather(*(make_line(record, recipe, scorer, context) for record in batch)):
            yield line


async def make_line(
    record: Record, recipe: Recipe, scorer: LogProbabilityModel | None, context: Context | None
) -> SilverLine:
    """The silver line of a question; its silver is empty if the question has no gold answers."""
    answers = record["answers"]
    passages = await find_passages(record, recipe, context)
    stated_type = recipe.answer_type or (record.get("meta") or {}).get("answer_type")
    answer_type = str(stated_type or infer_answer_type(answers))
    measure = choose_measure(answers, answer_type) if recipe.measure == "auto" else recipe.measure
    if answers and measure == "cxmi" and scorer is None:
        # The data may state "short" for verdicts; the message names the type for which cxmi was chosen.
        shown_type = infer_answer_type(answers) if answer_type == "short" else answer_type
        raise SetupError(
            f"Question {record['id']!r} (answer type {shown_type}) takes the measure cxmi, which needs a model that "
            "gives log-probabilities; add --scorer transformers:PATH or --scorer completions:MODEL, or name another "
            "measure for all, such as --measure strinc."
        )
    chosen_pieces = []
    if answers:
        chosen_pieces = await choose_silver_pieces(
            record["question"],
            answers,
            passages,
            measure,
            unit=recipe.unit,
            top=recipe.top,
            scorer=scorer,
            make_prompt=make_cxmi_prompt_writer(answer_type),
            tokens=recipe.tokens,
            threshold=recipe.threshold,
            answer_measure=recipe.answer_measure,
        )
    return SilverLine(
        id=record["id"],
        question=record["question"],
        answers=answers,
        passages=passages,
        silver=make_spans(passages, chosen_pieces),
        measure=measure,
        answer_type=answer_type,
    )


async def find_passages(record: Record, recipe: Recipe, context: Context | None) -> list[Passage]:
    """The first `recipe.k` of the question's own passages; if it has none, `context.k` passages from the collection."""
    if record["passages"]:
        return record["passages"][: recipe.k]
    if recipe.collection is None or context is None:
        raise SetupError(
            f"Question {record['id']!r} has no passages; give a data set with passages, or name a collection to "
            "retrieve them from: --collection NAME."
        )
    from quorum.retrievers import search

    passages = await search(record["question"], context)
    return [Passage(id=passage["id"], title=passage["title"], text=passage["text"]) for passage in passages]


def compute_statistics(path: Path, answer_measure: AnswerMeasure) -> Statistics | None:
    """The statistics of a silver file; None if no question has gold answers."""
    questions = with_silver_count = measured_count = 0
    words, precision = [0, 0], [0.0, 0.0]  # sums: of the passages, of the silver
    has_gold_answers = False
    for line in read_silver(path):
        texts = [" ".join(piece["text"] for piece in pieces) for pieces in (line["passages"], line["silver"])]
        words = [total + len(text.split()) for total, text in zip(words, texts, strict=True)]
        questions, with_silver_count, has_gold_answers = (
            questions + 1,
            with_silver_count + bool(line["silver"]),
            has_gold_answers or bool(line["answers"]),
        )
        if line["answers"] and not are_verdicts(line["answers"]):
            measured_count += 1
            line_precision = [compute_unigram_precision(text, line["answers"], answer_measure) for text in texts]
            precision = [total + value for total, value in zip(precision, line_precision, strict=True)]
    before, after = (total / measured_count for total in precision) if measured_count else (None, None)
    return (
        Statistics(
            questions=questions,
            with_silver=with_silver_count,
            words_before=words[0] / questions,
            words_after=words[1] / questions,
            precision_before=before,
            precision_after=after,
        )
        if has_gold_answers
        else None
    )
