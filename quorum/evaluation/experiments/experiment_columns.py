"""The columns of an experiment (methods with all their settings): its methods and variants, and the user's choices."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from importlib.util import find_spec

from quorum.core.context import Context, parse_setting
from quorum.core.errors import SetupError
from quorum.evaluation.experiments.experiment import Experiment
from quorum.evaluation.run.columns import METHOD_ITEM, Column, make_column, parse_columns, parse_settings

COLBERT_SETTING = "retriever=colbert:"  # needs the extra `colbert`


def apply_settings(experiment: Experiment, context: Context, stated_settings: frozenset[str] = frozenset()) -> Context:
    """The context with the paper's settings, except those that the user states.

    stated_settings: the settings that the user gave. A value that differs from the default, and a setting in the
    environment, count as stated, too.
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
    """{name: settings} of texts such as 'psg[filter=transformers:PATH;model=transformers:PATH]'; `filter` is short for
    `context_filter`.

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
        setting_names = {part.name for part in fields(Context)}
        settings = {"context_filter" if name == "filter" else name: value for name, value in settings.items()}
        if unknown := [name for name in settings if name not in setting_names]:
            raise SetupError(f"--variant {text!r} sets {unknown[0]!r}, which is not a setting; see quorum ask --help.")
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
    shots: Sequence[tuple[str, str]] = (),
) -> list[list[Column]]:
    """The columns of an experiment, in the groups within which they are compared.

    variant_settings: settings by the short name of a variant; a name that no variant has adds a variant. most_passages:
    the largest number of passages that a question brings, None if passages are retrieved. shots: (label, file) of each
    drawn set of demonstrations.
    """
    text = methods or ",".join(list_methods(experiment, verifier))
    bases = [replace(column, top=experiment.top) for column in parse_columns(text, context)]
    if shots:
        drawn_columns = [[add_shots(base, label, file, context) for label, file in shots] for base in bases]
        return [[column] for base, columns in zip(bases, drawn_columns, strict=True) for column in (base, *columns)]
    variants = list(list_variants(experiment, verifier, filters, variant_settings or {}, most_passages))
    if not variants or (experiment.variants_need_collection_or_corpus and not searching):
        return [bases]
    grid = [[add_settings(base, variant, context) for variant in variants] for base in bases]
    return [list(group) for group in zip(*grid, strict=True)] if experiment.groups_by_variant else grid


def list_methods(experiment: Experiment, verifier: str | None) -> Iterator[str]:
    """The methods; those that need the user's verifier are left out without one."""
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
    """The variants as settings: with the user's verifier, filters and settings for single variants."""
    name_of_variant = dict(zip(experiment.variants, experiment.variant_names, strict=False))
    for variant in list_runnable_variants(experiment, most_passages):
        if "{verifier}" in variant and verifier is None:
            continue
        own_settings = variant_settings.get(name_of_variant.get(variant, ""), "")
        for filter_ in filters if "{filter}" in variant else ("",):
            text = variant.replace("{verifier}", verifier or "").replace("{filter}", filter_)
            yield ";".join(
                f"{name}={value}" for name, value in {**split_settings(text), **split_settings(own_settings)}.items()
            )
    yield from (settings for name, settings in variant_settings.items() if name not in experiment.variant_names)


def split_settings(settings: str) -> dict[str, str]:
    return parse_settings(settings.split(";"))


def list_runnable_variants(experiment: Experiment, most_passages: int | None) -> tuple[str, ...]:
    """The variants whose library is installed. With `skips_excess_k`, the first variant whose k is `most_passages` or
    more is the last.
    """
    variants = tuple(variant for variant in experiment.variants if not is_missing(variant))
    if not experiment.skips_excess_k or most_passages is None:
        return variants
    k_values = experiment.k_values
    count = next((place for place, k in enumerate(k_values, start=1) if k >= most_passages), len(k_values))
    return variants[:count]


def is_missing(variant: str) -> bool:
    """Whether a variant needs a library that is not installed."""
    return COLBERT_SETTING in variant and find_spec("sentence_transformers") is None


def describe_parts_left_out(experiment: Experiment, verifier: str | None) -> list[str]:
    """The parts of the experiment that do not run, and what they need."""
    lines = [
        f"{variant} is left out: pip install 'quorum-rag[colbert]' lets it run"
        for variant in experiment.variants
        if is_missing(variant)
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
    """The column with a variant's settings, which override its own. Its name says where gold passages are placed."""
    settings = parse_settings(variant.split(";"))
    gold = settings.pop("gold", None)
    column = make_column(base.method, {**base.settings, **settings}, context)
    name = column.name if gold is None else add_label(column, f"gold={gold}")
    return replace(column, name=name, top=base.top, gold_position=gold)


def add_shots(base: Column, label: str, file: str, context: Context) -> Column:
    """The column with drawn demonstrations; its name contains their label, not the path of their file."""
    column = make_column(base.method, {**base.settings, "examples": file}, context)
    return replace(column, name=add_label(base, label), settings=base.settings, top=base.top)


def add_label(column: Column, label: str) -> str:
    """The name of the column with one more item in its brackets."""
    return f"{column.name.removesuffix(']')}{';' if column.settings else '['}{label}]"
