"""Cascades that a user writes by hand: `concat>post_fusion` asks concat, and if its answer is unknown, post_fusion.

`concat then post_fusion` and `concat-then-post_fusion` mean the same: a shell reads `>` outside of quotation marks as a
redirection, and the names of files and of served models have no `>`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from quorum.cascades.composed_file import Acceptance, ComposedCascade, ComposedStage, is_composed_file_name
from quorum.core.bracketed_settings import NAME_PATTERN, THEN_PATTERN, add_brackets, parse_settings
from quorum.core.errors import SetupError

MOST_STEPS = 3
SEPARATOR = re.compile(rf"{THEN_PATTERN}(?![^\[\]]*\])")  # not inside brackets
BRACKETS = re.compile(r"\s*\[[^\[\]]*\]")
STEP = re.compile(rf"(?P<method>{NAME_PATTERN})\s*(?:\[(?P<settings>[^\[\]]*)\])?")


@dataclass(frozen=True)
class Step:
    """One step: a method and the settings in its brackets, as the user wrote them."""

    method: str
    settings: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return add_brackets(self.method, self.settings)


def is_written_cascade(name: str) -> bool:
    """Whether a method's name is a cascade, and not the name of one method or the path of a file.

    >>> [is_written_cascade(name) for name in ("concat>sure", "concat then sure[k=3]", "concat", "now-then-x.json")]
    [True, True, False, False]
    """
    return ">" in name or (SEPARATOR.search(name) is not None and not is_composed_file_name(name))


def split_steps(text: str) -> list[Step]:
    """The steps of a cascade. Raises `SetupError` if it has more than three, or a step that cannot be read.

    >>> [str(step) for step in split_steps("concat[k=3] > sure")]
    ['concat[k=3]', 'sure']
    """
    parts = SEPARATOR.split(text.strip())
    steps = []
    for part in parts:
        match = STEP.fullmatch(part.strip())
        if match is None:
            wrong = f"the step {part.strip()!r} that cannot be read" if part.strip() else "an empty step"
            raise SetupError(
                f"The cascade {text!r} has {wrong}; write names of methods, with settings in brackets: "
                "'concat[k=3]>post_fusion'."
            )
        steps.append(Step(match["method"], parse_settings((match["settings"] or "").split(";"))))
    if len(steps) > MOST_STEPS:
        raise SetupError(
            f"The cascade {text!r} has {len(steps)} steps; give at most {MOST_STEPS}, each asked if the one before it "
            "gives unknown."
        )
    return steps


def drop_settings(text: str) -> str:
    """A method or cascade without its brackets, whose filters are free text: what logs and spans may hold.

    >>> drop_settings("concat[where=title=Layoffs] then sure"), drop_settings("concat[k=3]")
    ('concat>sure', 'concat')
    """
    name = BRACKETS.sub("", text)
    return SEPARATOR.sub(">", name) if is_written_cascade(name) else name


def join_steps(steps: list[Step]) -> str:
    """The cascade as results name it."""
    return ">".join(map(str, steps))


def add_to_steps(text: str, settings: Mapping[str, str]) -> str:
    """The cascade with these settings in the brackets of every step that does not set them itself.

    >>> add_to_steps("concat[k=3]>sure", {"k": "10"})
    'concat[k=3]>sure[k=10]'
    """
    return join_steps([replace(step, settings={**settings, **step.settings}) for step in split_steps(text)])


def find_common_settings(text: str) -> dict[str, str]:
    """The settings that stand in the brackets of every step with the same value.

    >>> find_common_settings("concat[k=3;seed=1]>sure[k=3;seed=2]")
    {'k': '3'}
    """
    first, *others = split_steps(text)
    common = set(first.settings.items()).intersection(*(step.settings.items() for step in others))
    return {name: value for name, value in first.settings.items() if (name, value) in common}


def read_written_cascade(text: str) -> ComposedCascade:
    """The cascade that a text writes. Each step but the last must know the answer, or else the next one is asked.

    Raises `SetupError` for what `split_steps` refuses, for a setting that does not exist or fit, and for two equal
    steps.
    """
    from quorum.core.context import parse_setting  # heavy: with it METHODS would import LangGraph

    steps = split_steps(text)
    stages = tuple(
        ComposedStage(
            name=str(step),
            method=step.method,
            accept=None if number == len(steps) else Acceptance("known"),
            settings={name: parse_setting(name, value) for name, value in step.settings.items()},
        )
        for number, step in enumerate(steps, start=1)
    )
    for number, stage in enumerate(stages):
        if any((stage.method, stage.settings) == (earlier.method, earlier.settings) for earlier in stages[:number]):
            raise SetupError(
                f"The cascade {text!r} asks {stage.name} twice, and the second time gives what the first gave; name "
                "another method, or give one of them other settings, as in 'concat[k=3]>concat[k=10]'."
            )
    return ComposedCascade(file=join_steps(steps), hash="", stages=stages, certificate=None, is_written=True)
