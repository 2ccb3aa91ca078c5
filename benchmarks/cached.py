"""The share of prompt tokens that a prefix cache serves: python -m benchmarks.cached

Asks questions one after the other. The server is `benchmarks.server`, which simulates a prefix cache (blocks of 16
tokens, see `benchmarks.prefixes`). Target for the methods `sure` (2 candidates, 10 passages), `pf_concat`, `concat_pf`
and `blendfilter`: the cache serves at least 95% of the tokens that an ideal cache could serve. For comparison: `sure`
with the order of the paper's prompt (the prompt variant candidates.paper).
"""

import argparse
import asyncio
from typing import Any

from benchmarks.harness import MODEL, ServerControl, format_share, judge_targets, make_questions, report, run_server
from quorum.core.context import Context
from quorum.graphs import answer
from quorum.prompts import BUILT_IN

# {name of the run: (method, its settings)}
RUNS: dict[str, tuple[str, dict[str, Any]]] = {
    "sure": ("sure", {"k": 10}),
    "sure, the paper's order": ("sure", {"k": 10, "prompts": {"candidates": BUILT_IN["candidates.paper"]}}),
    "pf_concat": ("pf_concat", {}),
    "concat_pf": ("concat_pf", {}),
    "blendfilter": ("blendfilter", {}),
}
PAPER_ORDER = "sure, the paper's order"


def measure_cache(server: ServerControl, method: str, settings: dict[str, Any], question_count: int) -> dict[str, Any]:
    """Ask the questions with one method, and return its number of calls and what the cache served.

    cached: the share of the prompt tokens that the cache served; cacheable: the share of the prompt tokens that an
    ideal cache could serve; share_of_cacheable: cached / cacheable.
    """
    context = Context(model=MODEL, journal="off", **settings)

    async def ask_all() -> None:
        for question in make_questions(question_count, 15):
            await answer(question["question"], method, context, given=question["passages"])

    server.set_behaviour(prefix=True, share_unknown_from_several_passages=0.3, share_unknown_from_one_passage=0.3)
    asyncio.run(ask_all())
    server_stats = server.fetch_counts()
    tokens = server_stats["tokens"]
    return {
        "calls": sum(server_stats["calls"].values()),
        "prompt_tokens": tokens["prompt"],
        "cached": round(tokens["cached"] / tokens["prompt"], 4),
        "cacheable": round(tokens["cacheable"] / tokens["prompt"], 4),
        "share_of_cacheable": round(tokens["cached"] / tokens["cacheable"], 4),
    }


def measure_ratios() -> dict[str, float]:
    """For each run with a target: its cached tokens as a share of the tokens that an ideal cache could serve."""
    with run_server() as server:
        return {
            name: float(measure_cache(server, *run, 20)["share_of_cacheable"])
            for name, run in RUNS.items()
            if name != PAPER_ORDER
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int, default=50)
    options = parser.parse_args()
    with run_server() as server:
        measured_runs = {name: measure_cache(server, *run, options.questions) for name, run in RUNS.items()}
    rows = [
        [
            name,
            counts["calls"],
            counts["prompt_tokens"],
            format_share(counts["cached"]),
            format_share(counts["cacheable"]),
            format_share(counts["share_of_cacheable"]),
        ]
        for name, counts in measured_runs.items()
    ]
    verdict = judge_targets(
        {name: counts["share_of_cacheable"] >= 0.95 for name, counts in measured_runs.items() if name != PAPER_ORDER}
    )
    report(
        "cached",
        ("run", "calls", "prompt tokens", "cached", "most that a cache can serve", "share of that"),
        rows,
        runs=measured_runs,
        **verdict,
    )


if __name__ == "__main__":
    main()
