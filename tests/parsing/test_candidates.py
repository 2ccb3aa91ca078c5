"""Parsing replies that list candidate answers, and replies that name one of several choices."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorum.algorithms.vote_key import vote_key
from quorum.core.lettered_lists import format_lettered_list, get_letter
from quorum.core.text import is_unknown
from quorum.core.thinking import remove_thinking
from quorum.parsing.answers import Parsed
from quorum.parsing.candidates import parse_candidates
from quorum.parsing.choices import parse_choice

TWO_TOWNS = ["Paris", "London"]

# Replies that list candidates, and the first two candidates that the parser reads.
LIST_REPLIES = [
    ("(a) Paris (b) London", TWO_TOWNS),
    ("(a) Paris, (b) London", TWO_TOWNS),
    ("(a) Paris; (b) London.", TWO_TOWNS),
    ("(a) Paris\n(b) London", TWO_TOWNS),
    ("(a) Paris\n\n(b) London\n", TWO_TOWNS),
    ("(A) Paris (B) London", TWO_TOWNS),
    ("(A) Paris / (B) London", TWO_TOWNS),
    ("(a)Paris(b)London", TWO_TOWNS),
    ("( a ) Paris ( b ) London", TWO_TOWNS),
    ("(a): Paris (b): London", TWO_TOWNS),
    ("(a)\nParis\n(b)\nLondon", TWO_TOWNS),
    ("[a] Paris [b] London", TWO_TOWNS),
    ("a) Paris b) London", TWO_TOWNS),
    ("a) Paris\nb) London", TWO_TOWNS),
    ("A) Paris\nB) London", TWO_TOWNS),
    ("a. Paris\nb. London", TWO_TOWNS),
    ("a. Paris b. London", TWO_TOWNS),
    ("A. Paris\nB. London", TWO_TOWNS),
    ("A. Paris B. London", TWO_TOWNS),
    ("A: Paris\nB: London", TWO_TOWNS),
    ("a: Paris, b: London", TWO_TOWNS),
    ("**(a)** Paris **(b)** London", TWO_TOWNS),
    ("**(a)** **Paris**, **(b)** **London**", TWO_TOWNS),
    ("**(a) Paris** **(b) London**", TWO_TOWNS),
    ("*(a) Paris*\n*(b) London*", TWO_TOWNS),
    ("(**a**) Paris (**b**) London", TWO_TOWNS),
    ("**A:** Paris\n**B:** London", TWO_TOWNS),
    ("**A**: Paris\n**B**: London", TWO_TOWNS),
    ("`(a) Paris (b) London`", TWO_TOWNS),
    ("1. Paris\n2. London", TWO_TOWNS),
    ("1. Paris 2. London", TWO_TOWNS),
    ("1) Paris\n2) London", TWO_TOWNS),
    ("(1) Paris (2) London", TWO_TOWNS),
    ("1: Paris\n2: London", TWO_TOWNS),
    ("[1] Paris\n[2] London", TWO_TOWNS),
    ("**1.** Paris\n**2.** London", TWO_TOWNS),
    ("1. **Paris**\n2. **London**", TWO_TOWNS),
    ("1. (a) Paris\n2. (b) London", TWO_TOWNS),
    ("- Paris\n- London", TWO_TOWNS),
    ("* Paris\n* London", TWO_TOWNS),
    ("• Paris\n• London", TWO_TOWNS),
    ("• Paris • London", TWO_TOWNS),
    ("- (a) Paris\n- (b) London", TWO_TOWNS),
    ("> (a) Paris\n> (b) London", TWO_TOWNS),
    ("| (a) Paris | (b) London |", TWO_TOWNS),
    ("Candidate A: Paris\nCandidate B: London", TWO_TOWNS),
    ("Answer 1: Paris\nAnswer 2: London", TWO_TOWNS),
    ("Option (a): Paris\nOption (b): London", TWO_TOWNS),
    ("Answers: (a) Paris (b) London", TWO_TOWNS),
    ("Sure! Here are two candidates:\n\n(a) Paris\n(b) London", TWO_TOWNS),
    ("The candidates are (a) Paris and (b) London.", TWO_TOWNS),
    ("It is either a) Paris or b) London", TWO_TOWNS),
    ("(a) Paris (b) London\n\nBoth cities are named in passage 2.", TWO_TOWNS),
    ("(a) Paris\nPassage 1 says so.\n(b) London\nPassage 2 says so.", TWO_TOWNS),
    ("(a) Paris [1] (b) London [2, 3]", TWO_TOWNS),
    ("(a) Paris (passage 1) (b) London (from passage 2)", TWO_TOWNS),
    ('(a) "Paris" (b) “London”', TWO_TOWNS),
    ("```\n(a) Paris (b) London\n```", TWO_TOWNS),
    ("<think>(a) Rome (b) Berlin</think>\n(a) Paris (b) London", TWO_TOWNS),
    ("(a) Rome, no.</think>(a) Paris (b) London", TWO_TOWNS),
    ("(a) Paris (b) London (c) Rome (d) Berlin", TWO_TOWNS),
    ('{"a": "Paris", "b": "London"}', TWO_TOWNS),
    ('{"(a)": "Paris", "(b)": "London"}', TWO_TOWNS),
    ('{"candidates": ["Paris", "London"]}', TWO_TOWNS),
    ('{"answers": {"a": "Paris", "b": "London"}}', TWO_TOWNS),
    ('["Paris", "London"]', TWO_TOWNS),
    ('```json\n["Paris", "London"]\n```', TWO_TOWNS),
    ('Here you are:\n```json\n{"answer_1": "Paris", "answer_2": "London"}\n```', TWO_TOWNS),
    ('[{"candidate": "Paris"}, {"candidate": "London"}]', TWO_TOWNS),
    ('{"a": 1931, "b": 1950.5}', ["1931", "1950.5"]),
    ("(a) Washington, D.C. (b) Paris, France", ["Washington, D.C.", "Paris, France"]),
    ("(a) Washington, D.C., (b) New York", ["Washington, D.C.", "New York"]),
    ("(a) B. B. King (b) A. A. Milne", ["B. B. King", "A. A. Milne"]),
    ("(a) B. B. King", ["B. B. King"]),
    ("A. B. B. King\nB. Mel B.", ["B. B. King", "Mel B."]),
    ("(a) Titanic (1997) (b) Avatar (film)", ["Titanic (1997)", "Avatar (film)"]),
    ("(a) Jay-Z (b) *NSYNC", ["Jay-Z", "*NSYNC"]),
    ("(a) 3:30 p.m. (b) 4 p.m.", ["3:30 p.m.", "4 p.m."]),
    ("1. Apollo 11\n2. Apollo 12", ["Apollo 11", "Apollo 12"]),
    ("1. 1905 2. 1906", ["1905", "1906"]),
    ("(a) -5 (b) 1,000", ["-5", "1,000"]),
    ("(a) $5.00 (b) 50%", ["$5.00", "50%"]),
    ("(a) Sagittarius A* (b) C++", ["Sagittarius A*", "C++"]),
    ("(a) Unknown Pleasures (b) Closer", ["Unknown Pleasures", "Closer"]),
    ("(a) Yes (b) No", ["Yes", "No"]),
    ("(a) 東京 (b) 京都", ["東京", "京都"]),
    ("(a) Paris (b) paris", ["Paris"]),
    ("(a) The Beatles (b) Beatles.", ["The Beatles"]),
    ("(a) Paris", ["Paris"]),
    ("a) Paris", ["Paris"]),
    ("1. Paris", ["Paris"]),
    ("- Paris", ["Paris"]),
    ("(a) Paris (b)", ["Paris"]),
    ("(a) Paris (b", ["Paris"]),
    ("(a) Paris (b) Lon", ["Paris", "Lon"]),
    ("(a) (b) London", ["London"]),
    ("(a) Paris (b) Unknown", ["Paris"]),
    ("The answer to the question is: (a) Paris (b) London", TWO_TOWNS),
    ("(a) The answer to the question is: Paris (b) **One possible answer is:** London", TWO_TOWNS),
    ("(a) The answer to the question is:\n(b) Paris", ["Paris"]),
    ("1. My first answer to this question would be Paris\n2. London", TWO_TOWNS),
    ("(a) Unknown (b) not mentioned in the passages", []),
    ("(a) N/A (b) N/A", []),
    ("(a) Paris (b) N/A", ["Paris"]),
    ("(a) Paris (b) None", ["Paris"]),
    ('["Paris", "none"]', ["Paris"]),
    ("(a) None (b) One", ["None", "One"]),  # an answer to "How many ...?"
    ("(a) Paris (b) None but the Brave", ["Paris", "None but the Brave"]),
]

# Malformed replies, and the first two candidates that the parser nevertheless reads in them.
MALFORMED_REPLIES = [
    ("Paris", ["Paris"]),
    ("Paris.", ["Paris"]),
    ("Washington, D.C.", ["Washington, D.C."]),
    ("Paris, London", ["Paris, London"]),
    ("Paris or London", ["Paris or London"]),
    ("Paris\nLondon", TWO_TOWNS),
    ("Here they are:\n\nParis\nLondon", TWO_TOWNS),
    ("A. A. Milne", ["A. A. Milne"]),
    ("Answer: Paris", ["Paris"]),
    ("The answer to the question is: Paris", ["Paris"]),
    ("The answer to the question is:\n\nParis\nLondon", TWO_TOWNS),
    ("<think>Let me see.</think>Paris", ["Paris"]),
    ("{'a': 'Paris', 'b': 'London'}", TWO_TOWNS),
    ("['Paris', 'London']", TWO_TOWNS),
    ('{"a": "Paris", "b": "Lon', ["Paris", "Lon"]),
    ("", []),
    (" \n", []),
    ("...", []),
    ("Unknown", []),
    ("I don't know.", []),
    ("The passages do not contain the answer.", []),
    ("I'm sorry, but I can't help with that.", []),
    ("<think>(a) Paris (b) London", []),
    ("{}", []),
    ("[]", []),
]


@pytest.mark.parametrize(("reply", "candidates"), LIST_REPLIES)
def test_a_list_of_candidates_is_read(reply: str, candidates: list[str]) -> None:
    assert parse_candidates(remove_thinking(reply), 2) == Parsed(candidates)


@pytest.mark.parametrize(("reply", "candidates"), MALFORMED_REPLIES)
def test_candidates_in_another_form_are_read_and_marked_malformed(reply: str, candidates: list[str]) -> None:
    assert parse_candidates(remove_thinking(reply), 2) == Parsed(candidates, malformed=True)


def test_more_than_two_candidates_are_read_where_the_limit_allows() -> None:
    reply = "(a) Paris (b) London (c) Paris (d) Rome (e) Berlin"
    assert parse_candidates(reply, 3).value == ["Paris", "London", "Rome"]
    assert parse_candidates(reply, 26).value == ["Paris", "London", "Rome", "Berlin"]


# The letter x at both ends keeps the parser from cutting punctuation off a name.
NAMES = st.text("abcdefghijklmnopqrstuvwxyz .,'-é東", min_size=1, max_size=12).map(lambda name: f"x{name}x")


@given(st.lists(NAMES, min_size=1, max_size=26))
def test_a_lettered_list_is_read_back(names: list[str]) -> None:
    distinct_names: dict[str, str] = {}
    for name in names:
        distinct_names.setdefault(vote_key(name), " ".join(name.split()))
    parsed_candidates = parse_candidates(format_lettered_list(names), 26)
    assert not parsed_candidates.malformed
    assert [" ".join(name.split()) for name in parsed_candidates.value] == list(distinct_names.values())


@given(st.text(st.sampled_from("(a)b.:1-*[]{}\"'\n ,Pé"), max_size=40), st.integers(1, 4))
def test_candidates_stay_within_the_limit_and_none_is_a_repetition_or_unknown(reply: str, limit: int) -> None:
    parsed_candidates = parse_candidates(reply, limit)
    assert len(parsed_candidates.value) <= limit
    assert len({vote_key(item) for item in parsed_candidates.value}) == len(parsed_candidates.value)
    assert all(item == item.strip() and "\n" not in item and not is_unknown(item) for item in parsed_candidates.value)


@given(st.text())
def test_any_reply_is_read(reply: str) -> None:
    assert isinstance(parse_candidates(reply, 2).value, list)
    assert isinstance(parse_choice(reply, TWO_TOWNS).value, str)


@pytest.mark.parametrize(
    "reply",
    [
        "(a) " * 3000,
        "- a\n" * 40000,
        "(" * 200000,
        "[1]" * 9000 + "x",
        ", " * 9000,
        "a. " * 9000,
        "(" * 9000,
        '["' * 9000,
        "x (passage " * 3000,
    ],
)
def test_a_reply_that_repeats_itself_is_read(reply: str) -> None:
    """A regular expression that takes quadratic time in the length of the reply would take minutes here."""
    assert len(parse_candidates(reply, 2).value) <= 2


CHOICE_REPLIES = [
    ("(b) London", "London"),
    ("(b)", "London"),
    ("b", "London"),
    ("B.", "London"),
    ("b) london", "London"),
    ("**(b)** London", "London"),
    ("(b) **London**", "London"),
    ("[b] London", "London"),
    ("London", "London"),
    ("London.", "London"),
    ("Option B", "London"),
    ("Choice (b): London", "London"),
    ("Answer: (b) London", "London"),
    ("The answer is (b) London.", "London"),
    ("(b) London, England", "London"),
    ("(a)", "Paris"),
    ("A", "Paris"),
    ('{"answer": "(a) Paris"}', "Paris"),
    ("Passage 1 says so.\nAnswer: (a)", "Paris"),
    ("<think>(a)?</think>(b)", "London"),
    ("Unknown", "Unknown"),
]


@pytest.mark.parametrize(("reply", "chosen"), CHOICE_REPLIES)
def test_a_choice_is_read(reply: str, chosen: str) -> None:
    assert parse_choice(remove_thinking(reply), TWO_TOWNS) == Parsed(chosen)


@pytest.mark.parametrize(
    ("reply", "answer"),
    [("Rome", "Rome"), ("(b) Rome", "Rome"), ("(c)", "(c)"), ("A. A. Milne", "A. A. Milne"), ("", "unknown")],
)
def test_a_reply_that_names_no_choice_is_malformed(reply: str, answer: str) -> None:
    assert parse_choice(reply, TWO_TOWNS) == Parsed(answer, malformed=True)


def test_a_choice_that_begins_like_a_label_is_read_as_text() -> None:
    assert parse_choice("A. A. Milne", ["Paris", "A. A. Milne"]) == Parsed("A. A. Milne")


# `vote_key` drops a repetition, so the key of a name such as "x.x" is the one letter "x". A reply "(x)" then names
# "x.x", not the 24th candidate, whose letter is x.
LONG_NAMES = NAMES.filter(lambda name: len(vote_key(name)) > 1)


@given(st.lists(LONG_NAMES, min_size=2, max_size=26, unique_by=vote_key), st.data())
def test_each_choice_can_be_chosen(names: list[str], data: st.DataObject) -> None:
    index = data.draw(st.integers(0, len(names) - 1))
    assert parse_choice(f"({get_letter(index)}) {names[index]}", names) == Parsed(names[index])
    assert parse_choice(f"({get_letter(index)})", names) == Parsed(names[index])
