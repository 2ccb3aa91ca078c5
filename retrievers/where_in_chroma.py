"""Says whether a filter fits the metadata of a collection, and writes it as Chroma's `where`.

Chroma compares no dates and finds no words in texts. Such a condition becomes a list of those values that fit it, out
of all values that the collection has.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from quorum.core.errors import SetupError
from quorum.core.metadata import MAX_INTEGER
from quorum.core.where import (
    LISTS,
    OPPOSITES,
    ORDERS,
    Condition,
    Filter,
    Group,
    adapt,
    adapt_value,
    describe_filter,
    has_right,
    is_in_order,
    list_operands,
    read_date,
)

Kinds = Mapping[str, set[str]]  # key -> the kinds of its values (`quorum.core.metadata.name_kind`)
Clause = dict[str, Any] | bool  # Chroma's `where`; True lets everything through, False nothing
LIST_START = "list of "
NEGATIONS = {"$eq": "$ne", "$in": "$nin", "$contains": "$not_contains", "$gt": "$lte", "$lt": "$gte"}
MAX_NAMED_KEYS = 30  # in a message


def check_filter(part: Filter, kinds: Kinds, owner: str) -> None:
    """Raise `SetupError` for a key that no passage has, and for a value of a kind that the key does not have. The
    message lists the keys. owner: whose passages these are, such as "the collection 'handbook'". A filter that holds
    the asker's rights fits always (see `make_right`).
    """
    if has_right(part):
        return
    if isinstance(part, Group):
        for inner in part.parts:
            check_filter(inner, kinds, owner)
        return
    if part.key not in kinds:
        raise SetupError(f"No passage of {owner} has the metadata {part.key!r}; {describe_keys(kinds)}.")
    values = part.value if isinstance(part.value, tuple) else (part.value,)
    if not all(any(fits(part, value, kind) for kind in kinds[part.key]) for value in values):
        raise SetupError(
            f"where {describe_filter(part)} does not fit: in {owner} {part.key!r} is "
            f"{' or '.join(sorted(kinds[part.key]))}; {describe_keys(kinds)}."
        )


def describe_keys(kinds: Kinds) -> str:
    """The keys that there are, with the kinds of their values.

    >>> describe_keys({"year": {"number"}, "tags": {"list of text"}})
    'the keys are: tags (list of text), year (number)'
    """
    if not kinds:
        return "its passages have no metadata"
    names = [f"{key} ({', '.join(sorted(kinds[key]))})" for key in sorted(kinds)]
    more = f" and {len(names) - MAX_NAMED_KEYS} more" if len(names) > MAX_NAMED_KEYS else ""
    return f"the keys are: {', '.join(names[:MAX_NAMED_KEYS])}{more}"


def fits(condition: Condition, value: Any, kind: str) -> bool:
    """Whether the condition, with this value, says something about values of this kind."""
    operator = OPPOSITES.get(condition.operator, condition.operator)
    if kind.startswith(LIST_START):
        kind, fits_operator = kind.removeprefix(LIST_START), operator == "$contains"
    else:
        fits_operator = operator != "$contains" or kind == "text"
    operand = adapt_value(value, condition.is_untyped, kind)
    if operand is None or not fits_operator:
        return False
    if operator in ORDERS:
        return kind == "number" or (kind == "text" and read_date(operand) is not None)
    return True


def make_clause(part: Filter, kinds: Kinds, find_texts: Callable[[str], Iterable[str]]) -> Clause:
    """The filter as Chroma's `where`. find_texts: key -> all texts that are its value in the collection."""
    if isinstance(part, Group):
        return join(part.operator, [make_clause(inner, kinds, find_texts) for inner in part.parts])
    operator = OPPOSITES.get(part.operator, part.operator)
    clauses = [make_clause_of_kind(part, operator, kind, find_texts) for kind in sorted(kinds.get(part.key, ()))]
    return join("$and", [negate(clause) for clause in clauses]) if operator != part.operator else join("$or", clauses)


