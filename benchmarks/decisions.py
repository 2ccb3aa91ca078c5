"""How many runs (one question put to one method) the stopping rules save, and how often each drops the best method:
python -m benchmarks.decisions

    record --data nq_search=FILE squad_open=FILE,CORPUS ... --out DIR     (if interrupted, run the same command again)
    replay [DIR] [--orders 1000] [--draws 200] [--workers 2]
    simulate [DIR] [--repetitions 1000] [--workers 2]
    screen [--repetitions 1000]

`record` asks every method every question (by default 400 of each set) with the embedded reader and keeps only numbers,
such as whether an answer is right and how many calls it took, in DIR/NAME.npz (see `benchmarks.decisions_recorded`).
`replay` needs no model and no network: by default it reads the recorded numbers of this repository. For each stopping
rule, ours and four that others use, it prints the runs and calls saved and how often the best method was dropped (if
several methods are equally good: how often all of these were dropped). Then it prints tables of cascades, intervals,
gates, calibrations and estimates of the winner's score, and of cases in which no guarantee holds. `simulate` checks
which methods may be the best, differences from a baseline and the intervals of means, on answers whose truth is known
(see `benchmarks.decisions_simulated`). `screen` checks how often the screen before a race keeps the best of 60
configurations (see `benchmarks.decisions_screen`).
"""

import argparse
import os
from pathlib import Path

from benchmarks.decisions_recorded import read_recorded_set, record_answers
from benchmarks.decisions_screen import simulate_screen
from benchmarks.decisions_simulated_tables import simulate
from benchmarks.decisions_tables import print_tables
from quorum.core.errors import SetupError

RECORDED_FOLDER = Path(__file__).with_name("decisions_data")
ORDERS_HELP = "repetitions of stopping rules, intervals, gates and calibrations"
DRAWS_HELP = (
    "repetitions of cascades and of estimates of the winner's score; a tenth as many where a decision on one set is "
    "checked on another"
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    record_parser = commands.add_parser("record")
    record_parser.add_argument("--data", nargs="+", required=True, metavar="NAME=FILE[,CORPUS]")
    record_parser.add_argument("--out", type=Path, required=True)
    record_parser.add_argument("--limit", type=int, default=400)
    record_parser.add_argument("--methods", default="all")
    replay_parser = commands.add_parser("replay")
    replay_parser.add_argument("folder", type=Path, nargs="?", default=RECORDED_FOLDER)
    replay_parser.add_argument("--orders", type=int, default=1000, help=ORDERS_HELP)
    replay_parser.add_argument("--draws", type=int, default=200, help=DRAWS_HELP)
    replay_parser.add_argument("--workers", type=int, default=os.cpu_count())
    simulate_parser = commands.add_parser("simulate")
    simulate_parser.add_argument("folder", type=Path, nargs="?", default=RECORDED_FOLDER)
    simulate_parser.add_argument("--repetitions", type=int, default=1000)
    simulate_parser.add_argument("--workers", type=int, default=os.cpu_count())
    screen_parser = commands.add_parser("screen")
    screen_parser.add_argument("--repetitions", type=int, default=1000)
    options = parser.parse_args()
    if options.command == "screen":
        simulate_screen(options.repetitions)
        return
    if options.command in ("replay", "simulate"):
        recorded_sets = [read_recorded_set(file) for file in sorted(options.folder.glob("*.npz"))]
        if not recorded_sets:
            raise SystemExit(
                f"{options.folder} holds no recorded numbers (*.npz); write some with the command record, or "
                "give another folder."
            )
        if options.command == "simulate":
            simulate(recorded_sets, options.repetitions, options.workers)
        else:
            print_tables(recorded_sets, options.orders, options.draws, options.workers)
        return
    for item in options.data:
        name, _, paths = item.partition("=")
        file, _, corpus = paths.partition(",")
        try:
            record_answers(name, Path(file), corpus or None, options.out, options.limit, options.methods)
        except SetupError as error:
            raise SystemExit(str(error)) from None


if __name__ == "__main__":
    main()
