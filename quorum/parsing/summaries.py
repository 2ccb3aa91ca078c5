"""Reads replies that are a summary ending in [DONE]."""

import re
from dataclasses import replace

from quorum.parsing.answers import LINE_START, Parsed, read_object
from quorum.parsing.wrapping import LONGEST_READ_TEXT, remove_wrapping

# The end marker: [DONE] or [END] anywhere in the reply; at its end also DONE without brackets, or a cut-off [DONE].
DONE_MARK = re.compile(
    r"[*_`\"'(]{0,3}\[\s?(?i:DONE|END)\s?\][*_`\"').]{0,3}|(?<=\s)[*_`]{0,3}DONE[*_`]{0,3}[.!]?\s{0,9}\Z|\[D?O?N?E?\Z"
)
# At the beginning: a lead-in, such as "Here is the passage:", or a heading, such as "**Summary:**".
HEADING = re.compile(
    r"\A[\W_]{0,9}(?:(?:here(?:'s| is)|sure|certainly|of course|below is|the following)\b[^\n]{0,200}?[:：]\s*\n"
    r"|(?:(?:supporting |final |short |the )?(?:passage|paragraph|response|summary|text|answer|output))"
    r"[*_]{0,3}[ \t]*(?:[:：][*_]{0,3}|\n))\s*",
    re.IGNORECASE,
)
# A label of the prompt, which the model repeats after its text when it goes on with the prompt.
PROMPT_LABEL = re.compile(
    rf"{LINE_START}(?:question|passages)\b[*_\"'`]{{0,3}}[ \t]*[:：]", re.MULTILINE | re.IGNORECASE
)


def parse_summary(reply: str) -> Parsed[str]:
    """The summary: the reply's text before the end marker [DONE], without a heading, lead-in, code fence and quotes.

    A line that begins with "Question:" or "Passages:" ends it: there the model repeats the prompt.
    The marker may be missing or cut off ("[DON"); a marker at the beginning is skipped. If the reply is a JSON object,
    its texts are joined. If no letter or digit is left, the reply is malformed, and the value is the text that is left.
    """
    text = remove_wrapping(reply, LONGEST_READ_TEXT).strip()
    if text.startswith("{") and (parts := read_object(text)):
        text = " ".join(value for value in parts.values() if isinstance(value, str))
    text = DONE_MARK.sub("\0", text).lstrip("\0 \t\n").partition("\0")[0]
    text = remove_wrapping(text.strip(), LONGEST_READ_TEXT)
    while heading := HEADING.match(text):
        text = text[heading.end() :]
    text = remove_quotes(cut_repeated_prompt(text).strip())
    return Parsed(text, malformed=not any(character.isalnum() for character in text))


def parse_long_summary(reply: str) -> Parsed[str]:
    """As `parse_summary`, for a summary that is a long answer: `text` is the summary, too."""
    parsed_summary = parse_summary(reply)
    return replace(parsed_summary, text=parsed_summary.value)


def cut_repeated_prompt(text: str) -> str:
    """The text before the first label of the prompt that follows a letter or a digit."""
    for label in PROMPT_LABEL.finditer(text):
        if any(character.isalnum() for character in text[: label.start()]):
            return text[: label.start()]
    return text


def remove_quotes(text: str) -> str:
    """The text without one pair of quotes or asterisks around the whole of it."""
    for left, right in (('"', '"'), ("“", "”"), ("**", "**"), ("'", "'")):
        inner = text[len(left) : -len(right)]
        if text.startswith(left) and text.endswith(right) and left not in inner and right not in inner:
            return inner.strip()
    return text
