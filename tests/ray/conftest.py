"""One Ray of two cores for all tests of the engine, started as a cluster is."""

import os
import secrets
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from core.errors import SetupError
from models.cluster import QUIET, cluster


def free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [int(one.getsockname()[1]) for one in sockets]
    finally:
        for one in sockets:
            one.close()


def answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def join(stack: ExitStack, tries: int = 20) -> None:
    """The cluster answers before it takes anyone in."""
    for left in reversed(range(tries)):
        try:
            stack.enter_context(cluster())
            return
        except SetupError:
            if not left:
                raise


@pytest.fixture(scope="session")
def ray_here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a cluster of one machine, to which this process belongs, too."""
    port, *agents = free_ports(4)
    ports = ("port", "dashboard-agent-grpc-port", "dashboard-agent-listen-port", "runtime-env-agent-port")
    command = [Path(sys.executable).with_name("ray"), "start", "--head", "--block", "--num-cpus=2"]
    given = [f"--{name}={number}" for name, number in zip(ports, (port, *agents), strict=True)]
    os.environ |= QUIET | {
        "RAY_worker_niceness": "0",
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": secrets.token_hex(32),
    }
    os.environ["RAY_ADDRESS"] = f"127.0.0.1:{port}"
    with (tmp_path_factory.mktemp("ray") / "head.log").open("w") as log:
        head = subprocess.Popen([*command, *given, "--include-dashboard=false"], stdout=log, stderr=log)
        try:
            while not answers(port):
                if head.poll() is not None:
                    raise RuntimeError(f"ray start ended with {head.returncode}: {Path(log.name).read_text()}")
            with ExitStack() as joined:
                join(joined)
                yield os.environ["RAY_ADDRESS"]
        finally:
            head.terminate()
            head.wait()
