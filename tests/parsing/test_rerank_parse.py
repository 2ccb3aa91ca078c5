"""Parsing replies that rank passages: the result ranks all passages."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorum.parsing.answers import Parsed
from quorum.parsing.rankings import parse_ranking


def make_ranking(*numbers: int, malformed: bool = False) -> Parsed[list[int]]:
    """The expected result of `parse_ranking` for passages in this order. The numbers start at 1."""
    return Parsed([number - 1 for number in numbers], malformed)


@pytest.mark.parametrize(
    "reply",
    [
        "[2] > [3] > [1]",
        "[2]>[3]>[1]",
        "2 > 3 > 1",
        "2>3>1",
        "Ranking: [2] > [3] > [1]",
        "Ranking:\n[2] > [3] > [1]",
        "**[2]** > **[3]** > **[1]**",
        "**Ranking:** `[2] > [3] > [1]`",
        "```\n[2] > [3] > [1]\n```",
        "[2] &gt; [3] &gt; [1]",
        "[2] → [3] → [1]",
        "[2] -> [3] -> [1]",
        "[2] >> [3] >> [1]",
        "[2] ≻ [3] ≻ [1]",
        "[2] > [3] = [1]",
        "[2] >= [3] >= [1]",
        "[2] >\n[3] >\n[1]",
        "[2]\n> [3]\n> [1]",
        "> [2] > [3] > [1]",
        "[2] > [3] > [1].",
        "[2] > [3] > [1]\n\nPassage 1 does not help.",
        "Passage 1 is about tea, passage 2 holds the date.\n\n[2] > [3] > [1]",
        "First I look at [1], [2] and [3].\nFinal ranking: [2], [3], [1]",
        "Here is the ranking from most to least helpful: 2, 3, 1",
        "[2] Lumen Tower > [3] Towers > [1] 1931",
        "Passage 2 > Passage 3 > Passage 1",
        "Passage 2, Passage 3, Passage 1",
        "Passages 2, 3 and 1",
        "Passages 2, 3, and 1.",
        "passage #2, passage #3, passage #1",
        "Document 2, Document 3, Document 1",
        "2, 3, 1",
        "2 3 1",
        "2; 3; 1",
        "2-3-1",
        "2\n3\n1",
        "- 2\n- 3\n- 1",
        "- [2]\n- [3]\n- [1]",
        "(2), (3), (1)",
        "#2, #3, #1",
        "2, then 3, then 1",
        "[2, 3, 1]",
        '["2", "3", "1"]',
        '{"ranking": [2, 3, 1]}',
        '```json\n{"order": [2, 3, 1]}\n```',
        "1. Passage 2\n2. Passage 3\n3. Passage 1",
        "1. [2] Lumen Tower (1931)\n2. [3] Towers\n3. [1] Strikes of 1929",
        "1) 2\n2) 3\n3) 1",
        "**1.** [2]\n**2.** [3]\n**3.** [1]",
        "Rank 1: [2]\nRank 2: [3]\nRank 3: [1]",
        "Rank 1: Passage 2, Rank 2: Passage 3, Rank 3: Passage 1",
        "2. It gives the date.\n3. It names the tower.\n1. It is about a mast.",
        "Passage 2 gives the year 1931; passage 3 names the tower; passage 1 does not help.",
        "The second passage is best, then the third passage, and the first one helps least.",
        "[2] (9/10), [3] (4/10), [1] (0/10)",
        "2 (0.9), 3 (0.4), 1 (0.0)",
        "[2] > [3] > [1] > [2]",
        "[2] > [2] > [3] > [1]",
        "[7] > [2] > [3] > [1]",
        "[0] > [2] > [3] > [1]",
    ],
)
def test_a_ranking_is_read(reply: str) -> None:
    assert parse_ranking(reply, 3) == make_ranking(2, 3, 1)


@pytest.mark.parametrize(
    ("reply", "count", "expected"),
    [
        ("", 3, make_ranking(1, 2, 3, malformed=True)),
        ("   \n", 3, make_ranking(1, 2, 3, malformed=True)),
        ("none", 3, make_ranking(1, 2, 3, malformed=True)),
        ("I cannot rank these passages.", 3, make_ranking(1, 2, 3, malformed=True)),
        ("[9] > [8]", 3, make_ranking(1, 2, 3, malformed=True)),
        ("It was in 1931.", 3, make_ranking(1, 2, 3, malformed=True)),
        ("[3]", 3, make_ranking(3, 1, 2, malformed=True)),
        ("Passage 3 is the most helpful.", 3, make_ranking(3, 1, 2, malformed=True)),
        ("[3] > [1]", 3, make_ranking(3, 1, 2, malformed=True)),
        ("[4] > [2]", 5, make_ranking(4, 2, 1, 3, 5, malformed=True)),
        ("[5] > [3] > [", 5, make_ranking(5, 3, 1, 2, 4, malformed=True)),  # cut off by a limit on tokens
        ("[2] > [1]", 5, make_ranking(2, 1, 3, 4, 5)),  # perhaps 3 to 5 did not fit into the prompt: well-formed
        ("[2] > [1] > [3]", 4, make_ranking(2, 1, 3, 4)),
        ("[1]", 1, make_ranking(1)),
        ("", 1, make_ranking(1)),
        ("", 0, make_ranking()),
        ("[10] > [2] > [1]", 10, make_ranking(10, 2, 1, 3, 4, 5, 6, 7, 8, 9, malformed=True)),
        ("9" * 5000, 2, make_ranking(1, 2, malformed=True)),
        ("[" * 5000 + "2", 2, make_ranking(2, 1, malformed=True)),
        ("1. " * 3000, 2, make_ranking(1, 2, malformed=True)),
    ],
)
def test_a_short_or_broken_ranking_is_completed(reply: str, count: int, expected: Parsed[list[int]]) -> None:
    assert parse_ranking(reply, count) == expected


@given(st.text(max_size=80), st.integers(0, 6))
def test_any_reply_gives_a_permutation(reply: str, count: int) -> None:
    assert sorted(parse_ranking(reply, count).value) == list(range(count))


SEPARATORS = st.sampled_from([" > ", ">", ", ", "\n", " ", "; ", " -> "])
NUMBER_FORMS = st.sampled_from(["{}", "[{}]", "({})", "Passage {}", "**[{}]**", "#{}"])


@given(st.permutations(range(5)), SEPARATORS, NUMBER_FORMS)
def test_every_order_is_read_in_every_form(order: list[int], separator: str, form: str) -> None:
    reply = separator.join(form.format(position + 1) for position in order)
    assert parse_ranking(reply, 5) == Parsed(order)


@given(st.lists(st.integers(0, 9), max_size=9), st.integers(2, 6))
def test_named_passages_come_first_and_the_others_keep_their_order(numbers: list[int], count: int) -> None:
    parsed_ranking = parse_ranking(" > ".join(f"[{number}]" for number in numbers), count).value
    named_passages = [n - 1 for n in dict.fromkeys(numbers) if 0 < n <= count]
    assert parsed_ranking == named_passages + [position for position in range(count) if position not in named_passages]
