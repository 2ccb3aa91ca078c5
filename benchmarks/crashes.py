"""Ends commands abruptly and checks what they leave behind: python -m benchmarks.crashes [--only NAMES]

eval     SIGKILL at random moments of `quorum eval`: the resumed run gets the same results as an uninterrupted one, the
         journal is sound and complete, and only the calls that were in flight are repeated
power    like eval, and after each kill the end of results.jsonl and of the journal's write-ahead log is cut off: the
         resumed run asks again for the lost replies that it needs, and gets the same results
index    SIGKILL at random moments of `quorum index`: the resumed run stores the same passages with the same vectors as
         an uninterrupted one, and a search finds them
torn     like index, and after each kill the end of a file of the vector index is cut off
full     the disk is full: the command ends with one clear sentence and keeps the earlier data; once there is room, the
         same command continues to the same results (needs the right to mount a tmpfs)
shared   two evaluations write to one journal at the same time, then two indexings to one collection: nothing is
         corrupted
"""

import argparse
import json
import random
import sqlite3
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from benchmarks.forks import ForkedRun, ForkServer
from benchmarks.full_disk import fill_disk
from benchmarks.harness import (
    MODEL,
    SAMPLE,
    ServerControl,
    print_findings,
    report_parts,
    run_server,
    write_question_file,
)
from benchmarks.killed_commands import (
    COMMAND_TIMEOUT_S,
    Findings,
    count_missing_replies,
    find_last_write,
    kill_at_random,
    read_collection,
    start_command,
    truncate_file,
    wait_for_success,
)
from benchmarks.runs import count_differences, read_rows_without_timing

MAX_CALLS_AT_ONCE = 16  # model calls at once at most: the default of the setting `concurrency`


def kill_evaluations(
    server: ServerControl, forks: ForkServer, folder: Path, questions: int, kill_target: int, truncates: bool = False
) -> Findings:
    """Kill an evaluation and resume it, again and again, until it ends before the kill; then begin a new evaluation.

    After `kill_target` kills in all, the last evaluation runs to its end.
    truncates: whether to cut off the end of the written files after each kill.
    """
    data, rng = write_question_file(folder, questions, k=5), random.Random(0)

    def start(name: str) -> ForkedRun:
        settings = ["--model", MODEL, "--set", f"journal={name}.sqlite", "--out", name]
        return forks.start("eval", str(data), "--methods", "concat_pf,sure", *settings, folder=folder)

    def count_calls() -> int:
        return sum(server.fetch_counts()["calls"].values())

    def start_and_kill(name: str) -> bool:
        """Start a run and kill it at a random moment. Returns whether it was killed before it ended."""
        before = count_calls()
        if not kill_at_random(start(name), lambda: count_calls() > before, rng):
            return False
        if truncates:
            truncate_file(folder / name / "results.jsonl", rng, 600)
            truncate_file(folder / f"{name}.sqlite-wal", rng, 20_000)
        return True

    server.set_behaviour(latency=0.2, share_unknown_from_several_passages=0.3)
    wait_for_success(start("whole"))
    expected_rows, needed_call_count = read_rows_without_timing(folder / "whole"), count_calls()
    kills = runs = repeated_count = difference_count = lost_reply_count = 0
    while kills < kill_target:
        name, runs = f"killed-{runs}", runs + 1
        # the same behaviour again, to reset the counts
        server.set_behaviour(latency=0.2, share_unknown_from_several_passages=0.3)
        while kills < kill_target and start_and_kill(name):
            kills += 1
        wait_for_success(start(name))
        repeated_count += count_calls() - needed_call_count
        difference_count += count_differences(expected_rows, read_rows_without_timing(folder / name))
        lost_reply_count += count_missing_replies(folder / f"{name}.sqlite", folder / "whole.sqlite")
    return {
        "kills": kills,
        "runs": runs,
        "calls": needed_call_count,
        "different": difference_count,
        "replies_lost": lost_reply_count,
        "repeated": repeated_count,
        "repeated_per_kill": round(repeated_count / kills, 1),
    }


def kill_indexings(
    forks: ForkServer, folder: Path, passages: int, kill_target: int, truncates: bool = False
) -> Findings:
    """Kill an indexing and resume it, again and again, until it ends before the kill; then begin a new indexing.

    After `kill_target` kills in all, the last indexing runs to its end.
    truncates: whether to cut off the end of a file of the vector index after each kill.
    """
    rng, data = random.Random(1), folder / "passages.jsonl"
    lines = (
        {"id": f"p{n}", "title": f"P{n}", "text": f"Passage {n} on {n % 97} and {n % 89}."} for n in range(passages)
    )
    data.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")

    def start(name: str) -> ForkedRun:
        settings = ["--collection", "killed", "--store", name, "--embeddings", MODEL]
        return forks.start("index", str(data), *settings, folder=folder)

    def start_and_kill(name: str) -> bool:
        """Start a run and kill it at a random moment. Returns whether it was killed before it ended."""
        process, before = start(name), find_last_write(folder / name)
        if not kill_at_random(process, lambda: find_last_write(folder / name) > before, rng):
            return False
        files = sorted((folder / name).glob("chroma/*/*")) if truncates else []
        if files:
            truncate_file(rng.choice(files), rng, 20_000)
        return True

    wait_for_success(start("whole"))
    expected_passages, kills, runs, difference_count = read_collection(folder / "whole"), 0, 0, 0
    while kills < kill_target:
        name, runs = f"killed-{runs}", runs + 1
        while kills < kill_target and start_and_kill(name):
            kills += 1
        wait_for_success(start(name))
        difference_count += len(expected_passages ^ read_collection(folder / name))
    return {"passages": len(expected_passages), "kills": kills, "runs": runs, "different": difference_count}


