"""Plans a run: checks options, columns (methods with their settings) and questions before anything is paid for."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from quorum.algorithms.race import RaceMode
from quorum.core.errors import SetupError
from quorum.core.text import AnswerMeasure
from quorum.evaluation.metrics.prices import Prices
from quorum.evaluation.run.baseline import check_baseline
from quorum.evaluation.run.column_collections import check_columns_search
from quorum.evaluation.run.columns import Column, check_names, list_columns, list_names_by_group
from quorum.evaluation.run.config import make_config
from quorum.evaluation.run.corpus_files import compute_short_hash
from quorum.evaluation.run.corpus_indexes import find_corpus_indexes
from quorum.evaluation.run.dataset import DataSet, read_data
from quorum.evaluation.run.eligibility import drop_ineligible
from quorum.evaluation.run.judge import Judge, check_judge, make_judge
from quorum.evaluation.run.langsmith_questions import find_question_file, find_unfinished
from quorum.evaluation.run.options import Options
from quorum.evaluation.run.race import RaceRules
from quorum.evaluation.run.race_result import SEED
from quorum.evaluation.run.result_files import check_folder
from quorum.evaluation.run.retrieval_only import check_asks_no_model, choose_retrieval_task
from quorum.evaluation.run.screening import Screening, check_screen
from quorum.evaluation.run.source import (
    Source,
    find_passage_source,
    name_collections,
)
from quorum.retrievers.check_settings import check_settings


@dataclass(frozen=True)
class Plan:
    """Everything that the run needs.

    columns: each with its collection and prices; left_out_reasons: by column name, why a column that `--methods all`
    would bring is not asked; config: the content of config.json; folder: where results go.

    is_indexed: whether the collections of the columns are filled. rehearsal_usage: by model, the calls and tokens that
    an estimate has used for columns whose only model is the embedded one. These calls are real, and the run finds their
    replies in the journal. Calls in which the embedded model stands in for a chat model are not counted.

    race: how the race is run; None without a race. screening: what the screen before the race dropped; None without
    one. prices: those that `options` name, besides the built-in ones.
    """

    options: Options
    dataset: DataSet
    source: Source
    columns: Sequence[Column]
    config: Mapping[str, Any]
    folder: Path
    left_out_reasons: Mapping[str, str] = field(default_factory=dict)
    judge: Judge | None = None
    is_indexed: bool = False
    rehearsal_usage: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    race: RaceRules | None = None
    prices: Prices = field(default_factory=Prices)
    screening: Screening | None = None

    @property
    def groups(self) -> list[list[str]]:
        """The names of the columns that are compared with one another."""
        return list_names_by_group(self.columns)


async def plan(options: Options, columns: Sequence[Column] | None = None) -> Plan:
    """Make the plan of a run, and check everything that can be wrong in the options. columns: used instead of those
    that `options` names.

    Raises `SetupError` if the data, a column, a model, the judge, the passages' source or the baseline cannot be used.
    """
    indexes = await asyncio.to_thread(find_corpus_indexes, options.indexes, options.corpus)
    all_columns = list_columns(options, indexes) if columns is None else list(columns)
    check_names(all_columns)
    check_baseline(list_names_by_group(all_columns), options.baseline)
    asked_data = options.data
    options = replace(
        options, data=await asyncio.to_thread(find_question_file, options.data, options.context.store, options.out)
    )
    dataset = await asyncio.to_thread(read_data, options.data, options.limit, skip_bad=options.skip_bad)
    if options.retrieval_only:
        for column in all_columns:
            check_asks_no_model(column.context)
        options = replace(
            options, task=await asyncio.to_thread(choose_retrieval_task, dataset, has_indexes=indexes is not None)
        )
    if options.race is not None:
        # A race asks the questions in a random order. The race "future" keeps questions about the same document or
        # conversation together (`read_document_group`).
        dataset = replace(dataset, seed=SEED, by_group=options.race == "future")
    judge = None if options.judge is None else make_judge(options.judge, options.context)
    if judge is not None:
        await check_judge(judge)
    searches = options.is_searching or dataset.count_with_passages < dataset.count
    await check_what_columns_name(all_columns, searches=searches)
    prices = Prices(options.prices)
    if options.out is not None:
        check_folder(options.out)
    source = await asyncio.to_thread(find_passage_source, dataset, options, all_columns, indexes)
    check_columns_search(all_columns, retrieves=source.retrieves)
    if options.retrieval_only and not source.retrieves:
        raise SetupError(
            "--retrieval-only would search nothing, because each question's own passages are read; name a corpus or a "
            "collection, or 'pool' for the passages of all questions."
        )
    if options.screen is not None:
        check_screen(all_columns, retrieves=source.retrieves)
    eligible_columns, left_out_reasons = await drop_ineligible(all_columns, dataset, options.task)
    if options.baseline in left_out_reasons:
        reason = left_out_reasons[options.baseline]
        raise SetupError(f"The baseline {options.baseline!r} does not serve these questions: {reason}")
    complete_columns = await asyncio.to_thread(
        name_collections, source, [replace(column, prices=prices) for column in eligible_columns]
    )
    config = await asyncio.to_thread(
        make_config,
        dataset,
        complete_columns,
        source.describe(),
        options.describe(),
        find_answer_measure(complete_columns),
    )
    folder = options.out or Path("results") / f"{options.data.name.split('.')[0]}-{compute_short_hash(config)}"
    if options.out is None and (unfinished_folder := find_unfinished(asked_data, config, folder)) is not None:
        return await plan(replace(options, data=asked_data, out=unfinished_folder), columns)
    race = None
    if options.race is not None:
        race = RaceRules(cast(RaceMode, options.race), options.task, options.wrong_cost)
    return Plan(
        options, dataset, source, complete_columns, config, folder, left_out_reasons, judge, race=race, prices=prices
    )


async def check_what_columns_name(columns: Sequence[Column], *, searches: bool) -> None:
    """Raises `SetupError`, before a corpus is read or indexed, for a model, embeddings or a retriever that does not
    exist or cannot be used. searches: whether passages are retrieved, at least for some questions.
    """
    for column in columns:
        for context in column.list_contexts(column.context):
            await check_settings(context, searches=searches)


def find_answer_measure(columns: Sequence[Column]) -> AnswerMeasure:
    """How the answers of all columns are compared with accepted ones. Raises `SetupError` if columns differ in it."""
    measures = {column.name: column.context.answer_measure for column in columns}
    if len(set(measures.values())) > 1:
        raise SetupError(
            f"The methods have different settings answer_measure ({list_examples(measures)}), and results of two "
            "measures are not compared; give all methods the same one."
        )
    return next(iter(measures.values()))


def list_examples(measures: Mapping[str, AnswerMeasure]) -> str:
    """A column for each measure: 'concat exact_match, sure squad_exact_match'."""
    column_of_measure = {measure: name for name, measure in measures.items()}
    return ", ".join(f"{name} {measure}" for measure, name in column_of_measure.items())
