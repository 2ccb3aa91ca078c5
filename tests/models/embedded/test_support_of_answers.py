"""Which statement of the passages supports an answer, and which one only looks as if it did."""

import pytest

from quorum.core.state import Passage
from quorum.models.embedded.support import find_support_in_passages, find_support_of_each

TEXT = (
    "A password is required when the vault is opened. "
    "The keeper deletes old log files every evening. "
    "Reads are fast in memory and slow on the old disks. "
    "The call lock3() takes an exclusive lock. "
    "The module offers the calls lock1(), lock2() and lock3()."
)
PASSAGES = [Passage(id="1", title="Vault", text=TEXT)]


async def find_sentence(question: str, answer: str) -> str | None:
    best = (await find_support_in_passages(question, answer, PASSAGES)).best
    return None if best is None else TEXT[best.start : best.end]


@pytest.mark.parametrize(
    ("question", "answer", "beginning"),
    [
        ("What is required?", "A password is required when the vault is opened.", "A password"),
        ("What is required?", "A ladder is required when the vault is opened.", None),  # a word of another meaning
        ("What does the keeper do?", "The keeper removes old log files every evening.", "The keeper"),  # of the same
        ("What does the keeper do?", "The keeper paints old log files every evening.", None),
        ("How fast are reads?", "Reads are slow on the old disks.", "Reads are"),
        ("How fast are reads?", "Reads are fast on the old disks.", None),  # said of memory
        ("Which call takes an exclusive lock?", "The call lock3() takes an exclusive lock.", "The call lock3"),
        ("Which call takes an exclusive lock?", "The call lock2() takes an exclusive lock.", None),
        ("A ladder is required when the vault is opened.", "REFUTES", "A password"),
        ("A ladder is required when the vault is opened.", "SUPPORTS", None),
    ],
)
async def test_a_sentence_supports_an_answer_that_says_the_same(
    question: str, answer: str, beginning: str | None
) -> None:
    sentence = await find_sentence(question, answer)
    assert sentence is None if beginning is None else sentence is not None and sentence.startswith(beginning)


@pytest.mark.parametrize(
    ("answer", "can_be_supported"),
    [
        ("A password is required when the vault is opened.", True),
        ("No.", True),  # supported by what denies the question, whatever its words
        ("Ada Korn", False),
        ("It has been required since 1874.", False),
    ],
)
async def test_nothing_is_read_if_no_sentence_has_the_names_and_numbers(answer: str, can_be_supported: bool) -> None:
    question = "Is a password required when the vault is opened?"
    read = await find_support_in_passages(question, answer, PASSAGES, ranks=True)
    found = await find_support_in_passages(question, answer, PASSAGES)
    assert (found.matches, found.best) == (read.matches, read.best)
    assert bool(read.ranked)
    assert bool(found.ranked) is can_be_supported


async def test_half_of_the_sentences_of_a_long_answer_must_be_supported() -> None:
    true = ["A password is required when the vault is opened.", "The keeper deletes old log files every evening."]
    false = ["Nobody may enter the tower at noon.", "The bridge was painted by Ada Korn.", "It costs 70 euros a year."]
    for sentences, is_supported in ((true + false[:2], True), (true + false, False), (false + true[:1], False)):
        assert (await find_sentence("How is the vault run?", " ".join(sentences)) is not None) is is_supported


async def test_several_answers_are_judged_as_each_alone() -> None:
    question = "What is required?"
    answers = ["A password is required when the vault is opened.", "A ladder is required.", ""]
    together = await find_support_of_each(question, answers, PASSAGES)
    alone = [await find_support_in_passages(question, answer, PASSAGES) for answer in answers]
    assert [found.best and (found.best.start, found.best.end) for found in together] == [
        found.best and (found.best.start, found.best.end) for found in alone
    ]
    assert [found.best is not None for found in together] == [True, False, False]
