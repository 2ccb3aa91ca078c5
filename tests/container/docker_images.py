"""Runs commands in an image with Docker, for the same checks as containers.py."""

import json
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from containers import STOP_SECONDS, Options


def docker(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["docker", *words], capture_output=True, text=True, check=False)


def ask_docker(*words: str) -> str:
    """What the command prints; it must not fail."""
    done = docker(*words)
    if done.returncode:
        raise SystemExit(f"docker {' '.join(words)}\n{done.stdout}{done.stderr}")
    return done.stdout.strip()


class DockerImage:
    """An image that Docker holds."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.health_check = json.loads(ask_docker("inspect", "--format", "{{json .Config.Healthcheck.Test}}", name))[1:]

    def measure(self) -> float:
        """Its megabytes."""
        return int(ask_docker("inspect", "--format", "{{.Size}}", self.name)) / 1_000_000

    def make_words(self, command: Sequence[str], options: Options) -> list[str]:
        words = ["--network", "none", "--tmpfs", "/tmp"]
        words += ["--user", options.user] if options.user else []
        words += ["--read-only"] if options.is_read_only else []
        words += ["--volume", f"{options.volume}:/data"] if options.volume else []
        for name, value in options.environment.items():
            words += ["--env", f"{name}={value}"]
        return [*words, self.name, *command]

    def run(self, command: Sequence[str], options: Options) -> subprocess.CompletedProcess[str]:
        return docker("run", "--rm", *self.make_words(command, options))

    @contextmanager
    def start(self, command: Sequence[str], options: Options) -> Iterator["DockerContainer"]:
        number = ask_docker("run", "--detach", *self.make_words(command, options))
        try:
            yield DockerContainer(number, self.health_check)
        finally:
            docker("rm", "--force", "--volumes", number)


class DockerContainer:
    """A container that Docker runs."""

    def __init__(self, number: str, health_check: list[str]) -> None:
        self.number, self.health_check = number, health_check

    def execute(self, *command: str) -> subprocess.CompletedProcess[str]:
        return docker("exec", self.number, *command)

    def check_health(self) -> subprocess.CompletedProcess[str]:
        return self.execute(*self.health_check)

    def stop(self) -> int:
        ask_docker("stop", "-t", str(STOP_SECONDS), self.number)
        return int(ask_docker("inspect", "--format", "{{.State.ExitCode}}", self.number))

    def read_output(self) -> str:
        done = docker("logs", self.number)
        return done.stdout + done.stderr
