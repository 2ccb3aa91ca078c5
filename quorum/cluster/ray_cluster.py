"""Connects to Ray (extra `ray`): joins the cluster that RAY_ADDRESS names, or starts Ray on this machine.

`check_engine` tests the option `--engine`; `connect_cluster` joins or starts Ray and checks every machine.
`quorum.cluster.ray_workers` then runs functions on these machines.
"""

import os
import secrets
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import metadata
from urllib.parse import urlsplit

from quorum.core.errors import SetupError
from quorum.core.extras import describe_install

ENGINES = ("local", "ray")
REQUIRED_PACKAGES = ("quorum",)
CONNECT_TIMEOUT_S, INSPECT_TIMEOUT_S = 5.0, 120.0
START_ATTEMPTS = 4  # Ray gives up after 30 seconds, which is too early on a busy machine
RAY_ENVIRONMENT = {
    "RAY_USAGE_STATS_ENABLED": "0",  # Ray must not send usage reports
    "RAY_DEDUP_LOGS_SKIP_REGEX": ".",  # Ray prints no log line: Quorum itself reports a worker that exits
    "RAY_BACKEND_LOG_LEVEL": "fatal",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # Ray must not hide the GPUs from workers that reserve none
    "RAY_ENABLE_AUTO_CONNECT": "0",  # a thread that reads results after ray.shutdown() must not start Ray again
    "RAY_agent_register_timeout_ms": "120000",  # a busy machine needs longer than the default
}


def check_engine(engine: str) -> None:
    """Raise a `SetupError` for an unknown engine, or if the extra that it needs is not installed."""
    if engine not in ENGINES:
        raise SetupError(f"There is no engine {engine!r}; choose one of: {', '.join(ENGINES)}.")
    if engine == "ray" and not all(map(find_version, ("ray", "pyarrow"))):
        raise SetupError(
            "The engine 'ray' needs the packages ray and pyarrow, which are not both installed; run: "
            f"{describe_install('ray')}"
        )


@contextmanager
def connect_cluster(*needed_paths: str) -> Iterator[None]:
    """Join the cluster that RAY_ADDRESS names, or start Ray on this machine.

    The end of the block leaves the cluster, or stops the Ray that was started. If this process was connected to Ray
    before the block, that connection is used and kept.

    needed_paths: files and folders that every machine of the cluster must see. Raises `SetupError` if a machine lacks
    one of them or has another version of Quorum.
    """
    check_engine("ray")
    for name, value in RAY_ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    address = read_ray_address()
    if address:
        check_address(address)
    elif "ray" not in sys.modules:  # Ray listens on the network: only a client with the token may use it
        os.environ.setdefault("RAY_AUTH_MODE", "token")
        os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))
    import ray

    connected_here = not ray.is_initialized()
    if connected_here:
        connect_ray(address)
    try:
        check_machines([os.path.abspath(path) for path in needed_paths])
        yield
    finally:
        if connected_here:
            ray.shutdown()


def read_ray_address() -> str:
    """The address in RAY_ADDRESS; empty if it is not set or is "local", Ray's word for a Ray on this machine."""
    address = os.environ.get("RAY_ADDRESS", "").strip()
    return "" if address == "local" else address


def connect_ray(address: str) -> None:
    """Join the cluster at the address. Without an address, start Ray on this machine; try a few times."""
    import ray

    start_options = {"include_dashboard": False} if not address else {}
    for tries_left in range(0 if address else START_ATTEMPTS - 1, -1, -1):
        try:
            with silence_stderr():
                ray.init(address=address or "local", log_to_driver=False, logging_level="ERROR", **start_options)
            return
        except Exception as error:  # Ray raises plain exceptions
            ray.shutdown()
            if not tries_left:
                raise explain_failed_start(address, error) from error


def explain_failed_start(address: str, error: Exception) -> SetupError:
    """The error for a Ray that cannot be started or joined, with what to do next."""
    reason = get_first_line(error).rstrip(".:")
    if not address:
        return SetupError(f"Ray cannot start here ({reason}); see /tmp/ray/session_latest/logs.")
    return SetupError(
        f"The Ray cluster at RAY_ADDRESS={address} cannot be joined ({reason}); run this command on a machine of the "
        "cluster (to start one: ray start --head on its first machine, ray start --address=HOST:6379 on each of the "
        "others), or unset RAY_ADDRESS to use only this machine."
    )


