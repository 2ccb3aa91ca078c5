"""The folder of a watched promise: what is sampled and written, how the promise stands, and the commands for it."""

import json
import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from quorum_command import Quorum

from quorum.cli.server_options import WatchArguments
from quorum.core.errors import SetupError
from quorum.datasets.questions import read_questions
from quorum.evaluation.watch.describe_standing import describe_standing
from quorum.evaluation.watch.folder import ANSWERS, EVENTS, LABELS, WatchFolder, count_watched, find_folder
from quorum.evaluation.watch.labelling import label_answer, list_tasks, list_waiting, save_label
from quorum.evaluation.watch.promise import Promise, read_promise
from quorum.evaluation.watch.sampling import Sampler
from quorum.evaluation.watch.standing import compute_standing, mark_block_starts, reset

PROMISE = Promise("support", "wrong", 0.05, "post_fusion", "hash", {"k": 5})
MONDAY = datetime(2026, 3, 2, 8, tzinfo=UTC)


class Days:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = MONDAY

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> WatchFolder:
    monkeypatch.chdir(tmp_path)
    folder = WatchFolder(tmp_path / ".quorum" / "watch" / "support")
    folder.begin(PROMISE)
    return folder


def ask(sampler: Sampler, clock: Days, count: int, per_day: int = 50) -> None:
    for i in range(count):
        clock.now += timedelta(days=1 / per_day)
        sampler.observe(f"question {i}", {"answer": "yes", "confidence": (i % 10) / 10, "passages": [{"id": "p1"}]})


def give_labels(folder: WatchFolder, z_of: Callable[[int], float | None]) -> None:
    for i, line in enumerate(answer.line for answer in list_waiting(folder)):
        folder.append(LABELS, {"id": line["id"], "z": z_of(i), "who": "me", "time": line["time"]})


def test_a_promise_is_confirmed_refuted_and_begins_anew(folder: WatchFolder, quorum: Quorum) -> None:
    clock = Days()
    sampler = Sampler(folder, 1.0, clock)
    ask(sampler, clock, 120)
    run = quorum("watch", "support")
    assert (run.code, run.out.split(".")[0]) == (3, "support: Not decided yet")
    assert "Label what waits: quorum label support" in run.out
    give_labels(folder, lambda i: 0.0)
    run = quorum("watch")
    assert run.code == 0
    assert "Kept. At most 5% of the answers of post_fusion are wrong: confirmed by the last 114 labels" in run.out
    assert "(since 2026-03-02)" in run.out
    ask(sampler, clock, 120)
    give_labels(folder, lambda i: float(i % 3 == 0))
    run = quorum("watch", "support", "--json")
    [standing] = json.loads(run.out)
    assert (run.code, standing["state"]) == (1, "refuted")
    assert standing["capital"] >= standing["alarm_at"] == 20
    assert standing["labels"] == {"done": 240, "waiting": 0}
    out = quorum("watch", "support").out
    assert "NOT KEPT" in out
    assert "The share wrong has changed" in out
    assert quorum("watch", "reset", "support").code == 2
    assert quorum("watch", "reset", "support", "--because", "a new calibration").code == 0
    run = quorum("watch", "support")
    assert (run.code, compute_standing(folder).done) == (3, 0)
    assert [event["because"] for event in folder.read(EVENTS) if event["event"] == "reset"] == ["a new calibration"]


def test_with_two_promises_an_alarm_takes_twice_the_capital(folder: WatchFolder) -> None:
    WatchFolder(folder.path.with_name("other")).begin(PROMISE)
    assert compute_standing(folder, 2).alarm_at == 40


