"""Decides whether to keep a question, and names its fault if not.

A question's passages must answer it, but the model's memory must not. If a question is about two passages, neither of
them alone may answer it. Nothing may answer an unanswerable question.
"""

import asyncio
import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from langchain_core.runnables import RunnableConfig

from quorum.algorithms.answer_measures import contains_answer, exact_match, f1
from quorum.core.context import Context
from quorum.core.state import Passage
from quorum.core.text import normalize
from quorum.evaluation.questions.draw import Draw
from quorum.evaluation.run.tasks import guess_task
from quorum.graphs import answer
from quorum.retrievers.bm25 import tokenize_query

MOST_ANSWER_WORDS = 10
SAME_QUESTION_SHARE = 0.8  # two questions with at least this share of common words count as the same

FAULT_DESCRIPTIONS = {  # fault -> how it is reported after the number of its drafts: "3 that could not be read"
    "unread": "that could not be read",
    "declined": "where the passage gave nothing to ask about",
    "too_long": "where the passages did not fit the model's window",
    "speaks_of_passage": "that speak of the passage",
    "given_away": "that give the answer away",
    "yes_no": "answered by yes or no",
    "long": f"with an answer of more than {MOST_ANSWER_WORDS} words",
    "duplicate": "asked before",
    "unsupported": "not answered from their passage",
    "known": "answered without their passage",
    "one_enough": "answered from one of their two passages",
    "answered": "answered by their passage but meant to be unanswerable",
    "answered_elsewhere": "answered by retrieved passages but meant to be unanswerable",
    "failed": "where a call failed",
}
# Words that point at a passage, such as "the second passage", "according to the text" or "Passage 2".
POINTING_PHRASE = re.compile(
    r"\b(?i:the|this|that|these|those|both|first|second|given|provided|above)\s+(?:\w+\s+)?"
    r"(?:passages?|excerpts?|paragraphs?|snippets?)\b"
    r"|\b(?i:according to|based on|in|from|by)\s+(?:the|this|these)\s+(?:given\s+|provided\s+|above\s+)?"
    r"(?:texts?|documents?|articles?|contexts?|information)\s*(?:[,?]|$)|\b[Pp]assages? (?:\d|one\b|two\b)"
)


@dataclass
class Draft:
    """A question as the model wrote it, and the result of its check.

    draw: the kind of the question, and its passages; fault: why the question is not kept (a key of
    `FAULT_DESCRIPTIONS`); error: the message of a failed call; verifier_answers: what the verifier was shown
    ("passages", "passage 1", "passage 2", "memory" or "retrieved") -> its answer.
    """

    draw: Draw
    question: str = ""
    answers: list[str] = field(default_factory=list)
    fault: str | None = None
    error: str | None = None
    verifier_answers: dict[str, str] = field(default_factory=dict)


class EarlierQuestions:
    """The questions that were written so far, to detect duplicates."""

    def __init__(self) -> None:
        self.normalized_questions: set[str] = set()
        self.word_sets: list[frozenset[str]] = []

    def add(self, question: str) -> None:
        self.normalized_questions.add(normalize(question))
        self.word_sets.append(find_words(question))

    def has_duplicate(self, question: str) -> bool:
        """Whether an earlier question has the same or nearly the same words: a Jaccard index of 0.8 or more."""
        question_words = find_words(question)
        are_near = (
            len(question_words & words) >= SAME_QUESTION_SHARE * len(question_words | words) for words in self.word_sets
        )
        return normalize(question) in self.normalized_questions or any(are_near)


def find_words(question: str) -> frozenset[str]:
    return frozenset(tokenize_query(question))


def find_fault_in_text(draft: Draft, earlier_questions: EarlierQuestions) -> str | None:
    """The fault that the text alone shows, without a model call; None if it shows none. A question without a fault is
    added to the earlier questions.
    """
    is_answerable = draft.draw.kind != "unanswerable"
    if POINTING_PHRASE.search(draft.question):
        return "speaks_of_passage"
    if is_answerable and (fault := find_fault_of_answer(draft)):
        return fault
    if earlier_questions.has_duplicate(draft.question):
        return "duplicate"
    earlier_questions.add(draft.question)
    return None


