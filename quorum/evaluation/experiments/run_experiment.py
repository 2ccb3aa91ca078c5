"""Runs an experiment: evaluates its columns (methods with all their settings), then analyses their scores."""

import asyncio
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from quorum.core.context import Context
from quorum.core.errors import SetupError
from quorum.core.text import PUBLISHED_MEASURE
from quorum.evaluation.compare.estimated_plan import EstimatedPlan, add_estimate
from quorum.evaluation.experiments.analyses import (
    AnalysisTable,
    make_best_of_runs_table,
    make_cost_table,
    make_gold_passages_table,
    make_known_questions_table,
    make_passage_count_table,
    make_spread_table,
    make_support_split_table,
    make_support_tables,
)
from quorum.evaluation.experiments.experiment import Experiment
from quorum.evaluation.experiments.experiment_columns import (
    apply_settings,
    describe_changes,
    describe_missing_search,
    describe_parts_left_out,
    group_columns,
    parse_variants,
)
from quorum.evaluation.experiments.experiment_options import ExperimentOptions
from quorum.evaluation.experiments.human_preference import make_people_preference_tables
from quorum.evaluation.experiments.mauve import choose_mauve_measure, describe_missing_mauve
from quorum.evaluation.experiments.paper_numbers import choose_paper_numbers, compare_with_paper
from quorum.evaluation.experiments.quick import make_quick_experiment
from quorum.evaluation.run.columns import Column, list_names_by_group, parse_columns
from quorum.evaluation.run.dataset import DataSet, hash_file, read_data
from quorum.evaluation.run.demonstrations import draw_shots
from quorum.evaluation.run.evaluate import evaluate
from quorum.evaluation.run.langsmith_questions import find_question_file
from quorum.evaluation.run.options import Options
from quorum.evaluation.run.plan import plan
from quorum.evaluation.run.result_files import write_json
from quorum.evaluation.run.score import Scores
from quorum.evaluation.run.source import ProgressCallback, find_searched_collection, ignore_progress
from quorum.models.check_models import check_models

CLOSED_BOOK_METHOD = "no_retrieval"
ANALYSIS_FUNCTIONS = {
    "best_of_runs": make_best_of_runs_table,
    "split_by_support": make_support_split_table,
    "spread_over_draws": make_spread_table,
    "support_by_passages": make_support_tables,
}


@dataclass(frozen=True)
class Outcome:
    """The outcome of an experiment.

    changes: phrases such as "k=5, not 10", each of which says what differs from the paper's experiment.
    """

    scores: Scores
    analysis_tables: list[AnalysisTable]
    changes: list[str]


@dataclass(frozen=True)
class PreparedExperiment:
    """An experiment that can be estimated or run. experiment, options: with the paper's settings; evaluation_options:
    those of its evaluation; changes: what differs from the paper's experiment.
    """

    experiment: Experiment
    options: Options
    evaluation_options: Options
    dataset: DataSet
    columns: Sequence[Column]
    changes: list[str]

    @property
    def compared_columns(self) -> list[Column]:
        """All columns but the one that asks the model without passages."""
        return [column for column in self.columns if column.group is not None]


async def run_experiment(
    experiment: Experiment,
    options: Options,
    choices: ExperimentOptions | None = None,
    *,
    progress: ProgressCallback = ignore_progress,
) -> Outcome:
    """Ask every column of an experiment the questions and analyse the scores; the tables go to analysis.json, too.

    options: as for an evaluation; `options.methods`, if given, replaces the experiment's methods. choices: the options
    that only an experiment has. A second call with the same arguments continues an interrupted experiment. Raises
    `SetupError` if an option that the experiment needs is missing.
    """
    chosen_options = choices or ExperimentOptions()
    with tempfile.TemporaryDirectory() as folder:
        prepared = await prepare_experiment(experiment, options, chosen_options, Path(folder))
        scores = await evaluate(prepared.evaluation_options, prepared.columns, progress=progress)
    experiment, options, dataset = prepared.experiment, prepared.options, prepared.dataset
    columns, compared_columns = prepared.columns, prepared.compared_columns
    closed_book_columns = [column for column in columns if column.group is None]
    analysis_tables = [
        make_known_questions_table(len(scores.scores_by_column[c.name].ids), scores.screened_out_count, c.context.model)
        for c in closed_book_columns
    ]
    analysis_tables += await run_analyses(experiment, scores, compared_columns, chosen_options, progress)
    if experiment.skips_excess_k and not options.is_searching:
        analysis_tables.append(make_passage_count_table(dataset.read_records(), experiment.k_values))
    paper_tables, other_data = await asyncio.to_thread(
        compare_with_paper, experiment, scores, compared_columns, chosen_options.paper_number_words
    )
    analysis_tables += paper_tables
    if analysis_tables:
        write_json(scores.folder / "analysis.json", analysis_tables)
    return Outcome(scores, analysis_tables, [*prepared.changes, *other_data])


