"""The fewest and the most calls that a method makes for a question, from its formula in the catalogue of methods."""

import ast
import math
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from quorum.evaluation.run.columns import Column
from quorum.evaluation.run.retrieval_only import SEARCH
from quorum.graphs import find_method
from quorum.graphs.written import WrittenMethod
from quorum.nodes.ask_stage import make_step_context

MAX_DISTINCT_ANSWERS = 5  # self_verification samples five answers, so it verifies at most five distinct ones
# A formula is a sum of terms, with " + " (plus and spaces) between them. A term is, for example, "5", "1..2s+2" (the
# fewest and the most calls) or "[unknown] k*n" (calls that are made only if the condition holds). A condition such as
# [evaluator=llm] names a setting, so it is known whether it holds.
FORMULA_TERM = re.compile(r"(?:\[(?P<condition>[^\]]*)\] *)?(?P<calls>.+)")
OPERATORS: Mapping[type, Callable[[Any, Any], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
}


class StageBounds(NamedTuple):
    """The fewest and the most calls of one stage of a cascade. method: that of the stage."""

    method: str
    fewest: float
    most: float


def compute_call_bounds(column: Column) -> tuple[float, float]:
    """The fewest and the most calls for a question; 0 and infinity for a user's own graph and for a method without a
    formula, because their calls are unknown.

    >>> from quorum.core.context import Context
    >>> from quorum.evaluation.run.columns import parse_columns
    >>> compute_call_bounds(parse_columns("concat_pf", Context(k=4))[0])
    (1.0, 5.0)
    >>> compute_call_bounds(parse_columns("concat>post_fusion[k=10]", Context(k=4))[0])
    (1.0, 11.0)
    >>> [compute_call_bounds(parse_columns(name, Context(k=4))[0]) for name in ("crag", "crag[evaluator=llm]")]
    [(1.0, 2.0), (6.0, 7.0)]
    """
    stages = list_stage_bounds(column)
    return stages[0].fewest, sum(stage.most for stage in stages)


def list_stage_bounds(column: Column) -> list[StageBounds]:
    """The bounds of each stage of a cascade that is written out, such as concat>agent; else those of the method."""
    method = None if column.own_graph is not None or column.method == SEARCH else find_method(column.method)
    if isinstance(method, WrittenMethod):
        columns = [
            replace(column, method=stage.method, context=make_step_context(column.context, stage))
            for stage in method.cascade.stages
        ]
        return [bounds for stage_column in columns for bounds in list_stage_bounds(stage_column)]
    return [StageBounds(column.method, *compute_method_bounds(column))]


def compute_method_bounds(column: Column) -> tuple[float, float]:
    """The fewest and the most calls of a method that is no cascade."""
    if column.method == SEARCH:
        return 0.0, 0.0
    if column.own_graph is not None:
        return 0.0, math.inf
    method = find_method(column.method)
    if not method.calls:
        return 0.0, math.inf
    formula, context = method.calls, column.context
    values = {
        "n": context.samples,
        "k": column.passages_read or context.k,
        "K": context.candidates,
        "s": context.max_steps,
        "T": context.iterations,
        "d": MAX_DISTINCT_ANSWERS,
    }
    least = most = 0.0
    for term in formula.split(" + "):
        match = FORMULA_TERM.fullmatch(term)
        parts = (match["calls"] if match else term).split("..")
        low, high = evaluate_formula(parts[0], values), evaluate_formula(parts[-1], values)
        setting, _, value = (match["condition"] or "" if match else "").partition("=")
        if not value:
            least, most = least + (0 if term.startswith("[") else low), most + high
        elif str(getattr(context, setting)) == value:
            least, most = least + low, most + high
    # If SuRe's first call finds a single candidate, no other call follows.
    return (1.0 if column.method == "sure" else least), most


def evaluate_formula(formula: str, values: Mapping[str, float]) -> float:
    """The value of a formula of products, sums and differences, as in the table of methods: '2K', 'K(K-1)', 'k*n'."""
    formula_with_operators = re.sub(r"(?<=[A-Za-z])(?=\()|(?<=\d)(?=[A-Za-z])", "*", formula)

    def evaluate(node: ast.expr) -> float:
        if isinstance(node, ast.BinOp):
            return OPERATORS[type(node.op)](evaluate(node.left), evaluate(node.right))
        return values[node.id] if isinstance(node, ast.Name) else float(ast.literal_eval(node))

    return evaluate(ast.parse(formula_with_operators.strip(), mode="eval").body)
