"""Counts the server's questions, calls, tokens, dollars and seconds by method, in Prometheus's text format; and its
requests by the name of their token.
"""

from collections import defaultdict
from collections.abc import Mapping
from typing import TYPE_CHECKING

from quorum.core.state import Usage

if TYPE_CHECKING:
    from quorum.serving.log.record import RequestRecord

SECONDS_BUCKETS = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0)  # upper bounds of the buckets
DESCRIPTION_OF_COUNTER = {
    "quorum_questions_total": (
        "Questions by method and outcome; requests of chat windows for titles and the like count as method side_task"
    ),
    "quorum_calls_total": "Model calls",
    "quorum_tokens_total": "Tokens of model calls",
    "quorum_dollars_total": "US dollars, without questions that called a model of unknown price",
}
CLIENT_COUNTERS = {
    "quorum_requests_total": "HTTP requests and calls of MCP tools by token name and status; 499: the client left",
    "quorum_client_questions_total": "Questions and side tasks by token name and outcome",
    "quorum_client_calls_total": "Model calls by token name",
    "quorum_client_tokens_total": "Tokens of model calls by token name",
    "quorum_client_dollars_total": "US dollars by token name, without questions that called a model of unknown price",
}


class Metrics:
    """The server's counters. A method label is the name of a served method, or "side_task" for the side tasks of
    chat windows (titles, tags), so the number of labels is bounded.
    """

    def __init__(self) -> None:
        self.counts: dict[str, dict[str, float]] = {name: defaultdict(float) for name in DESCRIPTION_OF_COUNTER}
        # Method -> histogram: for each bucket, how many questions took at most the bucket's upper bound; then the
        # number of all questions; then the sum of their seconds.
        self.seconds: dict[str, list[float]] = {}
        self.questions_in_progress = 0  # includes side tasks, and requests that still wait

    def record(
        self, method: str, outcome: str, seconds: float, usage: Mapping[str, Usage], dollars: float | None
    ) -> None:
        """Record the end of a question or side task.

        outcome: answered, unknown, withheld, failed or stopped. usage: by prompt name. dollars: None if a price is
        unknown.
        """
        label = f'method="{method}"'
        self.counts["quorum_questions_total"][f'{label},outcome="{outcome}"'] += 1
        for item in usage.values():
            self.counts["quorum_calls_total"][label] += item["calls"]
            self.counts["quorum_tokens_total"][f'{label},direction="input"'] += item["input_tokens"]
            self.counts["quorum_tokens_total"][f'{label},direction="output"'] += item["output_tokens"]
        if dollars is not None:
            self.counts["quorum_dollars_total"][label] += dollars
        histogram = self.seconds.setdefault(method, [0.0] * (len(SECONDS_BUCKETS) + 2))
        for index, bound in enumerate(SECONDS_BUCKETS):
            histogram[index] += seconds <= bound
        histogram[-2] += 1
        histogram[-1] += seconds

    def format_text(self) -> str:
        """The text that Prometheus reads."""
        lines = [
            "# HELP quorum_under_way Questions and side tasks that are being answered or wait",
            "# TYPE quorum_under_way gauge",
            f"quorum_under_way {self.questions_in_progress}",
        ]
        for name, description in DESCRIPTION_OF_COUNTER.items():
            lines += [f"# HELP {name} {description}", f"# TYPE {name} counter"]
            lines += [f"{name}{{{label}}} {value:.10g}" for label, value in sorted(self.counts[name].items())]
        name = "quorum_seconds"
        lines += [f"# HELP {name} Seconds until a question or side task ended", f"# TYPE {name} histogram"]
        for method, histogram in sorted(self.seconds.items()):
            upper_bounds = [*(f"{item:g}" for item in SECONDS_BUCKETS), "+Inf"]
            pairs = zip(upper_bounds, histogram, strict=False)
            lines += [
                f'{name}_bucket{{method="{method}",le="{upper_bound}"}} {count:.10g}' for upper_bound, count in pairs
            ]
            lines += [
                f'{name}_sum{{method="{method}"}} {histogram[-1]:.10g}',
                f'{name}_count{{method="{method}"}} {histogram[-2]:.10g}',
            ]
        return "\n".join(lines) + "\n"


class ClientMetrics:
    """The counters of clients. A label is a name of the token file, or "-" for all clients without one, so the number
    of labels is bounded.
    """

    def __init__(self) -> None:
        self.counts: dict[str, dict[str, float]] = {name: defaultdict(float) for name in CLIENT_COUNTERS}

    def record(self, record: "RequestRecord") -> None:
        """Count a request, or an answer of a run, that has ended."""
        label = f'client="{escape_label(record.client)}"'
        if record.event == "request":
            self.counts["quorum_requests_total"][f'{label},status="{record.final_status}"'] += 1
        if record.usage is None:
            return
        self.counts["quorum_client_questions_total"][f'{label},outcome="{record.outcome}"'] += 1
        for item in record.usage.values():
            self.counts["quorum_client_calls_total"][label] += item["calls"]
            self.counts["quorum_client_tokens_total"][f'{label},direction="input"'] += item["input_tokens"]
            self.counts["quorum_client_tokens_total"][f'{label},direction="output"'] += item["output_tokens"]
        if record.dollars is not None:
            self.counts["quorum_client_dollars_total"][label] += record.dollars

    def format_text(self) -> str:
        """The text that Prometheus reads."""
        lines = []
        for name, description in CLIENT_COUNTERS.items():
            lines += [f"# HELP {name} {description}", f"# TYPE {name} counter"]
            lines += [f"{name}{{{label}}} {value:.10g}" for label, value in sorted(self.counts[name].items())]
        return "\n".join(lines) + "\n"


def escape_label(text: str) -> str:
    """A label's value, as Prometheus's text format demands."""
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
