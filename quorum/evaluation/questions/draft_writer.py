"""Writes drafts of questions, compares them with one another, and checks them.

A draft is a question with its answers, which is kept only if no fault is found in it (see `check.py`).
"""

from collections.abc import Iterable, Sequence
from typing import TypeVar

from langchain_core.runnables import Runnable, RunnableConfig, RunnableLambda
from langgraph.runtime import Runtime

from quorum.core.context import Context
from quorum.core.errors import CallError
from quorum.evaluation.questions.check import Draft, EarlierQuestions, QuestionChecker, find_fault_in_text
from quorum.evaluation.questions.draw import Draw
from quorum.evaluation.run.workers import run_workers
from quorum.nodes.ask import ask
from quorum.parsing.answers import add_malformed_flag
from quorum.prompts.evaluation import QUESTION_PROMPTS

T = TypeVar("T")
R = TypeVar("R")


class DraftWriter:
    """Writes and checks drafts, many at once.

    lowest_f1: the lowest token F1 with which the verifier's answer counts as right. questions_in_file: the questions
    that were written before; a draft that repeats one of them is a duplicate. config: LangChain's config of all calls,
    for example with callbacks.
    """

    def __init__(
        self,
        context: Context,
        lowest_f1: float,
        questions_in_file: Iterable[str],
        config: RunnableConfig,
        concurrency: int,
    ) -> None:
        self.context, self.config, self.concurrency = context, config, concurrency
        self.checker = QuestionChecker(context, lowest_f1)
        self.earlier_questions = EarlierQuestions()
        for question in questions_in_file:
            self.earlier_questions.add(question)

    async def write_drafts(self, batch: Sequence[Draw]) -> list[Draft]:
        """Write a draft for each draw, and set the fault of each draft that has one.

        The texts are searched for faults one after the other, so that the later one of two equal questions is the
        duplicate. The verifier then checks the drafts that have no fault so far.
        """
        drafts = await self.run_all(RunnableLambda(self.write_draft), batch)
        for draft in drafts:
            draft.fault = draft.fault or find_fault_in_text(draft, self.earlier_questions)
        faultless = [draft for draft in drafts if draft.fault is None]
        await self.run_all(RunnableLambda(self.check_draft), faultless)
        return drafts

    async def run_all(self, work: Runnable[T, R], items: Sequence[T]) -> list[R]:
        """Run the work on every item, on `concurrency` items at once, and return the results in the items' order.

        The first error cancels the rest and is raised.
        """
        results: dict[int, R] = {}
        numbered_items = iter(enumerate(items))

        async def worker() -> None:
            for place, item in numbered_items:
                results[place] = await work.ainvoke(item, self.config)

        await run_workers(self.concurrency, worker)
        return [results[place] for place in range(len(items))]

    async def write_draft(self, draw: Draw) -> Draft:
        """Write the question and the answers of one draft, with one call. If this fails, the draft's fault says
        why.
        """
        draft, prompt = Draft(draw), QUESTION_PROMPTS[draw.kind]
        try:
            replies = await ask(
                prompt.read_with(add_malformed_flag(prompt.parse)),
                Runtime(context=self.context),
                passages=draw.passages,
                call_subject=draw.id,
            )
        except CallError as failure:
            draft.fault, draft.error = "failed", str(failure)
            return draft
        written_question = replies.values[0]
        if len(replies.shown) < len(draw.passages):  # not all passages fitted into the model's window
            draft.fault = "too_long"
        elif written_question.value is None:
            draft.fault = "unread" if written_question.malformed else "declined"
        else:
            draft.question = written_question.value.question
            draft.answers = written_question.value.answers if draw.kind != "unanswerable" else []
        return draft

    async def check_draft(self, draft: Draft, config: RunnableConfig) -> None:
        """Let the verifier check a draft, and set the draft's fault if it has one."""
        try:
            draft.fault = await self.checker.find_fault(draft, config)
        except CallError as failure:
            draft.fault, draft.error = "failed", str(failure)
