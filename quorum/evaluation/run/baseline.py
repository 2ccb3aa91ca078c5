"""Compares methods with a baseline, question by question: differences, intervals, tests."""

from collections.abc import Mapping, Sequence

import numpy as np

from quorum.algorithms.best_set import ALPHA, compare_with_fixed, find_best_set
from quorum.algorithms.paired import compute_normal_quantile
from quorum.core.errors import SetupError
from quorum.evaluation.metrics.registry import WORTH_MEASURE, list_compared_measures
from quorum.evaluation.metrics.statistics import adjust_p_values
from quorum.evaluation.run.column_scores import ColumnScores
from quorum.evaluation.run.differences import (
    DIGITS,
    Comparison,
    Difference,
    ValueTable,
    collect_values,
    make_difference,
)
from quorum.evaluation.run.race_result import RaceResult
from quorum.evaluation.run.tasks import MEASURES_OF_TASK, RETRIEVAL_TASKS


def compare_with_baseline(
    scores: Mapping[str, ColumnScores], names: Sequence[str], baseline: str, race: RaceResult | None = None
) -> Comparison:
    """Compare the methods `names` with `baseline`, which is one of them and was named beforehand.

    scores: by method. race: a method has the test "race", with p = 1, if the race dropped it or the baseline, or has
    not ended. The p-values are adjusted for all methods in `names`, including those with the test "race".
    """
    untested_names = [] if race is None else [name for name in names if is_untestable(race, name, baseline)]
    tested_names = [name for name in names if name not in untested_names]  # including the baseline
    differences_by_method: dict[str, dict[str, Difference]] = {name: {} for name in names if name != baseline}
    if race is not None:
        for name in untested_names:
            differences_by_method[name] = compute_race_differences(
                scores[name], scores[baseline], race, (name, baseline)
            )
    common_ids, left_out_count = find_common_questions(scores, tested_names)
    if len(tested_names) > 1:
        for measure in list_measures_of_all(scores, tested_names):
            table = collect_values(scores, tested_names, measure, common_ids)
            if len(table.values):
                for name, difference in compare_each_with_baseline(table, baseline, len(untested_names)).items():
                    differences_by_method[name][measure] = difference
    return Comparison(baseline=baseline, n=len(common_ids), left_out=left_out_count, methods=differences_by_method)


def compare_with_best(
    scores: Mapping[str, ColumnScores],
    names: Sequence[str],
    best: str,
    ids: Sequence[str],
    race: RaceResult | None = None,
    dropped_names: Sequence[str] = (),
) -> Comparison:
    """Compare the methods `names` with `best`, the one of them with the highest mean, over the questions `ids`.

    The p-value of a method is that of "it is one of the best". The intervals hold for all pairs of methods together,
    because the questions themselves chose which method to compare with. dropped_names: the methods that the race
    dropped, which have the test "race".
    """
    methods: dict[str, dict[str, Difference]] = {name: {} for name in names if name != best}
    for measure in list_measures_of_all(scores, names):
        table = collect_values(scores, names, measure, ids)
        if len(table.values) and len(names) > 1:
            best_set = find_best_set(table.scaled_values, table.units, graded=not table.binary)
            for place, name in enumerate(names):
                if name != best:
                    p = float(best_set.p_values[place])
                    methods[name][measure] = make_difference(
                        table, (name, best), "best set", (p, p), best_set.pair_critical_value, best_set.critical_value
                    )
    if race is not None:
        for name in dropped_names:
            methods[name] = compute_race_differences(scores[name], scores[best], race, (name, best))
    return Comparison(baseline=best, n=len(ids), left_out=0, methods=methods)


def find_common_questions(scores: Mapping[str, ColumnScores], names: Sequence[str]) -> tuple[list[str], int]:
    """The questions that all of these methods answered, and how many others some of them answered."""
    id_sets = [set(scores[name].ids) for name in names]
    common_ids = sorted(set.intersection(*id_sets))
    return common_ids, len(set.union(*id_sets)) - len(common_ids)


def list_measures_of_all(scores: Mapping[str, ColumnScores], names: Sequence[str]) -> list[str]:
    """The measures by which methods are compared and that all of these methods have. Where nothing was answered, also
    the measure of what was found, which decides.
    """
    deciding = [
        measure
        for task in RETRIEVAL_TASKS
        if all(task in scores[method].tasks for method in names)
        for measure in MEASURES_OF_TASK[task]
    ]
    measures = dict.fromkeys((*list_compared_measures(), *deciding))
    return [name for name in measures if all(name in scores[method].values for method in names)]


