"""The user's options for an evaluation, a comparison or an experiment, read once at the start of the command."""

import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quorum.algorithms.race import RACE_ERROR_PROBABILITY
from quorum.algorithms.recommend import MARGIN
from quorum.cluster.ray_cluster import check_engine
from quorum.core.context import Context
from quorum.core.errors import SetupError
from quorum.core.redaction import redact_secrets
from quorum.evaluation.run.corpus_files import GIVEN_SOURCE

if TYPE_CHECKING:
    from quorum.evaluation.metrics.registry import Scorer
    from quorum.evaluation.run.user_measures import UserMeasure
    from quorum.graphs import Graph

RACE_MODES = ("exact", "questions", "future")
# Options of the command that take what the field of this name holds; left out where the field has its default.
PLAIN_OPTIONS = (
    "limit",
    "baseline",
    "max_cost",
    "prices",
    "judge",
    "race",
    "screen",
    "engine",
    "concurrency",
    "wrong_cost",
    "margin",
)
LIST_OPTIONS = {"models": "model", "retrievers": "retriever", "k": "k"}  # -> the setting that each takes the place of
FLAGS = ("retrieval_only", "skip_bad")


@dataclass(frozen=True, kw_only=True)
class Options:
    """The questions, the columns (methods with their settings), the passages, how to ask, and where the results go.

    Raises `SetupError` for a number, an engine or a race that is not allowed.

    >>> Options(data=Path("questions.jsonl"), methods="concat,sure", limit=100).concurrency
    8
    """

    data: Path
    """The file of questions: JSON lines, also gzip, or a published data set in its own format."""
    limit: int | None = None
    """Only so many questions, from the first on; None: all."""
    skip_bad: bool = False
    """Skip broken records and count them, instead of refusing the data."""
    task: str | None = None
    """The task of every question (short, yes_no, label, dialogue or long), in place of the one in the data; None: as
    the data say.
    """

    methods: str = ""
    """Methods by name, with their own settings in brackets, as `--methods` has them: "concat,concat[k=10]"."""
    graphs: "Sequence[Graph]" = ()
    """Compiled graphs of your own, which are asked beside the methods."""
    models: Sequence[str] = ()
    """Models; each method is asked with each of them. Empty: the context's."""
    retrievers: Sequence[str] = ()
    """Retrievers; each method is asked with each of them. Empty: the context's."""
    k: Sequence[str] = ()
    """Numbers of passages, as text; each method is asked with each of them. Empty: the context's."""
    context: Context = field(default_factory=Context)
    """The settings of all methods; those in a method's brackets win."""

    corpus: str | None = None
    """A folder or file to retrieve from, "pool" for the passages of all questions, or "given" for each question's own.
    None, and no collection: each question's own.
    """
    collection: str | None = None
    """An indexed collection to retrieve from."""

    retrieval_only: bool = False
    """Whether only what is found is compared: every column is a search with its settings, and no model is asked. Not
    with models, a judge, a race, a cost of wrong answers or engine "ray": a `SetupError`.
    """

    indexes: Sequence[str] = ()
    """Settings of indexes of the corpus, such as "words=60"; each becomes a collection, in which each method searches.
    Empty: one index with the default settings.
    """

    concurrency: int = 8
    """How many questions are asked at once, from 1 on; else a `SetupError`."""
    engine: str = "local"
    """"local", or "ray" for questions asked by many processes, with the same results (docs/scale.md); any other is a
    `SetupError`.
    """
    out: Path | None = None
    """The folder of the results; None: a folder under results/, named by the configuration."""

    baseline: str | None = None
    """The column that the others are compared with; None: the first."""
    measures: "Mapping[str, UserMeasure]" = field(default_factory=dict)
    """Measures of your own, by name; each is computed from all answers of a column together."""
    metrics: "Mapping[str, Scorer]" = field(default_factory=dict)
    """Metrics of your own, by name: functions (result, reference) -> number. Not with engine "ray", whose processes do
    not have them: a `SetupError`.
    """
    judge: str | None = None
    """A chat model that decides whether an answer is right; it may be added after the questions are answered. None: no
    judge.
    """
    writes_details: bool = False
    """Whether to write details.jsonl. In the `seconds` of a row, a stored reply and a cached search then count with the
    time that they took at first, as if no other method ran.
    """

    budget: Mapping[str, float] = field(default_factory=dict)
    """The most that a method may use per question, by unit: calls, tokens and cost (dollars) are compared by their
    means, seconds by their 95th percentile.
    """
    max_cost: float | None = None
    """Dollars that the run may spend, from 0 on; None: no limit."""
    prices: Path | None = None
    """Your own file of prices; None: the built-in ones."""
    race: str | None = None
    """The rule by which methods that cannot win are no longer asked: "exact", "questions" or "future"
    (docs/compare.md). None: every method is asked every question.
    """
    screen: int | None = None
    """Before a race: within each k, only the methods with this many best searches, by recall, are raced. None: all are.
    Only with a race: else a `SetupError`.
    """
    wrong_cost: float = 0.0
    """What a wrong answer costs, from 0 on, where a right one is worth 1; unknown costs nothing. A race uses it.
    Without a race it only changes the decision, so the answers in a folder can be compared again at another cost.
    """
    margin: float = MARGIN
    """How far below the highest mean a recommended method may be, from 0 on and below 1, so that a cheaper method that
    may be the best is recommended. It changes only the decision.
    """

    extra_keys: Sequence[str] = ()
    """For experiments: further keys of the result to write into the rows."""
    extra_config: Mapping[str, Any] = field(default_factory=dict)
    """For experiments: further entries of config.json."""
    screening_column: str | None = None
    """For experiments: a column that is asked before all others; the others are not asked the questions that it answers
    right (EM).
    """
    gold_from: Path | None = None
    """For experiments: a file with gold passages that are not in `data`."""

    def __post_init__(self) -> None:
        check_engine(self.engine)
        if self.concurrency < 1:
            raise SetupError(
                f"A concurrency of {self.concurrency} does not fit; give the number of questions at once, from 1 on."
            )
        if not 0 <= self.wrong_cost < math.inf:
            raise SetupError(
                f"--wrong-cost {self.wrong_cost:g} does not fit; give what a wrong answer costs, from 0 on."
            )
        check_margin(self.margin)
        if self.metrics and self.engine == "ray":
            raise SetupError(
                f"The metric {next(iter(self.metrics))!r} is a function of this process, and engine ray scores in "
                "others; leave the engine out, or make the metric a package (docs/plugins.md)."
            )
        if self.race is not None and self.race not in RACE_MODES:
            raise SetupError(f"--race {self.race!r} does not fit; give exact, questions or future (docs/compare.md).")
        if self.max_cost is not None and not self.max_cost >= 0:
            raise SetupError(f"--max-cost {self.max_cost} does not fit; give dollars, from 0 on.")

        if self.screen is not None and (self.screen < 1 or self.race is None):
            what = "comes before a race" if self.race is None else "keeps at least one search of each k"
            raise SetupError(f"--screen {self.screen} {what}; write for example --screen 7 --race questions.")
        if self.retrieval_only:
            check_nothing_is_answered(self)

    @property
    def is_searching(self) -> bool:
        """Whether passages are retrieved. Otherwise each question brings its own."""
        return self.corpus not in (None, GIVEN_SOURCE) or self.collection is not None

    def describe(self) -> dict[str, Any]:
        """The options that config.json records, besides the data, the source of passages and the columns."""
        from quorum.evaluation.run.given_metrics import describe_metrics
        from quorum.evaluation.run.race_result import SEED

        race: dict[str, Any] = {"mode": self.race, "error": RACE_ERROR_PROBABILITY, "seed": SEED}
        if self.wrong_cost:
            race["wrong_cost"] = self.wrong_cost
        return {
            **({"task": self.task} if self.task else {}),
            **({"race": race} if self.race else {}),
            **({"screen": self.screen} if self.screen else {}),
            **({"details": True} if self.writes_details else {}),
            **({"own_metrics": describe_metrics(self.metrics)} if self.metrics else {}),
            **self.extra_config,
        }

    def describe_command(self) -> str:
        """`quorum compare` with the options and settings that are not the built-in defaults, wherever they came from,
        to repeat a comparison, without secrets. What no command line can say is left out: objects and functions
        that Python made.

        >>> context = Context(temperature=0.7, store="mine", journal=None)
        >>> Options(data=Path("q.jsonl"), corpus="docs", methods="concat,sure[k=3]", context=context).describe_command()
        "quorum compare docs q.jsonl --methods 'concat,sure[k=3]' --store mine --set temperature=0.7"
        """
        from quorum.evaluation.run.command import format_value, list_metric_places, list_setting_words

        defaults = Options(data=self.data)
        words = ["quorum", "compare", self.corpus or "given", str(self.data), "--methods", self.methods]
        for name in PLAIN_OPTIONS:
            if (value := getattr(self, name)) != getattr(defaults, name):
                words += [f"--{name.replace('_', '-')}", format_value(value)]
        for name in LIST_OPTIONS:
            if value := getattr(self, name):
                words += [f"--{name}", ",".join(value)]
        if self.budget:
            words += ["--budget", ",".join(f"{unit}={limit:g}" for unit, limit in self.budget.items())]
        words += [word for text in self.indexes for word in ("--index", text)]
        words += [f"--{name.replace('_', '-')}" for name in FLAGS if getattr(self, name)]
        words += [word for text in list_metric_places(self.metrics) for word in ("--metric", text)]
        decided = {setting for name, setting in LIST_OPTIONS.items() if getattr(self, name)}
        if self.corpus in (None, "given"):
            decided.add("retriever")  # each question's own passages are read
        words += list_setting_words(self.context, self.task, decided)
        return redact_secrets(shlex.join(words))


def check_nothing_is_answered(options: Options) -> None:
    """Raise `SetupError` for an option that is about answers, where only what is found is compared."""
    about_answers = {
        "--models": options.models,
        "--judge": options.judge,
        "--race": options.race,
        "--wrong-cost": options.wrong_cost,
        "a graph": options.graphs,
        "--engine ray": options.engine == "ray",
    }
    for name, value in about_answers.items():
        if value:
            raise SetupError(
                f"--retrieval-only answers nothing, so {name} has no place beside it; leave one of them out."
            )


def check_margin(margin: float) -> float:
    """The margin of a recommendation, unchanged. Raises `SetupError` unless it is from 0 on and below 1."""
    if not 0 <= margin < 1:
        raise SetupError(
            f"--margin {margin:g} does not fit; give how far below the highest mean a recommended method may be, from "
            "0 on and below 1, such as 0.02 for two points of 100."
        )
    return margin


def split_list(text: str | None) -> list[str]:
    """The items of a comma-separated list. An item that occurs several times is returned once.

    >>> split_list("5, 10,5")
    ['5', '10']
    """
    return list(dict.fromkeys(part.strip() for part in (text or "").split(",") if part.strip()))
