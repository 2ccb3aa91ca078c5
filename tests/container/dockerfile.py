"""Reads a Dockerfile and .dockerignore as Docker does, as far as ours go; what they do not know is an error."""

import json
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

VARIABLE = re.compile(r"\$(?:(\w+)|\{(\w+)\})")
ROOT_USER = "0"


@dataclass(frozen=True)
class Instruction:
    """`RUN apt-get update`: its name, its options (`--from=build`), and the rest as it stands."""

    name: str
    options: Mapping[str, str]
    rest: str

    def read_list(self) -> list[str]:
        """The words of a JSON list, such as those of CMD."""
        words = json.loads(self.rest)
        assert isinstance(words, list), f"{self.name} {self.rest}: write a JSON list, which needs no shell."
        return [str(word) for word in words]


@dataclass
class Stage:
    """A stage: what it starts from (an image or a stage), its name, and its instructions after FROM."""

    source: str
    name: str
    instructions: list[Instruction] = field(default_factory=list)


@dataclass
class Settings:
    """What an image says of how it is run."""

    environment: dict[str, str] = field(default_factory=dict)
    user: str = ROOT_USER
    folder: str = "/"
    volumes: list[str] = field(default_factory=list)
    health_check: list[str] = field(default_factory=list)
    entrypoint: list[str] = field(default_factory=list)
    command: list[str] = field(default_factory=list)


def read_dockerfile(text: str) -> list[Stage]:
    """The stages of a Dockerfile, in order."""
    stages: list[Stage] = []
    lines = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))
    for line in filter(None, map(str.strip, lines.replace("\\\n", "").splitlines())):
        name, _, rest = line.partition(" ")
        options = {}
        while found := re.match(r"--([\w-]+)=(\S+)\s+", rest.lstrip()):
            options[found[1]] = found[2]
            rest = rest.lstrip()[found.end() :]
        rest = rest.strip()
        if name == "FROM":
            source, *alias = rest.split()
            stages.append(Stage(source, alias[1] if alias else str(len(stages))))
        else:
            stages[-1].instructions.append(Instruction(name, options, rest))
    return stages


def replace_variables(text: str, values: Mapping[str, str]) -> str:
    """`$NAME` and `${NAME}` replaced by their values, as Docker does in all instructions but RUN and CMD."""
    return VARIABLE.sub(lambda found: values.get(found[1] or found[2], ""), text)


def read_pairs(instruction: Instruction, values: Mapping[str, str]) -> dict[str, str]:
    """The names and values of ENV, LABEL and ARG; an ARG without a value is empty."""
    words = shlex.split(replace_variables(instruction.rest, values))
    return {name: value for name, _, value in (word.partition("=") for word in words)}


def is_ignored(path: str, patterns: list[str]) -> bool:
    """Whether .dockerignore leaves out a path (relative, with slashes): the last pattern that fits decides."""
    parts = path.split("/")
    ancestors = ["/".join(parts[: count + 1]) for count in range(len(parts))]
    ignored = False
    for pattern in patterns:
        bare = pattern.removeprefix("!")
        if any(fits(ancestor, bare) for ancestor in ancestors):
            ignored = not pattern.startswith("!")
    return ignored


def fits(path: str, pattern: str) -> bool:
    """Whether a pattern fits this very path; `**/` stands for any folders."""
    if pattern.startswith("**/"):
        return fnmatchcase(path.rsplit("/", 1)[-1], pattern.removeprefix("**/"))
    return path.count("/") == pattern.count("/") and fnmatchcase(path, pattern)


def list_context(root: Path, ignore_text: str) -> list[str]:
    """The files that a build is given: those of the folder that .dockerignore leaves. Links stay links."""
    patterns = [line.strip().strip("/") for line in ignore_text.splitlines() if line.strip() and line[0] != "#"]
    kept_tops = sorted({pattern[1:] for pattern in patterns if pattern.startswith("!")})
    found = []
    for top in kept_tops:  # the others are left out by `*`, and large ones need not be walked
        path = root / top
        candidates = path.rglob("*") if path.is_dir() and not path.is_symlink() else [path]
        found += [p.relative_to(root).as_posix() for p in candidates if p.is_symlink() or p.is_file()]
    assert "*" in patterns, ".dockerignore must begin with *, and name what the build needs."
    return [path for path in found if not is_ignored(path, patterns)]
