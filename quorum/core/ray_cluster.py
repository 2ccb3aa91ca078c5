"""Work in many processes through Ray (extra `ray`), on this machine or on the cluster that RAY_ADDRESS names.

Ray Data streams: items are read one by one on the driver's machine, workers take the next as soon as they are free, and
what they return comes back in the order in which it is done. Nothing is held as a whole.
"""

import os
import pickle
import secrets
import socket
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib import metadata
from typing import Any, Literal
from urllib.parse import urlsplit

from quorum.core.errors import SetupError

ENGINES = ("local", "ray")
PACKAGES = ("quorum",)
ANSWERS_WITHIN_S, LOOKS_WITHIN_S = 5.0, 120.0
STARTS = 4  # Ray gives itself 30 seconds, too few on a machine that is busy already
QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",  # nothing is reported to anyone
    "RAY_DEDUP_LOGS_SKIP_REGEX": ".",  # a worker that ends is ours to tell of
    "RAY_BACKEND_LOG_LEVEL": "fatal",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_ENABLE_AUTO_CONNECT": "0",  # a thread that is still reading when we leave must not start Ray anew
    "RAY_agent_register_timeout_ms": "120000",  # a machine may be busy already
}
Item = tuple[Literal["item", "error"], Any]


@dataclass(frozen=True)
class Crew:
    """How many workers there are, and how many items each has at once.

    tries: how often an item is tried when its worker ends. whole: results come in the order of the items, and one that
    is missing is an error; else they come as they are done, and what no worker survived is left out.
    """

    workers: int
    at_once: int = 1
    tries: int = 3
    whole: bool = False


def check_engine(engine: str) -> None:
    """Raises a `SetupError` for an engine that there is not, or whose extra is not installed."""
    if engine not in ENGINES:
        raise SetupError(f"There is no engine {engine!r}; choose one of: {', '.join(ENGINES)}.")
    if engine == "ray" and not all(map(version_of, ("ray", "pyarrow"))):
        raise SetupError(
            "The engine 'ray' needs the package ray, which is not installed; run: pip install 'quorum-rag[ray]' "
            "(in a checkout: pip install -e '.[ray]')"
        )


@contextmanager
def cluster(*needed: str) -> Iterator[None]:
    """Connected to the cluster that RAY_ADDRESS names, or to a Ray of this machine's own that ends with the block.

    needed: files and folders that every machine of the cluster must see. What the machines lack is a `SetupError`.
    """
    check_engine("ray")
    for name, value in QUIET.items():
        os.environ.setdefault(name, value)
    address = os.environ.get("RAY_ADDRESS", "").strip()
    if address:
        check_address(address)
    elif "ray" not in sys.modules:  # Ray listens on the network: without the token nobody else may use it
        os.environ.setdefault("RAY_AUTH_MODE", "token")
        os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))
    import ray

    own = not ray.is_initialized()
    if own:
        connect(address)
    try:
        check_machines([os.path.abspath(path) for path in needed])
        yield
    finally:
        if own:
            ray.shutdown()


def connect(address: str) -> None:
    """Start or join."""
    import ray

    new = {"include_dashboard": False} if address in ("", "local") else {}
    for tries_left in range(0 if address else STARTS - 1, -1, -1):
        try:
            with hushed():
                ray.init(address=address or "local", log_to_driver=False, logging_level="ERROR", **new)
            return
        except Exception as error:  # Ray raises plain ones
            ray.shutdown()
            if not tries_left:
                raise unusable(address, error) from error


def unusable(address: str, error: Exception) -> SetupError:
    said = first_line(error).rstrip(".:")
    if not address:
        return SetupError(f"Ray cannot start here ({said}); see /tmp/ray/session_latest/logs.")
    return SetupError(
        f"The Ray cluster at RAY_ADDRESS={address} cannot be joined ({said}); run this on one of its machines (ray "
        "start --head, on the others ray start --address=HOST:6379), or unset RAY_ADDRESS to use this one alone."
    )


