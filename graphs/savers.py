"""Checkpointers for graphs that run on another thread's event loop than their caller."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from langchain_core.runnables import RunnableConfig, ensure_config
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
)

from quorum.core.errors import SetupError


class SaverInThreads(BaseCheckpointSaver[Any]):
    """Gives the asynchronous methods to a checkpointer that has only the synchronous ones, and runs these in threads.

    `invoke`, `stream` and `batch` need it, because they run the graph asynchronously, and some checkpointers
    (SqliteSaver) have only synchronous methods.
    """

    def __init__(self, saver: BaseCheckpointSaver[Any]) -> None:
        super().__init__(serde=saver.serde)
        self.saver = saver

    @property
    def config_specs(self) -> list[Any]:
        return self.saver.config_specs

    def get_next_version(self, current: Any, channel: None) -> Any:
        return self.saver.get_next_version(current, channel)

    def with_allowlist(self, extra_allowlist: Any) -> "SaverInThreads":
        return SaverInThreads(self.saver.with_allowlist(extra_allowlist))

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        return await asyncio.to_thread(self.saver.get_tuple, config)

    async def aget_delta_channel_history(self, **arguments: Any) -> Mapping[str, Any]:
        return await asyncio.to_thread(self.saver.get_delta_channel_history, **arguments)

    async def alist(self, config: RunnableConfig | None, **arguments: Any) -> AsyncIterator[CheckpointTuple]:
        for checkpoint in await asyncio.to_thread(lambda: list(self.saver.list(config, **arguments))):
            yield checkpoint

    async def aput(
        self, config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata, versions: ChannelVersions
    ) -> RunnableConfig:
        return await asyncio.to_thread(self.saver.put, config, checkpoint, metadata, versions)

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        await asyncio.to_thread(self.saver.put_writes, config, writes, task_id, task_path)


def wrap_savers(config: Any) -> Any:
    """The config, or the list of configs, for a run on another thread's loop: a checkpointer in it is wrapped in
    `SaverInThreads`. A config without `configurable` gets that of the surrounding run, if there is one with a
    checkpointer, as LangChain would give it.
    """
    if isinstance(config, Sequence):
        return [wrap_savers(part) for part in config]
    configurable = (config or {}).get("configurable") or ensure_config().get("configurable") or {}
    if not any(isinstance(value, BaseCheckpointSaver) for value in configurable.values()):
        return config
    return {**(config or {}), "configurable": {name: wrap_saver(value) for name, value in configurable.items()}}


def wrap_saver(value: Any) -> Any:
    """A checkpointer wrapped in `SaverInThreads`. Anything else is unchanged, and so is a `SaverInThreads`."""
    if not isinstance(value, BaseCheckpointSaver) or isinstance(value, SaverInThreads):
        return value
    check_loop(value)
    return SaverInThreads(value)


def check_loop(saver: BaseCheckpointSaver[Any]) -> None:
    """Raise a `SetupError` for a checkpointer that would wait for ever, because it works on an event loop that does not
    run, or that the caller blocks while it waits. AsyncSqliteSaver and AsyncPostgresSaver name their `loop`.
    """
    loop = getattr(saver, "loop", None)
    if not isinstance(loop, asyncio.AbstractEventLoop):
        return
    try:
        is_blocked = asyncio.get_running_loop() is loop
    except RuntimeError:  # no event loop runs in this thread
        is_blocked = False
    if is_blocked or not loop.is_running():
        reason = "which this synchronous call would block" if is_blocked else "which does not run"
        raise SetupError(
            f"The checkpointer {type(saver).__name__} works on an event loop {reason}; call the asynchronous methods "
            "(await graph.ainvoke(...), async for ... in graph.astream(...)) on that loop, or give a checkpointer "
            "without a loop, such as SqliteSaver or InMemorySaver."
        )
