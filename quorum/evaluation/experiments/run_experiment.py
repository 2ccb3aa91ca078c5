"""Run an experiment: evaluate its columns, then analyse their scores."""

import asyncio
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from quorum.core.context import Context
from quorum.core.errors import SetupError
from quorum.evaluation.experiments.analyses import (
    Panel,
    best_of_runs,
    given_panel,
    gold_panel,
    known_panel,
    split_by_top,
    spread_of_draws,
)
from quorum.evaluation.experiments.catalogue import CLOSED, Experiment, grouped_columns
from quorum.evaluation.run.columns import Column, group_names, parse_methods
from quorum.evaluation.run.dataset import DataSet, file_hash, read_data
from quorum.evaluation.run.demonstrations import draw_shots
from quorum.evaluation.run.evaluate import evaluate
from quorum.evaluation.run.options import Options
from quorum.evaluation.run.plan import check_models
from quorum.evaluation.run.results import write_json
from quorum.evaluation.run.score import Scores
from quorum.evaluation.run.source import Progress, ignore_progress

COUNTED = {"best": best_of_runs, "split": split_by_top, "spread": spread_of_draws}


@dataclass(frozen=True)
class Choices:
    """The options of an experiment beyond those of an evaluation. judge, verifier: models; examples: a file from which
    demonstrations are drawn; filters: context filters to compare; drop_known: ask only the questions that the model
    does not answer correctly without a context.
    """

    judge: str | None = None
    verifier: str | None = None
    examples: Path | None = None
    filters: tuple[str, ...] = ()
    drop_known: bool = False


async def run_experiment(
    experiment: Experiment, options: Options, choices: Choices | None = None, *, progress: Progress = ignore_progress
) -> tuple[Scores, list[Panel]]:
    """Ask the columns of an experiment and analyse their scores; the analysis goes to analysis.json.

    options: as for an evaluation; their `methods`, if any, replace the experiment's. Call it again to continue an
    interrupted experiment. Raises `SetupError` if a required choice is missing.
    """
    chosen = choices or Choices()
    as_papers = replace(options.context, shorten="off", structured="off")  # their calls and replies
    options = replace(options, context=as_papers)
    check_needs(experiment, options, chosen)
    dataset = await asyncio.to_thread(read_data, options.data, options.limit, skip_bad=options.skip_bad)
    with tempfile.TemporaryDirectory() as folder:
        columns = await asyncio.to_thread(experiment_columns, experiment, dataset, options, chosen, Path(folder))
        compared = [column for column in columns if column.group is not None]
        if chosen.judge is not None:
            await check_judge(chosen.judge, options.context, compared)
        scores = await evaluate(experiment_options(experiment, options, chosen), columns, progress=progress)
    closed = [column for column in columns if column.group is None]
    panels = [known_panel(len(scores.by_column[one.name].ids), scores.known, one.context.model) for one in closed]
    panels += await analyse(experiment, scores, compared, chosen, progress)
    if experiment.fits and not is_searching(options):
        panels.append(given_panel(dataset.questions(), experiment.sizes))
    if panels:
        write_json(scores.folder / "analysis.json", panels)
    return scores, panels


def is_searching(options: Options) -> bool:
    """Whether passages are retrieved; otherwise the questions bring them."""
    return options.corpus is not None or options.collection is not None


def experiment_options(experiment: Experiment, options: Options, choices: Choices) -> Options:
    """The options, with the keys that the experiment keeps, what it drops, and its description for config.json."""
    unless = CLOSED if drops_known(experiment, choices) else None
    return replace(options, keep=experiment.keep, about=describe(experiment, options, choices), unless=unless)


