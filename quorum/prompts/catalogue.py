"""Describes each prompt: its family, its variables, its version, and the methods that send it."""

from collections.abc import Mapping
from dataclasses import dataclass

from quorum.prompts import BUILT_IN, PROMPTS_FOLDER, Overrides, load_overrides, read_template

__all__ = ["Description", "describe_prompts"]


@dataclass(frozen=True)
class Description:
    """What is known about one prompt.

    family: the folder of its file; version: a short hash of its text; sent_by: the methods, commands and settings that
    send it; overridden: whether the setting `prompts` gives it a text that differs from the built-in one.
    """

    family: str
    name: str
    variables: tuple[str, ...]
    version: str
    sent_by: tuple[str, ...]
    overridden: bool


def describe_prompts(senders: Mapping[str, tuple[str, ...]], overrides: Overrides = None) -> list[Description]:
    """Every prompt, ordered by family and name. Those who send a prompt also send its other texts ("candidates.paper").

    senders: prompt -> who sends it (`quorum.graphs.senders.find_senders`). overrides: the value of the setting
    `prompts`, whose texts replace the built-in ones.

    >>> next(description.variables for description in describe_prompts({}) if description.name == "answer")
    ('passages', 'question')
    """
    texts = {**BUILT_IN, **load_overrides(overrides)}
    families = {path.stem: path.parent.name for path in PROMPTS_FOLDER.glob("*/*.md")}
    descriptions = []
    for name, text in texts.items():
        template = read_template(text)
        variables = tuple(sorted(template.variables or ()))
        is_overridden = text != BUILT_IN[name]
        descriptions.append(
            Description(
                families.get(name, "plugins"),
                name,
                variables,
                template.version,
                senders.get(name.partition(".")[0], ()),
                is_overridden,
            )
        )
    return sorted(descriptions, key=lambda description: (description.family, description.name))