def check_address(address: str) -> None:
    """Ray waits for minutes for a server that is not there: look first."""
    if address in ("auto", "local"):
        return
    parts = urlsplit(address if "://" in address else f"gcs://{address}")
    if parts.scheme != "gcs":
        raise SetupError(
            f"RAY_ADDRESS is {address!r}; run this on a machine of the cluster and give HOST:PORT (the port is mostly "
            "6379), for Ray's client protocol has no way to the files of this machine."
        )
    try:
        socket.create_connection((parts.hostname or "", parts.port or 6379), ANSWERS_WITHIN_S).close()
    except (OSError, ValueError) as error:
        raise SetupError(
            f"No Ray cluster answers at RAY_ADDRESS={address} ({error}); start one with: ray start --head, or unset "
            "RAY_ADDRESS to use this machine."
        ) from None


def check_machines(needed: list[str]) -> None:
    """Every machine has this Quorum and sees the files; the first that does not is named."""
    import ray
    from ray.exceptions import GetTimeoutError, RayError
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    def look(packages: tuple[str, ...], paths: list[str]) -> tuple[str, list[str], str, list[str]]:
        # Inside, so that it travels as a whole: it must run where nothing of Quorum can be imported.
        import importlib.util
        import os
        import socket
        from importlib import metadata

        lacking = [name for name in packages if importlib.util.find_spec(name) is None]
        try:
            version = metadata.version("quorum-rag")
        except metadata.PackageNotFoundError:
            version = "unknown"
        return socket.gethostname(), lacking, version, [path for path in paths if not os.path.exists(path)]

    looks = [
        ray.remote(look)
        .options(num_cpus=0, scheduling_strategy=NodeAffinitySchedulingStrategy(node["NodeID"], soft=False))
        .remote(PACKAGES, needed)
        for node in ray.nodes()
        if node["Alive"]
    ]
    try:
        for host, lacking, version, missing in ray.get(looks, timeout=LOOKS_WITHIN_S):
            check_machine(host, lacking, version, missing)
    except GetTimeoutError:
        raise SetupError(
            f"A machine of the Ray cluster did not answer within {LOOKS_WITHIN_S:.0f} seconds; look at: ray status."
        ) from None
    except RayError as error:
        raise SetupError(f"A machine of the Ray cluster cannot work ({first_line(error)}); see: ray status.") from error


def check_machine(host: str, lacking: list[str], version: str, missing: list[str]) -> None:
    here = version_of("quorum-rag") or "unknown"
    if lacking:
        raise SetupError(
            f"The Ray machine {host} cannot import Quorum (no package {lacking[0]!r}); install it there as it is here: "
            "pip install 'quorum-rag[ray]', in the Python that Ray runs."
        )
    if version != here:
        raise SetupError(f"The Ray machine {host} has Quorum {version}, this one {here}; install the same on both.")
    if missing:
        raise SetupError(
            f"The Ray machine {host} does not see {missing[0]}; put it on storage that all machines share, or, for a "
            "store, start a Chroma server and give --store http://HOST:8000."
        )


@contextmanager
def one_core() -> Iterator[None]:
    """A model that is loaded in the block computes on one core: there is a worker for each."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    every = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(every)})  # of this thread alone; by their number the model chooses its threads
    try:
        yield
    finally:
        os.sched_setaffinity(0, every)


@contextmanager
def hushed() -> Iterator[None]:
    """Nothing on stderr: Ray's libraries write there that they were told to be silent."""
    kept, nothing = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nothing)


