"""Makes the columns of an experiment (methods with all their settings) from its methods, its variants and the user's
options.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from importlib.util import find_spec

from quorum.core.bracketed_settings import METHOD_ITEM, parse_settings
from quorum.core.context import Context, parse_setting
from quorum.core.errors import SetupError
from quorum.core.extras import describe_install
from quorum.evaluation.experiments.experiment import Experiment
from quorum.evaluation.run.columns import Column, make_column, parse_columns

COLBERT_SETTING = "retriever=colbert:"  # a variant that contains this text needs the extra `colbert`


def apply_settings(experiment: Experiment, context: Context, stated_settings: frozenset[str] = frozenset()) -> Context:
    """The context with the paper's settings, except those that the user states.

    stated_settings: the names of the settings that the user gave as options. A setting also counts as stated if its
    value in the context differs from the default, or if it is set in the environment.
    """
    paper_settings = {
        name: parse_setting(name, text)
        for name, text in experiment.settings.items()
        if name not in stated_settings and not is_stated(name, context)
    }
    return replace(context, **paper_settings)


def is_stated(name: str, context: Context) -> bool:
    """Whether a setting comes from the environment or differs from its default."""
    return bool(os.environ.get(f"QUORUM_{name.upper()}")) or getattr(context, name) != getattr(Context(), name)


def describe_changes(experiment: Experiment, context: Context) -> list[str]:
    """The settings that differ from the paper's: ["k=5, not 10"] if the context has k=5 and the paper 10."""
    lines = []
    for name, text in experiment.settings.items():
        value = getattr(context, name)
        if value != parse_setting(name, text):
            lines.append(f"{name}={value if isinstance(value, str | int | float) else 'an object'}, not {text}")
    return lines


def parse_variants(texts: Sequence[str]) -> dict[str, str]:
    """Parse the values of --variant, such as 'psg[filter=transformers:PATH;model=transformers:PATH]', in which `filter`
    is short for `context_filter`. Returns {name of a variant: its settings}.

    >>> parse_variants(["psg[filter=llm;k=3]"])
    {'psg': 'context_filter=llm;k=3'}
    """
    variants: dict[str, str] = {}
    for text in texts:
        item = METHOD_ITEM.fullmatch(text)
        if item is None or not item["settings"]:
            raise SetupError(
                f"--variant {text!r} cannot be read; write a name and its settings in brackets, for example "
                "'psg[filter=transformers:PATH;model=transformers:PATH]'."
            )
        settings = parse_settings(item["settings"].split(";"))
        setting_names = {field.name for field in fields(Context)}
        settings = {"context_filter" if name == "filter" else name: value for name, value in settings.items()}
        if unknown := [name for name in settings if name not in setting_names]:
            raise SetupError(
                f"--variant {text!r} sets {unknown[0]!r}, which is not a setting; the settings are: "
                f"{', '.join(sorted(setting_names))}."
            )
        if item["method"] in variants:
            raise SetupError(f"--variant {item['method']} is given twice; give each variant once.")
        variants[item["method"]] = ";".join(f"{name}={value}" for name, value in settings.items())
    return variants


def group_columns(
    experiment: Experiment,
    context: Context,
    *,
    methods: str | None = None,
    verifier: str | None = None,
    filters: Sequence[str] = (),
    variant_settings: Mapping[str, str] | None = None,
    searching: bool = False,
    most_passages: int | None = None,
    labels_and_example_files: Sequence[tuple[str, str]] = (),
) -> list[list[Column]]:
    """The columns of an experiment, in the groups within which they are compared.

    methods: methods to run in place of the experiment's, written as for `quorum eval`. verifier: replaces "{verifier}"
    in the methods and variants; filters: replace "{filter}" in the variants. variant_settings: settings by the short
    name of a variant; if the experiment has no variant of that name, one is added. searching: whether passages are
    retrieved. most_passages: the largest number of passages that a question brings; None if passages are retrieved.
    labels_and_example_files: (label, file) of each drawn set of demonstrations; if there are any, they take the place
    of the variants.
    """
    method_list = methods or ",".join(list_methods(experiment, verifier))
    # passages_read: how many of the best passages found a method reads; None: all
    bases = [replace(column, passages_read=experiment.passages_read) for column in parse_columns(method_list, context)]
    if labels_and_example_files:
        columns_of_each_base = [
            [base, *(add_demonstrations(base, label, file, context) for label, file in labels_and_example_files)]
            for base in bases
        ]
        # each column is a group of its own, because these columns are not compared with one another
        return [[column] for columns in columns_of_each_base for column in columns]
    variants = list(list_variants(experiment, verifier, filters, variant_settings or {}, most_passages))
    if not variants or (experiment.variants_need_collection_or_corpus and not searching):
        return [bases]
    grid = [[add_settings(base, variant, context) for variant in variants] for base in bases]
    return [list(group) for group in zip(*grid, strict=True)] if experiment.groups_by_variant else grid


