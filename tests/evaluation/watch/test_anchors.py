"""A judge's labels: an alarm stands only if more has changed than the judge's verdicts on its anchors."""

import random
from dataclasses import replace
from pathlib import Path

import pytest

from quorum.core.errors import CallError
from quorum.evaluation.watch.anchors import (
    ANCHORS,
    compute_shift,
    is_collecting,
    keep_anchor,
    list_checks,
    read_anchors,
    write_check,
)
from quorum.evaluation.watch.describe_standing import describe_standing
from quorum.evaluation.watch.folder import ANSWERS, LABELS, WatchFolder
from quorum.evaluation.watch.promise import Promise
from quorum.evaluation.watch.standing import Standing, compute_standing, reset

COUNT = 300
PROMISE = Promise(
    "judged", "wrong", 0.1, "sure", labels="judge", judge={"judge": {"model": "strict"}, "prompt": "1"}, anchors=COUNT
)
TIME = "2026-03-02T08:00:00+00:00"


@pytest.fixture
def folder(tmp_path: Path) -> WatchFolder:
    """A promise whose anchors are fixed: 5% of them are called wrong."""
    folder = WatchFolder(tmp_path / "judged")
    folder.begin(PROMISE)
    assert is_collecting(folder, PROMISE)
    lines = [f'{{"id": "{i}", "round": 0, "question": "?", "answers": []}}\n' for i in range(COUNT)]
    (folder.path / ANCHORS).write_text("".join(lines))
    write_check(folder, {str(i): float(i % 20 == 0) for i in range(COUNT)})
    assert not is_collecting(folder, PROMISE)
    return folder


def add_labels(folder: WatchFolder, count: int, wrong: float) -> None:
    """Add sampled answers of which the judge calls a share wrong."""
    begin = sum(1 for _ in folder.read(ANSWERS))
    chance = random.Random(begin)
    answers = [f'{{"id": "a{begin + i}", "time": "{TIME}", "q": [1, 1], "h": 0}}\n' for i in range(count)]
    labels = [f'{{"id": "a{begin + i}", "z": {float(chance.random() < wrong)}}}\n' for i in range(count)]
    for name, lines in ((ANSWERS, answers), (LABELS, labels)):
        with (folder.path / name).open("a") as file:
            file.writelines(lines)


def ask_anchors(folder: WatchFolder, rise: float) -> Standing:
    """The judge calls a share of the anchors wrong that it called right."""
    assert compute_standing(folder).must_check
    chance = random.Random(7)
    first = list_checks(folder)[0].z
    write_check(folder, {id_: 1.0 if z == 0 and chance.random() < rise else z for id_, z in first.items()})
    return compute_standing(folder)


def test_an_alarm_waits_for_the_anchors_and_stands_if_the_judge_is_the_same(folder: WatchFolder) -> None:
    add_labels(folder, 200, 0.05)
    assert compute_standing(folder).state == "confirmed"
    add_labels(folder, 300, 0.35)
    standing = compute_standing(folder)
    assert (standing.state, standing.exit_code, standing.alarm_at) == ("open", 3, 40)
    assert "an alarm waits until the judge is asked its anchors again" in describe_standing(standing)[0]
    standing = ask_anchors(folder, 0.0)
    assert (standing.state, standing.exit_code) == ("refuted", 1)
    assert all("judge strict, not of people" in sentence for sentence in describe_standing(standing)[:2])


def test_if_the_judge_alone_changed_the_system_is_not_blamed(folder: WatchFolder) -> None:
    add_labels(folder, 200, 0.05)
    add_labels(folder, 300, 0.35)
    standing = ask_anchors(folder, 0.3)
    assert (standing.state, standing.exit_code, standing.must_check) == ("judge changed", 3, False)
    said = describe_standing(standing)
    assert said[0].startswith("The judge has changed. At most 10% of the answers of sure are wrong: not decided, by")
    assert "of the 300 answers that it judged before, it calls +30.7 points more wrong [+25.1, +39.8]" in said[0]
    add_labels(folder, 50, 0.35)  # these labels count only once the anchors are asked again
    assert compute_standing(folder).must_check


def test_a_judge_that_was_harsh_and_is_as_before_explains_the_alarm_still(folder: WatchFolder) -> None:
    add_labels(folder, 200, 0.05)
    add_labels(folder, 150, 0.5)
    assert ask_anchors(folder, 0.6).state == "judge changed"
    add_labels(folder, 50, 0.05)
    standing = ask_anchors(folder, 0.0)  # the labels of the time when it was harsh still raise the capital
    assert (standing.state, standing.exit_code) == ("judge changed", 3)
    assert "it calls +" in describe_standing(standing)[0]


def test_a_reset_keeps_new_anchors_and_too_few_verdicts_are_no_check(folder: WatchFolder) -> None:
    with pytest.raises(CallError, match="gave no verdict on 31 of 300 anchors"):
        write_check(folder, {str(i): None if i < 31 else 0.0 for i in range(COUNT)})
    reset(folder, "another judge", TIME)
    assert read_anchors(folder) == []
    keep_anchor(folder, "0", "Who?", [{"answer": "Ada"}])
    assert [line["question"] for line in read_anchors(folder)] == ["Who?"]
    assert "1 of 300 answers are kept as anchors of the judge" in describe_standing(compute_standing(folder))[0]


def test_anchors_of_an_earlier_promise_are_not_those_of_the_one_in_its_place(folder: WatchFolder) -> None:
    reset(folder, "another judge", TIME)
    keep_anchor(folder, "0", "Who?", [{"answer": "Ada"}])
    folder.begin(PROMISE)
    assert len(read_anchors(folder)) == 1
    folder.begin(replace(PROMISE, judge={"judge": {"model": "mild"}, "prompt": "1"}))
    assert read_anchors(folder) == []


def test_with_several_promises_each_check_has_less_of_the_error(folder: WatchFolder) -> None:
    add_labels(folder, 500, 0.35)
    ask_anchors(folder, 0.0)
    first, check = list_checks(folder)
    assert compute_shift(first, check, 0.05 / 4).bound > compute_shift(first, check).bound
    add_labels(folder, 1, 0.0)
    bounds = [compute_standing(folder, count).shift for count in (1, 4)]
    assert bounds[0] is not None
    assert bounds[1] is not None
    assert bounds[1].bound > bounds[0].bound
