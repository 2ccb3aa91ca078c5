"""How an evaluation copes with a server that has faults: python -m benchmarks.faults [--only NAMES]

Each part evaluates methods on questions with given passages. A server on this machine (`benchmarks.server`) takes the
place of the chat model. Each entry of this list names a fault and, after a
colon, what is expected:

transport   20% of the calls have a fault of transport (status 429, 500 or 502, a connection that closes or hangs, a
            reply that is slow or cut off): no question is lost or counted twice, and every answer equals that of a run
            without faults
content     10% of the replies are empty, refusals or garbage: replies that do not have the form that their prompt asks
            for are counted as malformed, no others are, and no question fails
outage      the server is down for a while in the middle: the run waits and continues
key         the server refuses the run's API key: the run stops at once with the server's message
"""

import argparse
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.harness import (
    ServerControl,
    print_findings,
    report_parts,
    run_server,
    start_server,
    stop_server,
    write_question_file,
)
from benchmarks.runs import METHODS, count_differences, read_rows, read_rows_without_timing, time_evaluation
from quorum.core.errors import SetupError

# The prompts whose reply must name or choose something: candidates, a passage, a topic or a verdict.
CHOICE_PROMPTS = {"candidates", "validity", "ranking", "topic", "choose"}
# For each kind of faulty reply, the prompts for which such a reply has a wrong form. A refusal is a valid answer; any
# text is a valid summary, judgement or reasoning; an empty reply is valid where the prompt asks which passages to keep.
PROMPTS_BROKEN_BY_FAULT = {
    "empty": {"answer", "extract_answer", "conditional_summary", "internal", "reason", "judge"}
    | (CHOICE_PROMPTS - {"choose"}),
    "refusal": CHOICE_PROMPTS,
    "malformed": {"answer", "extract_answer", *CHOICE_PROMPTS},
}
# Two queries of this method may find the same passages in the same order. Then it sends two equal prompts, whose calls
# share one reply.
METHOD_WITH_EQUAL_PROMPTS = "blendfilter"
# The highest number of refused calls that meets the target: 16 calls are made at once, and more can begin before the
# first refusal stops the run.
MAX_DENIED = 64
Findings = dict[str, Any]


def break_transport(server: ServerControl, folder: Path, questions: int) -> Findings:
    """Evaluate all methods without faults and with faults. lost: how many answers are missing; twice: how many are
    there more than once; different: how many rows differ between the two runs.
    """
    data = write_question_file(folder, questions, k=5)
    server.set_behaviour(share_unknown_from_several_passages=0.3, share_unknown_from_one_passage=0.3)
    seconds_without_faults = time_evaluation(data, folder / "plain", folder / "plain.sqlite")
    server.set_behaviour(
        share_unknown_from_several_passages=0.3,
        share_unknown_from_one_passage=0.3,
        transport=0.2,
        hang_seconds=10,
        slow_seconds=0.5,
    )
    seconds = time_evaluation(data, folder / "faulty", folder / "faulty.sqlite")
    rows, server_stats = read_rows(folder / "faulty"), server.fetch_counts()
    row_counts = Counter((row["id"], row["method"]) for row in rows)
    return {
        "questions": questions,
        "seconds_without": round(seconds_without_faults, 1),
        "seconds": round(seconds, 1),
        "calls": sum(server_stats["calls"].values()),
        "faults": server_stats["transport"],
        "failed": sum(row["error"] is not None for row in rows),
        "lost": questions * len(METHODS.split(",")) - len(row_counts),
        "twice": sum(count - 1 for count in row_counts.values()),
        "different": count_differences(
            read_rows_without_timing(folder / "plain"), read_rows_without_timing(folder / "faulty")
        ),
    }


def break_content(server: ServerControl, folder: Path, questions: int) -> Findings:
    """Run one method after the other, so that methods share no reply.

    Findings by method; injected: the number of faulty replies by "PROMPT FAULT". expected_malformed: how many of these
    have a wrong form. malformed: how many malformed replies the rows count; a reply that several equal calls share is
    counted by each call.
    """
    data, findings = write_question_file(folder, questions, k=5), Findings()
    for method in METHODS.split(","):
        server.set_behaviour(share_unknown_from_several_passages=0.3, share_unknown_from_one_passage=0.3, content=0.1)
        time_evaluation(data, folder / method, folder / f"{method}.sqlite", methods=method)
        rows, injected_counts = read_rows(folder / method), server.fetch_counts()["content"]
        findings[method] = {
            "injected": injected_counts,
            "expected_malformed": sum(
                count
                for prompt_and_fault, count in injected_counts.items()
                if is_malformed(*prompt_and_fault.split(" "))
            ),
            "malformed": sum(row["malformed"] or 0 for row in rows),
            "failed": sum(row["error"] is not None for row in rows),
            "lost": questions - len(rows),
        }
    return findings


