"""The prompts: one file FAMILY/NAME.md and one object each.

A file's text is a `string.Template` with variables such as `$passages` and `$question`. It ends with a cue for the
reply, such as "Answer:", or with the lines that the reply should have. Begin reading at `render_prompt`, which fills in
a prompt's variables. All else about a prompt says its object, a `quorum.prompts.prompt.Prompt`, in FAMILY/__init__.py.

In react.md and react_action.md, `$passages` holds more than passages: all steps so far, each with the passages that its
search found. At the first step it is empty.

NAME.VARIANT.md is another text for the prompt NAME, for example with the instructions before the passages, as in the
paper. To use it, pass it as an override; it is then sent and counted as NAME:
`Context(prompts={"candidates": BUILT_IN["candidates.paper"]})`. Two variants are chosen by settings: NAME.plain, in the
papers' wording, with shorten=off, as in every experiment; NAME.uncited with citations=off.
"""

import hashlib
from collections.abc import Mapping, Set
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from string import Template

from quorum.core.errors import SetupError
from quorum.core.files import read_regular
from quorum.prompts.passages import format_passages

__all__ = [
    "BUILT_IN",
    "RenderedPrompt",
    "format_passages",
    "get_text",
    "get_version",
    "list_texts",
    "load_overrides",
    "render_prompt",
]

# Read at import, because nodes run on an event loop, which must not wait for a disk.
PROMPTS_FOLDER = Path(__file__).parent
BUILT_IN = dict(sorted((path.stem, path.read_text(encoding="utf-8").strip()) for path in PROMPTS_FOLDER.glob("*/*.md")))
FAMILIES = {path.stem: path.parent.name for path in PROMPTS_FOLDER.glob("*/*.md")}  # of Quorum's own prompts, by name

Overrides = str | Mapping[str, str] | None


@dataclass(frozen=True)
class RenderedPrompt:
    """A prompt that is ready to send. `version` is a short hash of its template."""

    name: str
    text: str
    version: str


def render_prompt(name: str, overrides: Overrides = None, **inputs: str) -> RenderedPrompt:
    """Fill in the variables of a prompt. A value may contain any text, also `$`.

    Raises `SetupError` if the prompt uses a variable that has no value in `inputs`, does not use one of the `inputs`,
    or has a "$" without a name. The message names the prompt and, in the first two cases, the variable.
    """
    template = read_template(get_text(name, overrides))
    check_variables(name, template, inputs.keys())
    return RenderedPrompt(name, template.template.substitute(inputs), template.version)


def get_version(name: str, overrides: Overrides = None) -> str:
    """A short hash of the prompt's template text."""
    return hash_text(get_text(name, overrides))


@dataclass(frozen=True)
class ParsedTemplate:
    """A template, the names of its variables (None if it is malformed) and a short hash of its text."""

    template: Template
    variables: frozenset[str] | None
    version: str


@lru_cache(256)
def read_template(text: str) -> ParsedTemplate:
    """Parse a template's text, and remember the result for the next call."""
    template = Template(text)
    variables = frozenset(template.get_identifiers()) if template.is_valid() else None
    return ParsedTemplate(template, variables, hash_text(text))


def hash_text(template: str) -> str:
    """The first 10 hex digits of the text's SHA-256."""
    return hashlib.sha256(template.encode()).hexdigest()[:10]


def get_text(name: str, overrides: Overrides = None) -> str:
    """The template of a prompt: the override if there is one, else the built-in text."""
    template = load_overrides(overrides).get(name, BUILT_IN.get(name))
    if template is None:
        raise SetupError(f"There is no prompt {name!r}; the prompts are: {', '.join(BUILT_IN)}.")
    return template


def check_variables(name: str, template: ParsedTemplate, inputs: Set[str]) -> None:
    """Raise a `SetupError` unless the template's variables are exactly the inputs."""
    variables = template.variables
    if variables is None:
        raise SetupError(f"Prompt {name!r} has a '$' without a name; write '$$' for a dollar sign.")
    if missing := sorted(variables - inputs):
        raise SetupError(
            f"Prompt {name!r} uses ${missing[0]}, which has no value; it may use {format_variables(inputs)}."
        )
    if unused_inputs := sorted(inputs - variables):
        raise SetupError(f"Prompt {name!r} does not use ${unused_inputs[0]}; write ${unused_inputs[0]} into its text.")


def format_variables(names: Set[str]) -> str:
    """'$passages, $question', or 'no variables'."""
    return ", ".join(f"${name}" for name in sorted(names)) or "no variables"


def list_texts(variant: str) -> dict[str, str]:
    """The texts NAME.VARIANT.md of a variant, by the names of the prompts that they may replace.

    >>> sorted(list_texts("two_way"))
    ['answer_candidates_label', 'answer_label']
    """
    return {name.removesuffix(f".{variant}"): text for name, text in BUILT_IN.items() if name.endswith(f".{variant}")}


def load_overrides(overrides: Overrides) -> Mapping[str, str]:
    """The overrides as name -> text, from a mapping or from a folder's NAME.md files, except README.md."""
    if overrides is None:
        return {}
    texts = read_folder(Path(overrides)) if isinstance(overrides, str) else overrides
    if unknown_names := sorted(set(texts) - set(BUILT_IN)):
        raise SetupError(
            f"The setting 'prompts' replaces the text of {unknown_names[0]!r}, but there is no such prompt; "
            f"the prompts are: {', '.join(BUILT_IN)}."
        )
    return texts


def read_folder(folder: Path) -> dict[str, str]:
    """Name -> text of the NAME.md files in a folder."""
    if not folder.is_dir():
        raise SetupError(
            f"The setting 'prompts' is {str(folder)!r}, which is not a folder; give a folder of NAME.md files."
        )
    return {path.stem: read_prompt(path) for path in sorted(folder.glob("*.md")) if path.stem != "README"}


def read_prompt(path: Path) -> str:
    """The text of a prompt file, stripped."""
    try:
        text = read_regular(path).decode("utf-8-sig")
        return text.replace("\r\n", "\n").replace("\r", "\n").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise SetupError(f"The prompt {path} cannot be read ({error}); expected a UTF-8 text file.") from None
