"""Where a passage stands, in words and as a link."""

from pathlib import Path

import pytest

from quorum.core.state import Passage, Place
from quorum.documents.places import describe_place, make_file_link


def make_passage(*places: Place) -> Passage:
    return Passage(id="1", title="T", text="text", places=list(places))


def test_places_are_described_in_words() -> None:
    assert describe_place(Passage(id="1", title="T", text="text")) == ""
    place = Place(file="/x/handbook.pdf", page=12, headings=["Leave", "Parental"])
    assert describe_place(make_passage(place)) == "handbook.pdf, p. 12, Leave > Parental"
    other_places = [Place(file=f"/x/{name}.md") for name in "abcd"]
    assert describe_place(make_passage(place, *other_places)).endswith("(also in a.md, b.md, c.md, ...)")
    assert describe_place(make_passage(Place(file="/x/a\nb.md"))) == "a\\nb.md"


def test_a_link_leads_to_the_first_file_that_exists(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "a b#1.pdf"
    assert make_file_link(make_passage(Place(file=str(file), page=3))) == ""
    file.write_text("x")
    assert make_file_link(make_passage(Place(file=str(file), page=3))) == f"file://{tmp_path}/a%20b%231.pdf#page=3"
    assert (
        make_file_link(make_passage(Place(file="/gone.md"), Place(file=str(file))))
        == f"file://{tmp_path}/a%20b%231.pdf"
    )
    monkeypatch.chdir(tmp_path)  # a relative path gives no link, even if it leads to a file from here
    assert make_file_link(make_passage(Place(file=file.name))) == ""
