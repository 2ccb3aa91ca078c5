"""Determines a question's task: from the data if they state it, else from the form of the answers."""

from collections.abc import Iterable, Sequence
from typing import get_args, get_type_hints

from quorum.core.context import Context
from quorum.core.errors import SetupError
from quorum.core.labels import LABELS, NOT_ENOUGH_INFO, REFUTES, SUPPORTS
from quorum.core.text import normalize
from quorum.datasets.records import Record

TASKS: tuple[str, ...] = tuple(kind for kind in get_args(get_type_hints(Context)["answer_type"]) if kind != "auto")
YES_NO = {"yes", "no"}
FEVER_LABELS = {"supports", "refutes", "not enough info"}
FEWEST_CLAIMS = 20  # a file of fewer claims may lack a label by chance

# With --retrieval-only, every question has one of these in place of its task: gold passages are to be found, or a
# passage with an accepted answer.
FOUND_GOLD, FOUND_ANSWER = "gold passages", "answer in passages"
RETRIEVAL_TASKS = (FOUND_GOLD, FOUND_ANSWER)
MEASURES_OF_TASK = {
    FOUND_GOLD: ("recall", "hit", "mrr"),
    FOUND_ANSWER: ("answer_in_passages",),
    "yes_no": ("accuracy",),
    "label": ("accuracy",),
    "dialogue": ("f1",),
    "long": ("rouge_l", "str_em"),
}


def list_deciding_measures(tasks: Iterable[str], *, has_short_answers: bool = True) -> tuple[str, ...]:
    """The measures by which methods are compared on these tasks, the deciding one first.

    If all tasks have the same measures (accuracy for yes_no and label), the function returns these, else EM and F1.

    has_short_answers: whether the data state the short answers of long ones (`meta.short_answers`). Without them, as in
    ELI5, F1 decides the task long.
    """
    tasks = set(tasks)
    if tasks == {"long"} and not has_short_answers:
        return "f1", "rouge_l"
    measures_of_tasks = {MEASURES_OF_TASK.get(task, ("em", "f1")) for task in tasks}
    return measures_of_tasks.pop() if len(measures_of_tasks) == 1 else ("em", "f1")


def guess_task(answers: Sequence[str]) -> str:
    """The task of a question with these accepted answers: yes_no, label or short.

    Pass at least one answer: nothing can be guessed without answers, and the value is then yes_no.
    """
    normalized_answers = {normalize(answer) for answer in answers}
    return "yes_no" if normalized_answers <= YES_NO else "label" if normalized_answers <= FEVER_LABELS else "short"


def find_common_task(tasks_of_questions: Iterable[str]) -> str:
    """The task of a data set: the one that all of its questions share, else short."""
    tasks = set(tasks_of_questions)
    return tasks.pop() if len(tasks) == 1 else "short"


def get_stated_task(record: Record) -> str | None:
    """`meta.answer_type` of a question; None if the data do not state it. `SetupError` if it is not a task."""
    stated_task = (record.get("meta") or {}).get("answer_type")
    if stated_task is not None and stated_task not in TASKS:
        raise SetupError(
            f"Question {record['id']!r} has meta.answer_type {stated_task!r}; write one of {', '.join(TASKS)}, "
            "or leave it out."
        )
    return stated_task


def read_document_group(record: Record) -> str | None:
    """The document or conversation that a question belongs to: `meta.group`, else `meta.conversation` or
    `meta.document`; None if the data name none.
    """
    meta = record.get("meta") or {}
    groups = (meta.get(key) for key in ("group", "conversation", "document"))
    return next((str(group) for group in groups if isinstance(group, str | int) and str(group).strip()), None)


def list_short_answers_of_parts(record: Record) -> list[list[str]]:
    """`meta.short_answers`: the short answers of each part of a long answer (ASQA); any other value counts as none."""
    groups = (record.get("meta") or {}).get("short_answers")
    if not isinstance(groups, list):
        return []
    return [[str(answer) for answer in group] for group in groups if isinstance(group, list) and group]


def list_labels(record: Record) -> list[str]:
    """`meta.labels`: the labels that a claim may have; empty if the data do not state them."""
    labels = (record.get("meta") or {}).get("labels")
    return [str(label) for label in labels] if isinstance(labels, list) else []


def infer_labels(answers: Iterable[Sequence[str]]) -> tuple[str, ...]:
    """The labels that the claims of a file have, by their gold answers; questions that are not claims are skipped.

    The result is (SUPPORTS, REFUTES) if there are at least `FEWEST_CLAIMS` claims, both labels occur, and no claim has
    another label; else all three labels.

    >>> infer_labels([["SUPPORTS"], ["REFUTES"]] * 10)
    ('SUPPORTS', 'REFUTES')
    """
    labels_found: set[str] = set()
    count = 0
    for accepted_answers in answers:
        normalized_answers = {normalize(answer) for answer in accepted_answers}
        if not normalized_answers or not normalized_answers <= FEVER_LABELS:
            continue
        if normalized_answers & {normalize(NOT_ENOUGH_INFO)}:
            return LABELS
        labels_found |= normalized_answers
        count += 1
    return (SUPPORTS, REFUTES) if count >= FEWEST_CLAIMS and len(labels_found) == 2 else LABELS


def list_gold_articles(record: Record) -> list[list[str]]:
    """`meta.gold_articles`: the names (id, title) of each article that supports the answer (KILT)."""
    articles = (record.get("meta") or {}).get("gold_articles")
    if not isinstance(articles, list):
        return []
    return [[str(name) for name in article if name] for article in articles if isinstance(article, list) and article]
