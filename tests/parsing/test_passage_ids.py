"""Which passages a reply chooses as relevant (`parse_passage_ids`)."""

import pytest
from hypothesis import given
from hypothesis import settings as run_with
from hypothesis import strategies as st

from quorum.parsing.answers import Parsed
from quorum.parsing.passage_ids import parse_passage_ids

ALL_FIVE = [1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("reply", "numbers"),
    [
        ("1, 3", [1, 3]),
        ("1 and 5 are helpful, the rest are not.", [1, 5]),
        ("Nos. 1 and 2", [1, 2]),
        ("No. 3", [3]),
        ("Relevant passages: 1, 2.\nPassage 3 is not needed.", [1, 2]),
        ("1, 5. Passage 2 is irrelevant.", [1, 5]),
        ("Passage 1 (relevant), Passage 2 (irrelevant), Passage 3 (relevant)", [1, 3]),
        ("1 (relevant), 2 (not relevant), 3 (relevant)", [1, 3]),
        ("Passage 1 is relevant, passage 2 is not relevant, and passage 3 is relevant.", [1, 3]),
        ("None of the passages answers it, but passage 1 is somewhat relevant.", [1]),
        ("<answer>1, 5</answer>", [1, 5]),
        ("Only passages 1 and 5 bear on the question. The rest do not.", [1, 5]),
        ("Passage 1 helps; passages 2 to 4 do not.", [1]),
        ("Passage 1 is relevant: it names the series. Passage 2 is not relevant: it is about tea.", [1]),
        ("Passage 1 - relevant: it names it.\nPassage 3 - relevant: it has 2 floors.\nPassage 4 - irrelevant.", [1, 3]),
        ('{"1": "relevant", "2": "not relevant", "3": "relevant"}', [1, 3]),
        ('{"Passage 1": "irrelevant", "Passage 2": "relevant"}', [2]),
        ('[{"passage": 1, "relevant": true}, {"passage": 2, "relevant": false}]', [1]),
        ('{"passages": [2, 5], "reason": "3 is about tea"}', [2, 5]),
        ("1,3", [1, 3]),
        ("3, 1", [1, 3]),
        ("1", [1]),
        ("[1] and [4]", [1, 4]),
        ("[1, 3]", [1, 3]),
        ("[1], [3]", [1, 3]),
        ("(1), (3)", [1, 3]),
        ("Knowledge 2", [2]),
        ("knowledge 2 and 3", [2, 3]),
        ("Passage 1-3", [1, 2, 3]),
        ("1-3", [1, 2, 3]),
        ("1–3", [1, 2, 3]),
        ("1 to 3", [1, 2, 3]),
        ("Passages 2 through 4", [2, 3, 4]),
        ("1-2, 5", [1, 2, 5]),
        ("the second", [2]),
        ("The second.", [2]),
        ("The first and the third passages", [1, 3]),
        ("first and third", [1, 3]),
        ("The first two passages", [1, 2]),
        ("the last one", [5]),
        ("passage two", [2]),
        ("one and three", [1, 3]),
        ("Passages one, two and five", [1, 2, 5]),
        ("none", []),
        ("None.", []),
        ("None of the passages is relevant.", []),
        ("No relevant passages.", []),
        ("no", []),
        ("[]", []),
        ("", []),
        ("  \n", []),
        ("Nothing", []),
        ("N/A", []),
        ("There are no passages that help.", []),
        ("None of passages 1-5 is relevant", []),
        ("null", []),
        ("{}", []),
        ("all of them", ALL_FIVE),
        ("All", ALL_FIVE),
        ("All passages are relevant.", ALL_FIVE),
        ("all five passages", ALL_FIVE),
        ("All 5 passages", ALL_FIVE),
        ("Every passage is relevant", ALL_FIVE),
        ("everything", ALL_FIVE),
        ("All except 2", [1, 3, 4, 5]),
        ("all but passage 4", [1, 2, 3, 5]),
        ("None except passage 3", [3]),
        ("None but 3", [3]),
        ("1, 7", [1]),
        ("4-9", [4, 5]),
        ("Passage 2 says that the tower has 3 floors and was finished in 1931.", [2]),
        ('{"relevant": [1, 3]}', [1, 3]),
        ('{"ids": "1, 3"}', [1, 3]),
        ('{"1": true, "2": false, "3": true}', [1, 3]),
        ('[{"id": 1, "relevant": true}, {"id": 2, "relevant": false}]', [1]),
        ("```json\n[2, 4]\n```", [2, 4]),
        ('{"relevant": [], "irrelevant": [1,2]}', []),
        ('{"relevant_passages": ["Passage 1", "Passage 4"]}', [1, 4]),
        ('Here: {"relevant": [2]}', [2]),
        ('["1","2"]', [1, 2]),
        ('{"relevant": null}', []),
        ("1, 1, 3, 3", [1, 3]),
        ("Relevant passages: 1, 3", [1, 3]),
        ("Relevant passages: none", []),
        ("**Relevant passages:** 2, 4", [2, 4]),
        ("Passage 1: relevant\nPassage 2: not relevant\nPassage 3: relevant", [1, 3]),
        ("Passage 1 bears on it.\nPassage 2 is beside the point.\nRelevant passages: 1", [1]),
        ("Passages 1 and 3 are relevant; 2, 4 and 5 are irrelevant.", [1, 3]),
        ("Passages 1 and 3 are relevant, while passage 2 is not.", [1, 3]),
        ("Passage 2 is not relevant.", [1, 3, 4, 5]),
        ("1. Passage 2\n2. Passage 4", [2, 4]),
        ("1. Lumen Tower\n3. Towers of 2 cities", [1, 3]),
        ("- 1\n- 4", [1, 4]),
        ("* Passage 1\n* Passage 4", [1, 4]),
        ("Passage 1 mentions the tower but is not relevant. Passage 3 gives the year.", [3]),
        ("Passage 2 does not name the year but is relevant.", [2]),
        ("2 of the 5 passages are relevant: 1 and 4", [1, 4]),
        ("1 (0.9), 3 (0.85)", [1, 3]),
        ("1: yes\n2: no\n3: yes", [1, 3]),
        ("１、３", [1, 3]),
        ("#2, #5", [2, 5]),
        ("P1, P3", [1, 3]),
        ("Knowledge_2", [2]),
        ("knowledge ids 1 and 2", [1, 2]),
        ("The relevant knowledge ids are 1, 2.", [1, 2]),
        ("The relevant ones are 1 & 5", [1, 5]),
        ("Only passage 3 is relevant.", [3]),
        ("Only 3", [3]),
        ("id: 4", [4]),
        ("Ids: 4, 5", [4, 5]),
        ("1 and/or 2", [1, 2]),
        ("I would keep 1 and 2 and remove 3, 4, 5.", [1, 2]),
        ("1\n2\n3", [1, 2, 3]),
        ("1 2 3", [1, 2, 3]),
        ("Relevant passages:\n- Passage 1\n- Passage 3\n\nIrrelevant passages:\n- Passage 2", [1, 3]),
        ("Relevant: [1]\nIrrelevant: [2, 3, 4, 5]", [1]),
        ("Irrelevant: 2, 3\nRelevant: 1, 4", [1, 4]),
        ("First, passage 4 names the year. Then passage 5 is useful.", [4, 5]),
        ("Passage 3 is relevant. The others are not.", [3]),
        ("All are irrelevant.", []),
        ("Not all of them are relevant: 1 and 2 are.", [1, 2]),
        ("Passages 1, 2, and 3", [1, 2, 3]),
        ("1;2", [1, 2]),
        ("Passage [2]", [2]),
        ("[1][2]", [1, 2]),
        ("[1-3]", [1, 2, 3]),
        ("None of them is relevant, though passage 2 is about towers.", []),
        ("None, although passage 1 names the town.", []),
        ("None, even though passages 1 and 2 speak of Haydn", []),
        ("None. Passage 1 is about tea, passage 2 about coffee.", []),
        ("Nothing in the passages is relevant, although passage 4 names the same town", []),
        ("None are directly relevant; passage 2 is only loosely related.", []),
        ("No passage is relevant, but passage 3 mentions the river.", []),
        ("Relevant passages: None (passage 1 is about tea)", []),
        ("None of the 3 books is named in the passages.", []),
        ("None of these 5 passages bears on the question.", []),
        ("The 2 relevant passages are 0 and 4.", [4]),
        ("The 2 relevant passages are 1 and 4.", [1, 4]),
        ("There are 2 relevant passages: 1 and 3", [1, 3]),
        ("2 passages are relevant: [1] and [5]", [1, 5]),
        ("I would keep 2 passages, 1 and 5.", [1, 5]),
        ("Only 1 passage is relevant: passage 4", [4]),
        ("The relevant passages are 2 and 3. The other 3 are not.", [2, 3]),
        ("1 and 3 passages are relevant", [1, 3]),
        ("<answer>1, 3</answer>", [1, 3]),
        ("Passages 1 and 3</s>", [1, 3]),
        ("5", [5]),
        ("passages 3, 2, and 1", [1, 2, 3]),
        ("two", [2]),
        ("both 1 and 2", [1, 2]),
        ("1 and 2 both help", [1, 2]),
        ("1.", [1]),
        ("1. ", [1]),
        ("2.\n", [2]),
        ("Answer: 1, 2", [1, 2]),
        ("Relevant passages: 2\n\nExplanation: Passage 1 names the tower, passage 3 a bridge.", [2]),
        ("**Relevant passages:** 2, 4\n**Reasoning:** passage 1 is about tea.", [2, 4]),
        ("Explanation: passage 1 is about tea.\nRelevant passages: 2", [2]),
        ("$1", [1]),
        ("Passage 1: irrelevant\nPassage 2: irrelevant", [3, 4, 5]),
        ('[{"id": 1, "relevant": "no"}, {"id": 2, "relevant": "Yes"}, {"id": 3, "verdict": "Not relevant."}]', [2]),
        ('[{"id": 1, "relevant": true, "notes": "no"}, {"id": 2, "relevant": false}]', [1]),
        ('[{"id": 1, "relevant": true, "irrelevant_parts": "yes", "relevant_topic": "no"}]', [1]),
        ('[{"id": 1, "relevant": "yes", "title": "No"}, {"id": 2, "relevant": "no"}]', [1]),
        ('[{"id": 1, "irrelevant": true}, {"id": 2, "irrelevant": false}, {"id": 3, "irrelevant": "Yes"}]', [2]),
        ("Passage 1: relevant. It was finished in 1931.\nPassage 2: not relevant.\nRelevant passages: 1", [1]),
    ],
)
def test_the_numbers_of_passages_are_read(reply: str, numbers: list[int]) -> None:
    """The prompt showed five passages."""
    assert parse_passage_ids(reply, 5) == Parsed(numbers)


