"""What an abrupt end leaves behind: python -m benchmarks.crashes [--only NAMES]

eval     SIGKILL at random moments of `quorum eval`: the resumed run gets the same results, the journal is sound and
         complete, and only the calls in flight are repeated
power    the same, and after each kill the end of results.jsonl and of the journal's log is cut off: the run asks again
         for the lost replies that it needs
index    SIGKILL at random moments of `quorum index`: the same passages with the same vectors, and a search finds them
torn     the same, and after each kill the end of a file of the vector index is cut off
full     the disk is full: one clear sentence, earlier data are kept, and once there is room the run continues to the
         same results (needs the right to mount a tmpfs)
shared   two evaluations on one journal, two indexings of one collection, at once: nothing is corrupted
"""

import argparse
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from benchmarks.forks import ForkedRun, Forks
from benchmarks.harness import (
    MODEL,
    ROOT,
    SAMPLE,
    Control,
    print_findings,
    report_parts,
    run_server,
    write_question_file,
)
from benchmarks.runs import count_differences, count_rows, format_without_timing, time_evaluation

Found = dict[str, Any]
LONGEST_S = 4.0  # from the first work to the kill
PATIENCE_S = 3600.0  # for a command to end, on a busy machine too
AT_ONCE = 16  # calls under way at most: the concurrency of a model


def start_command(*arguments: str, folder: Path, wait: bool = True) -> "subprocess.Popen[str]":
    """The command in a folder."""
    command = [sys.executable, "-c", "from quorum.cli.main import main; main()", *arguments]
    process = subprocess.Popen(
        command, cwd=folder, env=os.environ | {"PYTHONPATH": str(ROOT)}, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True,
    )  # fmt: skip
    if wait:
        process.communicate(timeout=PATIENCE_S)
    return process


def kill_at_random(process: ForkedRun, begun: Callable[[], bool], draw: random.Random) -> bool:
    """Kill the process at a random moment: one time in five during its start, otherwise within seconds
    of its first work.
    Returns False if the process had ended before.
    """
    wait = begun if draw.random() < 0.8 else (lambda: True)
    while process.poll(0.01) is None and not wait():
        pass
    process.poll(draw.uniform(0, LONGEST_S))
    process.kill()
    output = process.finish()
    if process.returncode not in (0, -signal.SIGKILL):
        raise RuntimeError(f"The killed run could not be resumed: {output}")
    return process.returncode != 0


def wait_for_success(process: ForkedRun) -> None:
    output = process.finish()
    if process.returncode:
        raise RuntimeError(f"The killed run could not be finished: {output}")


def kill_evaluations(
    server: Control, forks: Forks, folder: Path, questions: int, times: int, cut: bool = False
) -> Found:
    """Kill each evaluation repeatedly until one attempt completes; start new ones until there were `times` kills."""
    data, draw = write_question_file(folder, questions, 5), random.Random(0)

    def start(name: str) -> ForkedRun:
        settings = ["--model", MODEL, "--set", f"journal={name}.sqlite", "--out", name]
        return forks.start("eval", str(data), "--methods", "concat_pf,sure", *settings, folder=folder)

    def calls() -> int:
        return sum(server.stats()["calls"].values())

    def kill(name: str) -> bool:
        before = calls()
        if not kill_at_random(start(name), lambda: calls() > before, draw):
            return False
        if cut:
            truncate_file(folder / name / "results.jsonl", draw, 600)
            truncate_file(folder / f"{name}.sqlite-wal", draw, 20_000)
        return True

    server.behave(latency=0.2, concat_unknown=0.3)
    wait_for_success(start("whole"))
    plain, needed, kills, runs, repeated, different, lost = count_rows(folder / "whole"), calls(), 0, 0, 0, 0, 0
    while kills < times:
        name, runs = f"killed-{runs}", runs + 1
        server.behave(latency=0.2, concat_unknown=0.3)
        while kills < times and kill(name):
            kills += 1
        wait_for_success(start(name))
        repeated += calls() - needed
        different += count_differences(plain, count_rows(folder / name))
        lost += count_missing_replies(folder / f"{name}.sqlite", needed)
    findings = {"kills": kills, "runs": runs, "calls": needed, "different": different, "replies_lost": lost}
    return findings | {"repeated": repeated, "repeated_per_kill": round(repeated / kills, 1)}


def count_missing_replies(journal: Path, replies: int) -> int:
    """How many replies the journal lacks. Raises RuntimeError if it is damaged or has too many."""
    with closing(sqlite3.connect(journal)) as connection:
        sound = connection.execute("PRAGMA integrity_check").fetchone()[0]
        held = int(connection.execute("SELECT count(*) FROM replies").fetchone()[0])
    if sound != "ok" or held > replies:
        raise RuntimeError(f"The journal {journal} is not sound: {sound}, {held} replies of {replies}.")
    return replies - held


