"""`--quick`: a smaller run of an experiment, and what makes it smaller."""

from dataclasses import replace

from quorum.evaluation.experiments.experiment import Experiment
from quorum.evaluation.run.options import Options

QUESTIONS = 20
KEPT_VARIANTS = 3  # of more variants, the first, the middle and the last one run


def make_quick(experiment: Experiment, options: Options) -> tuple[Experiment, Options, list[str]]:
    """The experiment and its options with less to ask, and a sentence for each change."""
    changes: list[str] = []
    if options.limit is None or options.limit > QUESTIONS:
        changes.append(f"only the first {QUESTIONS} questions are asked")
        options = replace(options, limit=QUESTIONS)
    variants = choose_variants(experiment)
    if left_out := [one or "the method as it is" for one in experiment.variants if one not in variants]:
        changes.append(f"left out: {', '.join(left_out)}")
        slots = dict(zip(experiment.variants, experiment.slots, strict=False))
        kept = tuple(slots[one] for one in variants if one in slots)
        experiment = replace(experiment, variants=variants, slots=kept)
    if experiment.shots and experiment.draws > 1:
        changes.append(f"1 draw of demonstrations instead of {experiment.draws}")
        experiment = replace(experiment, draws=1)
    return experiment, options, changes


def choose_variants(experiment: Experiment) -> tuple[str, ...]:
    """The variants of a quick run: those that the experiment names, or at most three of a longer row of numbers."""
    if experiment.quick:
        return experiment.quick
    every = experiment.variants
    if len(every) <= KEPT_VARIANTS or experiment.slots or not all("=" in one for one in every):
        return every
    names = {one.partition("=")[0] for one in every}
    return (every[0], every[len(every) // 2], every[-1]) if len(names) == 1 else every
