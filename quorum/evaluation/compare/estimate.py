"""What a comparison will take, before anything is paid for: calls, tokens, dollars, time.

The bounds of the calls come from each method's shape (`graphs.METHODS` states them); everything else from a rehearsal:
the methods answer a few of the questions with the embedded reader in place of a chat model, over the real passages. It
sends the same prompts, and costs nothing.
"""

import ast
import asyncio
import math
import operator
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any
from uuid import UUID

from langchain_core.callbacks import AsyncCallbackHandler
from langchain_core.messages import BaseMessage
from langchain_core.outputs import LLMResult

from quorum.core.context import Context, get_filter
from quorum.core.errors import QuorumError
from quorum.datasets.records import Record
from quorum.evaluation.compare.prices import Prices, model_of
from quorum.evaluation.run.ask_question import answer_to
from quorum.evaluation.run.columns import MethodRun
from quorum.evaluation.run.dataset import DataSet
from quorum.evaluation.run.source import Progress, silent
from quorum.graphs import METHODS

SAMPLE = 8  # questions of a rehearsal
SECONDS_A_CALL = 2.0  # assumed of a chat model that is not in this process
SHORT, LONG = 12, 160  # tokens assumed of a chat model's reply: an answer, a text
SHORT_REPLIES = (
    "answer",
    "direct",
    "validity",
    "ranking",
    "candidates",
    "choose",
    "extract",
    "topic",
    "self_ask_answer",
)
MOST_DISTINCT = 5  # answers of self_verification
TERM = re.compile(r"(?:\[[^\]]*\] *)?(?P<sum>.+)")
OPERATORS: Mapping[type, Callable[[Any, Any], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
}


@dataclass(frozen=True)
class MethodEstimate:
    """What one method takes for a question, alone: `calls` expected, between `least` and `most`; cost in dollars, None
    where a model has no price.
    """

    calls: float
    least: float
    most: float
    input_tokens: float
    output_tokens: float
    cost: float | None


@dataclass(frozen=True)
class Estimate:
    """What the whole takes. Methods count alone in `methods`; in the totals what they share counts once.

    calls, input_tokens, output_tokens: in all; cost: dollars, None where a price is missing; seconds: expected;
    rehearsed: questions that were tried.
    """

    methods: dict[str, MethodEstimate]
    questions: int
    rehearsed: int
    calls: float
    input_tokens: float
    output_tokens: float
    cost: float | None
    seconds: float


@dataclass
class Heard:
    """One call of a rehearsal: the prompt's name, what tells it from others, the tokens a chat model would take."""

    prompt: str
    key: str
    input_tokens: float = 0.0
    output_tokens: float = 0.0


class Rehearsal(AsyncCallbackHandler):
    """Hears the calls of one method over one question."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.heard: list[Heard] = []
        self.open: dict[UUID, Heard] = {}

    async def on_chat_model_start(
        self,
        serialized: dict[str, Any],
        messages: list[list[BaseMessage]],
        *,
        run_id: UUID,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        prompt = str((metadata or {}).get("prompt") or "")
        model = model_of(prompt, self.context)
        text = "\n".join(str(message.text) for message in messages[0])
        decoding = (self.context.temperature, self.context.top_p, self.context.seed)
        number = len(self.heard) if self.context.temperature else 0  # samples are not shared with one another
        key = sha256(f"{model}\n{decoding}\n{number}\n{text}".encode("utf-8", "replace")).hexdigest()
        self.open[run_id] = Heard(prompt, key)
        self.heard.append(self.open[run_id])

    async def on_llm_end(self, response: LLMResult, *, run_id: UUID, **kwargs: Any) -> None:
        one, message = self.open.pop(run_id), getattr(response.generations[0][0], "message", None)
        usage = getattr(message, "usage_metadata", None) or {}
        one.input_tokens = usage.get("input_tokens", 0)
        said = float(usage.get("output_tokens", 0))
        one.output_tokens = said if is_local(self.context) else max(said, expected_reply(one.prompt))


def expected_reply(prompt: str) -> float:
    return SHORT if prompt.startswith(SHORT_REPLIES) else LONG


def is_local(context: Context) -> bool:
    return context.model == "embedded" and context.verifier in (None, "embedded")


def bounds(run: MethodRun) -> tuple[float, float]:
    """The least and the most calls for a question, from the method's shape; of a graph of the user's own, nothing is
    known.
    """
    if run.own is not None:
        return 0.0, math.inf
    context = run.context
    values = {
        "n": context.samples,
        "k": run.top or context.k,
        "K": context.candidates,
        "s": context.max_steps,
        "T": context.iterations,
        "d": MOST_DISTINCT,
    }
    least = most = 0.0
    for term in METHODS[run.method].calls.split(" + "):
        found = TERM.fullmatch(term)
        parts = (found["sum"] if found else term).split("..")
        low, high = value(parts[0], values), value(parts[-1], values)
        least, most = least + (0 if term.startswith("[") else low), most + high
    return (1.0 if run.method == "sure" else least), most  # SuRe asks no more once it has a single candidate


def value(formula: str, values: Mapping[str, float]) -> float:
    """A sum of products as the table of methods writes it: '2K', 'K(K-1)', 'k*n'."""
    spelled = re.sub(r"(?<=[A-Za-z])(?=\()|(?<=\d)(?=[A-Za-z])", "*", formula)

    def work(node: ast.expr) -> float:
        if isinstance(node, ast.BinOp):
            return OPERATORS[type(node.op)](work(node.left), work(node.right))
        return values[node.id] if isinstance(node, ast.Name) else float(ast.literal_eval(node))

    return work(ast.parse(spelled.strip(), mode="eval").body)


async def estimate(
    dataset: DataSet,
    runs: Sequence[MethodRun],
    prices: Prices,
    *,
    given: bool,
    sample: int = SAMPLE,
    concurrency: int = 8,
    spent: AsyncCallbackHandler | None = None,
    progress: Progress = silent,
) -> Estimate:
    """What asking all questions by all runs takes. The runs must have their collections, and share their searches.

    spent: told of the calls that the comparison itself would make, which its journal then holds.
    """
    records = spread(dataset, sample)
    done, total = 0, len(records) * len(runs)
    started = time.perf_counter()

    async def rehearse(record: Record) -> list[list[Heard]]:
        nonlocal done
        every = []
        for run in runs:
            every.append(await heard(record, run, dataset.task_of(record), given, spent))
            done += 1
            progress("estimate", done, total)
        return every

    tried = await asyncio.gather(*(rehearse(record) for record in records))
    took = time.perf_counter() - started
    methods = {
        run.name: of_method(run, [question[place] for question in tried], prices) for place, run in enumerate(runs)
    }
    return in_all(methods, runs, tried, dataset.count, prices, took, concurrency)


def spread(dataset: DataSet, sample: int) -> list[Record]:
    """So many of the questions, evenly over the data."""
    count = min(sample, dataset.count)
    wanted = {place * dataset.count // count for place in range(count)}
    return [record for place, record in enumerate(dataset.questions()) if place in wanted]


async def heard(
    record: Record, run: MethodRun, task: str, given: bool, spent: AsyncCallbackHandler | None
) -> list[Heard]:
    """The calls that a method makes for a question."""
    context = run.for_task(task)
    listener = Rehearsal(context)
    listening: list[Any] = [listener] if spent is None or not is_local(context) else [listener, spent]
    if not is_local(context):
        chosen = get_filter(context) if run.method == "filco" else context.context_filter or ""
        context = replace(
            context,
            model="embedded",
            verifier=None,
            answer_type="short",  # the embedded reader refuses labels; the prompts are as long
            context_filter="llm" if chosen.startswith("llm") else context.context_filter,
        )
    try:
        await answer_to(record, replace(run, context=context), context, given=given, config={"callbacks": listening})
    except QuorumError:
        return filled(listener.heard, bounds(run)[0])
    return listener.heard


def filled(calls: list[Heard], least: float) -> list[Heard]:
    """The calls of an answer that failed; for those that did not come the last one again, up to the least number."""
    return calls + [
        replace(calls[-1], key=f"{calls[-1].key} {number}") for number in range(len(calls), int(least)) if calls
    ]


def of_method(run: MethodRun, tried: Sequence[Sequence[Heard]], prices: Prices) -> MethodEstimate:
    """The means over the questions that were tried."""
    count = len(tried)
    every = [one for question in tried for one in question]
    least, most = bounds(run)
    calls = len(every) / count
    return MethodEstimate(
        calls=calls,
        least=min(least, calls),
        most=max(most, calls),
        input_tokens=sum(one.input_tokens for one in every) / count,
        output_tokens=sum(one.output_tokens for one in every) / count,
        cost=None if (cost := dollars(run, every, prices)) is None else cost / count,
    )


def dollars(run: MethodRun, every: Sequence[Heard], prices: Prices) -> float | None:
    total = 0.0
    for one in every:
        price = prices.of(model_of(one.prompt, run.context))
        if price is None:
            return None
        total += price.of(one.input_tokens, one.output_tokens)
    return total


def in_all(
    methods: dict[str, MethodEstimate],
    runs: Sequence[MethodRun],
    tried: Sequence[Sequence[Sequence[Heard]]],
    questions: int,
    prices: Prices,
    took: float,
    concurrency: int,
) -> Estimate:
    """The totals, calls that several methods share counted once."""
    once: dict[tuple[int, str], tuple[MethodRun, Heard]] = {}
    for number, question in enumerate(tried):
        for run, calls in zip(runs, question, strict=True):
            for one in calls:
                once.setdefault((number, one.key), (run, one))
    share = questions / len(tried)
    distinct = [one for _, one in once.values()]
    costs = [dollars(run, [one], prices) for run, one in once.values()]
    known = [one for one in costs if one is not None]
    local = all(is_local(run.context) for run in runs)
    read, written = (sum(getattr(one, name) for one in distinct) * share for name in ("input_tokens", "output_tokens"))
    return Estimate(
        methods=methods,
        questions=questions,
        rehearsed=len(tried),
        calls=len(distinct) * share,
        input_tokens=read,
        output_tokens=written,
        cost=sum(known) * share if len(known) == len(costs) else None,
        seconds=took * share if local else pace(runs[0].context, len(distinct) * share, read + written, concurrency),
    )


def pace(context: Context, calls: float, tokens: float, concurrency: int) -> float:
    """Seconds for so many calls of a chat model elsewhere, by the limits on calls at once and in a minute."""
    seconds = calls * SECONDS_A_CALL / max(1, min(concurrency, context.concurrency))
    if context.requests_per_minute:
        seconds = max(seconds, 60 * calls / context.requests_per_minute)
    if context.tokens_per_minute:
        seconds = max(seconds, 60 * tokens / context.tokens_per_minute)
    return seconds
