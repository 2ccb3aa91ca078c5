"""A script for tests of a journal that two processes share: python journal_client.py JOURNAL QUESTION...

For each question it prints a line: the question, the reply, and whether the reply came from the journal.
"""

import asyncio
import sys

from quorum.core.context import Context
from quorum.models.call import call


async def main(journal: str, questions: list[str]) -> None:
    context = Context(model="openai:test", journal=journal)
    for question in questions:
        (reply,) = await call("answer", question, context=context)
        print(question, reply.text, reply.is_reused, flush=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2:]))