def kill_indexings(forks: Forks, folder: Path, passages: int, times: int, cut: bool = False) -> Found:
    """Kill each indexing again and again until one attempt completes; start new ones until there were `times` kills."""
    draw, data = random.Random(1), folder / "passages.jsonl"
    lines = (
        {"id": f"p{n}", "title": f"P{n}", "text": f"Passage {n} on {n % 97} and {n % 89}."} for n in range(passages)
    )
    data.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")

    def start(name: str) -> ForkedRun:
        settings = ["--collection", "killed", "--store", name, "--embeddings", MODEL]
        return forks.start("index", str(data), *settings, folder=folder)

    def kill(name: str) -> bool:
        process, before = start(name), find_last_write(folder / name)
        if not kill_at_random(process, lambda: find_last_write(folder / name) > before, draw):
            return False
        files = sorted((folder / name).glob("chroma/*/*")) if cut else []
        if files:
            truncate_file(draw.choice(files), draw, 20_000)
        return True

    wait_for_success(start("whole"))
    whole, kills, runs, different = read_collection(folder / "whole"), 0, 0, 0
    while kills < times:
        name, runs = f"killed-{runs}", runs + 1
        while kills < times and kill(name):
            kills += 1
        wait_for_success(start(name))
        different += len(whole ^ read_collection(folder / name))
    return {"passages": len(whole), "kills": kills, "runs": runs, "different": different}


def find_last_write(store: Path) -> float:
    """The time of the last write to a store's database; 0 if there is none."""
    path = store / "chroma" / "chroma.sqlite3"
    return path.stat().st_mtime if path.exists() else 0.0


def truncate_file(path: Path, draw: random.Random, most: int) -> None:
    """Cut some of the last bytes off the file."""
    if path.exists() and path.stat().st_size:
        os.truncate(path, max(0, path.stat().st_size - draw.randrange(1, most)))


def read_collection(store: Path, collection: str = "killed") -> set[tuple[str, str, bytes]]:
    """Id, text and vector of every passage of a collection. Checks that a search finds them."""
    import chromadb
    import numpy as np

    client = chromadb.PersistentClient(str(store / "chroma"))
    try:
        held = client.get_collection(collection)
        content: Any = held.get(include=["documents", "embeddings"])
        vectors = np.asarray(content["embeddings"], np.float32)
        sought: Any = held.query(query_embeddings=vectors[:50], n_results=10, include=["distances"])
        if max(row[0] for row in sought["distances"]) > 1e-3 or any(len(set(ids)) < 10 for ids in sought["ids"]):
            raise RuntimeError(f"The search in {store} does not find what is there.")
        rows = zip(content["ids"], content["documents"], vectors, strict=True)
        return {(id_, text, vector.tobytes()) for id_, text, vector in rows}
    finally:
        client.close()


