"""Runs commands in the image, without a network: in the files that root_files.py made, or with Docker."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from dockerfile import Settings

ENTER = Path(__file__).with_name("enter.py")
NAMESPACES = ("--mount", "--propagation", "private", "--pid", "--net", "--ipc", "--uts", "--fork", "--kill-child")
STOP_SECONDS = 20


@dataclass(frozen=True)
class Options:
    """How a container is run, as `docker run` has it. user: "" for the image's own. volume: the folder that is mounted
    as /data; None for a new volume, which Docker fills from the image.
    """

    user: str = ""
    is_read_only: bool = False
    environment: Mapping[str, str] = field(default_factory=dict)
    volume: Path | None = None


class Container(Protocol):
    """A container that runs."""

    def execute(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Run another command in it, as the same user."""

    def check_health(self) -> subprocess.CompletedProcess[str]:
        """Run the image's health check."""

    def stop(self) -> int:
        """Send SIGTERM and wait; the exit code of the first process. Raises `TimeoutExpired` if it does not end."""

    def read_output(self) -> str:
        """What the first process has printed, once it has ended."""


class Image(Protocol):
    """An image whose commands can be run."""

    def run(self, command: Sequence[str], options: Options) -> subprocess.CompletedProcess[str]:
        """Run the image with these arguments ([]: its own command) until it ends."""

    def start(self, command: Sequence[str], options: Options) -> AbstractContextManager[Container]:
        """Run the image with these arguments in the background, until the block ends."""


class RootFiles:
    """An image as a folder of files, and its settings."""

    def __init__(self, root: Path, settings: Settings, folder: Path) -> None:
        self.root, self.settings, self.folder = root, settings, folder
        self.count = 0

    def make_command(self, command: Sequence[str], options: Options) -> list[str]:
        user = options.user or self.settings.user
        if ":" not in user:  # Docker takes the group from the image's /etc/passwd, and 0 for a user who is not there
            rows = [line.split(":") for line in (self.root / "etc/passwd").read_text(encoding="utf-8").splitlines()]
            user = f"{user}:{next((row[3] for row in rows if row[2] == user), '0')}"
        described = {
            "root": str(self.root),
            "user": user,
            "folder": self.settings.folder,
            "environment": self.settings.environment | dict(options.environment),
            "volumes": {place: str(options.volume or self.make_volume(place)) for place in self.settings.volumes},
            "is_read_only": options.is_read_only,
        }
        words = [*self.settings.entrypoint, *(command or self.settings.command)]
        return ["unshare", *NAMESPACES, sys.executable, str(ENTER), json.dumps(described), *words]

    def make_volume(self, place: str) -> Path:
        """A new volume, which begins as the image's folder of that name."""
        self.count += 1
        volume = self.folder / f"volume-{self.count}"
        subprocess.run(["cp", "--archive", self.root / place.lstrip("/"), volume], check=True)
        return volume

    def run(self, command: Sequence[str], options: Options) -> subprocess.CompletedProcess[str]:
        return subprocess.run(self.make_command(command, options), capture_output=True, text=True, check=False)

    @contextmanager
    def start(self, command: Sequence[str], options: Options) -> Iterator["RootContainer"]:
        words = self.make_command(command, options)
        process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        try:
            yield RootContainer(process, self.settings, json.loads(words[words.index(str(ENTER)) + 1]))
        finally:
            process.kill()
            process.communicate()


class RootContainer:
    """A process in namespaces of its own."""

    def __init__(self, process: subprocess.Popen[str], settings: Settings, described: Mapping[str, object]) -> None:
        self.process, self.settings, self.described = process, settings, described
        self.output = ""

    def find_first_process(self) -> int:
        """The number, outside, of the process that is number 1 inside."""
        path = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        while not (children := path.read_text(encoding="ascii").split()):
            pass
        return int(children[0])

    def execute(self, *command: str) -> subprocess.CompletedProcess[str]:
        uid, _, gid = str(self.described["user"]).partition(":")
        environment = self.described["environment"]
        assert isinstance(environment, dict)
        words = ["nsenter", "--target", str(self.find_first_process()), "--mount", "--pid", "--net", "--root", "--wd"]
        words += ["--setuid", uid, "--setgid", gid, "--", *command]
        return subprocess.run(words, env=environment, capture_output=True, text=True, check=False)

    def check_health(self) -> subprocess.CompletedProcess[str]:
        return self.execute(*self.settings.health_check)

    def stop(self) -> int:
        os.kill(self.find_first_process(), signal.SIGTERM)
        self.output, _ = self.process.communicate(timeout=STOP_SECONDS)
        return self.process.returncode

    def read_output(self) -> str:
        return self.output
