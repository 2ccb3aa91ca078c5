"""Writing questions with a model on a loopback server: what is kept, what is rejected and why, how a run continues."""

import json
from pathlib import Path
from typing import Any

import pytest
from openai_bodies import Response, make_error
from openai_server import OpenAIServer
from question_writer import ReplaceReply, make_question_writer
from questions_fixtures import OUTPUT_FILE, corpus, read_lines, reply_to_even_numbers

from quorum.core.context import Context
from quorum.core.errors import SetupError
from quorum.datasets.questions import read_questions
from quorum.datasets.records import read_passages
from quorum.evaluation.questions.check import Draft, QuestionChecker
from quorum.evaluation.questions.draw import QUESTION_KINDS, Draw
from quorum.evaluation.questions.write import Options, WrittenQuestions, make_questions, plan_questions
from quorum.retrievers.index import index_passages

__all__ = ["corpus"]  # a fixture, used by name


SINGLE_ONLY: dict[Any, float] = {"single": 1}


@pytest.fixture(scope="module")
def store(corpus: str) -> str:
    """The collection "towers", made once."""
    folder = str(Path(corpus).parent / "store")
    index_passages(read_passages(Path(corpus)), collection="towers", store=folder)
    return folder


def make_context(**settings: Any) -> Context:
    return Context(**{"model": "openai:test", "retriever": "bm25", "k": 3, "attempts": 1} | settings)


async def write_questions(store: str, options: Options, **settings: Any) -> WrittenQuestions:
    return await make_questions(
        await plan_questions(None, "towers", make_context(store=store, **settings), options, OUTPUT_FILE)
    )


async def test_questions_of_all_three_kinds_name_their_gold_passages_and_their_writer(
    store: str, openai_server: OpenAIServer
) -> None:
    openai_server.reply(make_question_writer())
    outcome = await write_questions(store, Options(n=10, mix={"single": 60, "two": 20, "unanswerable": 20}))
    assert (outcome.kept_counts, outcome.draft_count, outcome.faults.total()) == (
        {"single": 6, "two": 2, "unanswerable": 2},
        10,
        0,
    )
    # Each question takes one call that writes it, and calls that check it: four for the kind "two", two for the others.
    assert len(openai_server.chats()) == 6 * 3 + 2 * 5 + 2 * 3 == outcome.spending.calls
    lines_of_kind = {kind: [line for line in read_lines() if line["meta"]["kind"] == kind] for kind in QUESTION_KINDS}
    single, two, unanswerable = lines_of_kind["single"][0], lines_of_kind["two"][0], lines_of_kind["unanswerable"][0]
    number = single["gold"][0][1:]  # the town's number: in town 1, passage t1 is about the tower, l1 about the lamp
    assert single["keep"] is True
    assert single["answers"] in ([f"Ida{number}"], [f"Orm{number}"])
    assert single["meta"]["evidence"][0]["passage"] == single["gold"][0]
    assert sorted(two["gold"]) == sorted([f"l{two['gold'][0][1:]}", f"t{two['gold'][0][1:]}"])
    # "read": what the verifier was shown -> its answer
    assert two["meta"]["read"] == {
        "passages": two["answers"][0],
        "memory": "unknown",
        "passage 1": "unknown",
        "passage 2": "unknown",
    }
    assert (unanswerable["answers"], unanswerable["gold"]) == ([], [])
    assert unanswerable["meta"]["read"] == {"passages": "unknown", "retrieved": "unknown"}
    assert {line["meta"]["model"] for line in read_lines()} == {line["meta"]["verifier"] for line in read_lines()}
    assert single["meta"]["model"] == "openai:test"
    assert (single["meta"]["prompt"], len(single["meta"]["version"])) == ("question_single", 10)
    assert [record["passages"] for record in read_questions(OUTPUT_FILE)] == [[]] * 10
    assert len({line["id"] for line in read_lines()}) == 10


async def test_the_seed_decides_what_is_asked(store: str, openai_server: OpenAIServer) -> None:
    openai_server.reply(make_question_writer())
    file_texts = []
    for seed in (0, 0, 1):
        OUTPUT_FILE.unlink(missing_ok=True)
        await write_questions(store, Options(n=5, mix=SINGLE_ONLY), seed=seed)
        file_texts.append(OUTPUT_FILE.read_text())
    assert file_texts[0] == file_texts[1] != file_texts[2]
    assert len({line["gold"][0][1:] for line in read_lines()}) > 1


