"""Reads the conversation before a follow-up question on the page, from the runs of the earlier questions."""

from collections.abc import Awaitable, Callable

from quorum.ui.run import Run

MAX_RUNS = 6  # how many earlier questions are read at most
FindRun = Callable[[str], Awaitable[Run]]


async def read_conversation(run_id: str, method: str, find_run: FindRun) -> list[dict[str, str]]:
    """The turns before a follow-up question, oldest first. run_id: the run that it follows; empty if it stands alone.

    method: the method with its settings that is asked. The turns contain its earlier answers; where it gave none, those
    of another method. Raises `SetupError` for a run that is missing.
    """
    turns: list[dict[str, str]] = []
    for _ in range(MAX_RUNS):
        if not run_id:
            break
        run = await find_run(run_id)
        turns = [{"role": "user", "content": run.query.question}, *list_answer_turns(run, method), *turns]
        run_id = run.query.follows_run_id
    return turns


def list_answer_turns(run: Run, method: str) -> list[dict[str, str]]:
    """One turn: the answer of `method`, or else of another method of the run; no turn if no method has answered."""
    answers = sorted((answer for answer in run.answers if answer.result), key=lambda answer: answer.name != method)
    results = [answer.result["answer"] for answer in answers[:1] if answer.result]
    return [{"role": "assistant", "content": text} for text in results]
