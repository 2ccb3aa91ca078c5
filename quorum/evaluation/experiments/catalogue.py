"""The papers' experiments, a few lines each: which methods run with which settings, and what is reported about them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from quorum.core.context import Context
from quorum.core.errors import SetupError
from quorum.evaluation.run.columns import Column, method_run, parse_methods, parse_settings

SURE, BLEND, FILCO, FUSION = "SuRe", "BlendFilter", "FILCO", "Post-fusion"
KINDS = ("bm25", "chroma", "hybrid")
SIZES = tuple(f"k={k}" for k in (5, 10, 20, 30, 40, 50))

PAPER = "concat,post_fusion,pruning,summary,concat_pf,pf_concat"  # Post-fusion, tables 1 and 2
CLOSED = "no_retrieval"

Analysis = Literal["best", "split", "spread", "preference", "gold"]


@dataclass(frozen=True)
class Experiment:
    """Runs and a way to look at them.

    methods: the default methods, written as for `quorum eval`. variants: settings; each variant runs every method.
    "{verifier}" is replaced by the user's verifier; a variant with "{filter}" is repeated for each of the user's
    filters; "gold=PLACE" places gold passages (see `quorum.evaluation.run.gold_placement`). Runs are compared with the
    first of their group: the variants of a method, with `across` the methods of a variant, without variants all runs.

    searching: the variants apply only if a corpus or a collection is searched; otherwise the methods run unchanged.
    top: how many of the passages found are read. fits: if the questions bring their passages, leave out variants with a
    larger k than the first that fits all of them. shots: demonstrations drawn from the user's examples, `draws` times
    each, in place of variants; such runs are not compared one by one. drops_known: if the model answers a question
    without a context, no other method is asked it. further: additional measures to show. keep: keys of the result to
    keep in the rows. needs: options that must be given. analysis: the function that analyses the results.
    """

    name: str
    summary: str
    source: str
    methods: str
    variants: tuple[str, ...] = ()
    across: bool = False
    searching: bool = False
    top: int | None = None
    fits: bool = False
    shots: tuple[int, ...] = ()
    draws: int = 4
    drops_known: bool = False
    further: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    needs: tuple[Literal["judge", "verifier", "examples", "filters"], ...] = ()
    analysis: Analysis | None = None

    @property
    def sizes(self) -> list[int]:
        """The numbers of passages that its variants read."""
        return [int(one.removeprefix("k=")) for one in self.variants if one.startswith("k=")]


EXPERIMENTS = {
    one.name: one
    for one in (
        Experiment(
            "rerank",
            "The top passage of 10: by question, list, summary, rationale.",
            f"{SURE}, table 4",
            methods="base[k=10]",
            top=1,
            variants=("", "reranker=question", "reranker=listwise", "reranker=summary", "reranker=rationale"),
            further=("hit_at_1", "mrr", "answer_on_top"),
        ),
        Experiment(
            "preference",
            "A judge compares SuRe's summaries with generic ones.",
            f"{SURE}, figure 4b",
            methods="sure,sum_and_pred",
            keep=("rationale",),
            needs=("judge",),
            analysis="preference",
        ),
        Experiment(
            "sure_parts",
            "SuRe with and without its parts, and simpler relatives.",
            f"{SURE}, table 3",
            methods="base,sum_and_pred,mcq,sure[sure_parts=summaries],sure[sure_parts=ranking],sure",
            further=("oracle", "overlap_own", "overlap_other"),
        ),
        Experiment(
            "sweep_candidates",
            "SuRe with 2 to 5 candidates.",
            f"{SURE}, app. B",
            methods="sure",
            variants=("candidates=2", "candidates=3", "candidates=4", "candidates=5"),
            further=("oracle", "overlap_own", "overlap_other"),
        ),
        Experiment(
            "few_shot",
            "0, 1 and 5 demonstrations, drawn 4 times.",
            f"{SURE}, table 9",
            methods="base,sure",
            shots=(1, 5),
            needs=("examples",),
            analysis="spread",
        ),
        Experiment(
            "cost_matched",
            "One prompt over 10 or 50 passages against SuRe over 10.",
            f"{SURE}, table 10",
            methods="base[k=10],base[k=50],sure[k=10]",
        ),
        Experiment(
            "verifier",
            "SuRe, checked by another model, and by that model alone.",
            f"{SURE}, table 10",
            methods="sure",
            variants=("", "verifier={verifier}", "model={verifier}"),
            needs=("verifier",),
        ),
        Experiment(
            "retrieval",
            "Gold passages found, before and after filtering.",
            f"{BLEND}, sec. 4",
            methods="direct,iter_retgen,blendfilter",
            variants=tuple(f"retriever={kind}" for kind in KINDS),
            across=True,
            searching=True,
            further=(
                *("recall", "precision", "s_precision"),
                *("recall_before", "precision_before", "s_precision_before"),
            ),
        ),
        Experiment(
            "queries",
            "BlendFilter without one of its three queries.",
            f"{BLEND}, sec. 4",
            methods="blendfilter",
            variants=("", "queries=ex+in", "queries=q+in", "queries=q+ex"),
        ),
        Experiment(
            "best_of_three",
            "The best of three attempts, with top_p 0, 0.5 and 1.",
            f"{BLEND}, sec. 4",
            methods="cot,blendfilter",
            # top_p 0 takes the likeliest token: temperature 0 says so to servers that refuse a top_p of 0, too.
            variants=("temperature=0", "temperature=1;top_p=0.5", "temperature=1"),
            analysis="best",
        ),
        Experiment(
            "filter_modes",
            "All text, passages, sentences, or what the answers choose.",
            f"{FILCO}, sec. 4",
            methods="filco[k=1],filco[k=5]",
            variants=("filter_mode=full", "filter_mode=psg", "filter_mode=filco", "filter_mode=silver"),
            further=("context_tokens", "context_precision", "answer_in_passages"),
            analysis="split",
        ),
        Experiment(
            "measures",
            "Filters that were trained by different measures.",
            f"{FILCO}, table 4",
            methods="filco",
            variants=("filter_mode=full", "filter_mode=silver", "context_filter={filter}"),
            needs=("filters",),
            further=("context_tokens", "context_precision", "answer_in_passages"),
            analysis="split",
        ),
        Experiment(
            "closed_book",
            "Without the questions that the model can answer alone.",
            f"{FUSION}, sec. 4",
            methods=PAPER,
            drops_known=True,
        ),
        Experiment(
            "gold_insertion",
            "A gold passage is put in where none was found.",
            f"{FUSION}, tab. 1",
            methods=PAPER,
            variants=("", "gold=inserted"),
            across=True,
            further=("recall_before", "recall", "answer_in_passages"),
            keep=("gold_rank",),
            analysis="gold",
        ),
        Experiment(
            "gold_position",
            "The gold passage where it was found, first, and last.",
            f"{FUSION}, fig. 6",
            methods="concat[k=5],concat[k=10],concat[k=20]",
            variants=("gold=retrieved", "gold=top", "gold=bottom"),
            further=("recall_before", "recall", "answer_on_top"),
            keep=("gold_rank",),
            analysis="gold",
        ),
        Experiment(
            "sweep_passages",
            "5 to 50 of the passages that the questions bring.",
            f"{SURE}, figure 4a",
            methods="base,sure",
            variants=SIZES,
            fits=True,
        ),
        Experiment(
            "sweep_k",
            "5 to 50 passages.",
            f"{FUSION}, {SURE}",
            methods="concat,concat_pf",
            variants=SIZES,
        ),
        Experiment(
            "sweep_samples",
            "1 to 50 samples of each prompt.",
            f"{FUSION}, sec. 4",
            methods="concat,post_fusion,concat_pf",
            variants=("samples=1", *(f"samples={n};temperature=0.7" for n in (5, 10, 20, 50))),
        ),
    )
}


def experiment_of(name: str) -> Experiment:
    """The experiment of that name, or a `SetupError` that lists them."""
    if name not in EXPERIMENTS:
        raise SetupError(f"There is no experiment {name!r}; the experiments are: {', '.join(EXPERIMENTS)}.")
    return EXPERIMENTS[name]


def grouped_columns(
    experiment: Experiment,
    context: Context,
    *,
    methods: str | None = None,
    verifier: str | None = None,
    filters: Sequence[str] = (),
    searching: bool = False,
    most: int | None = None,
    shots: Sequence[tuple[str, str]] = (),
) -> list[list[Column]]:
    """The columns of an experiment, in the groups within which they are compared.

    most: the largest number of passages that a question brings; None: passages are retrieved. shots: (label, file) of
    each drawn set of demonstrations.
    """
    bases = [replace(run, top=experiment.top) for run in parse_methods(methods or experiment.methods, context)]
    if shots:
        drawn = [[add_shots(base, label, file, context) for label, file in shots] for base in bases]
        return [[run] for base, runs in zip(bases, drawn, strict=True) for run in (base, *runs)]
    if not experiment.variants or (experiment.searching and not searching):
        return [bases]
    variants = [
        variant.replace("{verifier}", verifier or "").replace("{filter}", filter_)
        for variant in variants_that_fit(experiment, most)
        for filter_ in (filters if "{filter}" in variant else ("",))
    ]
    grid = [[add_settings(base, variant, context) for variant in variants] for base in bases]
    return [list(column) for column in zip(*grid, strict=True)] if experiment.across else grid


def variants_that_fit(experiment: Experiment, most: int | None) -> tuple[str, ...]:
    """The variants, up to the first whose k fits all passages."""
    if not experiment.fits or most is None:
        return experiment.variants
    sizes = experiment.sizes
    enough = next((place for place, k in enumerate(sizes, start=1) if k >= most), len(sizes))
    return experiment.variants[:enough]


def add_settings(base: Column, variant: str, context: Context) -> Column:
    """The run with further settings, which override its own; the place of gold passages becomes part of its name."""
    settings = parse_settings(variant.split(";"))
    gold = settings.pop("gold", None)
    run = method_run(base.method, {**base.settings, **settings}, context)
    return replace(run, name=run.name if gold is None else add_label(run, f"gold={gold}"), top=base.top, gold=gold)


def add_shots(base: Column, label: str, file: str, context: Context) -> Column:
    """The run with drawn demonstrations; its name contains their label, not the path of their file."""
    run = method_run(base.method, {**base.settings, "examples": file}, context)
    return replace(run, name=add_label(base, label), settings=base.settings)


def add_label(run: Column, label: str) -> str:
    """The name of the run with one more item in its brackets."""
    return f"{run.name.removesuffix(']')}{';' if run.settings else '['}{label}]"
