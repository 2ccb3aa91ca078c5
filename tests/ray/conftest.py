"""One Ray of two cores for all tests of the engine."""

import os
from collections.abc import Iterator

import pytest

from models.cluster import cluster


@pytest.fixture(scope="session")
def ray_here() -> Iterator[str]:
    """A cluster of this machine, to which this process belongs; its address."""
    for name in ("RAY_ADDRESS", "PYTHONWARNINGS"):
        os.environ.pop(name, None)
    with cluster():
        import ray

        yield ray.get_runtime_context().gcs_address
