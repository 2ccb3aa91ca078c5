"""Fills the disk under a running command and checks the data that the command has written.

A part of `benchmarks.crashes`.
"""

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
    """Mount a file system of that size (for example "96k") in memory, for the time of the block.

    Raises MountError if it cannot be mounted.
    """
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
    mount_run = subprocess.run(command, capture_output=True, text=True)
    if mount_run.returncode:
        raise MountError(mount_run.stderr.strip())
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def fill_disk(server: ServerControl, forks: ForkServer, folder: Path, questions: int) -> Findings:
    """Three times, run a command on a disk that is too small, then make room on the disk and run the command again.

    The small disk holds the results of an evaluation, then the journal of another evaluation, then the store that
    `quorum index` fills. Returns the findings of each, by the name of what was on the disk; or {"skipped": reason} if
    no small disk can be mounted. The "plain" runs, on an ordinary disk, give the results to compare with.
    """
    data = write_question_file(folder, questions, k=5)
    server.set_behaviour()
    time_evaluation(data, folder / "plain", folder / "plain.sqlite", methods="concat")
    wait_for_success(start_on_disk("index", data, folder / "plain", folder / "plain-store", folder, forks))
    findings: Findings = {}
    for part, size in (("results", "96k"), ("journal", "192k"), ("index", "400k")):
        try:
            with mount_tmpfs(folder / f"small-{part}", size) as small_disk:
                findings[part] = fill_and_repeat(part, data, small_disk, folder, forks)
        except MountError as error:
            return {"skipped": f"no tmpfs can be mounted here ({error})"}
    return findings


def start_on_disk(part: str, data: Path, out: Path, disk: Path, folder: Path, forks: ForkServer) -> ForkedRun:
    """Start a command that writes to the folder `disk`.

    part: what it writes there. "index": the store that `quorum index` fills; "results" or "journal": the results or the
    journal of an evaluation of `data`. out: the folder of the evaluation's results. folder: the command's working
    directory, on an ordinary disk; it holds the evaluation's journal if `disk` does not.
    """
    if part == "index":
        arguments = ["index", str(SAMPLE / "corpus"), "--collection", "full", "--store", str(disk)]
    else:
        journal = disk / "journal" if part == "journal" else folder / "second.sqlite"
        settings = ["--set", f"journal={journal}", "--out", str(out)]
        arguments = ["eval", str(data), "--methods", "concat", "--model", MODEL, *settings]
    return forks.start(*arguments, folder=folder)


def fill_and_repeat(part: str, data: Path, small_disk: Path, folder: Path, forks: ForkServer) -> Findings:
    """Run a command until the small disk is full, make room, and run it again.

    Returns how the first run ended (exit code, last line, whether with a traceback); if it was an evaluation, how many
    whole rows it wrote, and how many of these are wrong; and how many rows or passages of the second run differ from
    the plain run's.
    """
    out = small_disk / "results" if part == "results" else folder / "results-2"
    process = start_on_disk(part, data, out, small_disk, folder, forks)
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
    subprocess.run(["mount", "-o", "remount,size=64m", str(small_disk)], check=True, capture_output=True, text=True)
    wait_for_success(start_on_disk(part, data, out, small_disk, folder, forks))
    if part == "index":
        return outcome | {
            "different": len(read_collection(small_disk, "full") ^ read_collection(folder / "plain-store", "full"))
        }
    return outcome | {"different": count_differences(expected_rows, read_rows_without_timing(out))}