async def estimate_experiment(
    experiment: Experiment,
    options: Options,
    choices: ExperimentOptions,
    *,
    progress: ProgressCallback = ignore_progress,
) -> EstimatedPlan:
    """The plan of an experiment with its estimate, as `quorum.evaluation.comparison.plan_comparison` makes it: a corpus
    that is not indexed yet is indexed, and no model of a server is asked. The calls of a judge are not estimated.
    """
    with tempfile.TemporaryDirectory() as folder:
        prepared = await prepare_experiment(experiment, options, choices, Path(folder))
        return await add_estimate(await plan(prepared.evaluation_options, prepared.columns), progress)


async def prepare_experiment(
    experiment: Experiment, options: Options, choices: ExperimentOptions, folder: Path
) -> PreparedExperiment:
    """Check what the experiment needs, and make its columns. folder: keeps drawn demonstrations as long as the columns
    are asked.
    """
    data = await asyncio.to_thread(find_question_file, options.data, options.context.store, options.out)
    options = await asyncio.to_thread(add_searched_collection, replace(options, data=data))
    experiment, options, changes = apply_paper_settings(experiment, options, choices)
    check_needs(experiment, options, choices)
    missing_mauve = await asyncio.to_thread(describe_missing_mauve, experiment)
    options = replace(
        options, measures={**options.measures, **choose_mauve_measure(experiment, is_missing=bool(missing_mauve))}
    )
    dataset = await asyncio.to_thread(read_data, options.data, options.limit, skip_bad=options.skip_bad)
    columns = await asyncio.to_thread(make_experiment_columns, experiment, dataset, options, choices, folder)
    prepared = PreparedExperiment(
        experiment,
        options,
        make_evaluation_options(experiment, options, choices),
        dataset,
        columns,
        [*changes, *missing_mauve],
    )
    if choices.judge is not None and "judge_preference" in experiment.analyses:
        await check_judge(choices.judge, options.context, prepared.compared_columns)
    return prepared


def add_searched_collection(options: Options) -> Options:
    """The options with the collection that is searched if no question brings passages. The call blocks."""
    if options.collection is not None or options.corpus is not None or not options.data.is_file():
        return options
    dataset = read_data(options.data, options.limit, skip_bad=options.skip_bad)
    collection = find_searched_collection(dataset, options.corpus, options.collection, options.context)
    return replace(options, collection=collection)


def apply_paper_settings(
    experiment: Experiment, options: Options, choices: ExperimentOptions
) -> tuple[Experiment, Options, list[str]]:
    """The experiment, the options with the paper's settings, and a phrase for each difference from the paper.

    A setting that the user states replaces the paper's. With --quick, the experiment and the options are made smaller.
    """
    context = apply_settings(experiment, options.context, choices.stated_settings)
    changes = describe_changes(experiment, context)
    changes += describe_parts_left_out(experiment, choices.verifier)
    changes += describe_missing_search(experiment, context, searching=options.is_searching)
    if options.methods:
        changes.append(f"methods {options.methods}")
    # as in the papers: answers are compared as the model wrote them, in plain text, by SQuAD's measure, and long
    # answers cite nothing
    context = replace(context, shorten="off", structured="off", citations="off", answer_measure=PUBLISHED_MEASURE)
    task = context.answer_type if "answer_type" in experiment.settings else options.task
    limit = experiment.limit if options.limit is None else options.limit
    options = replace(options, context=context, limit=limit, task=task)
    if choices.quick:
        experiment, options, quick_changes = make_quick_experiment(experiment, options)
        changes += quick_changes
    return experiment, options, changes


def make_evaluation_options(experiment: Experiment, options: Options, choices: ExperimentOptions) -> Options:
    """The evaluation's options, completed by what the experiment needs.

    These are: further keys of results to write to results.jsonl; the experiment's entry in config.json; the column
    whose right answers decide which questions the other columns are not asked; the judge of answers, unless the judge
    compares summaries in an analysis; and whether details.jsonl is written.
    """
    return replace(
        options,
        extra_keys=experiment.kept_keys,
        extra_config=list_recorded_choices(experiment, options, choices),
        screening_column=CLOSED_BOOK_METHOD if drops_known(experiment, choices) else None,
        judge=None if "judge_preference" in experiment.analyses else choices.judge,
        writes_details="cost" in experiment.analyses,  # the tokens in details.jsonl give the costs
    )


def check_needs(experiment: Experiment, options: Options, choices: ExperimentOptions) -> None:
    """Raises `SetupError` if the options do not fit the experiment.

    This is so if a required option is missing; if `paper_number_words` (--beside) selects none of the paper's numbers;
    if the experiment does not put gold passages among the retrieved ones but --gold-from is given; or if the file of
    --gold-from does not exist.
    """
    if choices.paper_number_words:
        choose_paper_numbers(experiment, None, "", choices.paper_number_words)
    for name in experiment.needs:
        if not getattr(choices, name) and not (name == "filters" and choices.variants):
            raise SetupError(f"Experiment {experiment.name} needs --{name}; {NEEDED_OPTIONS[name]}.")
    if options.gold_from is not None and "gold_passages" not in experiment.analyses:
        raise SetupError(
            f"Experiment {experiment.name} does not put gold passages among the retrieved ones; leave --gold-from out."
        )
    if options.gold_from is not None and not options.gold_from.is_file():
        raise SetupError(f"There is no file {options.gold_from}; give passages in JSON lines with --gold-from.")