def is_untestable(race: RaceResult, name: str, baseline: str) -> bool:
    """Whether the method `name` cannot be tested against the baseline on a fixed set of questions, because the race
    dropped one of the two or has not ended. False for the baseline itself.
    """
    return name != baseline and (not race.is_finished or race.is_dropped(name) or race.is_dropped(baseline))


def compute_race_differences(
    scores: ColumnScores, baseline_scores: ColumnScores, race: RaceResult, names: tuple[str, str]
) -> dict[str, Difference]:
    """The differences of a method from the baseline, by measure, over the questions that both answered.

    Their intervals hold at every moment of the race. names: the method and the baseline. A measure is left out if the
    differences cannot be scaled to [-1, 1], as the intervals require.
    """
    asked_count = min(race.standings[name].asked_count for name in names)
    result: dict[str, Difference] = {}
    for measure in list_compared_measures():
        if measure not in scores.values or measure not in baseline_scores.values:
            continue
        values, baseline_values = (
            dict(zip(column.ids, column.values[measure], strict=True)) for column in (scores, baseline_scores)
        )
        differences = {id_: values[id_] - baseline_values[id_] for id_ in values.keys() & baseline_values.keys()}
        largest_difference = 1 + scores.wrong_cost if measure == WORTH_MEASURE else 1.0
        scaled_differences = {
            id_: difference / largest_difference for id_, difference in differences.items() if not np.isnan(difference)
        }
        if scaled_differences and all(abs(difference) <= 1 for difference in scaled_differences.values()):
            low, high = race.compute_anytime_interval(scaled_differences, asked_count)
            result[measure] = Difference(
                difference=round(largest_difference * float(np.mean(list(scaled_differences.values()))), DIGITS),
                low=round(largest_difference * low, DIGITS),
                high=round(largest_difference * high, DIGITS),
                test="race",
                p=1.0,
                p_holm=1.0,
                questions_needed=None,
            )
    return result


def compare_each_with_baseline(table: ValueTable, baseline: str, untested_count: int) -> dict[str, Difference]:
    """The differences of all other methods of the table from the baseline, in one measure.

    untested_count: how many further methods a race has taken out. Which methods are left then depends on their answers,
    so the p-values are those of the single methods, adjusted for all (Holm), and the intervals are no narrower than
    Bonferroni's.
    """
    test = compare_with_fixed(table.scaled_values, table.names.index(baseline), table.units, graded=not table.binary)
    others = [place for place, name in enumerate(table.names) if name != baseline]
    p_values = {place: float(test.p_values[place]) for place in others}
    critical_value = test.critical_value
    if untested_count:
        adjusted = adjust_p_values([*(float(test.own_p_values[place]) for place in others), *[1.0] * untested_count])
        p_values = {place: max(p, p_values[place]) for place, p in zip(others, adjusted, strict=False)}
        all_count = len(others) + untested_count
        critical_value = max(critical_value, compute_normal_quantile(1 - ALPHA / (2 * all_count)))
    return {
        table.names[place]: make_difference(
            table,
            (table.names[place], baseline),
            "step-down",
            (float(test.own_p_values[place]), p_values[place]),
            critical_value,
            critical_value,
        )
        for place in others
    }


def check_baseline(groups: Sequence[Sequence[str]], baseline: str | None) -> None:
    """Raises `SetupError` if the baseline is not one of the methods. groups: the names of the methods in each group."""
    names = [name for group in groups for name in group]
    if baseline is not None and baseline not in names:
        raise SetupError(f"The baseline {baseline!r} is not one of the methods; name one of: {', '.join(names)}.")


def compare_within_groups(
    scores: Mapping[str, ColumnScores],
    groups: Sequence[Sequence[str]],
    baseline: str | None = None,
    race: RaceResult | None = None,
) -> list[Comparison]:
    """Compare the methods of each group with its first method, or with `baseline` if the group contains it.

    groups: for each group, the names of the columns that are compared with one another (see `Column.group`). A group of
    one method has no comparison.
    """
    return [
        compare_with_baseline(scores, group, baseline if baseline is not None and baseline in group else group[0], race)
        for group in groups
        if len(group) > 1
    ]