def answer_from_lamp_passage(prompt: str, n: int, text: str) -> str | None:
    """A `replace_reply` (see `make_question_writer`) for questions that need two passages, a town's tower and its lamp.

    The verifier finds the answer even if it is shown only the passage about the lamp.
    """
    return f"Ida{n}" if prompt == "answer" and "whose tower" in text and f"keeper Ida{n}" in text else None


def answer_from_retrieved_passages(prompt: str, n: int, text: str) -> str | None:
    """A `replace_reply` by which an unanswerable question is answered if the verifier is shown several passages.

    Those are the retrieved passages; the passage that the question was written from comes alone.
    """
    return "Rembrandt" if prompt == "answer" and "Who painted" in text and "[2]" in text and n % 2 == 0 else None


# (kind of question, fault that must be found, replies that cause it)
FAULTY_DRAFTS: list[tuple[str, str, ReplaceReply]] = [
    ("single", "unread", reply_to_even_numbers("question_single", "I would rather not.")),
    ("single", "unread", reply_to_even_numbers("question_single", "Question: Who lit the lamp of Vell{n}?")),
    ("single", "declined", reply_to_even_numbers("question_single", "Question: none")),
    (
        "single",
        "speaks_of_passage",
        reply_to_even_numbers("question_single", "Whom does the passage name?\nAnswer: Orm{n}"),
    ),
    (
        "single",
        "given_away",
        reply_to_even_numbers("question_single", "Question: Was it Orm{n} or Ida{n}?\nAnswer: Orm{n}"),
    ),
    (
        "single",
        "yes_no",
        reply_to_even_numbers("question_single", "Question: Is the tower of Vell{n} old?\nAnswer: Yes"),
    ),
    (
        "single",
        "long",
        reply_to_even_numbers("question_single", "Question: Who of Vell{n}?\nAnswer: " + "so many words " * 4),
    ),
    (
        "single",
        "duplicate",
        reply_to_even_numbers("question_single", "Question: Which mason finished Vell2?\nAnswer: Orm2"),
    ),
    ("single", "unsupported", reply_to_even_numbers("answer", "Unknown")),
    ("single", "unsupported", reply_to_even_numbers("answer", "somebody else")),
    ("single", "known", reply_to_even_numbers("answer_base_closed", "Orm{n} Ida{n}")),
    ("two", "one_enough", answer_from_lamp_passage),
    ("unanswerable", "answered", reply_to_even_numbers("answer", "Rembrandt")),
    ("unanswerable", "answered_elsewhere", answer_from_retrieved_passages),
]


@pytest.mark.parametrize(
    ("gold", "said", "is_right"),
    [("Sean O'Brien", "Sean O’Brien", True), ("北京市", "北京", True), ("3.5", "35", False), ("C++", "C", False)],
)
def test_the_verifiers_answer_is_compared_without_regard_to_typography(gold: str, said: str, is_right: bool) -> None:
    draft = Draft(Draw("single", ()), "Who or what?", [gold])
    assert QuestionChecker(make_context(), 0.5).is_right(draft, said) == is_right


@pytest.mark.parametrize(("kind", "fault", "replace_reply"), FAULTY_DRAFTS)
async def test_faults_of_questions_are_found_and_counted(
    kind: Any, fault: str, replace_reply: ReplaceReply, store: str, openai_server: OpenAIServer
) -> None:
    openai_server.reply(make_question_writer(replace_reply))
    outcome = await write_questions(store, Options(n=8, mix={kind: 1}, writes_rejected=True))
    assert outcome.faults[fault] >= 2
    assert outcome.draft_count == sum(outcome.kept_counts.values()) + outcome.faults.total()
    rejected_lines = [line for line in read_lines() if not line["keep"]] if OUTPUT_FILE.exists() else []
    # If the writer declines, or its reply cannot be read, there is no question that could be written to the file.
    assert {line["meta"]["why"] for line in rejected_lines} >= (set() if fault in ("declined", "unread") else {fault})
    assert all(line["question"] for line in rejected_lines)
    assert outcome.end_reasons == {kind: "corpus"}


async def test_a_draft_whose_form_is_wrong_is_checked_without_a_call(store: str, openai_server: OpenAIServer) -> None:
    """A draft with the answer "yes" is rejected for its form, so the only calls are those that write drafts: at most
    four for each question that is wanted.
    """
    openai_server.reply(
        make_question_writer(lambda prompt, n, text: "Who?\nAnswer: yes" if prompt == "question_single" else None)
    )
    outcome = await write_questions(store, Options(n=2, mix=SINGLE_ONLY))
    assert (outcome.faults["yes_no"], len(openai_server.chats()), outcome.end_reasons) == (8, 8, {"single": "tries"})