def list_methods(experiment: Experiment, verifier: str | None) -> Iterator[str]:
    """The experiment's methods. If `verifier` is None, the methods that need a verifier are left out."""
    for method in experiment.methods:
        if verifier is not None or "{verifier}" not in method:
            yield method.replace("{verifier}", verifier or "")


def list_variants(
    experiment: Experiment,
    verifier: str | None,
    filters: Sequence[str],
    variant_settings: Mapping[str, str],
    most_passages: int | None,
) -> Iterator[str]:
    """The settings of each variant, such as "k=5;reranker=question".

    The user's verifier replaces "{verifier}"; without a verifier, variants with "{verifier}" are left out. A variant
    with "{filter}" is repeated for each of the user's filters. The settings that the user gave for a variant are added
    to it or replace its own. Names in `variant_settings` that the experiment does not have are further variants.
    """
    name_of_variant = dict(zip(experiment.variants, experiment.variant_names, strict=False))
    for variant in list_runnable_variants(experiment, most_passages):
        if "{verifier}" in variant and verifier is None:
            continue
        added_settings = variant_settings.get(name_of_variant.get(variant, ""), "")
        for filter_ in filters if "{filter}" in variant else ("",):
            text = variant.replace("{verifier}", verifier or "").replace("{filter}", filter_)
            yield ";".join(
                f"{name}={value}" for name, value in {**split_settings(text), **split_settings(added_settings)}.items()
            )
    yield from (settings for name, settings in variant_settings.items() if name not in experiment.variant_names)


def split_settings(settings: str) -> dict[str, str]:
    return parse_settings(settings.split(";"))


def list_runnable_variants(experiment: Experiment, most_passages: int | None) -> tuple[str, ...]:
    """The variants whose libraries are installed. If the experiment has `skips_excess_k`, the list ends with the first
    variant whose k is at least `most_passages`.
    """
    variants = tuple(variant for variant in experiment.variants if not needs_missing_library(variant))
    if not experiment.skips_excess_k or most_passages is None:
        return variants
    k_values = experiment.k_values
    count = next((place for place, k in enumerate(k_values, start=1) if k >= most_passages), len(k_values))
    return variants[:count]


def needs_missing_library(variant: str) -> bool:
    """Whether a variant needs a library that is not installed."""
    return COLBERT_SETTING in variant and find_spec("sentence_transformers") is None


def describe_parts_left_out(experiment: Experiment, verifier: str | None) -> list[str]:
    """The parts of the experiment that do not run, and what they need."""
    lines = [
        f"{variant} is left out; to include it, run: {describe_install('colbert')}"
        for variant in experiment.variants
        if needs_missing_library(variant)
    ]
    if verifier is None:
        parts = [method for method in (*experiment.methods, *experiment.variants) if "{verifier}" in method]
        lines += [f"{part.replace('{verifier}', '...')} is left out: name a model with --verifier" for part in parts]
    return lines


def describe_missing_search(experiment: Experiment, context: Context, *, searching: bool) -> list[str]:
    """What the experiment loses if nothing is searched, because the questions bring their passages: at most one line.

    >>> experiment = Experiment("x", "SuRe", "table 2", "", ("base",), variants_need_collection_or_corpus=True)
    >>> describe_missing_search(experiment, Context(), searching=False)
    ['nothing is searched, so retrievers are not compared: --corpus pool searches the passages of all questions']
    """
    if searching:
        return []
    if experiment.variants_need_collection_or_corpus:
        return [
            "nothing is searched, so retrievers are not compared: --corpus pool searches the passages of all questions"
        ]
    if "retriever" in experiment.settings:
        return [f"the questions bring their passages, so {context.retriever} does not search for any"]
    return []


def add_settings(base: Column, variant: str, context: Context) -> Column:
    """The column `base` with the settings of a variant, which override those of the column.

    "gold=PLACE" among them is not a setting: it becomes the column's gold_position, and stands in the column's name.
    """
    settings = parse_settings(variant.split(";"))
    gold_position = settings.pop("gold", None)
    column = make_column(base.method, {**base.settings, **settings}, context)
    name = column.name if gold_position is None else make_labelled_name(column, f"gold={gold_position}")
    return replace(column, name=name, passages_read=base.passages_read, gold_position=gold_position)


def add_demonstrations(base: Column, label: str, file: str, context: Context) -> Column:
    """The column `base` with the demonstrations of a file. The name of the result contains `label`, not the path."""
    column = make_column(base.method, {**base.settings, "examples": file}, context)
    return replace(
        column, name=make_labelled_name(base, label), settings=base.settings, passages_read=base.passages_read
    )


def make_labelled_name(column: Column, label: str) -> str:
    """The name of the column with the label as one more item in its brackets: "base[k=3;shots=1;draw=0]"."""
    return f"{column.name.removesuffix(']')}{';' if column.name.endswith(']') else '['}{label}]"
