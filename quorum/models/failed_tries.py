"""Tells the stream of the run in which a call is made that the call failed and will be sent again."""

from dataclasses import dataclass

from quorum.models.failures import Failure, describe_fault


@dataclass(frozen=True)
class FailedTry:
    """A try that failed. cause: in words; next_try: the number of the next one, from 2; tries: how many there are at
    most; wait: seconds until then.
    """

    cause: str
    next_try: int
    tries: int
    wait: float


def tell_stream(label: str, failure: Failure, failed_tries: int, tries: int, wait: float) -> None:
    """Write a `FailedTry` into the run's stream of the mode "custom". Outside a graph nothing happens, and where nobody
    reads this mode.
    """
    from langgraph.config import get_stream_writer

    try:
        write = get_stream_writer()
    except (RuntimeError, KeyError):  # outside a graph: in no Runnable at all, or in one that is no graph
        return
    write(FailedTry(f"{label} {describe_fault(failure)}", failed_tries + 1, tries, round(wait, 3)))
