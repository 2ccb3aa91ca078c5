"""A cascade that a user writes by hand, `concat>post_fusion`: if one method's answer is unknown, the next is asked.

begin -> first step -> end if its answer is known, else second step -> end if its answer is known, else third step
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from quorum.cascades.composed_file import ComposedCascade
from quorum.cascades.written_cascade import find_common_settings, read_written_cascade
from quorum.core.errors import SetupError
from quorum.graphs.catalogue import Method, find_listed_method
from quorum.graphs.compile_cascade import compile_cascade
from quorum.graphs.senders import find_prompts_of_graph
from quorum.nodes.ask_stage import CONTEXT_SETTINGS
from quorum.nodes.sent_prompts import offers_unknown

MOST_GRAPHS = 64  # this process keeps the graphs of this many cascades


@dataclass(frozen=True)
class WrittenMethod(Method):
    """A cascade as a method. name: the cascade, such as "concat>post_fusion[k=10]"."""

    @property
    def graph(self) -> Any:
        """The compiled graph."""
        return build_written_graph(self.name)

    @property
    def cascade(self) -> ComposedCascade:
        """The steps, as stages that accept every known answer."""
        return read_written_cascade(self.name)


@lru_cache(MOST_GRAPHS)
def make_written_method(text: str) -> WrittenMethod:
    """Make a method from the text of a cascade.

    Raises `SetupError` for a cascade that cannot be read, has an unknown method, more than three steps or two equal
    ones, a step whose method offers no answer "unknown" before another step, or settings that all steps share.

    >>> method = make_written_method("concat then post_fusion")
    >>> method.name, method.calls, method.depth
    ('concat>post_fusion', 'n + [unknown] k*n', '1 or 2')
    """
    cascade = read_written_cascade(text)
    methods = [find_listed_method(stage.method) for stage in cascade.stages]
    check_steps(cascade, methods)
    return WrittenMethod(
        name=cascade.file,
        paper="written by you as a cascade (docs/methods.md)",
        summary=f"{cascade.stages[0].name}; if its answer is unknown, "
        f"{'; and if that is unknown, '.join(stage.name for stage in cascade.stages[1:])}.",
        calls=" + [unknown] ".join(
            method.calls if number == 0 or " + " not in method.calls else f"({method.calls})"
            for number, method in enumerate(methods)
        ),
        depth=add_depths([method.depth for method in methods]),
    )


def check_steps(cascade: ComposedCascade, methods: list[Method]) -> None:
    """Raise a `SetupError` for a setting that all steps share, and for a step after which no other would be asked."""
    common_settings = find_common_settings(cascade.file)
    for stage, method in zip(cascade.stages, methods, strict=True):
        if shared := sorted((CONTEXT_SETTINGS & stage.settings.keys()) - common_settings.keys()):
            raise SetupError(
                f"The step {stage.name} sets {shared[0]}, which all steps of a cascade share; set it for the whole run "
                f"(--set {shared[0]}={stage.settings[shared[0]]}), or in the brackets of every step."
            )
        prompts = find_prompts_of_graph(method.graph)
        if stage.accept is not None and prompts and not offers_unknown(prompts):
            remedy = "direct[retrieve=false]" if method.name == "no_retrieval" else "concat"
            raise SetupError(
                f"The prompts of {method.name} offer no answer 'unknown', so the steps after it in {cascade.file!r} "
                f"would hardly ever be asked; put it last, or begin with a method that can decline, such as {remedy}."
            )


def add_depths(depths: list[str]) -> str:
    """How many calls follow one another, for each number of steps that may be asked.

    >>> add_depths(["1", "1"]), add_depths(["1", "1..2s+2"])
    ('1 or 2', '1 + [unknown] 1..2s+2')
    """
    if all(depth.isdigit() for depth in depths):
        return " or ".join(str(sum(map(int, depths[:count]))) for count in range(1, len(depths) + 1))
    return " + [unknown] ".join(depths)


@lru_cache(MOST_GRAPHS)
def build_written_graph(text: str) -> Any:
    """Build and compile the graph of a cascade."""
    cascade = read_written_cascade(text)
    return compile_cascade(cascade, [find_listed_method(stage.method).graph for stage in cascade.stages])
