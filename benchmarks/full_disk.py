"""Fills the disk under a running command and checks the data that it has written; a part of `benchmarks.crashes`."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.forks import ForkedRun, ForkServer
from benchmarks.harness import (
    MODEL,
    SAMPLE,
    ServerControl,
    write_question_file,
)
from benchmarks.killed_commands import Findings, read_collection, wait_for_success
from benchmarks.runs import count_differences, format_without_timing, read_rows_without_timing, time_evaluation


class MountError(Exception):
    """No tmpfs can be mounted, for example because the user has no right to do so."""


@contextmanager
def mount_tmpfs(folder: Path, size: str) -> Iterator[Path]:
    """Mount a file system of that many bytes. Raises MountError if that is refused."""
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
    mounted = subprocess.run(command, capture_output=True, text=True)
    if mounted.returncode:
        raise MountError(mounted.stderr.strip())
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def fill_disk(server: ServerControl, forks: ForkServer, folder: Path, questions: int) -> Findings:
    """Fill the disk under the results, the journal and a collection; then make room and repeat the run."""
    data = write_question_file(folder, questions, 5)
    server.set_behaviour()
    time_evaluation(data, folder / "plain", folder / "plain.sqlite", methods="concat")
    wait_for_success(start_on_disk("index", data, folder / "plain", folder / "plain-store", folder, forks))
    findings: Findings = {}
    for part, size in (("results", "96k"), ("journal", "192k"), ("index", "400k")):
        try:
            with mount_tmpfs(folder / f"small-{part}", size) as small:
                findings[part] = fill_and_repeat(part, data, small, folder, forks)
        except MountError as error:
            return {"skipped": f"no tmpfs can be mounted here ({error})"}
    return findings


def start_on_disk(part: str, data: Path, out: Path, disk: Path, folder: Path, forks: ForkServer) -> ForkedRun:
    """Start an indexing into the folder `disk`, or an evaluation with its results or its journal there."""
    if part == "index":
        arguments = ["index", str(SAMPLE / "corpus"), "--collection", "full", "--store", str(disk)]
    else:
        journal = disk / "journal" if part == "journal" else folder / "second.sqlite"
        settings = ["--set", f"journal={journal}", "--out", str(out)]
        arguments = ["eval", str(data), "--methods", "concat", "--model", MODEL, *settings]
    return forks.start(*arguments, folder=folder)


def fill_and_repeat(part: str, data: Path, small: Path, folder: Path, forks: ForkServer) -> Findings:
    """The message on the full disk, the data that were written, and the run's results once there is room."""
    out = small / "results" if part == "results" else folder / "results-2"
    process = start_on_disk(part, data, out, small, folder, forks)
    output = process.finish()
    outcome = {
        "code": process.returncode,
        "last_line": output.strip().splitlines()[-1:],
        "traceback": "Traceback" in output,
    }
    if part != "index":
        expected_rows = read_rows_without_timing(folder / "plain")
        lines = (out / "results.jsonl").read_bytes().splitlines(keepends=True)
        whole_rows = [json.loads(line) for line in lines if line.endswith(b"\n")]
        outcome |= {
            "kept_rows": len(whole_rows),
            "wrong_rows": sum(format_without_timing(row) not in expected_rows for row in whole_rows),
        }
    subprocess.run(["mount", "-o", "remount,size=64m", str(small)], check=True, capture_output=True, text=True)
    wait_for_success(start_on_disk(part, data, out, small, folder, forks))
    if part == "index":
        return outcome | {
            "different": len(read_collection(small, "full") ^ read_collection(folder / "plain-store", "full"))
        }
    return outcome | {"different": count_differences(expected_rows, read_rows_without_timing(out))}
