"""Prompts: one FAMILY/NAME.md each, a `string.Template`: what never changes, then passages, question, answer cue.

`render` fills a prompt in, `version` names its text, `load` reads overrides; `numbered` writes passages.

NAME.VARIANT.md is another text for NAME, such as a paper's own order of slots. It is taken as an override and is then
sent and counted as NAME: `Context(prompts={"candidates": BUILT_IN["candidates.paper"]})`.
"""

import hashlib
from collections.abc import Mapping, Set
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from string import Template

from quorum.core.errors import SetupError
from quorum.prompts.passages import numbered

__all__ = ["BUILT_IN", "Rendered", "load", "numbered", "render", "text_of", "version"]

# Read once, at import: nodes run on an event loop, which must not wait for a disk.
FOLDER = Path(__file__).parent
BUILT_IN = dict(sorted((path.stem, path.read_text(encoding="utf-8").strip()) for path in FOLDER.glob("*/*.md")))

Overrides = str | Mapping[str, str] | None


@dataclass(frozen=True)
class Rendered:
    """A prompt ready to send. `version` is a short hash of its template."""

    name: str
    text: str
    version: str


def render(name: str, overrides: Overrides = None, **inputs: str) -> Rendered:
    """The prompt `name` with its variables filled in; a value may hold `$` and anything else.

    Raises SetupError naming the prompt and the variable that is missing, unused or malformed.
    """
    template = read_template(text_of(name, overrides))
    check(name, template, inputs.keys())
    return Rendered(name, template.filled.substitute(inputs), template.version)


def version(name: str, overrides: Overrides = None) -> str:
    """A short hash of the prompt's template text."""
    return hash_of(text_of(name, overrides))


@dataclass(frozen=True)
class Read:
    """A template, its variables, null where it is malformed, and a short hash of its text."""

    filled: Template
    variables: frozenset[str] | None
    version: str


@lru_cache(256)
def read_template(text: str) -> Read:
    """A template's text, taken apart once and not at every call."""
    template = Template(text)
    variables = frozenset(template.get_identifiers()) if template.is_valid() else None
    return Read(template, variables, hash_of(text))


def hash_of(template: str) -> str:
    return hashlib.sha256(template.encode()).hexdigest()[:10]


def text_of(name: str, overrides: Overrides = None) -> str:
    """The template of a prompt, from the overrides if they hold it."""
    template = load(overrides).get(name, BUILT_IN.get(name))
    if template is None:
        raise SetupError(f"There is no prompt {name!r}; the prompts are: {', '.join(BUILT_IN)}.")
    return template


def check(name: str, template: Read, inputs: Set[str]) -> None:
    """Every variable of the template is given, and every input has its place in it."""
    wanted = template.variables
    if wanted is None:
        raise SetupError(f"Prompt {name!r} has a lone '$'; write '$$' for a dollar sign, '$question' for a variable.")
    if missing := sorted(wanted - inputs):
        raise SetupError(
            f"Prompt {name!r} needs a variable that is not there: ${missing[0]}; it may use {dollars(inputs)}."
        )
    if unused := sorted(inputs - wanted):
        raise SetupError(f"Prompt {name!r} has no place for ${unused[0]}; write ${unused[0]} into its text.")


def dollars(names: Set[str]) -> str:
    return ", ".join(f"${name}" for name in sorted(names)) or "no variables"


def load(overrides: Overrides) -> Mapping[str, str]:
    """Name -> text of the overriding prompts: a mapping as it is, a folder's NAME.md files (README.md aside) read."""
    if overrides is None:
        return {}
    texts = read_folder(Path(overrides)) if isinstance(overrides, str) else overrides
    if strange := sorted(set(texts) - set(BUILT_IN)):
        raise SetupError(
            f"The prompts setting overrides {strange[0]!r}, which is no prompt; the prompts are: {', '.join(BUILT_IN)}."
        )
    return texts


def read_folder(folder: Path) -> dict[str, str]:
    if not folder.is_dir():
        raise SetupError(
            f"The prompts setting names {str(folder)!r}, which is no folder; give a folder of NAME.md files."
        )
    return {path.stem: read(path) for path in sorted(folder.glob("*.md")) if path.stem != "README"}


def read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise SetupError(f"The prompt {path} cannot be read ({error}); expected a UTF-8 text file.") from None