def is_malformed(prompt: str, fault: str) -> bool:
    """Whether a reply with this fault ("empty", "refusal" or "malformed") has a wrong form for this prompt."""
    return prompt in PROMPTS_BROKEN_BY_FAULT[fault]


def restart_server(server: ServerControl, folder: Path, questions: int, down: float) -> Findings:
    """Kill the server a second after the evaluation begins, and restart it `down` seconds later. different: how many
    rows differ from those of a run without an outage.
    """
    data = write_question_file(folder, questions, k=5)
    settings = {"share_unknown_from_several_passages": 0.3, "latency": 0.05}
    server.set_behaviour(**settings)
    time_evaluation(data, folder / "plain", folder / "plain.sqlite", methods="post_fusion")
    restarted_servers: list[ServerControl] = []

    def interrupt() -> None:
        time.sleep(1.0)
        stop_server(server)
        time.sleep(down)
        restarted_servers.append(start_server(server.port, **settings))

    thread = threading.Thread(target=interrupt)
    thread.start()
    seconds = time_evaluation(data, folder / "outage", folder / "outage.sqlite", methods="post_fusion")
    thread.join()
    server.process = restarted_servers[0].process
    difference_count = count_differences(
        read_rows_without_timing(folder / "plain"), read_rows_without_timing(folder / "outage")
    )
    return {"questions": questions, "down": down, "seconds": round(seconds, 1), "different": difference_count}


def refuse_key(server: ServerControl, folder: Path, questions: int) -> Findings:
    """Evaluate while the server refuses the key. calls: how many calls it refused; said: the message of the run."""
    data = write_question_file(folder, questions, k=5)
    server.set_behaviour(key="another", latency=0.05)  # now the server accepts only the key "another"
    message, begin = "", time.perf_counter()
    try:
        time_evaluation(data, folder / "key", folder / "key.sqlite")
    except SetupError as error:
        message = str(error)
    return {"seconds": round(time.perf_counter() - begin, 2), "calls": server.fetch_counts()["denied"], "said": message}


def is_target_met(name: str, findings: Findings) -> bool:
    """Whether the part `name` met its targets."""
    if name == "transport":
        return not any(findings[key] for key in ("failed", "lost", "twice", "different"))
    if name == "content":
        is_count_exact = all(
            method_findings["expected_malformed"] == method_findings["malformed"]
            for method, method_findings in findings.items()
            if method != METHOD_WITH_EQUAL_PROMPTS
        )
        return is_count_exact and all(
            method_findings["expected_malformed"] <= method_findings["malformed"]
            and not method_findings["failed"]
            and not method_findings["lost"]
            for method_findings in findings.values()
        )
    if name == "outage":
        return not findings["different"]
    return "Incorrect API key" in findings["said"] and bool(findings["calls"] <= MAX_DENIED)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="transport,content,outage,key", help="names of parts, separated by commas")
    parser.add_argument(
        "--questions", type=int, default=500, help="questions in each part; the part outage takes 200 at most"
    )
    parser.add_argument("--down", type=float, default=30.0, help="seconds without a server in the part outage")
    options = parser.parse_args()
    parts: dict[str, Callable[[ServerControl, Path], Findings]] = {
        "transport": lambda server, folder: break_transport(server, folder, options.questions),
        "content": lambda server, folder: break_content(server, folder, options.questions),
        "outage": lambda server, folder: restart_server(server, folder, min(options.questions, 200), options.down),
        "key": lambda server, folder: refuse_key(server, folder, options.questions),
    }
    findings: dict[str, Findings] = {}
    with run_server() as server:
        for name in options.only.split(","):
            with tempfile.TemporaryDirectory() as folder:
                findings[name] = parts[name](server, Path(folder))
            print_findings(name, findings[name])
    report_parts("faults", findings, is_target_met)


if __name__ == "__main__":
    main()
