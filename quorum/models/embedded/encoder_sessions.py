"""Runs the encoder's ONNX file on the machine's cores: all cores together on a few rows, or each core on rows of its
own. A row is one sequence of tokens.

Cores that compute a run together wait for each other after each layer. Even so, computing together is fastest for a few
rows while the machine has nothing else to do. With many rows, or while the cores are busy with other questions, it is
faster if each core computes rows of its own, and waits for no other core. Both ways give the same results, bit for bit.
"""

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import onnxruntime
from numpy.typing import NDArray

from quorum.core.forks import PerProcess
from quorum.models.embedded.workload import are_many_questions_expected

Inputs = dict[str, NDArray[Any]]  # a batch of rows: the arrays by the name of the model's input, such as "ids"

ROWS_PER_RUN = 16  # the most rows of a run on all cores
ROWS_PER_RUN_ON_ONE_CORE = 2  # the most rows of a run on one core: the core's caches hold their data between layers
MANY_ROWS = 64  # from this many rows on, each core computes rows of its own
SLOW_OPTIMISERS = ["SkipLayerNormFusion"]  # an optimisation of the runtime that makes the encoder ten times slower


class EncoderSessions:
    """The encoder's file, loaded in ONNX Runtime. Several threads may use this object at once."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.core_count = count_cores()
        self.all_cores_session = PerProcess(partial(load_session, file, self.core_count))
        # A session whose runs compute on one core each. Loaded when it is first needed: it takes 60 MB.
        self.one_core_session = PerProcess(partial(load_session, file, 1))
        self.pool = PerProcess(partial(ThreadPoolExecutor, self.core_count, thread_name_prefix="encoder-core"))
        self.all_cores_session.get()

    @property
    def embedding_size(self) -> int:
        """How many numbers an embedding has."""
        return int(self.all_cores_session.get().get_outputs()[0].shape[1])

    def are_rows_split(self, row_count: int) -> bool:
        """Whether each core computes rows of its own if there are this many rows in all."""
        return self.core_count > 1 and (row_count >= MANY_ROWS or are_many_questions_expected())

    def count_rows_per_run(self, row_count: int) -> int:
        """The most rows that one run may have if there are `row_count` rows in all. If each core computes rows of its
        own, this is at most ROWS_PER_RUN_ON_ONE_CORE, and at most `row_count` divided by the number of cores (rounded
        up).
        """
        if not self.are_rows_split(row_count):
            return ROWS_PER_RUN
        return max(1, min(ROWS_PER_RUN_ON_ONE_CORE, -(-row_count // self.core_count)))

    def run(self, outputs: list[str], batches: Sequence[Inputs]) -> Iterator[list[NDArray[Any]]]:
        """Run each batch. Yields, for each batch in order, the values of the named outputs of the model."""
        if not self.are_rows_split(sum(len(batch["ids"]) for batch in batches)):
            return map(partial(self.all_cores_session.get().run, outputs), batches)
        run = partial(self.one_core_session.get().run, outputs)
        return map(run, batches) if len(batches) == 1 else self.pool.get().map(run, batches)


def count_cores() -> int:
    """How many cores the encoder computes on: those that this process may use, 8 at most, and no more than the variable
    OMP_NUM_THREADS says, with which a user limits every numeric library (a container's share of the processor, for
    example, or each of several processes on one machine).
    """
    cores = min(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 4, 8)
    limit = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip()
    return min(cores, int(limit)) if limit.isdecimal() and int(limit) > 0 else cores


def load_session(file: Path, core_count: int) -> onnxruntime.InferenceSession:
    """The file as a session whose runs compute on this many cores."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = core_count
    options.add_session_config_entry("session.force_spinning_stop", "1")  # idle threads must not spin between runs
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(
        file, options, providers=["CPUExecutionProvider"], disabled_optimizers=SLOW_OPTIMISERS
    )
