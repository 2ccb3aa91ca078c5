"""The setting `where`: which passages may be found, by their metadata.

It is written in Chroma's form, {"year": {"$gte": 2020}}, or short, "year>=2020"; a list of both means that all must
hold. `conjoin` joins two settings, `parse_where` reads one, `matches` tests a passage's metadata.
"""

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any, NoReturn

from quorum.core.errors import SetupError
from quorum.core.json_text import parse_json
from quorum.core.metadata import name_kind

Where = str | Mapping[str, Any] | Sequence[Any] | None
Setting = str | dict[str, Any] | list[Any] | None  # as `Context` holds it
SIGNS = {  # of the short form -> Chroma's operator
    "=": "$eq",
    "==": "$eq",
    "!=": "$ne",
    "<": "$lt",
    "<=": "$lte",
    ">": "$gt",
    ">=": "$gte",
    "in": "$in",
    "not in": "$nin",
    "contains": "$contains",
    "not contains": "$not_contains",
}
SHORT_SIGNS = {operator: sign for sign, operator in SIGNS.items() if sign != "=="}
OPPOSITES = {"$ne": "$eq", "$nin": "$in", "$not_contains": "$contains"}  # of operators: a passage without the key fits
ORDERS = ("$lt", "$lte", "$gt", "$gte")
LISTS = ("$in", "$nin")
SHORT_FORM = re.compile(
    r"\s*(?P<key>[^=!<>]+?)\s*(?P<sign>[!<>]=|==?|[<>]|(?<=\s)(?:not\s+)?(?:in|contains)(?=\s))(?!=)\s*(?P<value>\S.*?)\s*",
    re.DOTALL,
)
DEEPEST = 20  # nested groups
AND = re.compile(r'\s+and\s+(?=(?:[^"]*"[^"]*")*[^"]*$)', re.IGNORECASE)  # outside quotes
NUMBER = re.compile(r"[-+]?\d+(\.\d+)?([eE][-+]?\d+)?")
DATE = re.compile(r"\d{4}(-\d\d(-\d\d([T ]\d\d(:\d\d(:\d\d(\.\d+)?)?)?(Z|[-+]\d\d:?\d\d)?)?)?)?")
EXAMPLES = (
    "write for example 'source=handbook.pdf', 'year>=2020', 'tags contains hr', or Chroma's form as JSON: "
    '{"year": {"$gte": 2020}}'
)


RIGHT = "$right"  # in Chroma's form: the filter of somebody's rights


class NothingMatchesError(SetupError):
    """No passage passes the filter that is set."""


@dataclass(frozen=True)
class Condition:
    """One condition. operator: Chroma's, such as "$gte"; for "$in" and "$nin" the value is a tuple.

    is_untyped: the value is a text of the short form, which stands for a number, or for true or false, where the
    passage has one of these.
    """

    key: str
    operator: str
    value: Any
    is_untyped: bool = False


@dataclass(frozen=True)
class Group:
    """Several conditions, of which all ("$and") or at least one ("$or") must hold.

    is_right: it says what the asker may read at all (see `make_right`).
    """

    operator: str
    parts: tuple["Filter", ...]
    is_right: bool = False


Filter = Condition | Group


def make_right(where: Setting) -> Setting:
    """The filter of somebody's rights. A filter that holds one may name metadata that no passage has, and its errors do
    not tell which there are: both would tell of passages that the asker may not read.
    """
    return where if is_empty(where) else {RIGHT: [where]}


def has_right(part: Filter) -> bool:
    """Whether a filter holds that of somebody's rights."""
    return isinstance(part, Group) and (part.is_right or any(map(has_right, part.parts)))


def conjoin(first: Setting, second: Setting) -> Setting:
    """The setting that lets through what both let through.

    >>> conjoin("year>=2020", None), conjoin("year>=2020", {"team": "HR"})
    ('year>=2020', ['year>=2020', {'team': 'HR'}])
    """
    if is_empty(first) or is_empty(second) or first == second:
        return second if is_empty(first) else first
    return [first, second]


def is_empty(where: Where) -> bool:
    return where is None or (where.strip() == "" if isinstance(where, str) else not where)


def parse_where(where: Where, depth: int = 0) -> Filter | None:
    """The filter of a setting; None if it lets everything through. Raises `SetupError` for what is no filter.

    >>> parse_where("year>=2020")
    Condition(key='year', operator='$gte', value='2020', is_untyped=True)
    >>> parse_where({"year": {"$gte": 2020}})
    Condition(key='year', operator='$gte', value=2020, is_untyped=False)
    """
    if where is None or is_empty(where):
        return None
    if depth > DEEPEST:
        refuse("...", "it is nested too deeply")
    if isinstance(where, str):
        return parse_text(where, depth)
    if isinstance(where, Mapping):
        parts = [part for key, value in where.items() for part in parse_entry(str(key), value, where, depth)]
        return join("$and", parts)
    if isinstance(where, Sequence):
        found = [part for item in where if (part := parse_part(item, where, depth)) is not None]
        return join("$and", found) if found else None
    return refuse(where, "it is no text, object or list")


