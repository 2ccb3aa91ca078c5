"""Runs an experiment over a file of questions, for tests."""

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from quorum.core.context import Context
from quorum.evaluation.experiments.analyses import AnalysisTable
from quorum.evaluation.experiments.experiment import Experiment
from quorum.evaluation.experiments.experiment_options import ExperimentOptions
from quorum.evaluation.experiments.run_experiment import run_experiment
from quorum.evaluation.run.options import Options
from quorum.evaluation.run.score import Scores

EXPERIMENT_OPTIONS = {field.name for field in fields(ExperimentOptions)}


async def run_experiment_over(
    experiment: Experiment,
    data: Path,
    context: Context,
    all_options: Mapping[str, Any],
    *,
    out: Path,
    **more_options: Any,
) -> tuple[Scores, list[AnalysisTable]]:
    """Run the experiment on the questions in `data`. Returns its scores and the tables of its analyses.

    all_options: fields of `ExperimentOptions` and of `Options` in one mapping; more_options: more fields of
    `Options`.
    """
    experiment_values = {name: value for name, value in all_options.items() if name in EXPERIMENT_OPTIONS}
    option_values = {name: value for name, value in all_options.items() if name not in EXPERIMENT_OPTIONS}
    options = Options(data=data, context=context, out=out, **option_values, **more_options)
    outcome = await run_experiment(experiment, options, ExperimentOptions(**experiment_values))
    return outcome.scores, outcome.analysis_tables
