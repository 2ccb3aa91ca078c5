"""The metadata of passages: flat, and typed as Chroma stores them.

A value is a text, a number, true or false, or a list of one of these. Dates are texts in ISO 8601.
"""

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, time
from numbers import Integral, Real
from typing import Any

from quorum.core.errors import SetupError
from quorum.core.json_text import parse_json, replace_lone_surrogates

RESERVED_KEYS = ("source", "file_type", "title", "page", "heading", "author", "modified")  # Quorum gives them
# Keys under which Quorum stores what only it reads, and the score, which a retriever gives.
INNER_KEYS = frozenset(("hash", "places", "headings", "where", "sketch", "copies", "score"))
RENAMED_START = "meta_"  # of a user's key that Quorum, or Chroma, has for itself
MAX_KEYS, MAX_ITEMS, LONGEST_KEY, LONGEST_TEXT = 200, 1000, 200, 10_000  # of one passage, one list, in characters
MAX_INTEGER = 1 << 63  # larger numbers do not fit into Chroma; they become texts, so that no digit is lost
LARGEST_AS_FLOAT = (1 << 53) // 10  # Chroma may alter the last digit of a larger integer that is stored as a float
REMOVED_CHARACTERS = dict.fromkeys([0, *range(0xE0000, 0xE0080)])  # NUL, and Unicode's tags, which nobody sees


def flat_metadata(reserved: Mapping[str, Any], user: Mapping[str, Any]) -> dict[str, Any]:
    """The metadata of a passage: Quorum's own keys and the user's, flat, as Chroma stores them.

    reserved: Quorum's own keys with their values; a value None or "" is left out, but its key is still Quorum's. user:
    any mapping, such as front matter or the metadata of a LangChain document. Of nested mappings the keys are joined by
    dots. A key that `reserved` has, or that Quorum or Chroma uses for itself, becomes meta_KEY, unless it has the same
    value. null and empty values are left out. A list of mixed values becomes a list of texts.

    >>> flat_metadata({"source": "a.md", "page": None}, {"source": "wiki", "year": 2020, "team": {"tags": ["hr", 7]}})
    {'source': 'a.md', 'meta_source': 'wiki', 'year': 2020, 'team.tags': ['hr', '7']}
    """
    flat = {key: stored for key, value in reserved.items() if (stored := make_stored(value)) is not None}
    for key, value in flatten(user):
        stored, name = make_stored(value), clean_text(key)[:LONGEST_KEY]
        if stored is None or not name or is_same(flat.get(name), stored):
            continue
        if len(flat) >= MAX_KEYS:
            break
        if name in reserved or name in INNER_KEYS or name.startswith(("$", "#", "chroma:")):
            name = f"{RENAMED_START}{name}"
        flat[name] = stored
    return flat


def name_kind(value: Any) -> str:
    """What kind of value a stored one is, in words.

    >>> name_kind("a"), name_kind(2.5), name_kind(True), name_kind([1, 2])
    ('text', 'number', 'true or false', 'list of number')
    """
    if isinstance(value, list):
        return f"list of {name_kind(value[0])}"
    return "true or false" if isinstance(value, bool) else "text" if isinstance(value, str) else "number"


def is_same(left: Any, right: Any) -> bool:
    """Whether two values are equal and of one type: 1 is not true."""
    return type(left) is type(right) and bool(left == right)


def flatten(values: Mapping[Any, Any]) -> Iterator[tuple[str, Any]]:
    """(key, value) of a mapping and of the mappings in it."""
    stack: list[tuple[str, Any]] = [("", values)]
    while stack:
        name, value = stack.pop()
        if isinstance(value, Mapping):
            items = [(f"{name}.{key}" if name else str(key), inner) for key, inner in value.items()]
            stack += reversed(items[:MAX_KEYS])
        else:
            yield name, value


def make_stored(value: Any) -> Any:
    """A value as Chroma stores it; None for null, for what is empty, and for a number that is not finite.

    >>> make_stored(date(2026, 5, 1)), make_stored([1, 2.5]), make_stored([True, "x"]), make_stored([])
    ('2026-05-01', [1.0, 2.5], ['true', 'x'], None)
    >>> make_stored([1801439850948199, 0.5])  # Chroma would give back 1801439850948199.2
    ['1801439850948199', '0.5']
    """
    if isinstance(value, list | tuple | set | frozenset):
        items = [item for item in map(make_scalar, list(value)[:MAX_ITEMS]) if item is not None]
        return (make_alike(items) or None) if items else None
    return make_scalar(value)


def make_alike(items: Sequence[Any]) -> list[Any]:
    """The items, all of one type."""
    types = {type(item) for item in items}
    if len(types) == 1:
        return list(items)
    if types == {int, float} and all(abs(item) <= LARGEST_AS_FLOAT for item in items if isinstance(item, int)):
        return [float(item) for item in items]
    return [item if isinstance(item, str) else json.dumps(item) for item in items]


def make_scalar(value: Any) -> str | int | float | bool | None:
    """A value that is no list, as Chroma stores it. A list or a mapping, inside a list, becomes its JSON."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, Integral):
        return int(value) if -MAX_INTEGER <= int(value) < MAX_INTEGER else str(int(value))
    if isinstance(value, Real):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, Mapping | list | tuple):
        value = json.dumps(value, ensure_ascii=False, default=str)
    return clean_text(str(value))[:LONGEST_TEXT] or None


def clean_text(text: str) -> str:
    """The text without what cannot be stored, and without white space around it."""
    return replace_lone_surrogates(text.translate(REMOVED_CHARACTERS)).strip()


def parse_metadata_options(options: Iterable[str]) -> dict[str, Any]:
    """The metadata of texts "key=value", whose values are texts, and "key:=value", whose values are JSON.

    Raises `SetupError` for any other text.

    >>> parse_metadata_options(["team=HR", "year:=2026", 'tags:=["leave", "pay"]'])
    {'team': 'HR', 'year': 2026, 'tags': ['leave', 'pay']}
    """
    metadata: dict[str, Any] = {}
    for option in options:
        key, sign, value = option.partition("=")
        is_json, key = key.endswith(":"), key.removesuffix(":").strip()
        if not sign or not key:
            raise SetupError(
                f"Metadata {option!r} do not fit; write key=value for a text, or key:=value for a number, true, false "
                "or a list."
            )
        try:
            metadata[key] = parse_json(value) if is_json else value
        except ValueError:
            raise SetupError(
                f"Metadata {option!r} do not fit: {value!r} is no JSON; write key:=2026, key:=true, "
                'key:=["a", "b"], or key=value for a text.'
            ) from None
    return metadata