def parse_part(item: Any, where: Any, depth: int) -> Filter | None:
    if not isinstance(item, str | Mapping | list | tuple):
        refuse(where, f"{item!r} is no condition")
    return parse_where(item, depth + 1)


def parse_text(text: str, depth: int = 0) -> Filter | None:
    """The filter of a text: JSON, or conditions in the short form, joined by "and"."""
    if text.lstrip().startswith(("{", "[")):
        try:
            return parse_where(parse_json(text), depth + 1)
        except json.JSONDecodeError as error:
            refuse(text, f"it is no JSON ({error.msg})")
    parts = AND.split(text)
    # An "and" may also belong to a value: title=Salt and Pepper.
    conditions = [SHORT_FORM.fullmatch(part) for part in parts]
    if len(parts) == 1 or not all(conditions):
        conditions = [SHORT_FORM.fullmatch(text)]
    if not conditions[0]:
        refuse(text, "it is no condition")
    return join("$and", [read_short_form(condition, text) for condition in conditions if condition])


def read_short_form(match: re.Match[str], text: str) -> Condition:
    operator, value = SIGNS[" ".join(match["sign"].split())], match["value"]
    if operator in LISTS:
        if value.startswith("["):
            try:
                return make_condition(match["key"], operator, parse_json(value), text)
            except json.JSONDecodeError:
                refuse(text, "its list is no JSON")
        items = tuple(item.strip() for item in value.split(",") if item.strip())
        return Condition(match["key"], operator, items or refuse(text, "its list is empty"), is_untyped=True)
    if value.startswith('"'):
        try:
            return make_condition(match["key"], operator, parse_json(value), text)
        except json.JSONDecodeError:
            pass  # a text that begins with a quote
    return Condition(match["key"], operator, value, is_untyped=True)


def parse_entry(key: str, value: Any, where: Any, depth: int) -> Iterable[Filter]:
    """The conditions of one entry of Chroma's form."""
    if key in ("$and", "$or", RIGHT):
        if not isinstance(value, list | tuple) or not value:
            refuse(where, f"{key} needs a list of conditions")
        parts = [part for item in value if (part := parse_part(item, where, depth)) is not None]
        if len(parts) < len(value):
            refuse(where, f"{key} holds an empty condition")
        return [Group("$and", tuple(parts), is_right=True) if key == RIGHT else join(key, parts)]
    if key.startswith("$") or not key:
        refuse(where, f"there is no operator {key!r} here; join conditions by $and and $or")
    if not isinstance(value, Mapping):
        return [make_condition(key, "$eq", value, where)]
    if not value:
        refuse(where, f"{key!r} has no operator")
    return [make_condition(key, str(operator), operand, where) for operator, operand in value.items()]


def make_condition(key: str, operator: str, value: Any, where: Any) -> Condition:
    if operator not in SHORT_SIGNS:
        refuse(where, f"there is no operator {operator!r}; they are {', '.join(SHORT_SIGNS)}")
    if operator in LISTS:
        if not isinstance(value, list | tuple) or not value:
            refuse(where, f"{operator} needs a list of values")
        return Condition(key, operator, tuple(check_value(item, where) for item in value))
    return Condition(key, operator, check_value(value, where))


def check_value(value: Any, where: Any) -> str | int | float | bool:
    if isinstance(value, date):
        return value.isoformat()
    if not isinstance(value, str | int | float) or (isinstance(value, float) and not math.isfinite(value)):
        refuse(where, f"{value!r} is no text, number, true or false")
    return value


def join(operator: str, parts: Sequence[Filter]) -> Filter:
    return parts[0] if len(parts) == 1 else Group(operator, tuple(parts))


def refuse(where: Any, reason: str) -> NoReturn:
    shown = where if isinstance(where, str) else json.dumps(where, ensure_ascii=False, default=str)
    raise SetupError(f"Setting where={shown[:200]} does not fit: {reason}; {EXAMPLES}.")


def format_where(where: Where) -> str | None:
    """A setting as one text, the same for all settings that differ in spelling only; `parse_where` reads it back."""
    parsed = parse_where(where)
    if parsed is None or (isinstance(parsed, Condition) and parsed.is_untyped):
        return None if parsed is None else describe_filter(parsed)
    return json.dumps(make_plain_filter(parsed), ensure_ascii=False)


