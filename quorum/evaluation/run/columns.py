"""Which methods an evaluation runs, each with its own settings: `concat,post_fusion[vote=staged;k=10]`."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from quorum.core.context import Context, parse_setting
from quorum.core.errors import SetupError
from quorum.graphs import METHODS, method_of

if TYPE_CHECKING:
    from quorum.graphs import Graph

ITEM = re.compile(r"\s*(?P<method>[^\[\],;=\s]+)\s*(?:\[(?P<settings>[^\[\]]*)\]\s*)?(?:,|$)")


@dataclass(frozen=True)
class MethodRun:
    """One column of an evaluation. `name`, the method with its own settings, is its key in the results.

    top: how many of the passages found are read, the best ones; None: all of them. own: the graph, where it is not one
    of ours; `method` is then its name. chosen: by its own name, not by 'all'. gold: where among the passages found
    gold ones are put (see `quorum.evaluation.run.gold_placement.placed`); None: they stay as they were found.
    """

    name: str
    method: str
    settings: Mapping[str, str]
    context: Context
    top: int | None = None
    own: "Graph | None" = None
    chosen: bool = True
    gold: str | None = None

    @property
    def method_or_graph(self) -> "str | Graph":
        """What `quorum.graphs.answer` takes."""
        return self.method if self.own is None else self.own

    @property
    def graph(self) -> "Graph":
        """The graph that answers."""
        return METHODS[self.method].graph if self.own is None else self.own

    @property
    def pool(self) -> bool:
        """Whether the answers that were voted on can be counted.

        A staged vote stops before all of them are known.
        """
        return self.context.vote == "all" and "passage_answer" in self.graph.nodes

    def for_task(self, task: str) -> Context:
        """The context with that answer type, unless the run or its context was given one."""
        own = "answer_type" in self.settings or self.context.answer_type != "short"
        return self.context if own or task == "short" else replace(self.context, answer_type=cast(Any, task))


def parse_methods(text: str, context: Context) -> list[MethodRun]:
    """The runs named in `text` ('all' is every method), their settings over those of `context`."""
    runs: list[MethodRun] = []
    position = 0
    while position < len(text):
        item = ITEM.match(text, position)
        if item is None:
            raise SetupError(
                f"Methods {text!r} cannot be read at {text[position:][:30]!r}; "
                "write names with a comma between, settings in brackets: 'concat,post_fusion[vote=staged;k=10]'."
            )
        position = item.end()
        settings = parse_settings((item["settings"] or "").split(";"))
        names = list(METHODS) if item["method"] == "all" else [method_of(item["method"]).name]
        runs += [replace(method_run(name, settings, context), chosen=item["method"] != "all") for name in names]
    if not runs:
        raise SetupError(f"No method is named; give 'all' or some of: {', '.join(METHODS)}.")
    check_names(runs)
    return runs


def check_names(runs: Sequence[MethodRun]) -> None:
    """Runs of one name, which would be one column of the results, are a `SetupError`."""
    names = [run.name for run in runs]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise SetupError(f"Method {min(twice)} is named twice; runs of one method need different settings in brackets.")


def parse_settings(items: list[str]) -> dict[str, str]:
    """{key: value} of key=value texts; empty ones are skipped."""
    settings: dict[str, str] = {}
    for item in filter(str.strip, items):
        key, equals, value = (part.strip() for part in item.partition("="))
        if not equals or not key:
            raise SetupError(f"Setting {item.strip()!r} cannot be read; write it as key=value, for example k=10.")
        if key in settings:
            raise SetupError(f"Setting {key!r} is given twice ({settings[key]} and {value}); give it once.")
        settings[key] = value
    return settings


def method_run(method: "str | Graph", settings: Mapping[str, str], context: Context) -> MethodRun:
    """The run of a method, by its name, or of a compiled graph of your own, which goes by the name that it was compiled
    with; `settings` over those of `context`.
    """
    own, known = (None, method) if isinstance(method, str) else (method, own_name(method))
    typed = {key: parse_setting(key, value) for key, value in settings.items()}
    name = f"{known}[{';'.join(f'{key}={value}' for key, value in settings.items())}]" if settings else known
    return MethodRun(name=name, method=known, settings=dict(settings), context=replace(context, **typed), own=own)


def own_name(graph: "Graph") -> str:
    """The name of a graph of one's own: the key of its results. LangGraph's default and ours are a `SetupError`."""
    name = graph.get_name()
    if name == "LangGraph" or name in METHODS:
        raise SetupError(f"A graph of your own is named {name!r}; give it another name with .compile(name=...).")
    return name
