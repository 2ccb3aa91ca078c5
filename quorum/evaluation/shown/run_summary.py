"""What a run of several methods amounts to: distinct answers, errors, passages. Every view shows it as it is here."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from quorum.algorithms.vote_key import vote_key
from quorum.core.text import format_count

# Codes of errors with which the embedded model may answer in place of the one that was asked; a wrong key is "setup".
CODES_OF_MODEL = frozenset({"model_call_failed", "context_length_exceeded", "insufficient_quota", "setup"})
CALL_NAME = re.compile(r" on the call '[^']*'")
Results = Mapping[str, Mapping[str, Any]]  # {method: its result as `describe_result` gives it}


def summarize_run(asked: Sequence[str], results: Results, failures: Results) -> dict[str, Any]:
    """{groups, failures, passages, passages_text, answered_text}. asked: all methods of the run.

    groups: see `group_answers`; failures: see `group_failures`; passages: see `collect_passages`; passages_text: how
    many were read, such as "12 passages read, by 3 methods"; answered_text: see `count_answered`.
    """
    known = {method: results[method] for method in asked if method in results}
    passages = collect_passages(known)
    return {
        "groups": group_answers(known, len(asked)),
        "failures": group_failures({method: failures[method] for method in asked if method in failures}),
        "passages": passages,
        "passages_text": count_passages(passages, len(asked)),
        "answered_text": count_answered(asked, len(known)),
    }


def group_answers(results: Results, asked: int | None = None) -> list[dict[str, Any]]:
    """The distinct answers with the methods that gave them, the largest group first: {answer, unknown, methods,
    methods_text}. Of groups of one size, the answer unknown is last. asked: how many methods the run has.

    Answers are the same as in a vote, whatever their case, punctuation or form of a date.

    >>> group_answers({"a": {"answer": "4 July 1776"}, "b": {"answer": "unknown", "unknown": True},
    ...                "c": {"answer": "July 4, 1776"}})[0]
    {'answer': '4 July 1776', 'unknown': False, 'methods': ['a', 'c'], 'methods_text': '2 of 3 methods'}
    """
    groups: dict[tuple[bool, str], dict[str, Any]] = {}
    for method, result in results.items():
        is_unknown, answer = bool(result.get("unknown")), str(result.get("answer", ""))
        key = (is_unknown, "" if is_unknown else vote_key(answer))
        groups.setdefault(key, {"answer": answer, "unknown": is_unknown, "methods": []})["methods"].append(method)
    total = format_count(len(results) if asked is None else asked, "method")
    ordered = sorted(groups.values(), key=lambda group: (-len(group["methods"]), group["unknown"]))
    return [{**group, "methods_text": f"{len(group['methods'])} of {total}"} for group in ordered]


def group_failures(failures: Results) -> list[dict[str, Any]]:
    """The errors of a run, each once with the methods that failed by it: {code, sentence, remedy, methods,
    may_read_offline}.

    may_read_offline: whether the embedded model may answer in place of the one that was asked. Errors that differ only
    in the call that met them are one; their sentence then names no call.

    >>> error = {"code": "setup", "sentence": "There is no model.", "remedy": "change"}
    >>> group_failures({"a": error, "b": dict(error)})[0]["methods"]
    ['a', 'b']
    >>> said = "The model failed on the call '{}' after 1 try: 500"
    >>> errors = {name: {**error, "sentence": said.format(name)} for name in ("answer", "answer: passage 1")}
    >>> [group["sentence"] for group in group_failures(errors)]
    ['The model failed after 1 try: 500']
    """
    groups: dict[tuple[Any, ...], dict[str, Any]] = {}
    for method, failure in failures.items():
        fields = {name: failure[name] for name in ("code", "sentence", "remedy")}
        may_read_offline = failure["code"] in CODES_OF_MODEL
        sentence = CALL_NAME.sub("", fields["sentence"])
        new = {**fields, "methods": [], "may_read_offline": may_read_offline}
        group = groups.setdefault((fields["code"], sentence, fields["remedy"]), new)
        group["methods"].append(method)
        if group["sentence"] != fields["sentence"]:
            group["sentence"] = sentence
    return list(groups.values())


def collect_passages(results: Results) -> list[dict[str, Any]]:
    """The passages that methods read, each once, those that are cited first: {id, read_by, voted_by, cited_by}.

    read_by: the methods that read it; voted_by: [{method, answer}] of its votes, without those for unknown; cited_by:
    [{method, start, end}] of the spans that support an answer.

    >>> passage = {"id": "p1", "title": "", "text": "Tim wrote it."}
    >>> collect_passages({"a": {"answer": "Tim", "passages": [passage]}})
    [{'id': 'p1', 'read_by': ['a'], 'voted_by': [], 'cited_by': []}]
    """
    found: dict[str, dict[str, Any]] = {}
    for method, result in results.items():
        for passage in result.get("passages") or []:
            new = {"id": passage["id"], "read_by": [], "voted_by": [], "cited_by": []}
            found.setdefault(passage["id"], new)["read_by"].append(method)
        for vote in result.get("votes") or []:
            if vote.get("passage") in found and not vote.get("unknown"):
                found[vote["passage"]]["voted_by"].append({"method": method, "answer": vote["answer"]})
        for citation in result.get("citations") or []:
            if citation["passage"] in found and citation.get("start") is not None:
                span = {"start": citation["start"], "end": citation["end"]}
                found[citation["passage"]]["cited_by"].append({"method": method, **span})
    return sorted(found.values(), key=lambda item: -len({one["method"] for one in item["cited_by"]}))


def count_passages(passages: Sequence[Mapping[str, Any]], asked: int) -> str:
    """How many passages were read; in a run of several methods also by how many of these.

    >>> count_passages([{"read_by": ["a", "b"]}, {"read_by": ["b"]}], 3)
    '2 passages read, by 2 methods'
    """
    if not passages:
        return ""
    readers = {method for passage in passages for method in passage["read_by"]}
    by = f", by {format_count(len(readers), 'method')}" if asked > 1 else ""
    return f"{format_count(len(passages), 'passage')} read{by}"


def count_answered(asked: Sequence[str], answered: int) -> str:
    """How far a run of several methods is; empty for a run of one.

    >>> count_answered(["a", "b", "c"], 1)
    '1 of 3 methods has answered'
    """
    if len(asked) < 2:
        return ""
    return f"{answered} of {len(asked)} methods {'has' if answered == 1 else 'have'} answered"
