"""All prompts by name: the built-in ones, and those that plugins have made."""

from importlib import import_module
from pkgutil import iter_modules
from types import MappingProxyType
from typing import Any

import quorum.prompts
from quorum.core.errors import SetupError
from quorum.prompts.prompt import KNOWN_PROMPTS, Prompt

# Each family is a package in this folder, with its texts. Importing it makes its prompts known.
for family in iter_modules(quorum.prompts.__path__):
    if family.ispkg:
        import_module(f"quorum.prompts.{family.name}")

PROMPTS = MappingProxyType(KNOWN_PROMPTS)


def find_prompt(name: str) -> Prompt[Any] | None:
    """The prompt of this name, or of the name before a dot ("candidates.paper"); None if there is none.

    >>> find_prompt("answer_long").reply
    'long'
    """
    return PROMPTS.get(name.partition(".")[0])


def get_prompt(name: str) -> Prompt[Any]:
    """As `find_prompt`. Raises `SetupError` if there is none."""
    prompt = find_prompt(name)
    if prompt is None:
        raise SetupError(f"There is no prompt {name!r}; the prompts are: {', '.join(sorted(PROMPTS))}.")
    return prompt
