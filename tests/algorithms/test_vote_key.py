"""The key of an answer in a vote: which spellings of an answer share a key, and which answers have different keys."""

from datetime import date
from itertools import combinations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from quorum.algorithms.vote_key import LONGEST_ANSWER, vote_key
from quorum.algorithms.votes import count_votes, find_most_frequent
from quorum.core.state import Vote

# Each string holds spellings of one answer, separated by |: their keys are equal.
SAME_KEYS = [
    "J. R. R. Tolkien|J.R.R. Tolkien|J R R Tolkien|JRR Tolkien|j.r.r. tolkien",
    "A. A. Milne|A.A. Milne|AA Milne",
    "John F. Kennedy|John F Kennedy",
    "two|2|Two.|**2**",
    "twenty-one|21|Twenty One",
    "105|one hundred and five|a hundred and five",
    "3,500,000|3.5 million|3500000",
    "2001|two thousand one|two thousand and one",
    "the 21st|twenty-first|21st",
    "July 4, 1776|4 July 1776|on July 4th, 1776|the 4th of July, 1776|1776-07-04|Thursday, July 4, 1776|4 jul. 1776",
    "July 1776|in July of 1776",
    "May 5|5 May|May 5th",
    "1776|in 1776|In 1776.",
    "1990s|the 1990s|1990's|in the 1990s",
    "1990-1995|1990–1995|1990 to 1995|from 1990 to 1995",
    "5 miles|five miles|5 mi",
    "5 km|5km|5 kilometres|five kilometers",
    "10%|10 percent|10 per cent|ten percent",
    "$3 million|3,000,000 dollars",
    "100 °C|100 degrees Celsius",
    "7:30 pm|7:30 p.m.",
    "44 BC|44 B.C.|44 BCE",
    "Route 66|Route sixty-six",
    "Spider-Man|Spider Man|Spiderman|spider-man.",
    "Beyoncé|Beyonce",
    "Simon & Garfunkel|Simon and Garfunkel",
    "St. Louis|Saint Louis",
    "the United States|U.S.|USA|the United States of America",
    "19th century|the nineteenth century",
    "Kigali|Kigali Kigali",
    "Alex Ferguson|Sir Alex Ferguson",
    "yes|Yes.|Yes, it is.|YES!",
    "no|No.|No, he was not there.",
    "Paris|Paris, which is its capital|Paris [1]|Paris (passage 2)|Paris, according to the passage|in Paris|"
    "Paris. This is stated in the first passage.|Paris because it says so|“Paris”",
]
# Each string holds different answers, separated by |: no two of their keys are equal.
DIFFERENT_KEYS = [
    "1990|1990s|the 90s",
    "5 miles|5 km|5|$5|5%|5th|-5|5 pounds|£5|5 years",
    "Paris|Paris, Texas|Paris or Lyon|not Paris",
    "May|May 5|May 2005|May 5, 2005",
    "4 July|14 July|4 June|July 1904|1904",
    "66|Route 66|Highway 66",
    "A. A. Milne|Milne|A. Milne|The Who",
    "Vitamin A|vitamin|Vitamin B",
    "3.5|35|3,5|3.5 million",
    "7|007|Seven Samurai",
    "1984|Nineteen Eighty-Four Street|84",
    "9/11|911",
    "C|C++|C#",
    "no|No. 1|Dr. No|no one|not known to me",
    "yes|Yes, Minister|Yes Man",
    "Mercury (planet)|Mercury (element)|Mercury",
    "us|U.S.",
    "Henry V|Henry IV|Henry",
    "the gospel according to john|the gospel according to matthew",
    "Bruges|In Bruges",
    "New York|New York, New York",
    "21|21 21",
    "Mix|Sir Mix-a-Lot|Sir",
    "12|1 2|1/2",
    "5'10|510",
    "10²|102",
    "мой|мои",
    "हिन्दी|हनद",
    "?!|!",
    "the|a|an",
]


@pytest.mark.parametrize("forms", SAME_KEYS)
def test_spellings_of_one_answer_share_a_key(forms: str) -> None:
    keys = {form: vote_key(form) for form in forms.split("|")}
    assert len(set(keys.values())) == 1, keys


@pytest.mark.parametrize("answers", DIFFERENT_KEYS)
def test_answers_that_differ_have_different_keys(answers: str) -> None:
    for item, other in combinations(answers.split("|"), 2):
        assert vote_key(item) != vote_key(other), (item, other)


def test_no_two_groups_of_spellings_share_a_key() -> None:
    keys = [vote_key(forms.split("|")[0]) for forms in SAME_KEYS]
    assert len(set(keys)) == len(keys)


@given(st.text(max_size=2 * LONGEST_ANSWER))
@example("!" * (LONGEST_ANSWER + 1))
def test_every_text_but_white_space_has_a_key(answer: str) -> None:
    assert bool(vote_key(answer)) == bool(answer.strip())


@given(st.dates(min_value=date(1000, 1, 1), max_value=date(2999, 12, 31)))
def test_dates_have_one_key_each(day: date) -> None:
    forms = (f"{day:%B} {day.day}, {day.year}", f"{day.day} {day:%B} {day.year}", day.isoformat())
    assert {vote_key(form) for form in forms} == {f"{day.year}m{day.month:02}d{day.day:02}"}


@given(st.integers(min_value=0, max_value=10**12))
def test_a_number_has_one_key_with_and_without_commas(number: int) -> None:
    assert vote_key(f"{number:,}") == vote_key(str(number)) == str(number)


@given(st.integers(min_value=0, max_value=999_999))
def test_a_number_in_words_has_the_key_of_its_digits(number: int) -> None:
    assert vote_key(spell_out(number)) == str(number)


WORDS_TO_NINETEEN = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
]
WORDS_TO_NINETEEN += ["seventeen", "eighteen", "nineteen"]
WORDS_OF_TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]


def spell_out(number: int) -> str:
    """The number in words, as in British English: "one hundred and five thousand and one"."""
    if number < 20:
        return WORDS_TO_NINETEEN[number]
    if number < 100:
        return WORDS_OF_TENS[number // 10 - 2] + (f"-{WORDS_TO_NINETEEN[number % 10]}" if number % 10 else "")
    scale, name = (100, "hundred") if number < 1000 else (1000, "thousand")
    remainder = number % scale
    joint = " and " if 0 < remainder < 100 else " "
    return f"{spell_out(number // scale)} {name}" + (f"{joint}{spell_out(remainder)}" if remainder else "")


def test_a_long_answer_counts_as_the_same_when_its_words_are_the_same() -> None:
    text = "The tower was built for the fair. " * 40
    assert vote_key(text) == vote_key(text.upper()) != vote_key(f"{text} It was red.")
    assert len(vote_key(text * 100)) == 64  # a hash in place of the long text


def test_the_first_passage_that_voted_for_the_winner_decides_how_the_answer_is_written() -> None:
    answers = ["Lyon", "July 4, 1776", "the 4th of July 1776", "4 July 1776"]
    votes = [Vote(rank=rank, passage=str(rank), answer=answer, unknown=False) for rank, answer in enumerate(answers)]
    outcome = count_votes(votes)
    assert (outcome.answer, outcome.ranks, outcome.share) == ("July 4, 1776", (1, 2, 3), 0.75)


def test_samples_with_the_same_key_count_as_equal() -> None:
    assert find_most_frequent(["Rome", "two", "2"], unknown=[False] * 3) == (1, 2 / 3)
