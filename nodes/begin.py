"""The first node of every graph."""

from typing import cast

from langgraph.runtime import Runtime
from langgraph.types import Overwrite

from quorum.core.context import Context, settings
from quorum.core.errors import SetupError
from quorum.core.json_text import whole
from quorum.core.state import State
from quorum.datasets.records import as_passage
from quorum.models.tracing import describe


async def begin(state: State, runtime: Runtime[Context]) -> State:
    """question, given, gold_answers -> a clean slate: nothing is left of an earlier question on the same thread."""
    describe(settings(runtime))
    question, given = state.get("question"), state.get("given")
    if not isinstance(question, str) or not question.strip():
        raise SetupError(f"The question is empty ({question!r}); give a question as text.")
    if whole(question) != question:
        raise SetupError(f"The question holds half a character (a lone surrogate: {question!a:.80}); give whole text.")
    if given is not None and not given:
        raise SetupError(
            "The list of given passages is empty; give at least one, or leave it out to search a collection."
        )
    provided = (
        None if given is None else [as_passage(item, f"Given passage {i}") for i, item in enumerate(given, start=1)]
    )
    fresh = {
        "given": None,
        "provided": provided,
        "gold_answers": None,
        "oracle": state.get("gold_answers"),
        "query": None,
        "steps": [],
        "answer": "",
        "unknown": True,
        "confidence": None,
        "certified": None,
        "rationale": None,
        "evidence": [],
        "votes": Overwrite(None),
        "candidates": None,
        "summaries": None,
        "validity": None,
        "scores": None,
        "drafts": Overwrite([]),
        "verdicts": Overwrite([]),
        "preferences": Overwrite([]),
        "passages": [],
        "retrieved": None,
        "reasoning": None,
        "external": None,
        "internal": None,
        "topic": None,
        "judgement": None,
        "queries": None,
        "knowledge": Overwrite([]),
        "turn": 0,
        "notes": None,
        "rationales": None,
        "masked": None,
        "verified": Overwrite([]),
        "usage": Overwrite({}),
        "malformed": Overwrite({}),
        "dropped": Overwrite(0),
    }
    return cast(State, fresh)  # Overwrite stands for the value that it sets