@contextmanager
def mount_tmpfs(folder: Path, size: str) -> Iterator[Path]:
    """Mount a file system of that many bytes. Raises CalledProcessError without the right to do so."""
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
    subprocess.run(command, check=True, capture_output=True, text=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def fill_disk(server: Control, forks: Forks, folder: Path, questions: int) -> Found:
    """Fill the disk under the results, the journal and a collection; then make room and repeat the run."""
    data = write_question_file(folder, questions, 5)
    server.behave()
    time_evaluation(data, folder / "plain", folder / "plain.sqlite", methods="concat")
    wait_for_success(start_on_small_disk("index", data, folder / "plain", folder / "plain-store", folder, forks))
    findings: Found = {}
    for what, size in (("results", "96k"), ("journal", "192k"), ("index", "400k")):
        try:
            with mount_tmpfs(folder / f"small-{what}", size) as small:
                findings[what] = fill_and_repeat(what, data, small, folder, forks)
        except subprocess.CalledProcessError as error:
            return {"skipped": f"no tmpfs can be mounted here ({error.stderr.strip()})"}
    return findings


def start_on_small_disk(what: str, data: Path, out: Path, small: Path, folder: Path, forks: Forks) -> ForkedRun:
    """Start an indexing into `small`, or an evaluation with its results or its journal there."""
    if what == "index":
        arguments = ["index", str(SAMPLE / "corpus"), "--collection", "full", "--store", str(small)]
    else:
        journal = small / "journal" if what == "journal" else folder / "second.sqlite"
        settings = ["--set", f"journal={journal}", "--out", str(out)]
        arguments = ["eval", str(data), "--methods", "concat", "--model", MODEL, *settings]
    return forks.start(*arguments, folder=folder)


def fill_and_repeat(what: str, data: Path, small: Path, folder: Path, forks: Forks) -> Found:
    """The message on the full disk, the data that were written, and the run's results once there is room."""
    out = small / "results" if what == "results" else folder / "results-2"
    process = start_on_small_disk(what, data, out, small, folder, forks)
    output = process.finish()
    outcome = {"code": process.returncode, "said": output.strip().splitlines()[-1:], "traceback": "Traceback" in output}
    if what != "index":
        plain = count_rows(folder / "plain")
        lines = (out / "results.jsonl").read_bytes().splitlines(keepends=True)
        whole = [json.loads(line) for line in lines if line.endswith(b"\n")]
        outcome |= {
            "kept_rows": len(whole),
            "wrong_rows": sum(format_without_timing(row) not in plain for row in whole),
        }
    subprocess.run(["mount", "-o", "remount,size=64m", str(small)], check=True, capture_output=True, text=True)
    wait_for_success(start_on_small_disk(what, data, out, small, folder, forks))
    if what == "index":
        return outcome | {
            "different": len(read_collection(small, "full") ^ read_collection(folder / "plain-store", "full"))
        }
    return outcome | {"different": count_differences(plain, count_rows(out))}


def share_journal(server: Control, forks: Forks, folder: Path, questions: int) -> Found:
    data = write_question_file(folder, questions, 5)
    server.behave(latency=0.02, concat_unknown=0.3)
    both = [
        start_command(
            *("eval", str(data), "--methods", "concat_pf,sure", "--model", MODEL),
            *("--set", "journal=one.sqlite", "--out", name),
            folder=folder,
            wait=False,
        )
        for name in ("one", "two")
    ]
    outputs = [process.communicate(timeout=PATIENCE_S)[1] for process in both]
    with sqlite3.connect(folder / "one.sqlite") as journal:
        sound = journal.execute("PRAGMA integrity_check").fetchone()[0]
    before = sum(server.stats()["calls"].values())
    third = ["--set", "journal=one.sqlite", "--out", "three"]
    start_command("eval", str(data), "--methods", "concat_pf,sure", "--model", MODEL, *third, folder=folder)
    lost = sum(server.stats()["calls"].values()) - before
    halves = [folder / "half-1", folder / "half-2"]
    for number, path in enumerate(sorted((SAMPLE / "corpus").glob("*.md"))):
        half = halves[number % 2]
        half.mkdir(exist_ok=True)
        (half / path.name).write_bytes(path.read_bytes())
    two = [
        start_command("index", str(half), "--collection", "killed", "--store", "both", folder=folder, wait=False)
        for half in halves
    ]
    outputs += [process.communicate(timeout=PATIENCE_S)[1] for process in two]
    start_command("index", *map(str, halves), "--collection", "killed", "--store", "alone", folder=folder)
    return {
        "codes": [process.returncode for process in (*both, *two)],
        "said": [text.strip().splitlines()[-1] for text in outputs if "Traceback" in text or "rror" in text],
        "journal": sound,
        "lost_replies": lost,
        "different_rows": sum(
            count_differences(count_rows(folder / "one"), count_rows(folder / other)) for other in ("two", "three")
        ),
        "different_passages": len(read_collection(folder / "both") ^ read_collection(folder / "alone")),
    }


def is_target_met(name: str, findings: Found) -> bool:
    """Whether a part met its targets."""
    if "skipped" in findings:
        return True
    if name == "full":
        wrong = ("traceback", "wrong_rows", "different")
        parts = [findings[name] for name in ("results", "journal", "index")]
        return all(part["code"] == 2 and not any(part.get(name) for name in wrong) for part in parts)
    if name == "shared":
        wrong = (
            *findings["codes"],
            findings["lost_replies"],
            findings["different_rows"],
            findings["different_passages"],
        )
        return not any(wrong) and bool(findings["journal"] == "ok")
    if name == "eval" and (findings["replies_lost"] or findings["repeated"] > findings["kills"] * AT_ONCE):
        return False
    return not findings["different"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="eval,power,index,torn,full,shared")
    parser.add_argument("--questions", type=int, default=120)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--passages", type=int, default=3000, help="to index under kills")
    options = parser.parse_args()
    questions, times = options.questions, options.kills
    parts: dict[str, Callable[[Control, Forks, Path], Found]] = {
        "eval": lambda server, forks, folder: kill_evaluations(server, forks, folder, questions, times),
        "power": lambda server, forks, folder: kill_evaluations(server, forks, folder, questions, times, cut=True),
        "index": lambda server, forks, folder: kill_indexings(forks, folder, options.passages, times),
        "torn": lambda server, forks, folder: kill_indexings(forks, folder, options.passages, times, cut=True),
        "full": lambda server, forks, folder: fill_disk(server, forks, folder, questions),
        "shared": lambda server, forks, folder: share_journal(server, forks, folder, questions),
    }
    findings: dict[str, Found] = {}
    with run_server() as server, closing(Forks()) as forks:
        for name in options.only.split(","):
            begin = time.perf_counter()
            with tempfile.TemporaryDirectory() as folder:
                findings[name] = parts[name](server, forks, Path(folder))
            findings[name]["seconds"] = round(time.perf_counter() - begin)
            print_findings(name, findings[name])
    report_parts("crashes", findings, is_target_met)


if __name__ == "__main__":
    main()
