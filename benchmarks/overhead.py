"""What Quorum adds to the cost of a call: python -m benchmarks.overhead

Measures how many calls per second are made to a server that replies at once, in three ways: by post_fusion with the
journal on; by a graph of one node that sends the same prompts with ChatOpenAI; and by the bare AsyncOpenAI client, also
with the same prompts. Six questions of five calls each are asked at once. Quorum's setting `concurrency` limits
post_fusion to 16 calls at once; nothing limits the other two ways. The three ways run in turn in one process against
one server; figures are medians of several rounds. Target: post_fusion makes at least 0.9 times as many calls per second
as the one-node graph.
"""

import argparse
import asyncio
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.harness import MODEL, judge_targets, make_questions, report, run_server
from quorum.core.context import Context
from quorum.graphs import answer
from quorum.prompts import render_prompt
from quorum.prompts.passages import format_passages

CALLS_AT_ONCE, K = 16, 5  # the setting `concurrency`; the passages of a question, each of which takes a call
QUESTIONS_AT_ONCE = 2 * CALLS_AT_ONCE // K  # enough questions for post_fusion to have calls waiting all the time
AskQuestion = Callable[[dict[str, Any]], Awaitable[None]]  # makes the K calls of one question, in one of the three ways


async def measure_rate(questions: list[dict[str, Any]], ask_question: AskQuestion) -> tuple[float, float]:
    """Calls per second, and milliseconds of this process's time on the processor per call.

    Other programs on the machine lower the calls per second, but hardly change the processor time.
    """
    waiting_questions = questions[::-1]

    async def ask_waiting_questions() -> None:
        while waiting_questions:
            await ask_question(waiting_questions.pop())

    begin, processor_begin, calls = time.perf_counter(), time.process_time(), len(questions) * K
    await asyncio.gather(*(ask_waiting_questions() for _ in range(QUESTIONS_AT_ONCE)))
    return calls / (time.perf_counter() - begin), 1000 * (time.process_time() - processor_begin) / calls


def make_one_node_way(url: str) -> AskQuestion:
    """A function that sends each passage's prompt through a compiled graph of one node, which asks ChatOpenAI."""
    from langchain_core.messages import HumanMessage
    from langchain_openai import ChatOpenAI
    from langgraph.graph import StateGraph
    from typing_extensions import TypedDict

    model = ChatOpenAI(model="bench", base_url=url, api_key="none", temperature=0, max_retries=0)  # type: ignore[arg-type]

    class Turn(TypedDict, total=False):
        prompt: str
        reply: str

    async def ask(state: Turn) -> Turn:
        return {"reply": str((await model.ainvoke([HumanMessage(state["prompt"])])).text)}

    graph = StateGraph(Turn).add_node(ask).add_edge("__start__", "ask").add_edge("ask", "__end__").compile()

    async def ask_question(question: dict[str, Any]) -> None:
        await asyncio.gather(*(graph.ainvoke({"prompt": prompt}) for prompt in render_prompts(question)))

    return ask_question


def make_bare_client_way(url: str) -> AskQuestion:
    """A function that sends each passage's prompt with OpenAI's own client."""
    from openai import AsyncOpenAI

    client = AsyncOpenAI(base_url=url, api_key="none", max_retries=0)

    async def ask_prompt(prompt: str) -> None:
        await client.chat.completions.create(
            model="bench", temperature=0, messages=[{"role": "user", "content": prompt}]
        )

    async def ask_question(question: dict[str, Any]) -> None:
        await asyncio.gather(*map(ask_prompt, render_prompts(question)))

    return ask_question


def render_prompts(question: dict[str, Any]) -> list[str]:
    """The prompts that post_fusion sends for a question, one for each passage."""
    return [
        render_prompt("answer", question=question["question"], passages=format_passages([passage])).text
        for passage in question["passages"]
    ]


def make_post_fusion_way(context: Context) -> AskQuestion:
    """A function that asks Quorum's method post_fusion."""

    async def ask_question(question: dict[str, Any]) -> None:
        await answer(question["question"], "post_fusion", context, given=question["passages"])

    return ask_question


async def compare_ways(url: str, options: argparse.Namespace, folder: Path) -> dict[str, list[tuple[float, float]]]:
    """{way: [(calls per second, milliseconds of processor time per call) of each round]}.

    Every round begins with an empty journal.
    """
    context = Context(model=MODEL, concurrency=CALLS_AT_ONCE, k=K)
    ask_graph, ask_client = make_one_node_way(url), make_bare_client_way(url)
    figures: dict[str, list[tuple[float, float]]] = {"post_fusion": [], "one-node graph": [], "bare client": []}
    for number in range(options.rounds + 1):
        questions = list(make_questions(options.questions, K))
        ask_post_fusion = make_post_fusion_way(replace(context, journal=str(folder / f"{number}.sqlite")))
        ways = {"post_fusion": ask_post_fusion, "one-node graph": ask_graph, "bare client": ask_client}
        for name, ask_question in ways.items():
            figures_of_round = await measure_rate(questions, ask_question)
            if number:  # the first round does not count: it imports modules and opens connections
                figures[name].append(figures_of_round)
    return figures


def measure_ways(questions: int, rounds: int) -> dict[str, list[tuple[float, float]]]:
    """What `compare_ways` returns, measured against a server that is started for it."""
    options = argparse.Namespace(questions=questions, rounds=rounds)
    with run_server() as server, tempfile.TemporaryDirectory() as folder:
        return asyncio.run(compare_ways(server.url, options, Path(folder)))


def measure_ratios() -> dict[str, float]:
    """The calls per second of post_fusion divided by those of each other way."""
    rates = {
        name: statistics.median(rate for rate, _ in figures_of_rounds)
        for name, figures_of_rounds in measure_ways(40, 3).items()
    }
    return {f"to the {name}": rates["post_fusion"] / rates[name] for name in ("one-node graph", "bare client")}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    rounds_by_way = measure_ways(options.questions, options.rounds)
    medians = {
        name: statistics.median(rate for rate, _ in figures_of_rounds)
        for name, figures_of_rounds in rounds_by_way.items()
    }
    processor_ms = {
        name: round(statistics.median(ms for _, ms in figures_of_rounds), 2)
        for name, figures_of_rounds in rounds_by_way.items()
    }
    ratios = {name: round(medians["post_fusion"] / value, 3) for name, value in medians.items()}
    rows = [[name, f"{value:.0f}", ratios[name], processor_ms[name]] for name, value in medians.items()]
    figures: dict[str, Any] = {"calls_per_second": {name: round(value, 1) for name, value in medians.items()}}
    figures |= {"ratios": ratios, "computing_ms_per_call": processor_ms}
    target = judge_targets({"one-node graph": ratios["one-node graph"] >= 0.9})
    report("overhead", ("way", "calls/s", "post_fusion / way", "processor, ms a call"), rows, **figures, **target)


if __name__ == "__main__":
    main()
