"""Attacks Quorum in twelve ways, many times each, and counts what does not hold: python -m benchmarks.attacks

keys          secrets that a server repeats, in 14 encodings, stay in no message
controls      control characters of a document, a model or a server reach no terminal
markup        a model's answer holds no link, picture or tag, and gives the same text in pieces; by markdown-it
runs          questions, titles, answers and file names of runs go out as JSON and Markdown that nothing acts in
settings      a client of the API, and a link to the page, set nothing that is not allowed; a link asks nothing
dollars       requests at once, with calls of any cost and end, spend no more than the limit of a day
vectors       embeddings that are no vectors are refused
hidden text   what nobody sees of a page or a Word file is not read
redirects     no request follows a server to another one
endless       replies without end, packed or slow, end in an error
leaving       after a question is cancelled, only the calls in flight finish
page          markup of visitors, documents and replies is text on the page, in Chromium; nothing is fetched elsewhere

`--seed N` chooses other cases. All attacks take a few minutes; the last four make real connections on this machine, and
the last one needs Chromium.
"""

import argparse
import asyncio
import random
import sys
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from time import perf_counter
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))  # the loopback servers of the tests

from benchmarks.attacks.inputs import INPUT_ATTACKS
from benchmarks.attacks.page import attack_page
from benchmarks.attacks.servers import SERVER_ATTACKS
from benchmarks.harness import judge_targets, report

Attack = Callable[[random.Random, Path], list[bool]]
ServerAttack = Callable[[random.Random], Awaitable[list[bool]]]


def measure_attack(attack: Any, seed: int) -> dict[str, Any]:
    """How many attempts were made, how many of them succeeded, and in how many seconds."""
    rng, start = random.Random(seed), perf_counter()
    if asyncio.iscoroutinefunction(attack):
        held = asyncio.run(attack(rng))
    else:
        with tempfile.TemporaryDirectory() as folder:
            held = attack(rng, Path(folder))
    return {"attempts": len(held), "broken": held.count(False), "seconds": round(perf_counter() - start, 1)}


def main(arguments: list[str] | None = None) -> int:
    """Make all attacks. Returns 0 if none succeeded."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.attacks")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", help="the name of one attack")
    options = parser.parse_args(arguments)
    attacks = {**INPUT_ATTACKS, **SERVER_ATTACKS, "page": attack_page}
    chosen = {name: attack for name, attack in attacks.items() if options.only in (None, name)}
    findings = {name: measure_attack(attack, options.seed) for name, attack in chosen.items()}
    rows = [(name, *values.values()) for name, values in findings.items()]
    verdicts = {name: not values["broken"] and values["attempts"] > 0 for name, values in findings.items()}
    report("attacks", ("attack", "attempts", "broken", "seconds"), rows, parts=findings, **judge_targets(verdicts))
    return 0 if all(verdicts.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