def make_clause_of_kind(
    condition: Condition, operator: str, kind: str, find_texts: Callable[[str], Iterable[str]]
) -> Clause:
    """What the condition says of values of one kind. operator: no negative one."""
    key = condition.key
    if kind.startswith(LIST_START):
        operand = adapt(condition, kind.removeprefix(LIST_START)) if operator == "$contains" else None
        return False if operand is None else join("$or", [{key: {"$contains": one}} for one in list_variants(operand)])
    if operator in LISTS:
        return make_list_clause(key, list_operands(condition, kind))
    operand = adapt(condition, kind)
    if operand is None:
        return False
    if operator == "$contains":
        words = str(operand).casefold()
        return kind == "text" and make_list_clause(key, [text for text in find_texts(key) if words in text.casefold()])
    if operator in ORDERS:
        if kind == "text":
            return make_list_clause(key, [text for text in find_texts(key) if is_in_order(text, operator, operand)])
        return kind == "number" and make_number_clause(key, operator, operand)
    return make_number_clause(key, "$eq", operand)


def make_list_clause(key: str, operands: list[Any]) -> Clause:
    """One of these values. Chroma wants them all of one type."""
    if {type(operand) for operand in operands} == {int, float}:
        operands = [float(operand) for operand in operands]
    fractions = [operand for operand in operands if is_fraction(operand)]
    others = sorted(bound_number(operand) for operand in operands if not is_fraction(operand))
    clauses: list[Clause] = [make_number_clause(key, "$eq", fraction) for fraction in fractions]
    return join("$or", [*clauses, {key: {"$in": others}}] if others else clauses)


def make_number_clause(key: str, operator: str, operand: Any) -> dict[str, Any]:
    """The comparison with a value. Chroma compares a whole number with 2.5 as if that were 2 (towards zero), so that a
    second comparison adds or leaves out the whole number next to a fraction.
    """
    clause = {key: {operator: bound_number(operand)}}
    if not is_fraction(operand):
        return clause
    near = float(int(operand))
    leave_out, add = ("$gt", "$lte") if operand > 0 else ("$lt", "$gte")
    if operator in ("$eq", "$gte" if operand > 0 else "$lte"):
        return {"$and": [clause, {key: {leave_out: near}}]}
    if operator == ("$lt" if operand > 0 else "$gt"):
        return {"$or": [clause, {key: {add: near}}]}
    return clause


def is_fraction(operand: Any) -> bool:
    return isinstance(operand, float) and math.isfinite(operand) and not operand.is_integer()


def list_variants(operand: Any) -> list[Any]:
    """The value as it may stand in a list: Chroma tells 2 from 2.0 there."""
    if isinstance(operand, bool) or not isinstance(operand, int | float):
        return [operand]
    is_whole = float(operand).is_integer() and abs(operand) < MAX_INTEGER
    return [*([int(operand)] if is_whole else []), float(operand)]


def bound_number(operand: Any) -> Any:
    """The value; a whole number that Chroma does not store as one becomes a float."""
    is_large = isinstance(operand, int) and not -MAX_INTEGER <= operand < MAX_INTEGER
    return float(operand) if is_large else operand


def negate(clause: Clause) -> Clause:
    """The clause that lets through what this one does not: also passages without the key."""
    if isinstance(clause, bool):
        return not clause
    if "$or" in clause:
        return join("$and", [negate(inner) for inner in clause["$or"]])
    if "$and" in clause:
        return join("$or", [negate(inner) for inner in clause["$and"]])
    [(key, relation)] = clause.items()
    [(operator, operand)] = relation.items()
    return {key: {NEGATIONS[operator]: operand}}


def join(operator: str, clauses: Iterable[Clause]) -> Clause:
    """The clauses joined by "$and" or "$or". Chroma wants at least two of them."""
    deciding = operator == "$or"  # one such clause decides
    kept: list[dict[str, Any]] = []
    for clause in clauses:
        if isinstance(clause, dict):
            kept.append(clause)
        elif clause == deciding:
            return deciding
    if not kept:
        return not deciding
    return kept[0] if len(kept) == 1 else {operator: kept}
