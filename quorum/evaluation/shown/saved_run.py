"""Reads runs that were saved as JSON. The files may come from strangers, so every fault in them is a ValueError."""

from typing import Any

from quorum.core.json_text import parse_json
from quorum.evaluation.shown.trace import FORMAT_NAME, Step, read_step

DEEPEST_NESTING = 60  # levels of lists and objects inside each other; the run of a graph with a subgraph has about ten
LARGEST_NUMBER = 10**15  # no number in a saved run may be larger
TEXT_KEYS = ("kind", "name", "prompt", "reply", "reasoning")
LIST_KEYS = ("details", "changes")
STEP_KEYS = {*TEXT_KEYS, *LIST_KEYS, "seconds", "error", "steps"}


def read_saved_run(data: bytes) -> tuple[dict[str, Any], list[Step]]:
    """The JSON object of a saved run, and the run's steps. data: the content of the file.

    Raises ValueError if the file holds anything else: no JSON, too deep nesting, too large numbers, another format,
    steps with unknown keys or wrong types.

    >>> read_saved_run(b'{"format": "quorum trace 1", "steps": [{"kind": "node", "name": "vote"}]}')[1][0].name
    'vote'
    """
    saved_run = parse_json(data)
    check_bounds(saved_run)
    if not isinstance(saved_run, dict) or "format" not in saved_run:
        raise ValueError("it is not an object with a format")
    if saved_run["format"] != FORMAT_NAME:
        raise ValueError(f"its format is {str(saved_run['format'])[:40]!r}, the only known format is {FORMAT_NAME!r}")
    steps = saved_run.get("steps")
    check_steps(steps)
    return saved_run, [read_step(step) for step in steps or []]


def check_bounds(value: Any) -> None:
    """Raises ValueError if the value is nested too deeply, or holds a number that is not finite or is too large."""
    values_at_depth = [value]
    for _ in range(DEEPEST_NESTING):
        if not values_at_depth:
            return
        for item in values_at_depth:
            # `not <=` also catches NaN, for which every comparison is false.
            if isinstance(item, int | float) and not abs(item) <= LARGEST_NUMBER:
                raise ValueError("a number in it is too large or not finite")
        contents = [
            list(item.values()) if isinstance(item, dict) else item
            for item in values_at_depth
            if isinstance(item, dict | list)
        ]
        values_at_depth = [item for part in contents for item in part]
    if values_at_depth:
        raise ValueError("it is nested too deeply")


def check_steps(steps: Any) -> None:
    """Raises ValueError unless these are the steps of a run as `step_to_json` in `trace` writes them."""
    if not isinstance(steps, list):
        raise ValueError("its steps are not a list")
    for step in steps:
        if not isinstance(step, dict) or not step.keys() <= STEP_KEYS or not {"kind", "name"} <= step.keys():
            raise ValueError("a step has no kind, no name, or an unknown key")
        texts = [step.get(name, "") for name in TEXT_KEYS] + [step.get("error") or ""]
        lists = [step.get(name, []) for name in LIST_KEYS]
        texts += [item for list_items in lists if isinstance(list_items, list) for item in list_items]
        if not all(isinstance(text, str) for text in texts) or not all(
            isinstance(list_items, list) for list_items in lists
        ):
            raise ValueError("a field of a step should be a text or a list of texts and is not")
        read_number(step.get("seconds"))
        check_steps(step.get("steps", []))


def read_number(value: Any) -> float | None:
    """The value, if it is a number or None. Raises ValueError for anything else."""
    if value is None or (isinstance(value, int | float) and not isinstance(value, bool)):
        return value
    raise ValueError("a field should be a number and is not")
