"""A script for tests that kill a run of the method agent: python agent_client.py JOURNAL."""

import asyncio
import sys

from stepwise_fixtures import PASSAGES, QUESTION

from quorum import Context, answer


async def main(journal: str) -> None:
    await answer(QUESTION, "agent", Context(model="openai:test", journal=journal, k=2), given=PASSAGES)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