def share_journal_and_collection(server: ServerControl, forks: ForkServer, folder: Path, questions: int) -> Findings:
    """Run two evaluations with one journal at the same time, then index two halves of a corpus into one collection at
    the same time.

    A third evaluation with that journal should need no call; the number of its calls is the finding "lost_replies". The
    shared collection should equal one that a single command indexed.
    """
    data = write_question_file(folder, questions, k=5)
    server.set_behaviour(latency=0.02, share_unknown_from_several_passages=0.3)
    evaluations = [
        start_command(
            *("eval", str(data), "--methods", "concat_pf,sure", "--model", MODEL),
            *("--set", "journal=one.sqlite", "--out", name),
            folder=folder,
            wait=False,
        )
        for name in ("one", "two")
    ]
    error_texts = [process.communicate(timeout=COMMAND_TIMEOUT_S)[1] for process in evaluations]
    with sqlite3.connect(folder / "one.sqlite") as journal:
        integrity = journal.execute("PRAGMA integrity_check").fetchone()[0]
    before = sum(server.fetch_counts()["calls"].values())
    third_options = ["--set", "journal=one.sqlite", "--out", "three"]
    start_command("eval", str(data), "--methods", "concat_pf,sure", "--model", MODEL, *third_options, folder=folder)
    lost_reply_count = sum(server.fetch_counts()["calls"].values()) - before
    halves = [folder / "half-1", folder / "half-2"]
    for number, path in enumerate(sorted((SAMPLE / "corpus").glob("*.md"))):
        half = halves[number % 2]
        half.mkdir(exist_ok=True)
        (half / path.name).write_bytes(path.read_bytes())
    indexings = [
        start_command("index", str(half), "--collection", "killed", "--store", "both", folder=folder, wait=False)
        for half in halves
    ]
    error_texts += [process.communicate(timeout=COMMAND_TIMEOUT_S)[1] for process in indexings]
    start_command("index", *map(str, halves), "--collection", "killed", "--store", "alone", folder=folder)
    return {
        "codes": [process.returncode for process in (*evaluations, *indexings)],
        "error_lines": [text.strip().splitlines()[-1] for text in error_texts if "Traceback" in text or "rror" in text],
        "journal": integrity,
        "lost_replies": lost_reply_count,
        "different_rows": sum(
            count_differences(read_rows_without_timing(folder / "one"), read_rows_without_timing(folder / other))
            for other in ("two", "three")
        ),
        "different_passages": len(read_collection(folder / "both") ^ read_collection(folder / "alone")),
    }


def is_target_met(name: str, findings: Findings) -> bool:
    """Whether a part (named as in this module's docstring) met its targets. A part that was skipped counts as met."""
    if "skipped" in findings:
        return True
    if name == "full":
        failure_keys = ("traceback", "wrong_rows", "different")
        parts = [findings[part] for part in ("results", "journal", "index")]
        # Code 2: the command ended with an error message of its own.
        return all(part["code"] == 2 and not any(part.get(key) for key in failure_keys) for part in parts)
    if name == "shared":
        values_that_must_be_zero = (
            *findings["codes"],
            findings["lost_replies"],
            findings["different_rows"],
            findings["different_passages"],
        )
        return not any(values_that_must_be_zero) and bool(findings["journal"] == "ok")
    if name == "eval" and (findings["replies_lost"] or findings["repeated"] > findings["kills"] * MAX_CALLS_AT_ONCE):
        return False
    return not findings["different"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--only",
        default="eval,power,index,torn,full,shared",
        metavar="NAMES",
        help="the parts to run, with commas between them; by default all",
    )
    parser.add_argument("--questions", type=int, default=120, help="how many questions each evaluation asks")
    parser.add_argument(
        "--kills", type=int, default=20, help="how many times each of the parts eval, power, index and torn kills"
    )
    parser.add_argument(
        "--passages", type=int, default=3000, help="how many passages the parts index and torn put into the index"
    )
    options = parser.parse_args()
    questions, kill_target = options.questions, options.kills
    parts: dict[str, Callable[[ServerControl, ForkServer, Path], Findings]] = {
        "eval": lambda server, forks, folder: kill_evaluations(server, forks, folder, questions, kill_target),
        "power": lambda server, forks, folder: kill_evaluations(
            server, forks, folder, questions, kill_target, truncates=True
        ),
        "index": lambda server, forks, folder: kill_indexings(forks, folder, options.passages, kill_target),
        "torn": lambda server, forks, folder: kill_indexings(
            forks, folder, options.passages, kill_target, truncates=True
        ),
        "full": lambda server, forks, folder: fill_disk(server, forks, folder, questions),
        "shared": lambda server, forks, folder: share_journal_and_collection(server, forks, folder, questions),
    }
    findings: dict[str, Findings] = {}
    with run_server() as server, closing(ForkServer()) as forks:
        for name in options.only.split(","):
            begin = time.perf_counter()
            with tempfile.TemporaryDirectory() as folder:
                findings[name] = parts[name](server, forks, Path(folder))
            findings[name]["seconds"] = round(time.perf_counter() - begin)
            print_findings(name, findings[name])
    report_parts("crashes", findings, is_target_met)


if __name__ == "__main__":
    main()
