"""Run an experiment: its methods over a data set as any evaluation, then what it works out from their results."""

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
from quorum.evaluation.experiments.catalogue import CLOSED, Experiment, grouped_runs
from quorum.evaluation.run.columns import MethodRun, parse_methods
from quorum.evaluation.run.dataset import DataSet, file_hash, read_data
from quorum.evaluation.run.demonstrations import draw_shots
from quorum.evaluation.run.evaluate import Report, evaluate, usable
from quorum.evaluation.run.results import write_json
from quorum.evaluation.run.source import Progress, silent

COUNTED = {"best": best_of_runs, "split": split_by_top, "spread": spread_of_draws}


@dataclass(frozen=True)
class Options:
    """What the user chooses: methods in place of the experiment's, and what it needs. drop_known: ask only what the
    model does not answer correctly without a context. gold_from: a file of passages in which gold ones are looked up.
    """

    methods: str | None = None
    judge: str | None = None
    verifier: str | None = None
    examples: Path | None = None
    filters: tuple[str, ...] = ()
    drop_known: bool = False
    gold_from: Path | None = None


async def run_experiment(
    experiment: Experiment,
    data: Path,
    context: Context,
    options: Options | None = None,
    *,
    corpus: str | None = None,
    collection: str | None = None,
    limit: int | None = None,
    concurrency: int = 8,
    skip_bad: bool = False,
    progress: Progress = silent,
    **how: Any,
) -> tuple[Report, list[Panel]]:
    """The report of its runs and its analysis, which goes to analysis.json. `how`: see
    `quorum.evaluation.run.evaluate`.

    An interrupted experiment goes on where it stopped when it is called again. Raises `SetupError` where an option that
    it needs is missing.
    """
    chosen = options or Options()
    check_needs(experiment, chosen)
    dataset = await asyncio.to_thread(read_data, data, limit, skip_bad=skip_bad)
    searching = corpus is not None or collection is not None
    with tempfile.TemporaryDirectory() as drawn:
        groups = await asyncio.to_thread(
            groups_of, experiment, dataset, context, chosen, Path(drawn), searching=searching
        )
        if chosen.judge is not None:
            await check_judge(chosen.judge, context, groups)
        closed, groups = after_closed(experiment, chosen, groups, context)
        report = await evaluate(
            data,
            [*closed, *(run for group in groups for run in group)],
            groups=[[run.name for run in group] for group in groups],
            corpus=corpus,
            collection=collection,
            limit=limit,
            concurrency=concurrency,
            keep=experiment.keep,
            about=described(experiment, chosen),
            unless=CLOSED if closed else None,
            gold_from=chosen.gold_from,
            skip_bad=skip_bad,
            progress=progress,
            **how,
        )
    panels = [known_panel(len(report.scores[run.name].ids), report.known, run.context.model) for run in closed]
    panels += await analysed(experiment, report, groups, context, chosen, concurrency, progress)
    panels += [given_panel(dataset.questions(), experiment.sizes)] if experiment.fits and not searching else []
    if panels:
        write_json(report.folder / "analysis.json", panels)
    return report, panels


def check_needs(experiment: Experiment, options: Options) -> None:
    for name in experiment.needs:
        if not getattr(options, name):
            raise SetupError(f"Experiment {experiment.name} needs --{name}; {NEEDED[name]}.")
    if options.gold_from is not None and experiment.analysis != "gold":
        raise SetupError(f"Experiment {experiment.name} places no gold passages; leave --gold-from out.")
    if options.gold_from is not None and not options.gold_from.is_file():
        raise SetupError(f"There is no file {options.gold_from}; give passages in JSON lines with --gold-from.")


async def check_judge(judge: str, context: Context, groups: Sequence[Sequence[MethodRun]]) -> None:
    """A judge that cannot be used, or that has not two methods to compare, is found before anything is asked."""
    names = [run.name for group in groups for run in group]
    if len(names) != 2:
        raise SetupError(f"A judge compares two methods; {len(names)} are named ({', '.join(names)}).")
    await usable(replace(context, model=judge))


NEEDED = {
    "judge": "name the model that compares the summaries, for example --judge openai:gpt-4o",
    "verifier": "name the model that checks the summaries, for example --verifier openai:gpt-4o",
    "filters": "give the filters to compare, for example --filters embedded:by_strinc,embedded:by_lexical",
    "examples": "give a file of questions and answers to draw demonstrations from",
}


def after_closed(
    experiment: Experiment, options: Options, groups: Sequence[Sequence[MethodRun]], context: Context
) -> tuple[list[MethodRun], list[list[MethodRun]]]:
    """The model alone, where what it knows is to be dropped, and the groups, in which it does not stand once more."""
    closed = parse_methods(CLOSED, context) if drops_known(experiment, options) else []
    names = {run.name for run in closed}
    rest = [[run for run in group if run.name not in names] for group in groups]
    return closed, [group for group in rest if group]


def drops_known(experiment: Experiment, options: Options) -> bool:
    return experiment.drops_known or options.drop_known


def groups_of(
    experiment: Experiment, dataset: DataSet, context: Context, options: Options, folder: Path, *, searching: bool
) -> list[list[MethodRun]]:
    """The runs, after drawing the demonstrations that they show."""
    shots: Sequence[tuple[str, str]] = ()
    if experiment.shots and options.examples is not None:
        shots = draw_shots(options.examples, dataset, folder, shots=experiment.shots, draws=experiment.draws)
    return grouped_runs(
        experiment,
        context,
        methods=options.methods,
        verifier=options.verifier,
        filters=options.filters,
        searching=searching,
        most=None if searching else dataset.most,
        shots=shots,
    )


def described(experiment: Experiment, options: Options) -> dict[str, Any]:
    """For config.json; the rest is in the settings of the runs."""
    about: dict[str, Any] = {"name": experiment.name}
    if "judge" in experiment.needs:
        about["judge"] = options.judge
    if drops_known(experiment, options):
        about["drops_known"] = True
    if options.gold_from is not None:
        about["gold_from"] = {"file": options.gold_from.name, "sha256": file_hash(options.gold_from)}
    return {"experiment": about}


async def analysed(
    experiment: Experiment,
    report: Report,
    groups: Sequence[Sequence[MethodRun]],
    context: Context,
    options: Options,
    concurrency: int,
    progress: Progress,
) -> list[Panel]:
    """What the experiment works out from its results."""
    if experiment.analysis == "preference":
        from quorum.evaluation.experiments.preference import compare_summaries

        one, other = (run.name for group in groups for run in group)
        return await compare_summaries(
            report.folder,
            (one, other),
            context,
            str(options.judge),
            concurrency=concurrency,
            config={"callbacks": [report.spent]},
            tell=partial(progress, "judge"),
        )
    if experiment.analysis == "gold":
        runs = [run for group in groups for run in group]
        return [await asyncio.to_thread(gold_panel, report.folder / "results.jsonl", runs, report.left_out)]
    if experiment.analysis is None:
        return []
    names = [[run.name for run in group] for group in groups]
    return await asyncio.to_thread(COUNTED[experiment.analysis], report.scores, names, report.judged)