async def check_judge(judge: str, context: Context, columns: Sequence[Column]) -> None:
    """Raises `SetupError` for an unusable judge, or if there are not two methods to compare."""
    names = [column.name for column in columns]
    if len(names) != 2:
        raise SetupError(
            f"A judge compares two methods, but {len(names)} are given ({', '.join(names)}); name two with --methods."
        )
    await check_models(replace(context, model=judge))


# Option -> how to give it, the second half of a message.
NEEDED_OPTIONS = {
    "judge": "name the model that judges, for example --judge openai:gpt-4o",
    "verifier": "name the model that checks the summaries, for example --verifier openai:gpt-4o",
    "filters": "give the filters to compare, for example --filters embedded:by_strinc,embedded:by_lexical, or each "
    "with its generator: --variant 'strinc[filter=transformers:PATH;model=transformers:PATH]'",
    "examples": "give a file of questions and answers to draw demonstrations from",
}


def make_experiment_columns(
    experiment: Experiment, dataset: DataSet, options: Options, choices: ExperimentOptions, folder: Path
) -> list[Column]:
    """The columns. `group` of a column is the number of the group within which it is compared.

    Writes drawn demonstrations to `folder`. If known questions are dropped, the first column asks the model without
    passages; the `group` of this column is None.
    """
    labels_and_example_files: Sequence[tuple[str, str]] = ()
    if experiment.shots and choices.examples is not None:
        labels_and_example_files = draw_shots(
            choices.examples, dataset, folder, shots=experiment.shots, draws=experiment.draws
        )
    searching = options.is_searching
    groups = group_columns(
        experiment,
        options.context,
        methods=options.methods,
        verifier=choices.verifier,
        filters=choices.filters,
        variant_settings=parse_variants(choices.variants),
        searching=searching,
        most_passages=None if searching else dataset.most_passages,
        labels_and_example_files=labels_and_example_files,
    )
    closed_book_columns = parse_columns(CLOSED_BOOK_METHOD, options.context) if drops_known(experiment, choices) else []
    closed_book_names = {column.name for column in closed_book_columns}
    compared_groups = [[column for column in group if column.name not in closed_book_names] for group in groups]
    compared_columns = [
        replace(column, group=number) for number, group in enumerate(compared_groups) for column in group
    ]
    return [*(replace(column, group=None) for column in closed_book_columns), *compared_columns]


def drops_known(experiment: Experiment, choices: ExperimentOptions) -> bool:
    """Whether to drop the questions that the model answers correctly without passages."""
    return experiment.drops_known_questions or choices.drop_known


def list_recorded_choices(experiment: Experiment, options: Options, choices: ExperimentOptions) -> dict[str, Any]:
    """The entry "experiment" of config.json: the experiment's name, and the choices that change its results."""
    description: dict[str, Any] = {"name": experiment.name}
    if "judge_preference" in experiment.analyses:
        description["judge"] = choices.judge
    if choices.quick:
        description["quick"] = True
    if drops_known(experiment, choices):
        description["drops_known"] = True
    if options.gold_from is not None:
        description["gold_from"] = {"file": options.gold_from.name, "sha256": hash_file(options.gold_from)}
    return {"experiment": description}


async def run_analyses(
    experiment: Experiment,
    scores: Scores,
    columns: Sequence[Column],
    choices: ExperimentOptions,
    progress: ProgressCallback,
) -> list[AnalysisTable]:
    """Run the experiment's analyses on its scores."""
    analysis_tables: list[AnalysisTable] = []
    for analysis in experiment.analyses:
        if analysis == "judge_preference":
            analysis_tables += await ask_preferences(scores, columns, choices, progress)
        elif analysis == "people_preference":
            analysis_tables += await asyncio.to_thread(
                make_people_preference_tables, scores.folder, [column.name for column in columns]
            )
        elif analysis == "gold_passages":
            results = scores.folder / "results.jsonl"
            count = scores.count_without_gold_passage
            analysis_tables.append(await asyncio.to_thread(make_gold_passages_table, results, columns, count))
        elif analysis == "cost":
            analysis_tables.append(await asyncio.to_thread(make_cost_table, scores, columns))
        else:
            by_column, names = scores.scores_by_column, list_names_by_group(columns)
            analysis_tables += await asyncio.to_thread(ANALYSIS_FUNCTIONS[analysis], by_column, names, scores.measures)
    return analysis_tables


async def ask_preferences(
    scores: Scores, columns: Sequence[Column], choices: ExperimentOptions, progress: ProgressCallback
) -> list[AnalysisTable]:
    """Tables of the judge's preference between the summaries of two columns; `columns` are these two."""
    from quorum.evaluation.experiments.preference import compare_summaries

    options, (first, second) = scores.plan.options, (column.name for column in columns)
    return await compare_summaries(
        scores.folder,
        (first, second),
        options.context,
        str(choices.judge),
        concurrency=options.concurrency,
        config={"callbacks": [scores.spending]},
        report_progress=partial(progress, "judge"),
    )
