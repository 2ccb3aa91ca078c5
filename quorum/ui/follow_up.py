"""Reads the conversation before a follow-up question on the page, from the runs that it follows."""

from collections.abc import Awaitable, Callable

from quorum.ui.run import Run

MAX_RUNS = 6  # earlier questions that are read
FindRun = Callable[[str], Awaitable[Run]]


async def read_conversation(run_id: str, method: str, find: FindRun) -> list[dict[str, str]]:
    """The turns before a question that follows a run, oldest first; empty if it follows none.

    method: the name of the column. The turns contain its earlier answers, or another method's where it has none.
    Raises `SetupError` for a run that is missing.
    """
    turns: list[dict[str, str]] = []
    for _ in range(MAX_RUNS):
        if not run_id:
            break
        run = await find(run_id)
        turns = [{"role": "user", "content": run.query.question}, *list_answer_turns(run, method), *turns]
        run_id = run.query.follows
    return turns


def list_answer_turns(run: Run, method: str) -> list[dict[str, str]]:
    """The turn with a run's answer; none if no method has answered."""
    answered = sorted((answer for answer in run.answers if answer.result), key=lambda answer: answer.name != method)
    results = [answer.result["answer"] for answer in answered[:1] if answer.result]
    return [{"role": "assistant", "content": text} for text in results]