def make_plain_filter(part: Filter) -> Any:
    if isinstance(part, Group):
        return {RIGHT if part.is_right else part.operator: [make_plain_filter(inner) for inner in part.parts]}
    return describe_filter(part) if part.is_untyped else {part.key: {part.operator: part.value}}


def describe_filter(part: Filter) -> str:
    """A filter in the short form, for people.

    >>> describe_filter(parse_where({"year": {"$gte": 2020}, "$or": [{"team": "HR"}, {"draft": False}]}))
    'year>=2020 and (team="HR" or draft=false)'
    """
    if isinstance(part, Group):
        if len(part.parts) == 1:
            return describe_filter(part.parts[0])
        texts = [(describe_filter(inner), is_long(inner)) for inner in part.parts]
        return f" {part.operator.removeprefix('$')} ".join(f"({text})" if nested else text for text, nested in texts)
    sign = SHORT_SIGNS[part.operator]
    values = part.value if isinstance(part.value, tuple) else (part.value,)
    value = ", ".join(item if part.is_untyped else json.dumps(item, ensure_ascii=False) for item in values)
    if part.operator in LISTS and not part.is_untyped:
        value = f"[{value}]"
    return f"{part.key} {sign} {value}" if sign[0].isalpha() else f"{part.key}{sign}{value}"


def is_long(part: Filter) -> bool:
    """Whether a filter has several conditions."""
    return isinstance(part, Group) and (len(part.parts) > 1 or is_long(part.parts[0]))


def matches(part: Filter, metadata: Mapping[str, Any]) -> bool:
    """Whether a passage with these metadata passes the filter.

    A value of another kind, or none, passes only !=, not in and not contains, as in Chroma.
    """
    if isinstance(part, Group):
        return (all if part.operator == "$and" else any)(matches(inner, metadata) for inner in part.parts)
    stored = metadata.get(part.key)
    if part.operator in OPPOSITES:
        return stored is None or not holds(part, OPPOSITES[part.operator], stored)
    return stored is not None and holds(part, part.operator, stored)


def holds(condition: Condition, operator: str, stored: Any) -> bool:
    """Whether a value has the relation `operator`, which is no negative one, to that of the condition."""
    if isinstance(stored, list):
        return operator == "$contains" and bool(stored) and adapt(condition, name_kind(stored[0])) in stored
    operand = adapt(condition, name_kind(stored))
    if operator == "$in":
        return stored in list_operands(condition, name_kind(stored))
    if operand is None:
        return False
    if operator == "$eq":
        return bool(stored == operand)
    if operator == "$contains":
        return isinstance(stored, str) and str(operand).casefold() in stored.casefold()
    return is_in_order(stored, operator, operand)


def adapt(condition: Condition, kind: str) -> Any:
    """The condition's value as one of a kind; None if it is of another kind."""
    return adapt_value(condition.value, condition.is_untyped, kind)


def list_operands(condition: Condition, kind: str) -> list[Any]:
    """Those of the condition's values that are of a kind."""
    values = condition.value if isinstance(condition.value, tuple) else (condition.value,)
    adapted = (adapt_value(value, condition.is_untyped, kind) for value in values)
    return [value for value in adapted if value is not None]


def adapt_value(value: Any, is_untyped: bool, kind: str) -> Any:
    if isinstance(value, tuple):
        return None
    if not is_untyped:
        return value if name_kind(value) == kind else None
    if kind == "number":
        number = float(value) if NUMBER.fullmatch(value) else None
        return int(value) if number is not None and value.lstrip("+-").isdecimal() else number
    if kind == "true or false":
        return {"true": True, "false": False}.get(value.lower())
    return value if kind == "text" else None


def is_in_order(stored: Any, operator: str, operand: Any) -> bool:
    """Whether two numbers, or two dates, are in this order. Dates are compared as far as both go: a time on 1 May is
    not after the date 1 May.
    """
    if isinstance(stored, bool):
        return False
    if isinstance(stored, str):
        left, right = read_date(stored), read_date(operand)
        if left is None or right is None:
            return False
        length = min(len(left), len(right))
        stored, operand = left[:length], right[:length]
    equal, less = stored == operand, stored < operand
    return bool({"$lt": less, "$lte": less or equal, "$gt": not (less or equal), "$gte": not less}[operator])


def read_date(text: str) -> str | None:
    """A date or time of ISO 8601, such that texts compare as the times do; a time of another zone becomes UTC.

    >>> read_date("2026-05"), read_date("2026-05-01T10:00+02:00"), read_date("May 2026")
    ('2026-05', '2026-05-01T08:00:00', None)
    """
    if not DATE.fullmatch(text):
        return None
    if len(text) <= len("2026-05-01"):
        return text
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return (moment.astimezone(UTC) if moment.tzinfo else moment).replace(tzinfo=None).isoformat()
