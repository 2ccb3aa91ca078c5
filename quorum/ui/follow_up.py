"""Reads the conversation before a follow-up question on the page, from the runs of the earlier questions."""

from collections.abc import Awaitable, Callable

from quorum.ui.run import Run

MAX_RUNS = 6  # how many earlier questions are read at most
FindRun = Callable[[str], Awaitable[Run]]


async def read_conversation(run_id: str, method: str, find_run: FindRun) -> list[dict[str, str]]:
    """The earlier questions and answers of the conversation, as chat messages, oldest first.

    run_id: the run that the follow-up question follows; empty if the question stands alone. method: the method, with
    its settings, that is asked the follow-up question. Its own earlier answers are taken; where it gave none, the
    answer of another method is taken. find_run: returns the run with an id, and raises `SetupError` if it is missing.
    """
    messages: list[dict[str, str]] = []
    for _ in range(MAX_RUNS):
        if not run_id:
            break
        run = await find_run(run_id)
        messages = [{"role": "user", "content": run.query.question}, *list_answer_messages(run, method), *messages]
        run_id = run.query.follows_run_id
    return messages


def list_answer_messages(run: Run, method: str) -> list[dict[str, str]]:
    """A list of one message: the answer of `method`, or else of another method of the run. If no method has answered,
    the list is empty.
    """
    answers = sorted((answer for answer in run.answers if answer.result), key=lambda answer: answer.name != method)
    texts = [answer.result["answer"] for answer in answers[:1] if answer.result]
    return [{"role": "assistant", "content": text} for text in texts]
