"""What a summary's reply says: text up to [DONE]."""

import re

from quorum.parsing.answers import Parsed, read_object
from quorum.parsing.wrapping import LONGEST_TEXT, unwrapped

DONE = re.compile(
    r"[*_`\"'(]{0,3}\[\s?(?i:DONE|END)\s?\][*_`\"').]{0,3}|(?<=\s)[*_`]{0,3}DONE[*_`]{0,3}[.!]?\s{0,9}\Z|\[D?O?N?E?\Z"
)
HEADING = re.compile(
    r"\A[\W_]{0,9}(?:(?:here(?:'s| is)|sure|certainly|of course|below is|the following)\b[^\n]{0,200}?[:：]\s*\n"
    r"|(?:(?:supporting |final |short |the )?(?:passage|paragraph|response|summary|text|answer|output))"
    r"[*_]{0,3}[ \t]*(?:[:：][*_]{0,3}|\n))\s*",
    re.IGNORECASE,
)


def summary_text(reply: str) -> Parsed[str]:
    """The text before the end marker [DONE], which may be missing, without heading, lead-in, code fence and quotes.

    Default (malformed): of a reply that says nothing, nothing.
    """
    text = unwrapped(reply, LONGEST_TEXT).strip()
    if text.startswith("{") and (found := read_object(text)):
        text = " ".join(value for value in found.values() if isinstance(value, str))
    text = DONE.sub("\0", text).lstrip("\0 \t\n").partition("\0")[0]
    text = unwrapped(text.strip())
    while heading := HEADING.match(text):
        text = text[heading.end() :]
    text = unquoted(text.strip())
    return Parsed(text, malformed=not any(character.isalnum() for character in text))


def unquoted(text: str) -> str:
    """Without one pair of quotes or asterisks around all of it."""
    for left, right in (('"', '"'), ("“", "”"), ("**", "**"), ("'", "'")):
        inner = text[len(left) : -len(right)]
        if text.startswith(left) and text.endswith(right) and left not in inner and right not in inner:
            return inner.strip()
    return text