def check_address(address: str) -> None:
    """Raise a `SetupError` if the address has a scheme other than gcs:// (for example ray://), or if nothing answers.

    If nothing answers, Ray itself would wait for minutes.
    """
    if address == "auto":
        return
    parts = urlsplit(address if "://" in address else f"gcs://{address}")
    if parts.scheme != "gcs":
        raise SetupError(
            f"RAY_ADDRESS is {address!r}; run this command on a machine of the cluster and give HOST:PORT (the port is "
            "usually 6379), because Ray's client protocol cannot read the files of this machine."
        )
    try:
        socket.create_connection((parts.hostname or "", parts.port or 6379), CONNECT_TIMEOUT_S).close()
    except (OSError, ValueError) as error:
        raise SetupError(
            f"No Ray cluster answers at RAY_ADDRESS={address} ({error}); start one with: ray start --head, or unset "
            "RAY_ADDRESS to use this machine."
        ) from None


def check_machines(needed_paths: list[str]) -> None:
    """Raise a `SetupError` that names the first machine without this version of Quorum or without a needed file."""
    import ray
    from ray.exceptions import GetTimeoutError, RayError
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    def inspect_machine(packages: tuple[str, ...], paths: list[str]) -> tuple[str, list[str], str, list[str]]:
        # A nested function, which Ray sends with its code: it must run where Quorum cannot be imported.
        import importlib.util
        import os
        import socket
        from importlib import metadata

        missing_packages = [name for name in packages if importlib.util.find_spec(name) is None]
        try:
            version = metadata.version("quorum-rag")
        except metadata.PackageNotFoundError:
            version = "unknown"
        return socket.gethostname(), missing_packages, version, [path for path in paths if not os.path.exists(path)]

    inspections = [
        ray.remote(inspect_machine)
        .options(num_cpus=0, scheduling_strategy=NodeAffinitySchedulingStrategy(node["NodeID"], soft=False))
        .remote(REQUIRED_PACKAGES, needed_paths)
        for node in ray.nodes()
        if node["Alive"]
    ]
    try:
        for host, missing_packages, version, missing_files in ray.get(inspections, timeout=INSPECT_TIMEOUT_S):
            check_machine(host, missing_packages, version, missing_files)
    except GetTimeoutError:
        raise SetupError(
            f"A machine of the Ray cluster did not answer within {INSPECT_TIMEOUT_S:.0f} seconds; run: ray status."
        ) from None
    except RayError as error:
        raise SetupError(
            f"A machine of the Ray cluster cannot run tasks ({get_first_line(error)}); run: ray status."
        ) from error


def check_machine(host: str, missing_packages: list[str], version: str, missing_files: list[str]) -> None:
    """Raise a `SetupError` if the machine cannot import Quorum, has another version or lacks a needed file."""
    own_version = find_version("quorum-rag") or "unknown"
    if missing_packages:
        raise SetupError(
            f"The Ray machine {host} cannot import Quorum (no package {missing_packages[0]!r}); install it in the "
            f"Python that Ray runs there: {describe_install('ray')}"
        )
    if version != own_version:
        raise SetupError(
            f"The Ray machine {host} has Quorum {version}, this one {own_version}; install the same version on both."
        )
    if missing_files:
        raise SetupError(
            f"The Ray machine {host} does not see {missing_files[0]}; put it on storage that all machines share, or, "
            "for a store, start a Chroma server and give --store http://HOST:8000."
        )


@contextmanager
def silence_stderr() -> Iterator[None]:
    """Drop what is written to stderr: Ray's loggers announce there that they have been silenced."""
    stderr, null_device = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(null_device, 2)
    try:
        yield
    finally:
        os.dup2(stderr, 2)
        os.close(stderr)
        os.close(null_device)


def find_version(package: str) -> str | None:
    """The version of an installed package, or None."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def count_cores() -> int:
    """The number of processor cores in the cluster, at least 1."""
    import ray

    return max(1, int(ray.cluster_resources().get("CPU", 1)))


def get_first_line(error: BaseException) -> str:
    """The first line of an exception's message, at most 300 characters, or its type's name if there is none."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:300]