@pytest.mark.parametrize(
    "reply",
    [
        "7",
        "0",
        "6-9",
        "I cannot say.",
        "unknown",
        "relevant",
        "The passages were judged.",
        "COVID-19 and B12",
        "The tower of 1931",
        "the Second World War",
        "Passage 10",
        "12",
        "This or that, perhaps, or rather the other.",  # it does not say which passage "the other" is
        "The rest do not bear on it.",
    ],
)
def test_unreadable_replies_keep_all_passages(reply: str) -> None:
    assert parse_passage_ids(reply, 5) == Parsed(ALL_FIVE, malformed=True)


def test_a_single_shown_passage_is_kept_or_dropped() -> None:
    assert parse_passage_ids("Yes, the passage helps.", 1) == Parsed([1], malformed=True)
    assert parse_passage_ids("none", 1) == Parsed([])
    assert parse_passage_ids("1", 1) == Parsed([1])


WORDS = [
    *(
        "1",
        "2",
        "3",
        "7",
        "12",
        "1-3",
        "[2]",
        "[1, 4]",
        "#5",
        "0",
        "2.",
        "1)",
        "1931",
        "0.9",
        "B12",
        "{",
        "}",
        "[",
        "]",
    ),
    *(
        "passage",
        "Passages",
        "knowledge",
        "none",
        "all",
        "not",
        "relevant",
        "irrelevant",
        "except",
        "but",
        "and",
        "the",
    ),
    *("first", "second", "last", "two", "rest", ":", ";", ".", ",", "\n", "relevant passages:", "true", '"', "東", "²"),
]


