"""Spans end at sentences, lines, cells, list numbers and titles; a doubled title is read once; short spans win."""

import itertools

import pytest

from quorum.core.state import Passage
from quorum.models.embedded.batching import Job, read_jobs
from quorum.models.embedded.reading import Reading, Span
from quorum.models.embedded.replies import Sampler, find_preferred_span
from quorum.models.embedded.span_limits import Heading, find_breaks, find_headings


def split_at_breaks(text: str, title: str = "") -> list[str]:
    """The parts of a text between its breaks, without those that are only white space."""
    breaks = (0, *find_breaks(title, text), len(text))
    parts = (text[start:end].strip() for start, end in itertools.pairwise(breaks))
    return [part for part in parts if part]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("Fill it to 4 bar. 3. Close the tap.", ["Fill it to 4 bar.", "3.", "Close the tap."]),
        ("1. Open the lid\n2. Wait", ["1.", "Open the lid", "2.", "Wait"]),
        ("- Red\n- Blue", ["-", "Red", "-", "Blue"]),
        ("Setting: timeout; Default: 12 s", ["Setting:", "timeout", "; Default:", "12 s"]),
        ("| name | 12 s |", ["|", "name", "|", "12 s", "|"]),
        ("Opening hours\nMonday to Friday", ["Opening hours", "Monday to Friday"]),
        ("Sgt. Pepper was at St. Mary on 4.5 acres.", ["Sgt. Pepper was at St. Mary on 4.5 acres."]),
        ("It was slow; later it was fast.", ["It was slow; later it was fast."]),
    ],
)
def test_a_text_is_cut_where_a_span_must_end(text: str, parts: list[str]) -> None:
    assert split_at_breaks(text) == parts


@pytest.mark.parametrize(
    ("title", "text", "headings"),
    [
        ("Belmopan", "Belmopan Belmopan is a city.", [Heading(0, 8, (9, 17))]),
        ("Cupid", 'Cupid "Cupid" is a song.', [Heading(0, 5, (7, 12))]),
        ("Ghent", "Ghent The Ghent of old.", [Heading(0, 5, (10, 15))]),
        ("Midas", "He had a father. Midas Midas is a king.", [Heading(17, 22, (23, 28))]),
        ("Ben Savage", "Ben Savage Bennett Joseph Savage is an actor.", [Heading(0, 10, None)]),
        ("Aiko", "Aiko She was born in Tokyo.", [Heading(0, 4, None)]),
        ("Compass Minerals", "Compass Minerals International, Inc is a company.", []),
        ("Duran Duran", "Duran Duran are a band.", []),
        ("", "Belmopan is a city.", []),
        ("!", "! Belmopan", []),
    ],
)
def test_a_title_is_found_as_a_heading_of_the_text(title: str, text: str, headings: list[Heading]) -> None:
    assert list(find_headings(title, text)) == headings


@pytest.mark.parametrize(
    ("question", "title", "text", "answer"),
    [
        ("What is the capital of Belize?", "Belmopan", "Belmopan Belmopan is the capital of Belize.", "Belmopan"),
        ("Which band sang Rio?", "Duran Duran", "Duran Duran Duran Duran sang Rio in 1982.", "Duran Duran"),
        ("To what pressure is it filled?", "Manual", "Fill it to 4 bar. 3. Close the tap.", "4 bar"),
        ("What is the default of timeout?", "Settings", "Setting: timeout; Default: 12 s; Meaning: the wait", "12 s"),
    ],
)
def test_the_reader_reads_no_further_than_the_answer(question: str, title: str, text: str, answer: str) -> None:
    (result,) = read_jobs([Job(question, [Passage(id="1", title=title, text=text)])])
    chosen = Sampler().choose(result.reading, 0.0)
    assert chosen.rstrip(".") == answer
    for span in result.reading.spans:
        assert text[span.start : span.end] == span.text
        assert "Belmopan Belmopan" not in span.text
        assert "bar. 3" not in span.text
        assert "; " not in span.text


def make_spans(*items: tuple[str, float]) -> list[Span]:
    return [Span(text, 0, 0, len(text), score) for text, score in items]


def test_a_short_span_is_preferred_to_a_longer_one_that_is_hardly_better() -> None:
    long_text = "The Hound of the Baskervilles by Arthur Conan Doyle"
    assert find_preferred_span(make_spans((long_text, 1.0), ("The Hound", 0.5))).text == "The Hound"
    assert find_preferred_span(make_spans((long_text, 3.0), ("The Hound", 0.5))).text == long_text
    assert find_preferred_span(make_spans((long_text, 3.0))).text == long_text
    four_words = "a Queen of the Sea"  # articles do not count
    assert find_preferred_span(make_spans((four_words, 1.0), ("Sea", 0.9))).text == four_words


def test_a_bare_yes_or_no_is_no_short_answer() -> None:
    spans = make_spans(("no", 2.0), ("no limit", 1.9))
    assert Sampler().choose(Reading(spans, 2.0), 0.5) == "no limit"
    assert Sampler().choose(Reading(make_spans(("no", 2.0)), 2.0), 0.5) == "Unknown"