def version_of(package: str) -> str | None:
    """Of an installed package; None without it."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def processors() -> int:
    """The processor cores of the cluster."""
    import ray

    return max(1, int(ray.cluster_resources().get("CPU", 1)))


def first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:300]


def each(items: Callable[[], Iterator[Any]], make: Callable[..., Any], arguments: tuple[Any, ...], crew: Crew) -> Any:
    """`make(*arguments)` in every worker; what it returns for each item, as soon as it is there (an iterator).

    `items()` is run in a process of its own on this machine. The exception of a worker, or of `items`, is raised here.
    """
    from ray.exceptions import RayError

    settle(crew)
    data = stream(items, make, arguments, crew)
    try:
        for batch in data.iter_batches(batch_size=None, batch_format="pyarrow", prefetch_batches=0):
            for packed in batch["item"].to_pylist():
                kind, value = pickle.loads(packed)
                if kind == "error":
                    raise value
                yield value
    except RayError as error:
        raise SetupError(f"Ray failed ({first_line(error)}); run the same again, which goes on from here.") from error


def stream(items: Callable[[], Iterator[Any]], make: Callable[..., Any], arguments: tuple[Any, ...], crew: Crew) -> Any:
    """The data set of the results."""
    import ray.data

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # retries are given in a way that goes in Ray 2.64, and in no other yet
        return ray.data.read_datasource(feed(items), override_num_blocks=1, num_cpus=0).map_batches(
            Applied,
            fn_constructor_args=(make, arguments),
            batch_size=1,
            batch_format="pyarrow",
            compute=ray.data.ActorPoolStrategy(
                size=crew.workers,
                max_tasks_in_flight_per_actor=crew.at_once,
                max_concurrent_calls_per_actor=crew.at_once,
                enable_true_multi_threading=True,
            ),
            ray_remote_args_fn=partial(dict, num_cpus=1, max_restarts=-1, max_task_retries=crew.tries - 1),
        )


def settle(crew: Crew) -> None:
    """Ray Data as we need it: silent, one item a block, and patient with a slow one."""
    import logging

    import ray.data

    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    context.print_on_execution_start = False
    context.target_max_block_size = 1  # bytes: every item is a block, and goes its own way
    context.max_errored_blocks = 0 if crew.whole else -1
    context.execution_no_progress_timeout_s = -1
    context.execution_options.preserve_order = crew.whole
    logging.getLogger("ray.data").setLevel(logging.CRITICAL)
    warnings.filterwarnings("ignore", module=r"ray\.")  # such as: fewer questions than workers


def feed(items: Callable[[], Iterator[Any]]) -> Any:
    """A source of Ray Data that reads `items()` one by one, on this machine."""
    from ray.data.block import BlockMetadata
    from ray.data.datasource import Datasource, ReadTask

    def read() -> Iterator[Any]:
        try:
            for item in items():
                yield packed(("item", item))
        except Exception as error:  # noqa: BLE001  whatever it is, it is raised where the results are read
            yield packed(("error", portable(error)))

    class Feed(Datasource):  # type: ignore[misc]  # ray has no types without the extra
        supports_distributed_reads = False  # the files are here

        def estimate_inmemory_data_size(self) -> int | None:
            return None

        def get_read_tasks(self, parallelism: int, per_task_row_limit: Any = None, data_context: Any = None) -> Any:
            return [ReadTask(read, BlockMetadata(num_rows=None, size_bytes=None, exec_stats=None, input_files=None))]

    return Feed()


class Applied:
    """In a worker: what was made there, applied to one item at a time, from several threads."""

    def __init__(self, make: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        self.work: Callable[[Any], Any] | None = None
        self.broken: Exception | None = None
        try:
            self.work = make(*arguments)
        except Exception as error:  # noqa: BLE001  told with the first item
            self.broken = portable(error)

    def __call__(self, batch: Any) -> Any:
        return packed(self.done(pickle.loads(batch["item"][0].as_py())))

    def done(self, item: Item) -> Item:
        if self.work is None:
            return "error", self.broken
        if item[0] == "error":
            return item
        try:
            return "item", self.work(item[1])
        except Exception as error:  # noqa: BLE001  raised where the results are read
            return "error", portable(error)


def packed(item: Item) -> Any:
    """A table of one row."""
    import pyarrow

    return pyarrow.table({"item": pyarrow.array([pickle.dumps(item)], pyarrow.large_binary())})


def portable(error: Exception) -> Exception:
    """The exception as another process can read it, with where it came from. Of one in an actor, which Ray wraps in a
    type that cannot travel, what it wraps.
    """
    text = "".join(traceback.format_exception(error))
    cause = getattr(error, "cause", None)
    told = cause if isinstance(cause, Exception) else error
    try:
        made: Exception = pickle.loads(pickle.dumps(told))
    except Exception:  # noqa: BLE001  it holds what cannot travel
        made = RuntimeError(str(told))
    made.add_note(f"In a worker:\n{text}")
    return made
