"""Reasoning that a model writes before its reply."""

import re

THOUGHT = re.compile(r"<think\s*>.*?</think\s*>", re.DOTALL | re.IGNORECASE)
OPENING = re.compile(r"<think\s*>.*", re.DOTALL | re.IGNORECASE)
CLOSING = re.compile(r".*</think\s*>", re.DOTALL | re.IGNORECASE)


def without_thinking(text: str) -> str:
    """The reply without `<think>...</think>`, stripped.

    An opening tag that is never closed takes everything after it; a closing tag that was never opened takes everything
    before it (servers whose chat template opens the tag send only the closing one).
    """
    return OPENING.sub("", CLOSING.sub("", THOUGHT.sub("", text))).strip()
