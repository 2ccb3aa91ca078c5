"""JSON from files, servers and models, safe to keep: whatever is wrong with it is one kind of error."""

import json
import re
from typing import Any

LONE = re.compile("[\ud800-\udfff]")
ESCAPED = re.compile(r"\\u[dD][89a-fA-F]")


def loads(text: str | bytes) -> Any:
    """The value of a JSON text, its strings `whole`.

    Raises json.JSONDecodeError for what is no JSON, for what is nested too deeply and for a number of thousands of
    digits, which the standard library reports as three kinds of error.
    """
    shown = text if isinstance(text, str) else text.decode("utf-8-sig")
    try:
        value = json.loads(shown)
        return mended(value) if ESCAPED.search(shown) else value
    except json.JSONDecodeError:
        raise
    except RecursionError:
        raise json.JSONDecodeError("nested too deeply", shown, 0) from None
    except ValueError:
        raise json.JSONDecodeError("a number is too long", shown, 0) from None


def whole(text: str) -> str:
    """The text with U+FFFD for lone surrogates: halves of a character, which JSON can write as escapes and which no
    file, server or store takes.
    """
    return LONE.sub("\ufffd", text)


def mended(value: Any) -> Any:
    """The value with all its strings whole."""
    if isinstance(value, str):
        return whole(value)
    if isinstance(value, dict):
        return {whole(name): mended(content) for name, content in value.items()}
    return [mended(item) for item in value] if isinstance(value, list) else value
