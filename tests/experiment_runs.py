"""Runs an experiment over a file of questions, for tests."""

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from quorum.core.context import Context
from quorum.evaluation.experiments.analyses import Panel
from quorum.evaluation.experiments.experiment import Experiment
from quorum.evaluation.experiments.run_experiment import Choices, run_experiment
from quorum.evaluation.run.options import Options
from quorum.evaluation.run.score import Scores

CHOICE_FIELDS = {field.name for field in fields(Choices)}


async def run_experiment_over(
    experiment: Experiment,
    data: Path,
    context: Context,
    choices_and_options: Mapping[str, Any],
    *,
    out: Path,
    **more_options: Any,
) -> tuple[Scores, list[Panel]]:
    """Run the experiment. choices_and_options: fields of `Choices` and of `Options` together."""
    choices = {name: value for name, value in choices_and_options.items() if name in CHOICE_FIELDS}
    option_values = {name: value for name, value in choices_and_options.items() if name not in CHOICE_FIELDS}
    options = Options(data=data, context=context, out=out, **option_values, **more_options)
    outcome = await run_experiment(experiment, options, Choices(**choices))
    return outcome.scores, outcome.panels