async def test_a_verifier_checks_in_the_models_place(store: str, openai_server: OpenAIServer) -> None:
    openai_server.reply(make_question_writer())
    await write_questions(store, Options(n=2, mix=SINGLE_ONLY), verifier="openai:judge")
    models_and_tasks = [
        (request.body["model"], request.text.startswith("You write")) for request in openai_server.chats()
    ]
    assert set(models_and_tasks) == {("test", True), ("judge", False)}
    assert {line["meta"]["verifier"] for line in read_lines()} == {"openai:judge"}


async def test_the_embedded_reader_may_check_the_questions(store: str, openai_server: OpenAIServer) -> None:
    openai_server.reply(make_question_writer())
    outcome = await write_questions(store, Options(n=1, mix=SINGLE_ONLY), verifier="embedded")
    assert outcome.draft_count == len(openai_server.chats())  # the server's model only writes


async def test_thinking_is_no_part_of_a_question(store: str, openai_server: OpenAIServer) -> None:
    make_correct_reply = make_question_writer()
    openai_server.reply(
        lambda request: f"<think>Question: What?\nAnswer: x</think>\n```\n{make_correct_reply(request)}\n```"
    )
    assert (await write_questions(store, Options(n=3, mix=SINGLE_ONLY))).kept_counts["single"] == 3


async def test_reviewed_lines_stay_and_a_question_is_added_for_each_rejected_one(
    store: str, openai_server: OpenAIServer
) -> None:
    openai_server.reply(make_question_writer())
    await write_questions(store, Options(n=3, mix=SINGLE_ONLY))
    edited_lines = read_lines()
    edited_lines[0] |= {"keep": False, "note": "dull"}
    edited_lines[1]["answers"].append("a third form")
    OUTPUT_FILE.write_text("\n".join(map(json.dumps, edited_lines)))  # as an editor leaves it, without a last line end
    second_run = await write_questions(store, Options(n=3, mix=SINGLE_ONLY))
    assert read_lines()[:3] == edited_lines
    assert (len(read_lines()), second_run.count_before, second_run.kept_counts["single"]) == (4, 2, 3)
    request_count = len(openai_server.chats())
    third_run = await write_questions(store, Options(n=3, mix=SINGLE_ONLY))
    assert (third_run.draft_count, len(openai_server.chats())) == (0, request_count)


async def test_a_run_stopped_by_the_limit_on_cost_goes_on_from_the_journal(
    tmp_path: Path, store: str, openai_server: OpenAIServer
) -> None:
    prices = tmp_path / "prices.toml"
    prices.write_text('["openai:test"]\ninput = 1\noutput = 1\n')
    writer = make_question_writer()
    openai_server.reply(
        lambda request: Response(writer(request), usage={"prompt_tokens": 9000, "completion_tokens": 1})
    )
    options = Options(n=3, mix=SINGLE_ONLY, concurrency=1, prices=prices, max_cost=0.03)
    with pytest.raises(SetupError, match=r"the limit is \$0\.03"):
        await write_questions(store, options, journal="journal.sqlite")
    first_call_count = len(openai_server.chats())
    outcome = await write_questions(store, Options(n=3, mix=SINGLE_ONLY), journal="journal.sqlite")
    assert (first_call_count, outcome.kept_counts["single"], outcome.spending.calls) == (4, 3, 9 - first_call_count)


async def test_a_failed_draft_is_reported_and_asked_again(store: str, openai_server: OpenAIServer) -> None:
    make_correct_reply = make_question_writer()
    openai_server.reply(
        lambda request: make_error(400, "no") if "Which mason" in request.text else make_correct_reply(request)
    )
    outcome = await write_questions(
        store, Options(n=8, mix=SINGLE_ONLY, writes_rejected=True), journal="journal.sqlite"
    )
    assert (outcome.kept_counts["single"], outcome.faults["failed"], len(read_lines())) == (4, 4, 4)
    assert "400: no" in str(outcome.error)
    openai_server.reply(make_correct_reply)
    second_run = await write_questions(store, Options(n=8, mix=SINGLE_ONLY), journal="journal.sqlite")
    assert (second_run.kept_counts["single"], second_run.spending.calls) == (8, 4 * 2)  # only the failed checks


async def test_one_run_writes_to_a_file_at_a_time(store: str, openai_server: OpenAIServer) -> None:
    openai_server.reply(make_question_writer())
    writing_plan = await plan_questions(
        None, "towers", make_context(store=store), Options(n=1, mix=SINGLE_ONLY), OUTPUT_FILE
    )
    with writing_plan.file.lock(), pytest.raises(SetupError, match="Another run is writing"):
        await write_questions(store, Options(n=1, mix=SINGLE_ONLY))