def check_needs(experiment: Experiment, options: Options, choices: Choices) -> None:
    """Raises `SetupError` if a choice is missing, or if gold passages are named but no column places them."""
    for name in experiment.needs:
        if not getattr(choices, name):
            raise SetupError(f"Experiment {experiment.name} needs --{name}; {NEEDED[name]}.")
    if options.gold_from is not None and experiment.analysis != "gold":
        raise SetupError(f"Experiment {experiment.name} places no gold passages; leave --gold-from out.")
    if options.gold_from is not None and not options.gold_from.is_file():
        raise SetupError(f"There is no file {options.gold_from}; give passages in JSON lines with --gold-from.")


async def check_judge(judge: str, context: Context, columns: Sequence[Column]) -> None:
    """Raises `SetupError` for an unusable judge, or if there are not two methods to compare."""
    names = [column.name for column in columns]
    if len(names) != 2:
        raise SetupError(f"A judge compares two methods; {len(names)} are named ({', '.join(names)}).")
    await check_models(replace(context, model=judge))


NEEDED = {
    "judge": "name the model that compares the summaries, for example --judge openai:gpt-4o",
    "verifier": "name the model that checks the summaries, for example --verifier openai:gpt-4o",
    "filters": "give the filters to compare, for example --filters embedded:by_strinc,embedded:by_lexical",
    "examples": "give a file of questions and answers to draw demonstrations from",
}


def experiment_columns(
    experiment: Experiment, dataset: DataSet, options: Options, choices: Choices, folder: Path
) -> list[Column]:
    """The columns, in the groups within which they are compared; drawn demonstrations are written to `folder`. If known
    questions are dropped, the model alone is the first column, outside all groups.
    """
    shots: Sequence[tuple[str, str]] = ()
    if experiment.shots and choices.examples is not None:
        shots = draw_shots(choices.examples, dataset, folder, shots=experiment.shots, draws=experiment.draws)
    searching = is_searching(options)
    groups = grouped_columns(
        experiment,
        options.context,
        methods=options.methods,
        verifier=choices.verifier,
        filters=choices.filters,
        searching=searching,
        most=None if searching else dataset.most,
        shots=shots,
    )
    closed = parse_methods(CLOSED, options.context) if drops_known(experiment, choices) else []
    names = {column.name for column in closed}
    rest = [[column for column in group if column.name not in names] for group in groups]
    compared = [replace(one, group=number) for number, group in enumerate(rest) for one in group]
    return [*(replace(column, group=None) for column in closed), *compared]


def drops_known(experiment: Experiment, choices: Choices) -> bool:
    """Whether a question that the model answers without a context is not asked of any other column."""
    return experiment.drops_known or choices.drop_known


def describe(experiment: Experiment, options: Options, choices: Choices) -> dict[str, Any]:
    """For config.json; the rest is in the settings of the columns."""
    about: dict[str, Any] = {"name": experiment.name}
    if "judge" in experiment.needs:
        about["judge"] = choices.judge
    if drops_known(experiment, choices):
        about["drops_known"] = True
    if options.gold_from is not None:
        about["gold_from"] = {"file": options.gold_from.name, "sha256": file_hash(options.gold_from)}
    return {"experiment": about}


async def analyse(
    experiment: Experiment, scores: Scores, columns: Sequence[Column], choices: Choices, progress: Progress
) -> list[Panel]:
    """Run the experiment's analysis on its scores."""
    if experiment.analysis == "preference":
        from quorum.evaluation.experiments.preference import compare_summaries

        options, (one, other) = scores.plan.options, (column.name for column in columns)
        return await compare_summaries(
            scores.folder,
            (one, other),
            options.context,
            str(choices.judge),
            concurrency=options.concurrency,
            config={"callbacks": [scores.spent]},
            tell=partial(progress, "judge"),
        )
    if experiment.analysis == "gold":
        return [await asyncio.to_thread(gold_panel, scores.folder / "results.jsonl", columns, scores.left_out)]
    if experiment.analysis is None:
        return []
    names = group_names(columns)
    return await asyncio.to_thread(COUNTED[experiment.analysis], scores.by_column, names, scores.measures)
