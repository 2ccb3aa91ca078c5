"""SuRe by FlashRAG and by Quorum, one after the other: python -m benchmarks.peers.flashrag_sure --python PYTHON

Both get the same 20 questions with ten passages each, and call the same server, which takes 200 ms a call and has 16
slots. When either asks for candidate answers, the server's reply names two. FlashRAG may send 16 prompts at once.
Quorum may send 32, so that its next call is already there when a slot becomes free. FlashRAG (flashrag-dev 0.1.2) is
driven in an environment of its own, whose interpreter --python names. Imports, the setup and a first question are not
timed, neither for FlashRAG nor for Quorum. Target: Quorum is at least ten times as fast.
"""

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.harness import MODEL, ServerControl, judge_targets, make_questions, report, run_server
from quorum.core.context import Context
from quorum.graphs import answer

DRIVER = Path(__file__).with_name("flashrag_driver.py")
INSTALL = (
    "FlashRAG is not installed for {python}; make it an environment of its own (python -m venv /tmp/flashrag; "
    "/tmp/flashrag/bin/pip install --no-deps flashrag-dev==0.1.2; /tmp/flashrag/bin/pip install torch "
    "'transformers<5' datasets base58 nltk openai peft PyYAML rank-bm25 rouge tiktoken tqdm bm25s PyStemmer faiss-cpu) "
    "and run this again with --python /tmp/flashrag/bin/python."
)
# Words of FlashRAG's prompts -> our prompt of the same purpose; the server replies as it does to that prompt.
OUR_PROMPT_OF_WORDS = {
    "provide two correct candidates": "candidates",
    "can support the given prediction": "conditional_summary",
    "correctly support the prediction": "validity",
    "which one provides a": "ranking",
}


def is_flashrag_installed(python: str) -> bool:
    """Whether the interpreter `python` finds FlashRAG. FlashRAG is not imported, because that is slow."""
    check_code = "import importlib.util, sys; sys.exit(importlib.util.find_spec('flashrag') is None)"
    try:
        return subprocess.run([python, "-c", check_code], capture_output=True).returncode == 0
    except OSError:
        return False


def time_flashrag(python: str, url: str, slots: int, questions: list[dict[str, Any]]) -> dict[str, Any]:
    """FlashRAG's `seconds` for all questions but the first, its `answers` to these, and its `version`."""
    task = {"url": url, "slots": slots, "questions": questions}
    process = subprocess.run([python, str(DRIVER)], input=json.dumps(task), capture_output=True, text=True)
    if process.returncode:
        raise SystemExit(f"FlashRAG could not be run: {''.join(process.stderr.strip().splitlines()[-1:])}")
    result: dict[str, Any] = json.loads(process.stdout.strip().splitlines()[-1])
    return result


async def time_quorum(context: Context, questions: list[dict[str, Any]]) -> float:
    """Quorum's seconds for all questions but the first, asked at once."""

    async def ask_question(question: dict[str, Any]) -> None:
        await answer(question["question"], "sure", context, given=question["passages"])

    await ask_question(questions[0])
    begin = time.perf_counter()
    await asyncio.gather(*map(ask_question, questions[1:]))
    return time.perf_counter() - begin


def count_timed_calls(server: ServerControl, timed_count: int) -> dict[str, Any]:
    """The calls of the timed questions, and the maximum in flight at once.

    timed_count: the number of timed questions. The server has also counted the calls of the first question, which is
    not timed; every question takes the same number of calls.
    """
    counts = server.fetch_counts()
    timed_calls = sum(counts["calls"].values()) * timed_count // (timed_count + 1)
    return {"calls": timed_calls, "in_flight": counts["most_at_once"]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", default=sys.executable, help="interpreter of FlashRAG's environment")
    parser.add_argument("--questions", type=int, default=20)
    parser.add_argument("--slots", type=int, default=16)
    parser.add_argument("--latency", type=float, default=0.2, help="seconds")
    options = parser.parse_args()
    if not is_flashrag_installed(options.python):
        raise SystemExit(INSTALL.format(python=options.python))
    questions = list(make_questions(options.questions + 1, 10))
    behaviour = {"latency": options.latency, "slots": options.slots, "foreign": OUR_PROMPT_OF_WORDS}
    with run_server() as server, tempfile.TemporaryDirectory() as folder:
        server.set_behaviour(**behaviour)
        peer = time_flashrag(options.python, server.url, options.slots, questions)
        measurements = {
            f"FlashRAG {peer['version']}": {"seconds": peer["seconds"], **count_timed_calls(server, options.questions)}
        }
        server.set_behaviour(**behaviour)
        context = Context(model=MODEL, k=10, concurrency=2 * options.slots, journal=str(Path(folder) / "j.sqlite"))
        seconds = asyncio.run(time_quorum(context, questions))
        measurements["Quorum"] = {"seconds": seconds, **count_timed_calls(server, options.questions)}
    speed_ratio = round(peer["seconds"] / seconds, 1)
    rows = [(name, item["calls"], item["in_flight"], f"{item['seconds']:.2f}") for name, item in measurements.items()]
    figures = {"runs": measurements, "times_as_fast": speed_ratio, **judge_targets({"speed": speed_ratio >= 10})}
    report("flashrag_sure", ("SuRe by", "calls", "in flight", "seconds"), rows, **figures)


if __name__ == "__main__":
    main()
