"""Maps a stream of items over worker processes with Ray Data (extra `ray`).

The driver's machine reads the items one by one, each worker takes the next item as soon as it is free, and results come
back in the order in which they are ready, or in the order of the items if `WorkerPool.keeps_order` is True. No process
ever holds all items. Call `map_items` inside `quorum.cluster.ray_cluster.connect_cluster`.
"""

import os
import pickle
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from quorum.cluster.ray_cluster import get_first_line
from quorum.core.errors import SetupError

ItemOrError = tuple[Literal["item", "error"], Any]  # with "item": an item or its result; with "error": an exception


@dataclass(frozen=True)
class WorkerPool:
    """The number of worker processes, and how many items each works on at the same time.

    tries: how often Ray tries an item whose worker exits. keeps_order: if True, results come in the order of the items,
    and an item whose worker exits at every try raises an error. If False, results come as they are ready, and such an
    item is left out.
    """

    workers: int
    at_once: int = 1
    tries: int = 3
    keeps_order: bool = False


def map_items(
    items: Callable[[], Iterator[Any]], make_work: Callable[..., Any], arguments: tuple[Any, ...], pool: WorkerPool
) -> Any:
    """Yield the result of each item. Every worker calls `make_work(*arguments)` once, which returns the function that
    the worker applies to its items.

    `items()` runs in a process of its own on this machine. An exception in a worker or in `items` is raised here; a
    failure of Ray is a `SetupError`.
    """
    from ray.exceptions import RayError

    configure_ray_data(pool)
    data = make_result_stream(items, make_work, arguments, pool)
    try:
        for batch in data.iter_batches(batch_size=None, batch_format="pyarrow", prefetch_batches=0):
            for packed_item in batch["item"].to_pylist():
                kind, value = pickle.loads(packed_item)
                if kind == "error":
                    raise value
                yield value
    except RayError as error:
        raise SetupError(f"Ray failed ({get_first_line(error)}); run the same command again to continue.") from error


def make_result_stream(
    items: Callable[[], Iterator[Any]], make_work: Callable[..., Any], arguments: tuple[Any, ...], pool: WorkerPool
) -> Any:
    """The Ray Data set of packed results; reading it starts the work."""
    import ray.data

    with warnings.catch_warnings():
        # Ray may warn that a later version removes max_task_retries. The versions that pyproject.toml allows need it.
        warnings.simplefilter("ignore")
        return ray.data.read_datasource(make_source(items), override_num_blocks=1, num_cpus=0).map_batches(
            ItemWorker,
            fn_constructor_args=(make_work, arguments),
            batch_size=1,
            batch_format="pyarrow",
            compute=ray.data.ActorPoolStrategy(
                size=pool.workers,
                max_tasks_in_flight_per_actor=pool.at_once,
                max_concurrent_calls_per_actor=pool.at_once,
                enable_true_multi_threading=True,
            ),
            ray_remote_args_fn=partial(dict, num_cpus=1, max_restarts=-1, max_task_retries=pool.tries - 1),
        )


def configure_ray_data(pool: WorkerPool) -> None:
    """Make Ray Data silent, send one item per block, and never give up on a slow item."""
    import logging

    import ray.data

    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    context.print_on_execution_start = False
    context.target_max_block_size = 1  # bytes, so that every item is a block and is sent by itself
    context.max_errored_blocks = 0 if pool.keeps_order else -1
    context.execution_no_progress_timeout_s = -1
    context.execution_options.preserve_order = pool.keeps_order
    logging.getLogger("ray.data").setLevel(logging.CRITICAL)
    warnings.filterwarnings("ignore", module=r"ray\.")  # such as the warning that there are fewer items than workers


def make_source(items: Callable[[], Iterator[Any]]) -> Any:
    """A Ray Data source that reads `items()` one by one on this machine."""
    from ray.data.block import BlockMetadata
    from ray.data.datasource import Datasource, ReadTask

    def read_items() -> Iterator[Any]:
        try:
            for item in items():
                yield pack_item(("item", item))
        except Exception as error:  # noqa: BLE001  map_items raises it
            yield pack_item(("error", make_portable(error)))

    class ItemSource(Datasource):  # type: ignore[misc]  # ray has no types without the extra
        supports_distributed_reads = False  # the files are on this machine

        def estimate_inmemory_data_size(self) -> int | None:
            return None

        def get_read_tasks(self, parallelism: int, per_task_row_limit: Any = None, data_context: Any = None) -> Any:
            metadata = BlockMetadata(num_rows=None, size_bytes=None, exec_stats=None, input_files=None)
            return [ReadTask(read_items, metadata)]

    return ItemSource()


class ItemWorker:
    """Runs in a worker process: makes the work function once, then applies it to one item at a time per thread."""

    def __init__(self, make_work: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        self.work: Callable[[Any], Any] | None = None
        self.failure: Exception | None = None
        try:
            self.work = make_work(*arguments)
        except Exception as error:  # noqa: BLE001  `process` returns it in place of every result
            self.failure = make_portable(error)

    def __call__(self, batch: Any) -> Any:
        return pack_item(self.process(pickle.loads(batch["item"][0].as_py())))

    def process(self, item: ItemOrError) -> ItemOrError:
        """The result of one item, or the exception that prevented it."""
        if self.work is None:
            return "error", self.failure
        if item[0] == "error":
            return item
        try:
            return "item", self.work(item[1])
        except Exception as error:  # noqa: BLE001  map_items raises it
            return "error", make_portable(error)


def pack_item(item: ItemOrError) -> Any:
    """An Arrow table with one row, the pickled item."""
    import pyarrow

    return pyarrow.table({"item": pyarrow.array([pickle.dumps(item)], pyarrow.large_binary())})


def make_portable(error: Exception) -> Exception:
    """The exception in a form that another process can unpickle, with its traceback as a note.

    If the worker called an actor and the call failed, Ray wraps the actor's exception in one that cannot be pickled. In
    that case, return the actor's own exception.
    """
    text = "".join(traceback.format_exception(error))
    cause = getattr(error, "cause", None)
    original = cause if isinstance(cause, Exception) else error
    try:
        portable: Exception = pickle.loads(pickle.dumps(original))
    except Exception:  # noqa: BLE001  it has an attribute that cannot be pickled
        portable = RuntimeError(str(original))
    portable.add_note(f"In a worker:\n{text}")
    return portable


@contextmanager
def limit_to_one_core() -> Iterator[None]:
    """Let a model that is loaded in this block compute on one core only, because there is one worker for each core."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    all_cores = os.sched_getaffinity(0)
    # Only this thread is bound to one core. A model that it loads sees one core, so the model computes on one thread.
    os.sched_setaffinity(0, {min(all_cores)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, all_cores)
