"""Asks several methods the questions of a data set, and measures the answers: `quorum eval`."""

import logging
from collections.abc import Sequence

from quorum.evaluation.metrics.registry import use_metrics
from quorum.evaluation.run.columns import Column
from quorum.evaluation.run.eligibility import describe_left_out
from quorum.evaluation.run.options import Options
from quorum.evaluation.run.plan import plan
from quorum.evaluation.run.run_plan import lock_folder, run
from quorum.evaluation.run.score import Scores, score
from quorum.evaluation.run.source import ProgressCallback, ignore_progress

LOG = logging.getLogger("quorum")


async def evaluate(
    options: Options, columns: Sequence[Column] | None = None, *, progress: ProgressCallback = ignore_progress
) -> Scores:
    """Run an evaluation and return its scores: options -> columns -> plan -> outcome -> scores.

    columns: used instead of those that `options` names. The same call again continues an interrupted evaluation. Raises
    `SetupError` for a mistake in the options or the data, before the folder of results is made.
    """
    with use_metrics(options.metrics):
        evaluation_plan = await plan(options, columns)
        for sentence in describe_left_out(evaluation_plan.left_out_reasons):
            LOG.warning("%s", sentence)
        with lock_folder(evaluation_plan.folder):
            outcome = await run(evaluation_plan, progress=progress)
            return await score(outcome, progress)
