"""`quorum prompts` lists the prompts; `show` prints the text of one; `try` prints how a reply is read."""

import json
import os
from pathlib import Path

import pytest
from quorum_command import Quorum

from quorum.graphs import METHODS
from quorum.graphs.senders import find_senders
from quorum.prompts import BUILT_IN


def test_every_prompt_is_listed_with_its_senders(quorum: Quorum) -> None:
    run = quorum("prompts", "--json")
    rows = {row["name"]: row for row in json.loads(run.out)}
    assert (run.code, set(rows)) == (0, set(BUILT_IN))
    assert rows["answer"]["family"] == "post_fusion"
    assert rows["answer"]["variables"] == ["passages", "question"]
    assert "concat_pf" in rows["answer"]["sent_by"]
    assert all(row["sent_by"] for row in rows.values())


def test_the_table_names_families_and_methods(quorum: Quorum) -> None:
    run = quorum("prompts")
    assert run.code == 0
    # "(yours)" would mark a prompt that the user overrides.
    assert {"sure", "blendfilter", "validity", "(yours)"} & set(run.out.split()) == {"sure", "blendfilter", "validity"}


def test_every_prompt_is_sent_by_a_method_or_a_command() -> None:
    assert set(find_senders()) == {name for name in BUILT_IN if "." not in name}
    for name, senders in find_senders().items():
        assert senders, name
        # A sender with a space is a command ("quorum chat") or a description ("any method with a history").
        assert all(sender in METHODS or " " in sender for sender in senders)


def test_senders_are_found_in_the_graphs_and_not_in_the_parts_that_a_setting_chooses() -> None:
    senders = find_senders()
    assert senders["filter_sentences"] == ("filco", "crag", "any method with context_filter=llm")
    assert senders["rank_passages"] == ("selection_inference", "any method with reranker=listwise")
    assert set(senders["reason"]) == {"blendfilter", "cot", "iter_retgen"}
    assert senders["reason_from_memory_yes_no"] == ("cot",)
    answering_methods = {"concat", "post_fusion", "concat_pf", "pf_concat", "rerank", "replug", "filco", "hyde"}
    answering_methods |= {"full_documents", "self_route", "crag"}
    assert set(senders["answer_long"]) == answering_methods
    assert senders["answer_candidates"] == ("pf_concat",)


@pytest.mark.usefixtures("sample_vectors")
@pytest.mark.parametrize("method", ["concat_pf", "mcq", "filco"])
@pytest.mark.long
def test_a_method_sends_what_the_catalogue_says(quorum: Quorum, method: str) -> None:
    run = quorum("ask", "Where was Joseph Haydn born?", "--method", method, "--model", "embedded", "--k", "2", "--json")
    sent_prompts = set(json.loads(run.out)["usage"])
    assert sent_prompts
    assert all(method in find_senders()[prompt] for prompt in sent_prompts)


def test_show_prints_a_prompt_or_its_override(quorum: Quorum, tmp_path: Path) -> None:
    assert quorum("prompts", "show", "answer").out == BUILT_IN["answer"] + "\n"
    (tmp_path / "answer.md").write_text("Short, please.\n$passages\n$question", encoding="utf-8")
    run = quorum("prompts", "show", "answer", "--set", f"prompts={tmp_path}", "--json")
    prompt = json.loads(run.out)
    assert (prompt["text"], prompt["overridden"]) == ("Short, please.\n$passages\n$question", True)
    assert "answer (yours)" in quorum("prompts", "--set", f"prompts={tmp_path}").out
    assert quorum("prompts", "--set", f"prompts={tmp_path}", "--json", "show", "answer").out == run.out
    run = quorum("prompts", "--set", f"prompts={tmp_path}", "try", "answer", "--reply", "-")
    assert (run.code, "takes no --set" in run.err) == (2, True)


