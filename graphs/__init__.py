"""Quorum's strategies: each is a LangGraph state machine of its own, built from the shared nodes.

`METHODS` lists them, `await answer(...)` and `answer_sync(...)` run one; `graphs.NAME.graph` is the compiled graph.
"""

import asyncio
import contextvars
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

from quorum.core.errors import SetupError

if TYPE_CHECKING:  # imported when a graph is used: LangGraph is slow to import
    from langchain_core.runnables import RunnableConfig
    from langgraph.graph.state import CompiledStateGraph

    from quorum.core.context import Context
    from quorum.core.state import Passage, Question, Result, State

    Graph = CompiledStateGraph[
        Any, Any, Any, Any
    ]  # one of ours, or one that begins with quorum.nodes.begin and was compiled

__all__ = ["DEFAULT", "METHODS", "Method", "answer", "answer_sync", "method_of"]

DEFAULT = "concat_pf"


@dataclass(frozen=True)
class Method:
    """A strategy. calls: model calls by k passages, n samples and K candidates, s searches (max_steps at most) and T
    rounds (iterations); depth: how many of them come one after another.
    """

    name: str
    paper: str
    summary: str
    calls: str
    depth: str

    @property
    def graph(self) -> "CompiledStateGraph[State, Context, Question, Result]":
        """The compiled graph, imported on first use."""
        return cast(
            "CompiledStateGraph[State, Context, Question, Result]", import_module(f"quorum.graphs.{self.name}").graph
        )


REACT = "Yao et al. 2023, ReAct: Synergizing Reasoning and Acting in Language Models (arXiv:2210.03629)"
SELF_ASK = "Press et al. 2023, Measuring and Narrowing the Compositionality Gap in Language Models (arXiv:2210.03350)"
ITER_RETGEN = (
    "Shao et al. 2023, Enhancing Retrieval-Augmented Large Language Models with Iterative Retrieval-Generation Synergy "
    "(arXiv:2305.15294)"
)
FILCO = "Wang et al. 2023, Learning to Filter Context for Retrieval-Augmented Generation (arXiv:2311.08377)"
DIRECT = "Brown et al. 2020, Language Models are Few-Shot Learners (arXiv:2005.14165)"
COT = "Wei et al. 2022, Chain-of-Thought Prompting Elicits Reasoning in Large Language Models (arXiv:2201.11903)"
BLENDFILTER = "Wang et al. 2024, BlendFilter: Query Generation Blending and Knowledge Filtering (arXiv:2402.11129)"
SURE = "Kim et al. 2024, SuRe: Summarizing Retrievals using Answer Candidates (arXiv:2404.13081)"
RERANK = "Lazaridou et al. 2022, Internet-Augmented Language Models through Few-Shot Prompting (arXiv:2203.05115)"
REPLUG = "Shi et al. 2023, REPLUG: Retrieval-Augmented Black-Box Language Models (arXiv:2301.12652)"
ZERO_SHOT_COT = "Kojima et al. 2022, Large Language Models are Zero-Shot Reasoners (arXiv:2205.11916)"
SELECTION_INFERENCE = "Creswell et al. 2022, Selection-Inference (arXiv:2205.09712)"
SELF_VERIFICATION = (
    "Weng et al. 2023, Large Language Models are Better Reasoners with Self-Verification (arXiv:2212.09561)"
)
POST_FUSION = "Liu et al. 2024, Modeling Uncertainty and Using Post-fusion as Fallback (arXiv:2308.12574)"

