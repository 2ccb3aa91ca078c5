"""Removes the reasoning that a model writes before its reply."""

import re

THOUGHT = re.compile(r"<think\s*>.*?</think\s*>", re.DOTALL | re.IGNORECASE)
OPENING = re.compile(r"<think\s*>.*", re.DOTALL | re.IGNORECASE)
CLOSING = re.compile(r".*</think\s*>", re.DOTALL | re.IGNORECASE)


def remove_thinking(text: str) -> str:
    """The reply without `<think>...</think>`, stripped.

    Without a closing tag everything after the opening tag is removed. Without an opening tag everything before the
    closing tag is removed: some chat templates open the tag, so that the server sends only its end.

    >>> remove_thinking("<think>Paris? Yes.</think> Paris")
    'Paris'
    """
    return OPENING.sub("", CLOSING.sub("", THOUGHT.sub("", text))).strip()
