"""One Ray cluster for all tests of `--engine ray`: a local one, or the one at RAY_ADDRESS."""

import os
from collections.abc import Iterator

import pytest

from quorum.cluster.ray_cluster import connect_cluster


@pytest.fixture(scope="session")
def ray_address() -> Iterator[str]:
    """The address of the cluster to which this process is connected."""
    # By default Ray gives its workers a low priority; on a busy machine, they then sometimes start too late.
    os.environ.setdefault("RAY_worker_niceness", "0")
    with connect_cluster():
        import ray

        yield ray.get_runtime_context().gcs_address