METHODS = {
    method.name: method
    for method in (
        Method("concat", POST_FUSION, "One prompt over all passages.", "n", "1"),
        Method("post_fusion", POST_FUSION, "Every passage answers alone, then a majority vote.", "k*n", "1"),
        Method("pruning", POST_FUSION, "Rule out passages step by step, answer from the rest.", "1", "1"),
        Method("summary", POST_FUSION, "Sum up what bears on the question, answer from that.", "1", "1"),
        Method(
            "concat_pf",
            POST_FUSION,
            "One prompt over all passages; if the answer is unknown, every passage alone and a vote.",
            "n + [unknown] k*n",
            "1 or 2",
        ),
        Method(
            "pf_concat",
            POST_FUSION,
            "Every passage answers alone; one prompt over those that could, with their answers as candidates.",
            "k*n + n",
            "2",
        ),
        Method("no_retrieval", SURE, "The question alone, from what the model knows.", "n", "1"),
        Method("base", SURE, "One prompt over all passages, at most three words.", "n", "1"),
        Method("rerank", RERANK, "Every passage answers alone; votes weigh by TF-IDF with the question.", "k*n", "1"),
        Method("replug", REPLUG, "Every passage answers alone; votes weigh by embedding likeness.", "k*n", "1"),
        Method("zero_shot_cot", ZERO_SHOT_COT, "Step by step over all passages, without an example.", "1", "1"),
        Method(
            "selection_inference",
            SELECTION_INFERENCE,
            "The model ranks the passages, then reads one after the other and keeps notes.",
            "1 + k",
            "1 + k",
        ),
        Method(
            "self_verification",
            SELF_VERIFICATION,
            "Five samples; of d different answers the one from which the question can best be restored.",
            "5 + [d > 1] 11d",
            "1 or 3",
        ),
        Method(
            "filco",
            FILCO,
            "A filter keeps the sentences that help, if any; one prompt over them.",
            "1 + n",
            "2",
        ),
        Method(
            "blendfilter",
            BLENDFILTER,
            "Three queries, with and without what the model knows and concludes; it keeps the passages that help.",
            "11",
            "5",
        ),
        Method("direct", DIRECT, "Three examples, then the answer alone, over the passages or from memory.", "1", "1"),
        Method("cot", COT, "Three worked examples, then step by step to the answer, or from memory.", "1", "1"),
        Method(
            "react",
            REACT,
            "Thoughts and searches by turns, s searches at most, until a thought ends in the answer.",
            "1..2s+2",
            "1..2s+2",
        ),
        Method(
            "self_ask",
            SELF_ASK,
            "Follow-up questions, s at most, each looked up and answered, then the final answer.",
            "1..2s+1",
            "1..2s+1",
        ),
        Method(
            "iter_retgen",
            ITER_RETGEN,
            "T rounds: what was reasoned in one is searched for, with the question, in the next.",
            "T",
            "T",
        ),
        Method(
            "sure",
            SURE,
            "K candidate answers, each with a summary that supports it; validity and ranking of the summaries choose.",
            "1 + 2K + K(K-1)",
            "3",
        ),
        Method("mcq", SURE, "K candidate answers, then one prompt with them as choices.", "2", "2"),
        Method("sum_and_pred", SURE, "A summary of the passages, then the answer from it alone.", "2", "2"),
    )
}


def method_of(name: str) -> Method:
    """The method of that name, or a SetupError that lists them and guesses which was meant."""
    if name not in METHODS:
        close = get_close_matches(name.strip().lower().replace("-", "_"), METHODS, n=1)
        guess = f"did you mean {close[0]}? The" if close else "the"
        raise SetupError(f"There is no method {name!r}; {guess} methods are: {', '.join(METHODS)}.")
    return METHODS[name]


async def answer(
    question: str,
    method: "str | Graph" = DEFAULT,
    context: "Context | None" = None,
    *,
    given: "Sequence[Passage] | None" = None,
    gold_answers: Sequence[str] | None = None,
    config: "RunnableConfig | None" = None,
) -> "Result":
    """Answer one question by one method: its name, or a compiled graph of your own.

    given: passages to answer from instead of retrieval, best first; gold_answers: read by oracle settings only, never
    shown to a model; config: LangGraph's (callbacks, tags, thread). Raises SetupError for a mistake in input or
    configuration, CallError when a model call failed after its retries.

    >>> import asyncio, quorum
    >>> asyncio.run(quorum.answer("Who wrote the Zen of Python?"))["answer"]
    'Tim Peters'
    """
    from quorum.core.context import Context

    state: Question = {
        "question": question,
        "given": None if given is None else list(given),
        "gold_answers": None if gold_answers is None else list(gold_answers),
    }
    graph = method_of(method).graph if isinstance(method, str) else method
    found: Any = await graph.ainvoke(state, config, context=context or Context())
    return cast("Result", found)


def answer_sync(
    question: str,
    method: "str | Graph" = DEFAULT,
    context: "Context | None" = None,
    *,
    given: "Sequence[Passage] | None" = None,
    gold_answers: Sequence[str] | None = None,
    config: "RunnableConfig | None" = None,
) -> "Result":
    """`answer` for code that is not asynchronous. Inside a running event loop it uses one of its own, on a thread.

    >>> import quorum
    >>> passages = [{"id": "1", "title": "Vell", "text": "The lighthouse of Vell was built in 1874 by Ada Korn."}]
    >>> found = quorum.answer_sync("Who built the lighthouse?", given=passages)
    >>> found["answer"], found["evidence"]
    ('Ada Korn', [{'passage': '1', 'start': 44, 'end': 52}])
    """
    ask = partial(answer, question, method, context, given=given, gold_answers=gold_answers, config=config)
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(ask())
    with ThreadPoolExecutor(max_workers=1) as thread:
        return thread.submit(contextvars.copy_context().run, lambda: asyncio.run(ask())).result()
