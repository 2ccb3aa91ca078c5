"""Settings in brackets after a name, as in `concat[collection=handbook;k=10]`."""

import re

from quorum.core.errors import SetupError

METHOD_ITEM = re.compile(r"\s*(?P<method>[^\[\],;=\s]+)\s*(?:\[(?P<settings>[^\[\]]*)\]\s*)?(?:,|$)")


def parse_settings(items: list[str]) -> dict[str, str]:
    """{key: value} of texts key=value. Empty texts are skipped. Raises `SetupError` for a text without a key or "=",
    and for a key that is given twice.

    >>> parse_settings(["k=10", " vote = staged "])
    {'k': '10', 'vote': 'staged'}
    """
    settings: dict[str, str] = {}
    for item in filter(str.strip, items):
        key, equals, value = (part.strip() for part in item.partition("="))
        if not equals or not key:
            raise SetupError(f"Setting {item.strip()!r} cannot be read; write it as key=value, for example k=10.")
        if key in settings:
            raise SetupError(f"Setting {key!r} is given twice ({settings[key]} and {value}); give it once.")
        settings[key] = value
    return settings


def split_brackets(text: str) -> tuple[str, dict[str, str]]:
    """The name in a text such as `sure[k=3; ranking=lazy]`, and the settings in its brackets, if it has any. A file's
    name may have brackets of its own.

    Raises `SetupError` for a text that cannot be read.

    >>> split_brackets("sure[k=3; ranking=lazy]")
    ('sure', {'k': '3', 'ranking': 'lazy'})
    >>> split_brackets("results[1]/composed.json")
    ('results[1]/composed.json', {})
    """
    if not text.rstrip().endswith("]"):
        return text, {}
    item = METHOD_ITEM.fullmatch(text)
    if item is None or item["settings"] is None:
        raise SetupError(
            f"The method {text[:100]!r} cannot be read; write one name, and settings in brackets: concat[k=10;seed=1]."
        )
    return item["method"], parse_settings(item["settings"].split(";"))
