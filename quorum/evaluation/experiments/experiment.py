"""One table or figure of a paper as data: which columns to run, and what the paper found.

A column is a method with all its settings, as one thing that is compared with others.
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

Analysis = Literal[
    "best_of_runs",
    # the measures, by whether the top passage before filtering supports the answer; the tokens that a filter leaves
    "split_by_support",
    "spread_over_draws",
    "judge_preference",
    "people_preference",
    "gold_passages",  # how often a gold passage was found, and how often it was inserted
    "cost",
    # how often a passage supports the answer, and the passages' unigram precision for the questions where one does
    "support_by_passages",
]
Requirement = Literal["judge", "verifier", "examples", "filters"]


@dataclass(frozen=True)
class PaperNumbers:
    """What the paper reports for one data set and model.

    values: {name: numbers}. The name is that of our column, or of a system that Quorum does not have. The numbers, in
    percent, are in the order of `measures`; a number is None if the paper does not state it.
    """

    data: str
    model: str
    measures: tuple[str, ...]
    values: Mapping[str, tuple[float | None, ...]]

    def get_number(self, column: str, measure: str) -> float | None:
        """The paper's number in percent; None if the paper states none.

        >>> PaperNumbers("NQ", "ChatGPT", ("em", "f1"), {"base": (28.4, 38.8)}).get_number("base", "f1")
        38.8
        """
        row = self.values.get(column)
        return None if row is None or measure not in self.measures else row[self.measures.index(measure)]


@dataclass(frozen=True)
class Experiment:
    """The columns of a table or figure, and the analyses of their results. Each experiment is a file NAME.toml in this
    folder. paper: such as "SuRe"; item: the paper's table or figure, such as "table 4"; summary: what it shows.

    methods: the default methods, written as for `quorum eval`. settings: the paper's settings, used unless the user
    states their own. variants: each is a text of settings, such as "k=5;reranker=question", with which every method
    runs. "{verifier}" in a method or a variant is replaced by the user's verifier; if the user names none, such methods
    and variants are left out. A variant with "{filter}" is repeated for each of the user's filters; "gold=PLACE" places
    gold passages (see `quorum.evaluation.run.gold_placement`). variant_names: short names of the variants, by which the
    user can give each of them its own settings.

    Each column is compared with the first column of its group. A group holds the variants of one method; with
    groups_by_variant, the methods of one variant; without variants, all columns.

    data, models, questions: the paper's own data sets, models and number of questions; limit: how many questions are
    asked by default. measures: what the paper reports; paper_numbers: its numbers. note: what differs from the paper,
    or what the paper leaves open.

    variants_need_collection_or_corpus: the variants apply only if a corpus or a collection is searched; otherwise the
    methods run without them. passages_read: how many of the best passages found are read. skips_excess_k: if passages
    come with the questions, the variants with a larger k than needed do not run: the first variant whose k covers all
    passages of every question is the last that runs. shots: numbers of demonstrations, in place of variants. For each
    number, `draws` sets are drawn from the user's examples, and each set makes a column of each method; these columns
    are not compared with one another. drops_known_questions: if the model answers a question correctly (EM) without
    passages, the methods are not asked that question. shown_measures: the measures that are printed in a separate
    table, in place of the columns about passages, such as recall, that `quorum eval` prints. Some of `measures` may be
    among them. kept_keys: further keys of a method's result that are written to results.jsonl, beside the usual ones.
    needs: options that the user must give. analyses: what is computed from the results. quick_variants: the variants
    that `--quick` runs.
    """

    name: str
    paper: str
    item: str
    summary: str
    methods: tuple[str, ...]
    settings: Mapping[str, str] = field(default_factory=dict)
    variants: tuple[str, ...] = ()
    variant_names: tuple[str, ...] = ()
    groups_by_variant: bool = False
    data: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    questions: str = ""
    limit: int | None = None
    measures: tuple[str, ...] = ()
    paper_numbers: tuple[PaperNumbers, ...] = ()
    note: str = ""
    variants_need_collection_or_corpus: bool = False
    passages_read: int | None = None
    skips_excess_k: bool = False
    shots: tuple[int, ...] = ()
    draws: int = 4
    drops_known_questions: bool = False
    shown_measures: tuple[str, ...] = ()
    kept_keys: tuple[str, ...] = ()
    needs: tuple[Requirement, ...] = ()
    analyses: tuple[Analysis, ...] = ()
    quick_variants: tuple[str, ...] = ()

    @property
    def source(self) -> str:
        """The source, such as "SuRe, table 4"."""
        return f"{self.paper}, {self.item}"

    @property
    def k_values(self) -> list[int]:
        """The different values of the setting `k` in the variants: how many passages they read."""
        parts = (part for variant in self.variants for part in variant.split(";"))
        return list(dict.fromkeys(int(part.removeprefix("k=")) for part in parts if part.startswith("k=")))


def read_experiment(path: Path) -> tuple[Experiment, dict[str, Experiment]]:
    """The experiment in a file, and {alias: experiment} for its other names; an alias may replace fields."""
    content = tomllib.loads(path.read_text(encoding="utf-8"))
    aliases: Mapping[str, Mapping[str, Any]] = content.pop("aliases", {})
    experiment = Experiment(name=path.stem, **parse_fields(content))
    return experiment, {name: replace(experiment, **parse_fields(fields)) for name, fields in aliases.items()}


def parse_fields(content: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of an experiment from the values of a TOML file."""
    fields: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in content.items()
    }
    if "settings" in fields:
        fields["settings"] = {name: format_setting(value) for name, value in fields["settings"].items()}
    if "paper_numbers" in fields:
        fields["paper_numbers"] = tuple(
            parse_paper_numbers(block, content.get("measures", ())) for block in fields["paper_numbers"]
        )
    return fields


def format_setting(value: Any) -> str:
    """A setting's value as it is written with --set."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def parse_paper_numbers(block: Mapping[str, Any], measures: Sequence[str]) -> PaperNumbers:
    """One block of the paper's numbers. TOML's value `nan` stands for a number that the paper does not state.

    measures: the experiment's measures, used if the block names none of its own.
    """
    values = {
        name: tuple(None if number != number else float(number) for number in numbers)
        for name, numbers in block["values"].items()
    }
    return PaperNumbers(block["data"], block.get("model", ""), tuple(block.get("measures", measures)), values)
