"""Settings in brackets after a name, as in `concat[collection=handbook;k=10]`."""

import re
from collections.abc import Mapping

from quorum.core.errors import SetupError

NAME_PATTERN = r"[^\[\],;=>\s]+"
THEN_PATTERN = r"(?:\s*>\s*|\s+then\s+|-then-)"  # between the steps of a cascade: `concat>sure[k=3]`
STEP_PATTERN = rf"{NAME_PATTERN}(?:\s*\[[^\[\]]*\])?"
METHOD_ITEM = re.compile(  # a cascade, or a method with its settings
    rf"\s*(?:(?P<cascade>{STEP_PATTERN}(?:{THEN_PATTERN}{STEP_PATTERN})+)"
    rf"|(?P<method>{NAME_PATTERN})\s*(?:\[(?P<settings>[^\[\]]*)\])?)\s*(?:,|$)"
)


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


def add_brackets(method: str, settings: Mapping[str, str]) -> str:
    """The method with its settings in brackets.

    >>> add_brackets("sure", {"k": "3", "ranking": "lazy"}), add_brackets("sure", {})
    ('sure[k=3;ranking=lazy]', 'sure')
    """
    return f"{method}[{';'.join(f'{key}={value}' for key, value in settings.items())}]" if settings else method


def split_brackets(text: str) -> tuple[str, dict[str, str]]:
    """The name in a text such as `sure[k=3; ranking=lazy]`, and the settings in its brackets, if it has any. A file's
    name may have brackets of its own. The brackets of a cascade belong to its steps, and stay in its name.

    Raises `SetupError` for a text that cannot be read.

    >>> split_brackets("sure[k=3; ranking=lazy]")
    ('sure', {'k': '3', 'ranking': 'lazy'})
    >>> split_brackets("results[1]/composed.json"), split_brackets("concat>sure[k=3]")
    (('results[1]/composed.json', {}), ('concat>sure[k=3]', {}))
    """
    if not text.rstrip().endswith("]"):
        return text, {}
    item = METHOD_ITEM.fullmatch(text)
    if item is not None and item["cascade"]:
        return text, {}
    if item is None or item["settings"] is None:
        raise SetupError(
            f"The method {text[:100]!r} cannot be read; write one name, and settings in brackets: concat[k=10;seed=1]."
        )
    return item["method"], parse_settings(item["settings"].split(";"))