def test_a_refuted_promise_stays_refuted_if_another_is_added_until_its_reset(
    folder: WatchFolder, quorum: Quorum
) -> None:
    clock = Days()
    sampler = Sampler(folder, 1.0, clock)
    count = 0
    while compute_standing(folder).capital < 20:
        ask(sampler, clock, 1)
        give_labels(folder, lambda i: 1.0)
        count += 1
    assert quorum("watch", "support").code == 1
    [event] = [event for event in folder.read(EVENTS) if event["event"] == "refuted"]
    assert (event["promises"], event["capital"] >= 20) == (1, True)
    other = WatchFolder(folder.path.with_name("other"))
    other.begin(PROMISE)
    store = str(folder.path.parents[1])
    assert count_watched(store) == 1  # without an answer it cannot raise an alarm
    ask(Sampler(other, 1.0, clock), clock, 1)
    assert count_watched(store) == 2
    standing = compute_standing(folder, 2000)
    assert (standing.state, standing.alarm_at) == ("refuted", 20)
    reset(folder, "again", MONDAY.isoformat())
    assert compute_standing(folder, 2).state == "open"


def test_missing_and_skipped_labels_neither_refute_nor_confirm(folder: WatchFolder) -> None:
    clock = Days()
    ask(Sampler(folder, 1.0, clock), clock, 300)
    give_labels(folder, lambda i: None if i % 2 else 0.0)
    standing = compute_standing(folder)
    assert (standing.state, standing.done, standing.waiting) == ("open", 150, 0)
    assert standing.broken[0] == 0
    assert standing.broken[1] > 0.5


