"""Parsing replies that hold a summary."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorum.core.thinking import remove_thinking
from quorum.parsing.answers import Parsed
from quorum.parsing.summaries import parse_summary

BORN_SENTENCE = "Joseph Haydn was born in Rohrau, a village on the Leitha."
TWO_PARAGRAPHS = f"{BORN_SENTENCE}\n\nHe died in Vienna in 1809."

REPLIES = [
    (f"{BORN_SENTENCE} [DONE]", BORN_SENTENCE),
    (f"{BORN_SENTENCE}[DONE]", BORN_SENTENCE),
    (f"{BORN_SENTENCE}\n[DONE]", BORN_SENTENCE),
    (f"{BORN_SENTENCE}\n\n[DONE]\n", BORN_SENTENCE),
    (f"{BORN_SENTENCE} [done]", BORN_SENTENCE),
    (f"{BORN_SENTENCE} [Done].", BORN_SENTENCE),
    (f"{BORN_SENTENCE} [ DONE ]", BORN_SENTENCE),
    (f"{BORN_SENTENCE} **[DONE]**", BORN_SENTENCE),
    (f"{BORN_SENTENCE} `[DONE]`", BORN_SENTENCE),
    (f'{BORN_SENTENCE} "[DONE]"', BORN_SENTENCE),
    (f"{BORN_SENTENCE} ([DONE])", BORN_SENTENCE),
    (f"{BORN_SENTENCE} [END]", BORN_SENTENCE),
    (f"{BORN_SENTENCE} DONE", BORN_SENTENCE),
    (f"{BORN_SENTENCE}\nDONE.", BORN_SENTENCE),
    (f"{BORN_SENTENCE}\n**DONE**", BORN_SENTENCE),
    (f"{BORN_SENTENCE} [DONE] [DONE]", BORN_SENTENCE),
    (f"{BORN_SENTENCE} [DONE]\n\nQuestion: Who was Mozart?\nParagraph: A composer. [DONE]", BORN_SENTENCE),
    (f"{BORN_SENTENCE} [DONE] I hope this helps!", BORN_SENTENCE),
    (f"[DONE] {BORN_SENTENCE}", BORN_SENTENCE),
    (f"[DONE]\n{BORN_SENTENCE} [DONE]", BORN_SENTENCE),
    (f"{BORN_SENTENCE} [DON", BORN_SENTENCE),
    (f"{BORN_SENTENCE} [", BORN_SENTENCE),
    (BORN_SENTENCE, BORN_SENTENCE),
    (f"  {BORN_SENTENCE}  ", BORN_SENTENCE),
    (TWO_PARAGRAPHS, TWO_PARAGRAPHS),
    (f"{TWO_PARAGRAPHS} [DONE]", TWO_PARAGRAPHS),
    (f"Paragraph: {BORN_SENTENCE} [DONE]", BORN_SENTENCE),
    (f"Paragraph:\n{BORN_SENTENCE} [DONE]", BORN_SENTENCE),
    (f"Passage: {BORN_SENTENCE} [DONE]", BORN_SENTENCE),
    (f"**Passage:** {BORN_SENTENCE} [DONE]", BORN_SENTENCE),
    (f"**Passage**: {BORN_SENTENCE} [DONE]", BORN_SENTENCE),
    (f"Supporting passage: {BORN_SENTENCE} [DONE]", BORN_SENTENCE),
    (f"Response: {BORN_SENTENCE} [DONE]", BORN_SENTENCE),
    (f"Summary:\n\n{BORN_SENTENCE} [DONE]", BORN_SENTENCE),
    (f"### Summary\n{BORN_SENTENCE} [DONE]", BORN_SENTENCE),
    (f"# Paragraph\n\n{BORN_SENTENCE} [DONE]", BORN_SENTENCE),
    (f"Answer: {BORN_SENTENCE} [DONE]", BORN_SENTENCE),
    (f"Here is the passage:\n\n{BORN_SENTENCE} [DONE]", BORN_SENTENCE),
    (f"Here's a paragraph that supports the prediction:\n{BORN_SENTENCE} [DONE]", BORN_SENTENCE),
    (f"Sure! Here is the text:\n\n{BORN_SENTENCE}\n\n[DONE]", BORN_SENTENCE),
    (f"Certainly:\n{BORN_SENTENCE} [DONE]", BORN_SENTENCE),
    (f"Below is the paragraph:\n\nParagraph: {BORN_SENTENCE} [DONE]", BORN_SENTENCE),
    (f"```\n{BORN_SENTENCE} [DONE]\n```", BORN_SENTENCE),
    (f"```\n{BORN_SENTENCE}\n```\n[DONE]", BORN_SENTENCE),
    (f"```text\n{BORN_SENTENCE}\n```", BORN_SENTENCE),
    (f'"{BORN_SENTENCE}" [DONE]', BORN_SENTENCE),
    (f"“{BORN_SENTENCE}” [DONE]", BORN_SENTENCE),
    (f"**{BORN_SENTENCE}** [DONE]", BORN_SENTENCE),
    (f'{{"passage": "{BORN_SENTENCE}"}}', BORN_SENTENCE),
    (f'{{"paragraph": "{BORN_SENTENCE} [DONE]"}}', BORN_SENTENCE),
    (f'```json\n{{"summary": "{BORN_SENTENCE}"}}\n```', BORN_SENTENCE),
    (f"<think>It was Rohrau. [DONE]</think>{BORN_SENTENCE} [DONE]", BORN_SENTENCE),
    (f"It was Rohrau.</think>\n{BORN_SENTENCE} [DONE]", BORN_SENTENCE),
    ("The passage says that he was born there. [DONE]", "The passage says that he was born there."),
    ("Passages 1 and 2 name Rohrau. [DONE]", "Passages 1 and 2 name Rohrau."),
    ("Here is where he was born: Rohrau. [DONE]", "Here is where he was born: Rohrau."),
    ("Rohrau [1] is a village [2]. [DONE]", "Rohrau [1] is a village [2]."),
    ('He said "done" in 1809. [DONE]', 'He said "done" in 1809.'),
    ('"Rohrau" and "Vienna" [DONE]', '"Rohrau" and "Vienna"'),
    ("- He was born in Rohrau.\n- He died in Vienna. [DONE]", "- He was born in Rohrau.\n- He died in Vienna."),
    ("The passages do not support this. [DONE]", "The passages do not support this."),
    ("Joseph Haydn was bo", "Joseph Haydn was bo"),
    ("海頓生於羅勞。[DONE]", "海頓生於羅勞。"),
    ("{not JSON} [DONE]", "{not JSON}"),
    (f"{BORN_SENTENCE}\n\nQuestion: Where was Haydn born?\n{BORN_SENTENCE}", BORN_SENTENCE),
    (f"Paragraph:\n{BORN_SENTENCE}\n\n**Passages:**\n[1] Haydn", BORN_SENTENCE),
    (f"{BORN_SENTENCE}\nHis question: who plays?", f"{BORN_SENTENCE}\nHis question: who plays?"),
]


@pytest.mark.parametrize(("reply", "summary"), REPLIES)
def test_a_summary_is_read(reply: str, summary: str) -> None:
    assert parse_summary(remove_thinking(reply)) == Parsed(summary)


@pytest.mark.parametrize(
    "reply", ["", " \n", "[DONE]", "**[DONE]**", "...", "Paragraph:", "<think>It was Rohrau", "```\n```"]
)
def test_a_reply_without_a_summary_is_malformed(reply: str) -> None:
    parsed_summary = parse_summary(remove_thinking(reply))
    assert parsed_summary.malformed
    assert not any(character.isalnum() for character in parsed_summary.value)


@given(st.text())
def test_any_reply_is_read(reply: str) -> None:
    parsed_summary = parse_summary(reply)
    assert parsed_summary.malformed == (not any(character.isalnum() for character in parsed_summary.value))


SENTENCE = st.text("abcdefghij ,'", min_size=1, max_size=40).map(lambda text: f"Haydn {' '.join(text.split())} there.")


@given(st.lists(SENTENCE, min_size=1, max_size=4).map(" ".join))
def test_text_before_the_end_marker_is_kept(text: str) -> None:
    assert parse_summary(f"{text} [DONE]") == parse_summary(text) == Parsed(text)


@pytest.mark.parametrize("reply", ["[DONE] " * 5000, "Paragraph: " * 5000, "[" * 9000, "Here is: \n" * 3000])
def test_a_reply_that_repeats_itself_is_read(reply: str) -> None:
    assert isinstance(parse_summary(reply).value, str)


def test_the_middle_of_a_long_summary_is_read() -> None:
    """A summary may be as long as its passages, so `parse_summary` must not shorten it as parsers of answers do."""
    sentences = [f"Sentence {number} is in the summary." for number in range(1200)]
    assert parse_summary(" ".join(sentences)).value == " ".join(sentences)
