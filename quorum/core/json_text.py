"""Reads JSON from files, servers and models. A fault in a text is always a JSONDecodeError, and bytes that are not
UTF-8 are a UnicodeDecodeError. Every string of the parsed value can be encoded in UTF-8.
"""

import json
import math
import re
from collections.abc import Mapping
from typing import Any

LONE_SURROGATE = re.compile("[\ud800-\udfff]")
ESCAPED_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def parse_json(text: str | bytes) -> Any:
    """The value of a JSON text. Lone surrogates in its strings are replaced (see `replace_lone_surrogates`).

    Raises json.JSONDecodeError if the text is not JSON, is nested too deeply or has a number with thousands of digits.
    (`json.loads` raises JSONDecodeError, RecursionError and ValueError in these three cases.) Raises UnicodeDecodeError
    for bytes that are not UTF-8; a byte order mark is allowed.
    """
    decoded_text = replace_lone_surrogates(text) if isinstance(text, str) else text.decode("utf-8-sig")
    try:
        value = json.loads(decoded_text)
        return replace_surrogates_in_strings(value) if ESCAPED_SURROGATE.search(decoded_text) else value
    except json.JSONDecodeError:
        raise
    except RecursionError:
        raise json.JSONDecodeError("nested too deeply", decoded_text, 0) from None
    except ValueError:
        raise json.JSONDecodeError("a number is too long", decoded_text, 0) from None


def replace_lone_surrogates(text: str) -> str:
    """The text with U+FFFD in the place of each lone surrogate.

    A lone surrogate is half of a character. A str can hold it, and JSON can write it as an escape, but UTF-8 cannot
    encode it.
    """
    return LONE_SURROGATE.sub("\ufffd", text)


def replace_surrogates_in_strings(value: Any) -> Any:
    """A parsed JSON value with the lone surrogates replaced in all its strings and keys."""
    if isinstance(value, str):
        return replace_lone_surrogates(value)
    if isinstance(value, dict):
        return {
            replace_lone_surrogates(name): replace_surrogates_in_strings(content) for name, content in value.items()
        }
    return [replace_surrogates_in_strings(item) for item in value] if isinstance(value, list) else value


def make_plain(value: Any) -> Any:
    """The value as JSON data: what JSON does not know, such as a date, becomes its text.

    >>> make_plain({"pages": (1, float("inf")), "sizes": {2: 3.5}})
    {'pages': [1, None], 'sizes': {'2': 3.5}}
    """
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(name): make_plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [make_plain(item) for item in value]
    return str(value)
