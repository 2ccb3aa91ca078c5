"""Long answers and turns of a conversation: their Markdown, which people read, and their line, which is measured."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorum.core.text import UNKNOWN
from quorum.parsing.long_answers import parse_long_answer, parse_turn
from quorum.prompts.partial_answers import read_partial_answer

MARKDOWN = """\
## Towers

The **Lumen Tower** was finished in 1931 [1], after a strike [2, 3].

1. Open `config.toml`.
2. Set `towers[1]`:

   ```toml
   height = 81
   ---
   Question: none
   ```

| tower | year |
| --- | --- |
| Lumen | 1931 [1] |

---

> It stands in Vell.[4]"""
LINE = (
    "## Towers The **Lumen Tower** was finished in 1931, after a strike. 1. Open `config.toml`. 2. Set `towers[1]`: "
    "```toml height = 81 Question: none | tower | year | | --- | --- | | Lumen | 1931 | > It stands in Vell."
)
QUESTION = "When was the Lumen Tower finished?"
WRAPPED_REPLIES = [
    "{}",
    "\n\n{}\n",
    "Answer: {}",
    "**Answer:**\n\n{}",
    "```markdown\n{}\n```",
    "````\n{}\n````",
    "<answer>\n{}\n</answer>",
    "<reasoning>It is in the first passage.</reasoning>\n<answer>{}</answer>",
    "{}<|im_end|>",
    "{}\n\n---\n\nQuestion: Who built the mast?\nAnswer: Ada Korn",
    "{}\n\nPassages:\n[1] Mast\nIt was built.\n\nQuestion: Who built the mast?",
    f"Question: {QUESTION}\nAnswer: {{}}",
]


@pytest.mark.parametrize("reply", WRAPPED_REPLIES)
def test_markdown_is_kept_and_what_surrounds_it_is_removed(reply: str) -> None:
    parsed_answer = parse_long_answer(reply.format(MARKDOWN), QUESTION)
    assert parsed_answer.text == MARKDOWN
    assert (parsed_answer.value, parsed_answer.malformed) == (LINE, False)


@pytest.mark.parametrize("broken_lines", [False, True])
def test_an_answer_in_json_keeps_its_lines(broken_lines: bool) -> None:
    line_break = "\n" if broken_lines else "\\n"
    reply = f'{{"answer": "Two towers:{line_break}{line_break}- one [1]{line_break}- two [2]"}}'
    parsed_answer = parse_long_answer(reply, QUESTION)
    assert parsed_answer.text == "Two towers:\n\n- one [1]\n- two [2]"
    assert parsed_answer.value == "Two towers: - one - two"


@pytest.mark.parametrize(
    "reply",
    [
        "```python\nprint(1)\n```",
        "```sh\nquorum index docs\n```\n\nThen ask:\n\n```sh\nquorum ask\n```",
        '"Quoted" is one word, and "words" another',
        "Ask:\n\n```\nquorum ask\n```",
        "First.\n\n---\n\nSecond.\n\n***\n\nThird.",
        "It has one answer: no. A long one follows.\n\n- a\n- b",
    ],
)
def test_blocks_of_code_quotes_and_ruled_lines_of_an_answer_stay(reply: str) -> None:
    assert parse_long_answer(reply, QUESTION).text == reply


def test_a_turn_keeps_its_paragraphs_and_loses_what_the_model_invents_after_it() -> None:
    turn = "It was finished in 1931 [1].\n\n- It stands in Vell [2]."
    reply = f"Assistant: {turn}\n\nUser: And the mast?\nAssistant: In 1950."
    parsed_turn = parse_turn(reply)
    assert parsed_turn.text == turn
    assert parsed_turn.value == "It was finished in 1931. - It stands in Vell."


@pytest.mark.parametrize("reply", ["Unknown [1].", "I don't know.", "The passages do not say."])
def test_an_unknown_answer_is_unknown_whatever_it_cites(reply: str) -> None:
    parsed_answer = parse_long_answer(reply)
    assert (parsed_answer.value, parsed_answer.text, parsed_answer.malformed) == (UNKNOWN, reply, False)


STREAMED_REPLIES = [
    *WRAPPED_REPLIES[:6],
    "{}\n\n---\n\nQuestion: Who built the mast?\nAnswer: Ada Korn",
    '"The tower was finished in 1931, after a strike of its builders that took two years [1]. It stands in Vell."',
    '"Tower" is what its builders called it, in 1931, after a strike that took them all of two years. "Mast" it was.',
    "```sh\nquorum index docs\n```\n\nThen ask a question about the tower:\n\n```sh\nquorum ask towers\n```",
    "<reasoning>It is in the first passage. It must be.</reasoning>\nIt was in 1931 [1]. It stands in Vell [2].",
]


@pytest.mark.parametrize("reply", STREAMED_REPLIES)
def test_every_piece_of_a_streamed_answer_is_a_beginning_of_the_whole(reply: str) -> None:
    text = reply.replace("{}", MARKDOWN)
    whole_answer = parse_long_answer(text, QUESTION).text or ""
    pieces = [read_partial_answer("answer_long", text[:end], QUESTION) for end in range(len(text) + 1)]
    assert all(whole_answer.startswith(piece) for piece in pieces)


def test_markdown_is_streamed_line_by_line() -> None:
    pieces = [read_partial_answer("answer_long", MARKDOWN[:end], QUESTION) for end in range(len(MARKDOWN))]
    assert len(set(pieces)) > 25
    assert "1. Open `config.toml`.\n2. Set `towers[1]`:\n\n   ```toml" in pieces[-1]


@given(st.text(alphabet='ab \n`"{}<>-|#[1].:Answer', max_size=120))
def test_any_reply_has_both_forms(reply: str) -> None:
    parsed_answer = parse_long_answer(reply, QUESTION)
    assert parsed_answer.text is not None
    assert parsed_answer.value == " ".join(parsed_answer.value.split())
    assert parsed_answer.value == UNKNOWN or not parsed_answer.malformed
