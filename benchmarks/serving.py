"""What `quorum serve` adds to the cost of a question: python -m benchmarks.serving

One method answers the same questions over the sample collection in two ways: in this process by `quorum.answer`, and
through OpenAI's own client and `quorum serve --no-page`. Both ways use the same model server. For each way we measure
the time of a question if one is asked at a time, the number of questions per second if 16 are asked at once, and the
time until the first piece of a long answer is streamed. Each round measures one way after the other; a figure is the
median of all rounds. The journal is off and the retriever is BM25, so that little else takes time. The processor time
is that of this process and of `quorum serve` together, without the model server; it hardly depends on the machine's
other load. The target: serving adds at most 8 ms of processor time to a question.
"""

import argparse
import asyncio
import math
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.harness import MODEL, ROOT, ServerControl, judge_targets, make_questions, report, run_server
from quorum.api.stream import AnswerText, stream
from quorum.core.context import Context
from quorum.graphs import answer
from quorum.retrievers.choose_collection import locate_collection

METHOD, AT_ONCE = "concat", 16
LATENCY = 0.05  # seconds until the model server begins a streamed reply; subtracted from the time to the first piece
WAYS = ("in process", "served")
PROCESSOR_MS = "ms of processor time a question"
MAX_PROCESSOR_MS_ADDED = 8.0


@dataclass(frozen=True)
class Way:
    """One way to ask. ask: answers a question; time_first_piece: asks for a long answer, reads all of it, and returns
    the time at which its first piece came, as a value of `time.perf_counter`; get_processor_seconds: the processor
    time, so far, of all processes that take part except the model server.
    """

    ask: Callable[[str], Awaitable[None]]
    time_first_piece: Callable[[str], Awaitable[float]]
    get_processor_seconds: Callable[[], float]


def make_in_process_way(context: Context) -> Way:
    """The way that asks in this process."""
    long_context = replace(context, answer_type="long")

    async def ask(question: str) -> None:
        await answer(question, METHOD, context)

    async def time_first_piece(question: str) -> float:
        events = stream(question, METHOD, long_context)
        times = [time.perf_counter() async for event in events if isinstance(event, AnswerText) and event.text]
        return times[0]

    return Way(ask, time_first_piece, time.process_time)


@asynccontextmanager
async def open_served_way(url: str, pid: int) -> AsyncIterator[Way]:
    """The way that asks a server by OpenAI's client. pid: the id of the server's process."""
    from openai import AsyncOpenAI

    async with AsyncOpenAI(base_url=f"{url}v1", api_key="none", max_retries=0) as client:

        async def ask(question: str) -> None:
            messages: Any = [{"role": "user", "content": question}]
            await client.chat.completions.create(model=METHOD, messages=messages)

        async def time_first_piece(question: str) -> float:
            messages: Any = [{"role": "user", "content": question}]
            quorum_settings: Any = {"quorum": {"answer_type": "long"}}
            chunks = await client.chat.completions.create(
                model=METHOD, messages=messages, stream=True, extra_body=quorum_settings
            )
            times = [time.perf_counter() async for chunk in chunks if chunk.choices and chunk.choices[0].delta.content]
            return times[0]

        yield Way(ask, time_first_piece, lambda: time.process_time() + read_processor_seconds(pid))


