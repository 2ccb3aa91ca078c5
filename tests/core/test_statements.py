"""`find_statements` splits a passage into statements, the parts that can be shown alone."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from quorum.core.statements import find_statement, find_statements


def split_statements(text: str) -> list[str]:
    return [text[start:end] for start, end in find_statements(text)]


def test_lines_of_tables_lists_and_code_are_statements() -> None:
    text = "Setting: timeout; Default: 12 s\nSetting: retries; Default: 3\npip install heron\n1. Call the desk. Wait."
    assert split_statements(text) == [
        "Setting: timeout; Default: 12 s",
        "Setting: retries; Default: 3",
        "pip install heron",
        "1. Call the desk.",
        "Wait.",
    ]


def test_wrapped_prose_continues_in_the_next_line() -> None:
    text = "The office in the old harbour, which was opened in the year 1931, is\nclosed on Mondays. Call first."
    assert split_statements(text) == [text.removesuffix(" Call first."), "Call first."]


def test_a_heading_is_a_statement_of_its_own() -> None:
    assert split_statements("Leave\nEverybody has 27 days.") == ["Leave", "Everybody has 27 days."]


def test_the_statement_that_contains_most_of_a_span_is_found() -> None:
    text = "One is here.\nTwo is there."
    assert find_statement(text, 0, 3) == (0, 12)
    assert find_statement(text, 9, 20) == (13, 26)
    assert find_statement(text, 12, 13) is None  # the line break is in no statement


@given(st.text(alphabet=st.sampled_from("ab. \n?é|-1"), max_size=60))
def test_no_character_but_white_space_is_lost_and_none_is_repeated(text: str) -> None:
    spans = find_statements(text)
    assert all(first[1] <= second[0] for first, second in pairwise(spans))
    assert "".join("".join(text[start:end].split()) for start, end in spans) == "".join(text.split())
