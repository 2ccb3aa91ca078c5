"""What an abrupt end leaves behind: python -m benchmarks.crashes [--only NAMES]

kills    SIGKILL at random moments of `quorum eval` and `quorum index`: what is resumed ends as if nothing had happened
full     the disk is full: one clear sentence, and what was written before is kept (needs the right to mount a tmpfs)
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
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.harness import MODEL, ROOT, SAMPLE, Control, question_file, report_parts, serving
from benchmarks.runs import answers_of, differing, run_all, without_timing

Found = dict[str, Any]


def quorum(*arguments: str, folder: Path, wait: bool = True) -> "subprocess.Popen[str]":
    """The command in a folder."""
    command = [sys.executable, "-c", "from cli.main import main; main()", *arguments]
    process = subprocess.Popen(
        command, cwd=folder, env=os.environ | {"PYTHONPATH": str(ROOT)}, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True,
    )  # fmt: skip
    if wait:
        process.communicate(timeout=600)
    return process


def killed_until_done(start_again: Callable[[], "subprocess.Popen[str]"], draw: random.Random, kills: int) -> int:
    """Kill at a random moment, again and again, then let it end. How often it was killed before it had ended."""
    landed = 0
    for _ in range(kills):
        process = start_again()
        time.sleep(draw.uniform(0.2, 6.0))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        landed += process.returncode == -signal.SIGKILL
    process = start_again()
    _, said = process.communicate(timeout=600)
    if process.returncode:
        raise RuntimeError(f"What was killed could not be finished: {said}")
    return landed


def kills(server: Control, folder: Path, questions: int, times: int) -> Found:
    data, draw = question_file(folder, questions, 5), random.Random(0)
    server.behave(latency=0.2, concat_unknown=0.3)

    def evaluating(name: str) -> "subprocess.Popen[str]":
        settings = ["--model", MODEL, "--set", f"journal={name}.sqlite", "--out", name]
        return quorum("eval", str(data), "--methods", "concat_pf,sure", *settings, folder=folder, wait=False)

    evaluating("whole").communicate()
    evaluated = killed_until_done(lambda: evaluating("killed"), draw, times)

    def indexing(name: str) -> "subprocess.Popen[str]":
        return quorum(
            "index", str(SAMPLE / "corpus"), "--collection", "killed", "--store", name, folder=folder, wait=False
        )

    indexing("store-whole").communicate()
    indexed = killed_until_done(lambda: indexing("store-killed"), draw, times)
    return {
        "kills_of_eval": evaluated,
        "different_rows": differing(answers_of(folder / "whole"), answers_of(folder / "killed")),
        "kills_of_index": indexed,
        "different_passages": len(passages_in(folder / "store-whole") ^ passages_in(folder / "store-killed")),
    }


def passages_in(store: Path, collection: str = "killed") -> set[tuple[str, str]]:
    """Id and text of every passage of a collection, its vectors read too."""
    import chromadb

    client = chromadb.PersistentClient(str(store / "chroma"))
    found = client.get_collection(collection).get(include=["documents", "embeddings"])
    assert found["embeddings"] is not None
    assert len(found["embeddings"]) == len(found["ids"])
    return set(zip(found["ids"], found["documents"] or [], strict=True))


@contextmanager
def tmpfs(folder: Path, size: str) -> Iterator[Path]:
    """A file system of so many bytes. Raises CalledProcessError where that is not allowed."""
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
    subprocess.run(command, check=True, capture_output=True, text=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def full(server: Control, folder: Path, questions: int) -> Found:
    """Results, then the journal, on a disk that fills up; then room is made and the run finished."""
    data = question_file(folder, questions, 5)
    server.behave()
    run_all(data, folder / "plain", folder / "plain.sqlite", methods="concat")
    found: Found = {}
    for what, size in (("results", "96k"), ("journal", "192k"), ("index", "400k")):
        try:
            with tmpfs(folder / f"small-{what}", size) as small:
                found[what] = filled(what, data, small, folder)
        except subprocess.CalledProcessError as error:
            return {"skipped": f"no tmpfs can be mounted here ({error.stderr.strip()})"}
    return found


def filled(what: str, data: Path, small: Path, folder: Path) -> Found:
    """What was said on the full disk, and whether the lines written there are whole."""
    if what == "index":
        process = quorum(
            "index", str(SAMPLE / "corpus"), "--collection", "full", "--store", str(small), folder=folder, wait=False
        )
        _, said = process.communicate(timeout=300)
        return {"code": process.returncode, "said": said.strip().splitlines()[-1:], "traceback": "Traceback" in said}
    places = {"out": folder / "results-2", "journal": folder / "second.sqlite"}
    places["out" if what == "results" else "journal"] = small / what
    arguments = ["--model", MODEL, "--set", f"journal={places['journal']}", "--out", str(places["out"])]
    process = quorum("eval", str(data), "--methods", "concat", *arguments, folder=folder, wait=False)
    _, said = process.communicate(timeout=300)
    plain = answers_of(folder / "plain")
    lines = (places["out"] / "results.jsonl").read_bytes().splitlines(keepends=True)
    whole = [json.loads(line) for line in lines if line.endswith(b"\n")]
    return {
        "code": process.returncode,
        "said": said.strip().splitlines()[-1:],
        "traceback": "Traceback" in said,
        "whole_rows": len(whole),
        "wrong_rows": sum(without_timing(row) not in plain for row in whole),
    }


def shared(server: Control, folder: Path, questions: int) -> Found:
    data = question_file(folder, questions, 5)
    server.behave(latency=0.02, concat_unknown=0.3)
    both = [
        quorum(
            *("eval", str(data), "--methods", "concat_pf,sure", "--model", MODEL),
            *("--set", "journal=one.sqlite", "--out", name),
            folder=folder,
            wait=False,
        )
        for name in ("one", "two")
    ]
    said = [process.communicate(timeout=600)[1] for process in both]
    with sqlite3.connect(folder / "one.sqlite") as journal:
        sound = journal.execute("PRAGMA integrity_check").fetchone()[0]
    halves = [folder / "half-1", folder / "half-2"]
    for number, path in enumerate(sorted((SAMPLE / "corpus").glob("*.md"))):
        half = halves[number % 2]
        half.mkdir(exist_ok=True)
        (half / path.name).write_bytes(path.read_bytes())
    two = [
        quorum("index", str(half), "--collection", "killed", "--store", "both", folder=folder, wait=False)
        for half in halves
    ]
    said += [process.communicate(timeout=600)[1] for process in two]
    quorum("index", *map(str, halves), "--collection", "killed", "--store", "alone", folder=folder)
    return {
        "codes": [process.returncode for process in (*both, *two)],
        "said": [text.strip().splitlines()[-1] for text in said if "Traceback" in text or "rror" in text],
        "journal": sound,
        "different_rows": differing(answers_of(folder / "one"), answers_of(folder / "two")),
        "different_passages": len(passages_in(folder / "both") ^ passages_in(folder / "alone")),
    }


def judged(name: str, found: Found) -> bool:
    """Whether a part went as it should."""
    if "skipped" in found:
        return True
    if name == "full":
        return all(one["code"] == 2 and not one["traceback"] and not one.get("wrong_rows") for one in found.values())
    same = not found["different_rows"] and not found["different_passages"]
    return same and not any(found.get("codes", [])) and found.get("journal", "ok") == "ok"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="kills,full,shared")
    parser.add_argument("--questions", type=int, default=120)
    parser.add_argument("--kills", type=int, default=20)
    options = parser.parse_args()
    parts: dict[str, Callable[[Control, Path], Found]] = {
        "kills": lambda server, folder: kills(server, folder, options.questions, options.kills),
        "full": lambda server, folder: full(server, folder, options.questions),
        "shared": lambda server, folder: shared(server, folder, options.questions),
    }
    found: dict[str, Found] = {}
    with serving() as server:
        for name in options.only.split(","):
            with tempfile.TemporaryDirectory() as folder:
                found[name] = parts[name](server, Path(folder))
    report_parts("crashes", found, judged)


if __name__ == "__main__":
    main()