def read_processor_seconds(pid: int) -> float:
    """The processor seconds of another process so far, from Linux's /proc; nan elsewhere."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return math.nan
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def run_quorum(folder: Path, settings: Sequence[str]) -> Iterator[tuple[str, int]]:
    """Run `quorum serve` in a process of its own, with a store of its own. Yields its address and its process id."""
    command = [sys.executable, "-c", "from quorum.cli.main import main; main()", "serve", "--no-page", "--port", "0"]
    process = subprocess.Popen(
        [*command, "--store", str(folder / "served"), *settings],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    line = process.stdout.readline()
    match = re.search(r"http://\S+", line)
    if match is None:
        raise RuntimeError(f"The server did not start: {line}{process.communicate()[0]}")
    try:
        yield match.group(), process.pid
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)


async def measure_way(way: Way, server: ServerControl, questions: Sequence[str]) -> dict[str, float]:
    """The figures of one way in one round: the time and the processor time of a question, in milliseconds; questions
    per second if AT_ONCE are asked at once; milliseconds to the first piece of an answer, without LATENCY.
    """
    server.set_behaviour()
    question_ms, first_piece_ms, processor_begin = [], [], way.get_processor_seconds()
    for question in questions:
        begin = time.perf_counter()
        await way.ask(question)
        question_ms.append(1000 * (time.perf_counter() - begin))
    processor_seconds = way.get_processor_seconds() - processor_begin
    remaining_questions = [*questions, *questions][::-1]

    async def worker() -> None:
        while remaining_questions:
            await way.ask(remaining_questions.pop())

    begin = time.perf_counter()
    await asyncio.gather(*(worker() for _ in range(AT_ONCE)))
    rate = 2 * len(questions) / (time.perf_counter() - begin)
    server.set_behaviour(latency=LATENCY)
    for question in questions:
        begin = time.perf_counter()
        first_piece_ms.append(1000 * (await way.time_first_piece(question) - begin))
    return {
        "ms a question": statistics.median(question_ms),
        PROCESSOR_MS: 1000 * processor_seconds / len(questions),
        "questions/s": rate,
        "ms to the first piece": statistics.median(first_piece_ms) - 1000 * LATENCY,
    }


async def compare_ways(
    context: Context, address_and_pid: tuple[str, int], server: ServerControl, rounds: int, count: int
) -> list[dict[str, Any]]:
    """The figures of each way, {way: {figure: value}}, for each round. There is one more round before these, to import
    and to connect, which is left out.

    address_and_pid: of `quorum serve`; server: the model server; count: how many questions are asked.
    """
    questions = [str(question["question"]) for question in make_questions(count, 1)]
    figures_by_round = []
    async with open_served_way(*address_and_pid) as served_way:
        ways = dict(zip(WAYS, (make_in_process_way(context), served_way), strict=True))
        for _ in range(rounds + 1):
            figures_by_round.append({name: await measure_way(way, server, questions) for name, way in ways.items()})
    return figures_by_round[1:]


def measure_rounds(rounds: int, questions: int) -> list[dict[str, Any]]:
    """What `compare_ways` returns, with a model server and a `quorum serve` that are started for it."""
    with run_server() as server, tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        context = Context(model=MODEL, retriever="bm25", journal="off", store=str(folder / "own"))
        locate_collection(context)  # makes the sample
        settings = ["--model", MODEL, "--retriever", "bm25", "--set", "journal=off"]
        with run_quorum(folder, settings) as address_and_pid:
            return asyncio.run(compare_ways(context, address_and_pid, server, rounds, questions))


def find_medians(rounds: Sequence[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """{way: {figure: its median over the rounds}}. rounds: what `compare_ways` returns."""
    return {
        way: {
            figure: statistics.median(figures_of_ways[way][figure] for figures_of_ways in rounds)
            for figure in rounds[0][way]
        }
        for way in WAYS
    }


def measure_ratios() -> dict[str, float]:
    """Ratios for `benchmarks.bench`, higher is better: the questions per second of the served way divided by those of
    the way in this process; the processor time and the time to the first piece (LATENCY included), divided the other
    way round.
    """
    medians = find_medians(measure_rounds(3, 30))
    in_process, served_medians = (medians[way] for way in WAYS)
    return {
        "questions/s": served_medians["questions/s"] / in_process["questions/s"],
        "processor time": in_process[PROCESSOR_MS] / served_medians[PROCESSOR_MS],
        "time to the first piece": (in_process["ms to the first piece"] + 1000 * LATENCY)
        / (served_medians["ms to the first piece"] + 1000 * LATENCY),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    medians = find_medians(measure_rounds(options.rounds, options.questions))
    in_process, served_medians = (medians[way] for way in WAYS)
    added_times = {name: served_medians[name] - in_process[name] for name in in_process if name.startswith("ms")}
    ratio = served_medians["questions/s"] / in_process["questions/s"]
    rows = [
        [
            name,
            f"{in_process[name]:.1f}",
            f"{served_medians[name]:.1f}",
            f"{added_times[name]:+.1f}" if name in added_times else f"x {ratio:.2f}",
        ]
        for name in in_process
    ]
    # "not ... >", because the processor time is nan where there is no /proc; the target then counts as met
    met = {PROCESSOR_MS: not added_times[PROCESSOR_MS] > MAX_PROCESSOR_MS_ADDED}
    figures = {"in_process": in_process, "served": served_medians, "added_ms": added_times, "ratio": ratio}
    report("serving", ("", *WAYS, "difference"), rows, **figures, **judge_targets(met))


if __name__ == "__main__":
    main()
