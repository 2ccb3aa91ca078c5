"""Tells a refusal of the caller (a wrong key, no permission) from one of a single prompt (moderation, a firewall).

Both come with status 403. The first fails every call, the second only one.
"""

import re

# A refusal of what was asked: the prompt was flagged, its content is not allowed.
PROMPT_WORDS = re.compile(
    r"\b(?:input|prompt|content|messages?|text|query|question|completion|output)\b.{0,60}?"
    r"\b(?:flagged|blocked|reject\w*|filter\w*|violat\w*|prohibited|sensitive|unsafe|inappropriate|harmful|moderat\w*"
    r"|disallowed|not allowed by)"
    r"|\b(?:flagged|blocked|violat\w*|inappropriate|unsafe|harmful|sensitive|prohibited)\b.{0,40}?"
    r"\b(?:input|prompt|content|messages?|text|query|question|output)\b"
    r"|content[ _-](?:policy|filter\w*|management|moderation|safety|inspection)|guardrail|jailbreak"
    r"|(?:requires?|failed|by) moderation|moderation (?:failed|blocked|endpoint|system)",
    re.IGNORECASE | re.DOTALL,
)
PROMPT_CODES = re.compile(
    r"content_?filter|content_?policy|moderation|flagged|data_?inspection|prompt_?blocked|guardrail|safety", re.I
)
# A refusal of who asks.
ACCESS_WORDS = re.compile(
    r"api[ _-]?key|\bkey\b|credential|token|unauthori[sz]ed|authenticat|authori[sz]ation|permission|access denied"
    r"|not (?:enabled|entitled|subscribed)|country|region|territory|account|organi[sz]ation|project|billing|payment"
    r"|balance|credit limit|quota|subscription|\bplan\b|suspended|deactivated|licen[sc]e"
    r"|\bmodel\b.{0,40}\b(?:access|allowed)",
    re.IGNORECASE,
)
# Servers such as Gemini's answer a wrong key with status 400.
KEY_REFUSED = re.compile(
    r"(?:invalid|incorrect|not valid|missing|wrong|expired|unknown|malformed)\b.{0,20}\bapi[ _-]?key"
    r"|\bapi[ _-]?key\b.{0,30}(?:not valid|invalid|incorrect|missing|expired|not found|required|malformed)",
    re.IGNORECASE,
)


def is_access_refused(status: int, message: str, codes: set[str]) -> bool:
    """Whether a response refuses the caller, so that every call fails in the same way.

    >>> is_access_refused(403, "Your input was flagged for violence.", set()), is_access_refused(401, "", set())
    (False, True)
    """
    if status == 401 or (status == 429 and "insufficient_quota" in codes):
        return True
    if status == 403:
        return not is_prompt_refused(message, codes)
    return status == 400 and is_key_refused(message)


def is_prompt_refused(message: str, codes: set[str]) -> bool:
    """Whether the message or a code says that the content of the request was refused."""
    return bool(PROMPT_WORDS.search(message)) or any(PROMPT_CODES.search(code) for code in codes)


def is_key_refused(message: str) -> bool:
    """Whether the message says that the API key is wrong."""
    return bool(KEY_REFUSED.search(message))


def may_concern_prompt(message: str) -> bool:
    """Whether a 403 may concern one prompt: its message speaks neither of a key nor of permissions. It does concern the
    prompt if the same server has answered others.

    >>> may_concern_prompt("Sorry, you have been blocked"), may_concern_prompt("Your project has no permission")
    (True, False)
    """
    return ACCESS_WORDS.search(message) is None
