"""Renames the keys in results.jsonl, details.jsonl and spent.json that had other names in older versions of Quorum."""

from typing import Any

NEW_KEYS = {  # old name -> today's name
    "not_majority": "right_answer_outvoted",
    "gold_in_pool": "right_answer_among_votes",
    "unsupported": "voters_without_evidence",
    "voters_without_answer": "voters_without_evidence",
    "not_greedy": "temperature_refused",
    "suppressed": "withheld",
    "verbose": "wordy_answers",
    "stored": "reused_calls",
    "stored_calls": "reused_calls",
    "searched": "searches_made",
    "recall_before": "recall_before_filter",
    "precision_before": "precision_before_filter",
    "s_precision_before": "s_precision_before_filter",
    "overlap_own": "overlap_own_summary",
    "overlap_other": "overlap_other_summaries",
}


def rename_old_keys(stored_object: dict[str, Any]) -> dict[str, Any]:
    """The object (a line of results.jsonl or details.jsonl, or what spent.json contains) with today's names of its
    keys, in the same order.

    >>> rename_old_keys({"em": 1.0, "stored": 2, "steps": [{"node": "vote", "within": None}]})
    {'em': 1.0, 'reused_calls': 2, 'steps': [{'node': 'vote', 'enclosing_step': None}]}
    """
    renamed_object = {NEW_KEYS.get(key, key): value for key, value in stored_object.items()}
    if isinstance(stored_object.get("steps"), list):
        renamed_object["steps"] = [rename_key(step, "within", "enclosing_step") for step in stored_object["steps"]]
    if isinstance(stored_object.get("calls"), list):  # a list in details.jsonl, a number in results.jsonl
        renamed_object["calls"] = [rename_key(call, "stored", "reused") for call in stored_object["calls"]]
    return renamed_object


def rename_key(item: Any, old: str, new: str) -> Any:
    if not isinstance(item, dict) or old not in item:
        return item
    return {new if key == old else key: value for key, value in item.items()}
