"""`--quick`: a smaller run of an experiment, and what makes it smaller."""

from dataclasses import replace

from quorum.evaluation.experiments.experiment import Experiment
from quorum.evaluation.run.options import Options

QUICK_QUESTIONS = 20
MOST_QUICK_VARIANTS = 3  # a longer series of values of one setting is cut to the first, the middle and the last value


def make_quick_experiment(experiment: Experiment, options: Options) -> tuple[Experiment, Options, list[str]]:
    """The experiment and its options with fewer questions, variants and draws, and a note on each change."""
    changes: list[str] = []
    if options.limit is None or options.limit > QUICK_QUESTIONS:
        changes.append(f"only the first {QUICK_QUESTIONS} questions are asked")
        options = replace(options, limit=QUICK_QUESTIONS)
    variants = choose_variants(experiment)
    if left_out := [variant or "the method as it is" for variant in experiment.variants if variant not in variants]:
        changes.append(f"left out: {', '.join(left_out)}")
        name_of_variant = dict(zip(experiment.variants, experiment.variant_names, strict=False))
        chosen_names = tuple(name_of_variant[variant] for variant in variants if variant in name_of_variant)
        experiment = replace(experiment, variants=variants, variant_names=chosen_names)
    if experiment.shots and experiment.draws > 1:
        changes.append(f"1 draw of demonstrations instead of {experiment.draws}")
        experiment = replace(experiment, draws=1)
    return experiment, options, changes


def choose_variants(experiment: Experiment) -> tuple[str, ...]:
    """The variants of a quick run: `quick_variants` if the experiment has them, else at most three of a series.

    A series is the values of one setting, such as k=1, k=5 and k=10. If the variants are not a series, or if the
    experiment has `variant_names`, all variants run.
    """
    if experiment.quick_variants:
        return experiment.quick_variants
    variants = experiment.variants
    if len(variants) <= MOST_QUICK_VARIANTS or experiment.variant_names or not all("=" in item for item in variants):
        return variants
    setting_names = {item.partition("=")[0] for item in variants}
    return (variants[0], variants[len(variants) // 2], variants[-1]) if len(setting_names) == 1 else variants
