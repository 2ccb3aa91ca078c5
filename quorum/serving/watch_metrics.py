"""How watched promises stand, in Prometheus's text format."""

from collections.abc import Mapping, Sequence

from quorum.evaluation.watch.standing import Standing

DESCRIPTIONS = {
    "quorum_watch_capital": "Highest capital of the bets against a promise; refuted at quorum_watch_alarm_at",
    "quorum_watch_alarm_at": "The capital that refutes a promise",
    "quorum_watch_refuted": "1 if a promise is refuted since its last reset",
    "quorum_watch_judge_changed": "1 if there was an alarm that the judge's own change may explain",
    "quorum_watch_confirmed_labels": "Labels of the last confirmation; 0 without one",
    "quorum_watch_labels": "Sampled answers with a label, and those that wait for one",
    "quorum_watch_wrong_low": "Lower end of the interval for the share of broken answers",
    "quorum_watch_wrong_high": "Upper end of that interval",
    "quorum_watch_withheld": "Questions to which this process answered unknown because the promise is refuted",
}


def format_watch_metrics(standings: Sequence[Standing], withheld: Mapping[str, int]) -> str:
    """The standings in Prometheus's text format; empty without any. withheld: by promise, how many answers were."""
    gauges: dict[str, list[tuple[str, float]]] = {name: [] for name in DESCRIPTIONS}
    for standing in standings:
        label = f'promise="{standing.promise.name}"'
        for name, value in (
            ("capital", standing.capital),
            ("alarm_at", standing.alarm_at),
            ("refuted", float(standing.state == "refuted")),
            ("judge_changed", float(standing.state == "judge changed")),
            ("confirmed_labels", float(standing.confirmed_labels)),
            ("wrong_low", standing.broken[0]),
            ("wrong_high", standing.broken[1]),
            ("withheld", float(withheld.get(standing.promise.name, 0))),
        ):
            gauges[f"quorum_watch_{name}"].append((label, value))
        gauges["quorum_watch_labels"].append((f'{label},state="done"', standing.done))
        gauges["quorum_watch_labels"].append((f'{label},state="waiting"', standing.waiting))
    lines = []
    for name, values in gauges.items():
        if values:
            lines += [f"# HELP {name} {DESCRIPTIONS[name]}", f"# TYPE {name} gauge"]
            lines += [f"{name}{{{label}}} {value:.10g}" for label, value in values]
    return "".join(f"{line}\n" for line in lines)
