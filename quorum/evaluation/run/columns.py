"""The columns of an evaluation: methods with their settings, as `concat,post_fusion[vote=staged;k=10]` names them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import TYPE_CHECKING, Any, cast

from quorum.cascades.composed_file import ComposedCascade, ComposedStage, is_composed_file_name
from quorum.cascades.written_cascade import add_to_steps, find_common_settings, is_written_cascade
from quorum.core.bracketed_settings import METHOD_ITEM, add_brackets, parse_settings
from quorum.core.context import Context, parse_setting
from quorum.core.errors import SetupError
from quorum.evaluation.metrics.prices import Price, Prices, find_model_of_prompt
from quorum.evaluation.run.corpus_indexes import CorpusIndexes, list_indexed
from quorum.evaluation.run.options import Options
from quorum.evaluation.run.parse_systems import make_system_graph, split_systems
from quorum.evaluation.run.retrieval_only import get_search_graphs, make_search_context
from quorum.evaluation.run.tasks import RETRIEVAL_TASKS
from quorum.graphs import find_method, list_methods
from quorum.graphs.choose_method import reads_passages
from quorum.models.systems import SYSTEM_CALL_NAME
from quorum.nodes.ask_stage import find_model_spec, list_step_contexts, make_step_context

if TYPE_CHECKING:
    from quorum.core.state import Usage
    from quorum.graphs import Graph
    from quorum.retrievers.index_settings import IndexSettings


@dataclass(frozen=True)
class Column:
    """One column of an evaluation: a method, or a graph of the user's own, with all its settings.

    name: the method with the settings given to it, the column's key in all results. context: its model, retriever,
    collection and every other setting. prices: the prices of its models.

    own_graph: the user's own graph; `method` is then its name. None for our methods. must_be_asked: False if the column
    comes from 'all', and may be left out when it does not suit the questions. group: columns of one group are compared
    with its first column; None: no comparison. passages_read: how many of the best passages found are read; None: all
    of them. gold_position: where gold passages are placed among those found (see
    `quorum.evaluation.run.gold_placement.place_gold`); None: no gold passages are placed.
    """

    name: str
    method: str
    settings: Mapping[str, str]
    context: Context
    passages_read: int | None = None
    own_graph: "Graph | None" = None
    must_be_asked: bool = True
    gold_position: str | None = None
    group: int | None = 0
    prices: Prices | None = field(default=None, compare=False, repr=False)

    @property
    def method_or_graph(self) -> "str | Graph":
        """The argument of `quorum.graphs.answer`: the name of a method, or a graph."""
        return self.method if self.own_graph is None else self.own_graph

    @property
    def graph(self) -> "Graph":
        """The graph that answers."""
        return find_method(self.method).graph if self.own_graph is None else self.own_graph

    @property
    def cascade(self) -> ComposedCascade | None:
        """The cascade that the column asks, written by hand or from a file; None if it asks one method."""
        from quorum.graphs.composed import get_composed_cascade
        from quorum.graphs.written import WrittenMethod

        if self.own_graph is not None:
            return get_composed_cascade(self.own_graph)
        method = find_method(self.method) if is_written_cascade(self.method) else None
        return method.cascade if isinstance(method, WrittenMethod) else None

    @property
    def knows_all_votes(self) -> bool:
        """Whether all answers that take part in the vote are known. A staged vote stops before it has asked for
        all of them."""
        return self.context.vote == "all" and "passage_answer" in self.graph.nodes

    def make_context(self, task: str) -> Context:
        """The context with the task as its answer type, unless the column or its context sets another than "auto"."""
        if task in RETRIEVAL_TASKS:  # nothing is answered
            return self.context
        is_auto = self.context.answer_type == "auto"
        return replace(self.context, answer_type=cast(Any, task)) if is_auto else self.context

    def find_price(self, prompt: str) -> Price | None:
        """The price of the model that a prompt is sent to. If the stages of a cascade send the prompt to several
        models, the highest of their prices. None if one of these models has no price.
        """
        prices = self.prices or Prices()
        prices_of_prompt = [
            prices.find_price(find_model_of_prompt(prompt, context)) for context in self.list_sending_contexts(prompt)
        ]
        known_prices = [price for price in prices_of_prompt if price is not None]
        return (
            max(known_prices, key=lambda price: (price.search_unit, price.input + price.output))
            if len(known_prices) == len(prices_of_prompt)
            else None
        )

    def compute_cost(self, usage: "Mapping[str, Usage]") -> float | None:
        """The dollars that the calls of one answer cost together; None if a price is missing. usage: the counts by
        prompt name. Cached input gets no discount: a method that runs alone would not find it in the cache.
        """
        priced_counts = [(self.find_price(prompt), counts) for prompt, counts in usage.items()]
        costs = [
            price.compute_cost(counts["input_tokens"], counts["output_tokens"], calls=counts["calls"])
            for price, counts in priced_counts
            if price is not None
        ]
        return sum(costs) if len(costs) == len(priced_counts) else None

    def list_sending_contexts(self, prompt: str) -> list[Context]:
        """The contexts in which a prompt is sent: `priced_context`, or, in a cascade, one for each stage that sends
        the prompt (all stages if none lists the prompt), with the models of that stage.
        """
        cascade = self.cascade
        if cascade is None:
            return [self.priced_context]
        stages, pricing_models = cascade.stages, getattr(self.own_graph, "pricing_model_by_stage", {})
        senders = [
            stage
            for stage in stages
            if prompt in stage.prompts or (prompt == SYSTEM_CALL_NAME and stage.name in pricing_models)
        ]
        senders = senders or list(stages)
        return [self.make_stage_context(stage) for stage in senders]

    def list_contexts(self, context: Context) -> list[Context]:
        """See `quorum.nodes.ask_stage.list_step_contexts`."""
        return list_step_contexts(self.cascade, context)

    def make_stage_context(self, stage: ComposedStage) -> Context:
        """The context with the models that a stage of a cascade was measured with, or that its brackets name. If the
        stage is a user's own system, the model is the one that determines its price.
        """
        if self.cascade is not None and self.cascade.is_written:
            return make_step_context(self.context, stage)
        specs = {name: find_model_spec(stage.settings.get(name)) for name in ("model", "verifier")}
        changes: dict[str, Any] = {name: spec for name, spec in specs.items() if isinstance(spec, str)}
        if "reranker" in stage.settings:
            changes["reranker"] = stage.settings["reranker"]
        if pricing_model := getattr(self.own_graph, "pricing_model_by_stage", {}).get(stage.name):
            changes["model"] = pricing_model
        return replace(self.context, **changes)

    @property
    def priced_context(self) -> Context:
        """The context whose models determine the price: for a user's own system, a context with the system's model."""
        model = getattr(self.own_graph, "pricing_model", None)
        return self.context if model is None else replace(self.context, model=model)


def list_columns(options: Options, indexes: CorpusIndexes | None = None) -> list[Column]:
    """The methods and graphs of `options`, crossed with its models, retrievers, k and indexes.

    A setting with more than one value becomes part of a column's name: it stands inside the brackets, after the
    method's own settings (`concat[vote=staged;k=3]`). Of an index, its settings stand there
    (`concat[k=3;words=60]`), not the name of its collection. If two methods give the same column (`concat,concat[k=3]`,
    crossed with k=3 and k=5), it is listed once. Raises `SetupError` for an unknown method, an invalid setting, and a
    name that `options` gives twice.
    """
    axes = {"model": options.models, "retriever": options.retrievers, "k": options.k}
    single_values = {name: parse_setting(name, values[0]) for name, values in axes.items() if len(values) == 1}
    several_values = {name: values for name, values in axes.items() if len(values) > 1}
    context = replace(options.context, **single_values)
    columns_by_name: dict[str, Column] = {}
    if options.retrieval_only:
        context = make_search_context(context)
    named_columns = list(
        make_named_columns(options.methods, options.graphs, context, retrieval_only=options.retrieval_only)
    )
    check_names(named_columns)
    for base in named_columns:
        fixed_settings = {*base.settings, *find_unused_settings(base)}
        indexed = list_indexed(indexes, base.context)
        varied_settings = {
            name: values
            for name, values in {**several_values, "collection": list(indexed)}.items()
            if values and name not in fixed_settings
        }
        for values in product(*varied_settings.values()):
            settings = {**base.settings, **dict(zip(varied_settings, values, strict=True))}
            column = make_column(base.method_or_graph, settings, base.context)
            if (index := indexed.get(settings.get("collection", ""))) is not None and "collection" in varied_settings:
                column = replace(column, name=name_after_index(base, settings, index))
            columns_by_name.setdefault(column.name, replace(column, must_be_asked=base.must_be_asked))
    return list(columns_by_name.values())


def name_after_index(base: Column, settings: Mapping[str, str], index: "IndexSettings") -> str:
    """The name of a column that searches an index of the corpus: `base` with its settings, where those of the index
    stand in place of the collection's name.
    """
    shown = {name: value for name, value in settings.items() if name != "collection"}
    shown |= {name: str(value) for name, value in index.chosen.items()}
    if base.own_graph is None and is_written_cascade(base.method):
        return add_to_steps(base.method, shown)
    return add_brackets(base.method, shown)


def find_unused_settings(column: Column) -> set[str]:
    """The settings among model, retriever, k and collection that change nothing for a column: a system has a model and
    passages of its own, and some methods read no passages.
    """
    if hasattr(column.own_graph, "pricing_model"):
        return {"model", "retriever", "k", "collection"}
    return set() if column.own_graph is not None or reads_passages(column.graph) else {"retriever", "k", "collection"}


def make_named_columns(
    names: str, graphs: "Sequence[Graph]", context: Context, *, retrieval_only: bool = False
) -> Iterator[Column]:
    """The columns that the options name: first the methods among `names`, then the systems there, then the graphs; with
    `retrieval_only`, the searches among `names`. If there are none of them, `parse_columns` raises a `SetupError`.
    """
    methods, systems = split_systems(names)
    if retrieval_only:
        yield from parse_columns(names, context, own_graphs=get_search_graphs(names))
        return
    if methods or not (graphs or systems):
        yield from parse_columns(methods, context, systems)
    yield from (make_column(make_system_graph(name, spec), {}, context) for name, spec in systems.items())
    yield from (make_column(graph, {}, context) for graph in graphs)


def parse_columns(
    text: str,
    context: Context,
    systems: Mapping[str, str] | None = None,
    *,
    own_graphs: "Mapping[str, Graph] | None" = None,
) -> list[Column]:
    """The columns named in `text` ('all' is every method); the settings in brackets override those of `context`.
    systems: {name: spec} of the user's own systems, which a cascade may ask in its stages. own_graphs: graphs by the
    names that they have in `text`.

    >>> [column.context.k for column in parse_columns("concat,sure[k=10]", Context(k=3))]
    [3, 10]
    """
    columns: list[Column] = []
    position = 0
    while position < len(text):
        item = METHOD_ITEM.match(text, position)
        if item is None:
            raise SetupError(
                f"Methods {text!r} cannot be read at {text[position:][:30]!r}; "
                "write names separated by commas, settings in brackets: 'concat,post_fusion[vote=staged;k=10]', and "
                "a cascade with '>': 'concat>post_fusion'."
            )
        position, method = item.end(), item["cascade"] or item["method"]
        settings = parse_settings((item["settings"] or "").split(";"))
        if (own_graph := (own_graphs or {}).get(method)) is not None:
            columns.append(make_column(own_graph, settings, context))
            continue
        is_named = method != "all"
        names = [find_method(method).name] if is_named else list(list_methods())
        columns += [replace(make_column(name, settings, context, systems), must_be_asked=is_named) for name in names]
    if not columns:
        raise SetupError(f"No method is named; give 'all' or some of: {', '.join(list_methods())}.")
    check_names(columns)
    return columns


def check_names(columns: Sequence[Column]) -> None:
    """Raises `SetupError` if two columns have the same name."""
    names = [column.name for column in columns]
    duplicates = {name for name in names if names.count(name) > 1}
    if duplicates:
        raise SetupError(
            f"Method {min(duplicates)} is named twice; give each run of one method different settings in brackets, "
            "and each graph or system of your own a name that nothing else has."
        )


def make_column(
    method: "str | Graph", settings: Mapping[str, str], context: Context, systems: Mapping[str, str] | None = None
) -> Column:
    """Make the column of a method or of a graph. `settings` override those of `context`.

    method: a method's name, a cascade such as "concat>post_fusion", whose steps all get the settings that they do not
    set themselves, the path of a composed.json file, or a compiled graph of your own, whose column has the name that it
    was compiled with. systems: as in `parse_columns`.
    """
    if isinstance(method, str) and is_written_cascade(method) and method not in list_methods():
        name = method = add_to_steps(method, settings)  # every step gets the settings, unless it sets them itself
        common_settings = find_common_settings(method)
        settings = {**settings, **common_settings}
    else:
        if isinstance(method, str) and is_composed_file_name(method):
            from quorum.graphs.composed import composed_graph, use_measured_model

            method = composed_graph(method, systems)
            context = use_measured_model(method, context)
        name = add_brackets(method if isinstance(method, str) else get_graph_name(method), settings)
    if hasattr(method, "pricing_model"):  # a system does not use the models of the context
        context = replace(context, model="embedded", verifier=None, context_filter=None, reranker=None)
    own_graph, method_name = (None, method) if isinstance(method, str) else (method, get_graph_name(method))
    parsed_settings = {key: parse_setting(key, value) for key, value in settings.items()}
    return Column(
        name=name,
        method=method_name,
        settings=dict(settings),
        context=replace(context, **parsed_settings),
        own_graph=own_graph,
    )


def get_graph_name(graph: "Graph") -> str:
    """The name of a user's own graph: the key of its results. Raises `SetupError` for LangGraph's default name and
    for the names of our methods.
    """
    name = graph.get_name()
    if name == "LangGraph" or name in list_methods():
        raise SetupError(
            f"A graph or system of your own has the name {name!r}, which is LangGraph's default or the name of a "
            "method; give it another name (a graph: .compile(name=...); a system: NAME=SPEC)."
        )
    return name


def list_names_by_group(columns: Sequence[Column]) -> list[list[str]]:
    """For each group of columns, their names in order. Columns without a group are left out."""
    groups: dict[int, list[str]] = {}
    for column in columns:
        if column.group is not None:
            groups.setdefault(column.group, []).append(column.name)
    return list(groups.values())
