"""The measures for a user's own data: typography does not count, numbers do, and all scripts have tokens."""

import string
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorum.algorithms.answer_measures import ANSWER_MEASURES, contains_answer, exact_match, f1, split_tokens
from quorum.algorithms.fold_characters import fold_characters
from quorum.algorithms.vote_key import vote_key
from quorum.core.text import squad_contains_answer, squad_exact_match, squad_f1

SAME_EXCEPT_TYPOGRAPHY = [
    ("Sean O'Brien", "Sean O’Brien"),
    ("Hawai'i", "Hawaiʻi"),
    ("Café Zoë", unicodedata.normalize("NFD", "Café Zoë")),
    ("Café Zoë", "Cafe Zoe"),
    ("1914-1918", "1914–1918"),
    ("1914-1918", "1914—1918"),
    ("well-known", "well\u2011known"),
    ("Nordstern", "Nord\u00adstern"),
    ("Nordstern", "Nord\u200bstern"),
    ("Paris", "« Paris »"),
    ("a tower", "„tower“"),
    ("北京", "北京。"),
    ("北京", "「北京」"),
    ("1974", "１９７４"),
    ("3.5", "３．５"),
    ("1974", "१९७४"),
    ("finance", "ﬁnance"),
    ("Henry IV", "Henry Ⅳ"),
    ("10 km", "10\u00a0km"),
    ("10 km", "10\u202fkm"),
    ("-5", "−5"),
    ("-5", "–5"),
    ("H2O", "H₂O"),
    ("10^2 m2", "10² m²"),
    ("1 1/2", "1½"),
    ("5'10", "5′10"),
    ("5-10", "5〜10"),
    ("ガリレオ", "ｶﾞﾘﾚｵ"),
    ("レオナルド・ダ・ヴィンチ", "レオナルド ダ ヴィンチ"),
    ("Python语言", "Python 语言"),
    ("STRASSE", "Straße"),
    ("1,000,000", "1000000"),
    ("1,00,000", "100000"),
    ("U.S.", "US"),
    ("AT&T", "ATT"),
    (".5", "0.5"),
    ("Windows", "Windows™"),
    ("हिन्दी", "हिन्दी।"),
    ("C++", "C++."),
]
# A vote separates in doubt, and has words of its own for "&" and "-".
SAME_IN_A_MEASURE_ONLY = ("AT&T", ".5", "1,00,000", "STRASSE", "5-10")
DIFFERENT = [
    ("3.5", "35"),
    ("3,5", "35"),
    ("-5", "5"),
    ("-0.5", "0.5"),
    ("-$5", "$5"),
    (".5", "5"),
    ("C++", "C"),
    ("C#", "C"),
    ("C#", "C++"),
    ("A+", "A"),
    ("1/2", "12"),
    ("12:30", "1230"),
    ("10²", "102"),
    ("10⁻³", "10³"),
    ("1½", "11/2"),
    ("1914-1918", "19141918"),
    ("5%-10%", "510"),
    ("1.5 million", "15 million"),
    ("version 1.2", "version 12"),
    ("+", "-"),
    ("北京", "上海"),
]


@pytest.mark.parametrize(("one", "other"), SAME_EXCEPT_TYPOGRAPHY)
def test_equal_typography_scores_equal(one: str, other: str) -> None:
    for answer, gold in ((one, other), (other, one)):
        assert exact_match(answer, [gold]) == f1(answer, [gold]) == 1
        assert contains_answer(f"It is {answer}, they say", [gold])


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_different_numbers_and_names_score_different(one: str, other: str) -> None:
    for answer, gold in ((one, other), (other, one)):
        assert exact_match(answer, [gold]) == 0
        assert f1(answer, [gold]) < 1
        assert not contains_answer(f"It is {answer}, they say", [gold])


@pytest.mark.parametrize(
    ("answer", "gold", "expected"),
    [
        ("北京市海淀", "北京市海淀区", 10 / 11),  # 5 characters are shared, of 5 and 6
        ("東京タワー", "東京", 4 / 7),
        ("กรุงเทพ", "กรุงเทพมหานคร", 12 / 18),  # 6 and 12, because the vowel of รุ is written on its consonant
        ("서울 특별시", "서울", 2 / 3),  # Korean has spaces: words
        ("2008年", "2008 年", 1),
        ("tower in Paris", "Paris tower", 0.8),
    ],
)
def test_f1_counts_characters_where_a_script_has_no_spaces(answer: str, gold: str, expected: float) -> None:
    assert f1(answer, [gold]) == pytest.approx(expected)


def test_a_text_contains_whole_words_and_whole_numbers_only() -> None:
    assert not contains_answer("We must", ["US"])
    assert not contains_answer("It took 20.5 years, or 1/2", ["20", "5", "1", "2"])
    assert contains_answer("from 1914–1918", ["1918"])
    assert contains_answer("首都是北京市海淀区。", ["北京"])
    assert not contains_answer("", ["Paris"])
    assert not contains_answer("Paris", ["", "the"])


PLAIN_SIGNS = sorted(set(string.printable) - set(string.digits) - set("+#\x0b\x0c"))
PLAIN_TEXT = st.text(st.sampled_from(PLAIN_SIGNS), max_size=40).map(lambda text: f"x {text}")  # at least one word
WORDS = st.lists(st.sampled_from(["the", "a", "Paris", "O'Brien", "well-known", "U.S.", "us", "must"]), min_size=1)
PLAIN_WORDS = PLAIN_TEXT | WORDS.map(" ".join)
ANY_TEXT = st.text(max_size=40) | st.text(st.sampled_from("aA1.,-+#/:^ 京市ก่’–½²５()%$"), max_size=12)


@given(PLAIN_WORDS, PLAIN_WORDS)
def test_on_words_without_numbers_both_measures_are_the_same(one: str, other: str) -> None:
    assert exact_match(one, [other]) == squad_exact_match(one, [other])
    assert f1(one, [other]) == squad_f1(one, [other])
    assert contains_answer(one, [other]) == squad_contains_answer(one, [other])


@given(ANY_TEXT, ANY_TEXT)
def test_measures_are_symmetric_and_between_0_and_1(one: str, other: str) -> None:
    for comparison in ANSWER_MEASURES.values():
        assert comparison.exact_match(one, [other]) == comparison.exact_match(other, [one])
        assert comparison.f1(one, [other]) == comparison.f1(other, [one])
        assert 0 <= comparison.exact_match(one, [other]) <= comparison.f1(one, [other]) <= 1
        assert comparison.exact_match(one, [one]) == comparison.f1(one, [one]) == 1


@given(ANY_TEXT)
def test_folding_twice_changes_nothing_and_folded_texts_score_equal(text: str) -> None:
    folded = fold_characters(text)
    assert fold_characters(folded) == folded
    assert exact_match(text, [folded]) == exact_match(folded, [text]) == 1
    assert split_tokens(text) == split_tokens(f" {unicodedata.normalize('NFD', text)}\u00a0")


@pytest.mark.parametrize(
    ("one", "other"), [pair for pair in SAME_EXCEPT_TYPOGRAPHY if pair[0] not in SAME_IN_A_MEASURE_ONLY]
)
def test_a_vote_counts_the_same_typography_as_one_answer(one: str, other: str) -> None:
    assert vote_key(one) == vote_key(other)