@given(st.one_of(st.text(max_size=80), st.lists(st.sampled_from(WORDS), max_size=25).map(" ".join)), st.integers(1, 9))
def test_any_reply_gives_numbers_in_range_each_once(reply: str, count: int) -> None:
    parsed_ids = parse_passage_ids(reply, count)
    assert parsed_ids.value == sorted(set(parsed_ids.value))
    assert set(parsed_ids.value) <= set(range(1, count + 1))
    assert not parsed_ids.malformed or parsed_ids.value == list(range(1, count + 1))


LISTS = st.lists(st.integers(1, 9), min_size=1, unique=True)
LIST_FORMS = {  # text around a list of numbers -> separator of the numbers
    "{}": ", ",
    "[{}]": "; ",
    "Passages {}": " and ",
    "Relevant passages: {}": ", ",
    "knowledge ids: {}.": ",",
    '{{"relevant": [{}]}}': ", ",
    "**{}**": "\n",
    "The relevant ones are {}.": " & ",
}


@given(LISTS, st.sampled_from(sorted(LIST_FORMS)))
def test_a_list_is_read_whatever_is_around_it(numbers: list[int], form: str) -> None:
    reply = form.format(LIST_FORMS[form].join(map(str, numbers)))
    assert parse_passage_ids(reply, 9) == Parsed(sorted(numbers))


@given(LISTS)
def test_one_verdict_on_each_line_is_read(numbers: list[int]) -> None:
    reply = "\n".join(f"Passage {n}: {'relevant' if n in numbers else 'not relevant'}" for n in range(1, 10))
    assert parse_passage_ids(reply, 9) == Parsed(sorted(numbers))
    assert parse_passage_ids(f"{reply}\nRelevant passages: 2", 9) == Parsed([2])


@given(st.integers(1, 9), st.integers(1, 9), st.sampled_from(["{}-{}", "{} to {}", "Passages {}–{}", "[{}-{}]"]))
def test_ranges_of_numbers_are_read(first: int, last: int, form: str) -> None:
    low, high = sorted((first, last))
    assert parse_passage_ids(form.format(first, last), 9) == Parsed(list(range(low, high + 1)))


@run_with(max_examples=20, deadline=None)
@given(st.sampled_from(WORDS), st.integers(1000, 20000))
def test_very_long_replies_are_read(word: str, times: int) -> None:
    """A pattern that backtracks too much would not end on such a reply."""
    assert parse_passage_ids(f"{word} " * times, 5).value is not None