@pytest.mark.parametrize(
    ("prompt", "reply", "options", "value", "malformed", "unknown"),
    [
        ("answer", "<answer>Paris</answer>", [], "Paris", False, False),
        ("answer", "I could not find this in the passages.", [], "I could not find this in the passages", False, True),
        ("rank_passages", "[2] > [1]", ["--count", "2"], [1, 0], False, False),
        (
            "answer_choices",
            "most likely (b)",
            ["--candidates", "tea", "--candidates", "coffee"],
            "coffee",
            False,
            False,
        ),
        ("ranking", "Hm.", [], None, True, False),
        ("validity", "True", [], True, False, False),
    ],
)
def test_try_prints_how_a_reply_is_read(
    quorum: Quorum,
    tmp_path: Path,
    prompt: str,
    reply: str,
    options: list[str],
    value: object,
    malformed: bool,
    unknown: bool,
) -> None:
    path = tmp_path / "reply.txt"
    path.write_text(reply, encoding="utf-8")
    run = quorum("prompts", "try", prompt, "--reply", reply, *options, "--json")
    assert quorum("prompts", "try", prompt, "--reply-file", path, *options, "--json") == run
    reading = json.loads(run.out)
    assert (run.code, reading["malformed"], reading["is_unknown"]) == (0, malformed, unknown)
    assert reading["value"] == value


@pytest.mark.parametrize(
    ("reply", "options", "answer", "how", "unknown"),
    [
        ("Based on the passages, the answer is **Ada Korn**.", [], "Ada Korn", "stripped", False),
        ('{"answer": "Ada Korn"}', [], "Ada Korn", "json", False),
        ("The passages do not say it.", [], "unknown", "as_is", True),
        (
            "The tower on the cliff was designed by the young architect Ada Korn after a long storm.",
            ["--question", "Who designed the tower?"],
            "Ada Korn",
            "reader",
            False,
        ),
    ],
)
def test_try_shows_the_answer_as_the_methods_read_it(
    quorum: Quorum, reply: str, options: list[str], answer: str, how: str, unknown: bool
) -> None:
    run = quorum("prompts", "try", "answer", "--reply", reply, *options, "--json")
    reading = json.loads(run.out)
    assert (reading["answer"], reading["how"], reading["is_unknown"]) == (answer, how, unknown)
    lines = quorum("prompts", "try", "answer", "--reply", reply, *options).out.splitlines()
    assert lines[0] == f"answer: {answer}"
    assert lines[1].startswith(f"how: {how} (")
    assert lines[2:] == [f"unknown: {'yes' if unknown else 'no'}", "malformed: no"]


def test_try_says_what_a_sentence_needs_to_be_read(quorum: Quorum) -> None:
    sentence = "The tower on the cliff was designed by the young architect Ada Korn after a long storm."
    run = quorum("prompts", "try", "answer", "--reply", sentence)
    assert "how: as_is" in run.out
    assert "give --question" in run.err


def test_try_prints_each_part_on_a_line(quorum: Quorum) -> None:
    run = quorum("prompts", "try", "pruning", "--reply", "Passage 1 names it.\nAnswer: Paris")
    assert run.out.splitlines()[:2] == ["answer: Paris", "rationale: Passage 1 names it."]
    assert run.out.splitlines()[3:] == ["unknown: no", "malformed: no"]


def test_try_prints_an_empty_value_as_a_dash(quorum: Quorum) -> None:
    run = quorum("prompts", "try", "react", "--reply", "")
    assert run.out.splitlines()[:3] == ["thought: -", "query: -", "answer: -"]


def test_mistakes_are_reported_in_one_sentence(quorum: Quorum, tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    (tmp_path / "bytes.txt").write_bytes(b"\xff\xfe\xfa")
    (tmp_path / "prompts").mkdir()
    os.mkfifo(tmp_path / "prompts" / "answer.md")
    for arguments, sentence in [
        (["show", "answr"], "There is no prompt 'answr'; did you mean answer?"),
        (["show", "zzz"], "There is no prompt 'zzz'; quorum prompts lists them."),
        (["try", "zzz", "--reply", "-"], "There is no prompt 'zzz'; quorum prompts lists them."),
        (["try", "answer", "--reply-file", str(tmp_path / "no")], "(No such file or directory)"),
        (["try", "answer", "--reply-file", str(fifo)], "cannot be read"),
        (["try", "answer"], "Give the reply as --reply TEXT"),
        (["try", "answer", "--reply-file", "/dev/zero"], "cannot be read"),
        (["try", "answer", "--reply-file", str(tmp_path / "bytes.txt")], "(not UTF-8)"),
        (["try", "choose", "--reply", "-"], "give --count"),
        (["show", "answer", "--set", f"prompts={tmp_path / 'prompts'}"], "cannot be read"),
    ]:
        run = quorum("prompts", *arguments)
        assert (run.code, run.out) == (2, ""), arguments
        assert sentence in run.err
        assert run.err.count("\n") == 1