def test_the_answers_of_a_doubtful_week_are_sampled_more_often_and_weighed_less(folder: WatchFolder) -> None:
    clock = Days()
    random.seed(0)
    sampler = Sampler(folder, 0.5, clock)
    for _ in range(5):
        ask(sampler, clock, 200, per_day=200 // 7 + 1)
        waiting = {answer.id: answer.line for answer in list_waiting(folder)}
        for id_, line in waiting.items():
            folder.append(LABELS, {"id": id_, "z": float(line["confidence"] < 0.5), "who": "me", "time": line["time"]})
    plans = [event for event in folder.read(EVENTS) if event["event"] == "week"]
    assert [plan["sampling"] for plan in plans[:4]] == [[0.5, 0.5]] * 4
    assert plans[-1]["sampling"][1] > 1.5 * plans[-1]["sampling"][0]
    assert plans[0]["median"] is None
    assert plans[-1]["median"] == pytest.approx(0.4, abs=0.21)
    flagged = [line for line in folder.read(ANSWERS) if line.get("h") == 1]
    assert all(line["confidence"] < 0.7 for line in flagged)
    assert any(line["q"][0] < line["q"][1] for line in flagged)
    counted = sum(sum(line["unsampled"]) for line in folder.read(ANSWERS) if "unsampled" in line)
    sampled = sum("id" in line for line in folder.read(ANSWERS))
    assert counted + sampled + sum(sampler.unsampled) == 1000
    again = Sampler(folder, 0.5, clock)  # a restart keeps the week's plan
    assert again.find_plan(clock.now).sampling == tuple(plans[-1]["sampling"])


def test_a_block_lasts_a_hundred_answers_and_a_week() -> None:
    quick = [MONDAY + timedelta(hours=i) for i in range(400)]
    assert [i for i, is_start in enumerate(mark_block_starts(quick)) if is_start] == [0, 168, 336]
    slow = [MONDAY + timedelta(days=i) for i in range(250)]
    assert [i for i, is_start in enumerate(mark_block_starts(slow)) if is_start] == [0, 100, 200]


def test_what_a_killed_process_has_left_of_a_line_is_lost_alone(folder: WatchFolder) -> None:
    folder.append(LABELS, {"id": "a", "z": 0.0})
    with open(folder.path / LABELS, "ab") as file:
        file.write(b'{"id": "b", "z')
    assert [line["id"] for line in folder.read(LABELS)] == ["a"]
    folder.append(LABELS, {"id": "c", "z": 1.0})
    assert [line["id"] for line in folder.read(LABELS)] == ["a", "c"]


def test_label_hides_the_method_and_goes_on_where_it_stopped(
    folder: WatchFolder, quorum: Quorum, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Days()
    ask(Sampler(folder, 1.0, clock), clock, 4)
    keys = iter(["x", "y", "n", "q"])
    monkeypatch.setattr("builtins.input", lambda prompt: next(keys))
    run = quorum("label", "support", "--who", "Ada")
    assert "[1 of 4] question 0" in run.out
    assert "post_fusion" not in run.out
    assert "2 answers labelled or skipped, 2 waiting." in run.out
    assert [(line["z"], line["who"]) for line in folder.read(LABELS)] == [(0.0, "Ada"), (1.0, "Ada")]
    monkeypatch.setattr("builtins.input", lambda prompt: "s")
    assert "[1 of 2] question 2" in quorum("label", "support").out
    assert quorum("label", "support").out == "No answer of support waits for a label.\n"


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["watch"], "begin with: quorum serve --watch FILE"),
        (["label", "none"], "No promise 'none' is watched in the store"),
        (["watch", "reset", "none", "--because", "x"], "No promise 'none' is watched"),
        (["watch", "--because", "x"], "belongs to a reset"),
    ],
)
def test_bad_input_is_one_sentence(
    words: list[str], text: str, quorum: Quorum, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run = quorum(*words)
    assert run.code == 2
    assert text in run.err
    assert run.err.count("\n") == 1


def test_promises_are_read_from_calibrations_and_methods(tmp_path: Path) -> None:
    file = tmp_path / "calibration.json"
    content = {"kind": "quorum calibration", "method": "post_fusion", "wrong_at_most": 0.1, "lowest_confidence": 0.6}
    file.write_text(json.dumps({**content, "settings": {}}))
    promise = read_promise(f"support={file}")
    assert (promise.name, promise.kind, promise.limit, promise.method) == ("support", "wrong", 0.1, "post_fusion")
    assert read_promise("sure", 0.7).sentence == "The answers of sure score 0.7 or more on average"
    for target, score, text in (
        ("nowhere.json", None, "cannot be read"),
        ("sure", 1.5, "--score-at-least 1.5"),
        ("wrong", 0.5, "wrong"),
        ("concat", None, "concat is a method; add --score-at-least 0.7"),
        ("concat --score-at-least 0.7", None, "without them: --watch concat --score-at-least 0.7"),
        (f"../x={file}", None, "cannot be called '../x'"),
    ):
        with pytest.raises(SetupError, match=text):
            read_promise(target, score)
    file.write_text("{}")
    with pytest.raises(SetupError, match="holds no calibration"):
        read_promise(str(file))


def test_a_folder_watches_one_promise_only(folder: WatchFolder) -> None:
    folder.begin(PROMISE)
    other = Promise("support", "wrong", 0.05, "sure", "hash", {"k": 5})
    with pytest.raises(SetupError, match=r"watches another promise .* quorum watch reset support --because"):
        folder.begin(other)
    salt = folder.read_salt()
    reset(folder, "a new calibration", MONDAY.isoformat())
    folder.begin(other)
    assert (folder.read_promise(), folder.read_salt()) == (other, salt)
    Sampler(folder, 1.0, Days()).observe("Who?", {"answer": "Ada"})
    with pytest.raises(SetupError, match="watches another promise"):
        folder.begin(PROMISE)
    assert find_folder("results/support.json", str(folder.path.parents[1])).name == "support"


def test_a_folder_is_found_by_its_whole_name_before_a_files_stem(folder: WatchFolder) -> None:
    longer = WatchFolder(folder.path.with_name("support.v2"))
    longer.begin(PROMISE)
    store = str(folder.path.parents[1])
    assert find_folder("support.v2", store) == longer
    assert find_folder("support", store) == find_folder("support.json", store) == folder


def test_a_folder_of_an_older_version_is_read(folder: WatchFolder) -> None:
    head = folder.read_head()
    older = {name: head[name] for name in head if name not in ("rival", "wrong_cost", "labels", "judge", "anchors")}
    (folder.path / "promise.json").write_text(json.dumps(older))
    assert folder.read_promise() == PROMISE


def test_a_score_is_described_as_a_score(tmp_path: Path) -> None:
    folder = WatchFolder(tmp_path / "sure")
    folder.begin(Promise("sure", "score", 0.3, "sure"))
    assert describe_standing(compute_standing(folder))[1].startswith("The answers score between 0.00 and 1.00")
    reset(folder, "why not", MONDAY.isoformat())
    assert compute_standing(folder).since == MONDAY.isoformat()


def test_sampled_questions_become_a_file_to_label_grouped_by_conversation(
    folder: WatchFolder, quorum: Quorum, tmp_path: Path
) -> None:
    sampler = Sampler(folder, 1.0, Days())
    for question, conversation in (("Who?", "a"), ("When?", "b"), ("And where?", "a")):
        sampler.observe(question, {"answer": "Ada", "answer_text": "It was Ada."}, conversation=conversation)
    save_label(folder, list_tasks(folder)[0], [True], "Bo")
    run = quorum("questions", "--from-log", "support", "--out", "asked.jsonl")
    assert run.code == 0
    assert "asked.jsonl: 3 questions added, of 2 conversations; it holds 3.\n1 of them have" in run.out
    lines = [json.loads(line) for line in Path("asked.jsonl").read_text().splitlines()]
    assert [(line["question"], line["keep"], line["answers"]) for line in lines] == [
        ("Who?", False, ["Ada"]),
        ("And where?", False, []),
        ("When?", False, []),
    ]
    conversations = [line["meta"]["conversation"] for line in lines]
    assert conversations[0] == conversations[1] != conversations[2]
    assert conversations[0] != "a"  # what was said cannot be read from it
    assert "NONE OF THE FORMER IS KEPT YET" in run.out  # on them alone, the served method would always be right
    assert not list(read_questions(Path("asked.jsonl")))
    tasks = {task.question: task for task in list_tasks(folder)}
    save_label(folder, tasks["And where?"], [True], "Bo")
    judged = label_answer(PROMISE, list_waiting(folder)[0], [True], "judge strict")
    folder.append(LABELS, judged)  # a judge's verdict makes no accepted answer
    run = quorum("questions", "--from-log", "support", "--out", "asked.jsonl")
    assert "1 earlier question changed by a newer label.\n2 of them have" in run.out
    lines = [json.loads(line) for line in Path("asked.jsonl").read_text().splitlines()]
    assert [line["answers"] for line in lines] == [["Ada"], ["Ada"], []]
    lines[2] |= {"answers": ["in 1843"], "keep": True}
    Path("asked.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert "all have answers: they are kept" in quorum("questions", "--from-log", "support", "--out", "asked.jsonl").out
    assert [record["id"] for record in read_questions(Path("asked.jsonl"))] == [line["id"] for line in lines]
    sampler.observe("Why?", {"answer": "so"})
    assert (
        "1 question added, of 1 conversation; it holds 4"
        in quorum("questions", "--from-log", "support", "--out", "asked.jsonl").out
    )
    assert quorum("questions", "docs", "--from-log", "support").code == 2


def test_a_cascade_promises_by_its_certificate(tmp_path: Path) -> None:
    file = tmp_path / "composed.json"
    certificate = {"lose_at_most": 0.06, "wrong_cost": 1.0}
    content: dict[str, object] = {"kind": "quorum composed", "certificate": certificate, "expected": {"best": "sure"}}
    file.write_text(json.dumps(content))
    promise = read_promise(f"cheap={file}")
    assert (promise.name, promise.kind, promise.limit, promise.rival) == ("cheap", "loss", 0.515, "sure")
    assert promise.sentence == "The answers of composed lose at most 6 points against sure"
    # right, unknown: of the cascade and of its rival
    for right, unknown, z in (
        ((True, False), (False, False), 0.0),
        ((False, True), (False, False), 1.0),
        ((False, True), (True, False), 0.75),
        ((False, False), (True, False), 0.25),
        ((True, True), (False, False), 0.5),
    ):
        assert promise.compute_z(right, unknown) == z
    file.write_text(json.dumps({**content, "certificate": None}))
    with pytest.raises(SetupError, match="has no certificate, so nothing is promised of it"):
        read_promise(str(file))
    folder = WatchFolder(tmp_path / "cheap")
    folder.begin(promise)
    assert folder.read_promise() == promise
    assert describe_standing(compute_standing(folder))[1].startswith("The loss against sure is between -200.0 and")


def test_all_answers_may_be_labelled() -> None:
    assert WatchArguments(["sure"], 0.7, "100%").read().label_share == 1
    with pytest.raises(SetupError, match="--label-share '101%' does not fit"):
        WatchArguments(["sure"], 0.7, "101%").read()