def find_fault_of_answer(draft: Draft) -> str | None:
    """The fault of a draft's answer: it is missing, yes or no, too long, or given away by the question.

    Only a question about two passages may contain its answer ("A or B?").
    """
    if not draft.answers:
        return "unread"
    if guess_task(draft.answers) == "yes_no":
        return "yes_no"
    if len(normalize(draft.answers[0]).split()) > MOST_ANSWER_WORDS:
        return "long"
    gives_answer_away = draft.draw.kind == "single" and contains_answer(draft.question, draft.answers[:1])
    return "given_away" if gives_answer_away else None


def get_verifier(context: Context) -> Any:
    """The model that checks: the context's `verifier`, or else its model."""
    return context.model if context.verifier is None else context.verifier


class QuestionChecker:
    """Asks the verifier by the methods `concat` and `no_retrieval`, at temperature 0.

    lowest_f1: the lowest token F1 with which the verifier's answer counts as right.
    """

    def __init__(self, context: Context, lowest_f1: float) -> None:
        self.context = replace(
            context,
            model=get_verifier(context),
            verifier=None,
            temperature=0.0,
            samples=1,
            context_filter=None,
        )
        self.lowest_f1 = lowest_f1

    async def find_fault(self, draft: Draft, config: RunnableConfig) -> str | None:
        """Why the draft is rejected; None if it is kept. Raises CallError when a call failed permanently."""
        fault_finders = {
            "single": self.find_answerable_fault,
            "two": self.find_answerable_fault,
            "unanswerable": self.find_unanswerable_fault,
        }
        return await fault_finders[draft.draw.kind](draft, config)

    async def find_answerable_fault(self, draft: Draft, config: RunnableConfig) -> str | None:
        """The fault of a question that is not answered from its passages, or is also answered from memory or from only
        one of its two passages.
        """
        if not self.is_right(draft, await self.ask_verifier(draft, "passages", draft.draw.passages, config)):
            return "unsupported"
        passages_to_show_alone = draft.draw.passages if draft.draw.kind == "two" else ()
        from_memory, *from_one_passage = await asyncio.gather(
            self.ask_verifier(draft, "memory", (), config),
            *(
                self.ask_verifier(draft, f"passage {n}", (passage,), config)
                for n, passage in enumerate(passages_to_show_alone, start=1)
            ),
        )
        if self.is_right(draft, from_memory):
            return "known"
        return "one_enough" if any(self.is_right(draft, answer) for answer in from_one_passage) else None

    async def find_unanswerable_fault(self, draft: Draft, config: RunnableConfig) -> str | None:
        """The fault of a question that is not unanswerable: its passage, or retrieved passages, answer it."""
        if await self.ask_verifier(draft, "passages", draft.draw.passages, config) is not None:
            return "answered"
        return "answered_elsewhere" if await self.ask_verifier(draft, "retrieved", None, config) is not None else None

    async def ask_verifier(
        self, draft: Draft, source: str, passages: Iterable[Passage] | None, config: RunnableConfig
    ) -> str | None:
        """The verifier's answer; None if it says unknown.

        source: the key under which the answer is kept in `draft.verifier_answers`. passages: those that the verifier is
        shown. With () it is shown none and answers from memory; with None it is shown retrieved passages.
        """
        given_passages = list(passages or ()) or None
        # With k at least 2 and no reranker, the verifier sees both passages of a question about two.
        context = (
            self.context if given_passages is None else replace(self.context, k=max(self.context.k, 2), reranker=None)
        )
        method = "concat" if given_passages or passages is None else "no_retrieval"
        result = await answer(draft.question, method, context, given=given_passages, config=config)
        draft.verifier_answers[source] = "unknown" if result["unknown"] else result["answer"]
        return None if result["unknown"] else result["answer"]

    def is_right(self, draft: Draft, answer: str | None) -> bool:
        """Whether the answer equals an accepted one, or its token F1 is at least `lowest_f1`."""
        if answer is None:
            return False
        return bool(exact_match(answer, draft.answers)) or f1(answer, draft.answers) >= self.lowest_f1
