"""`quorum questions` against the loopback server: what is kept, what is rejected and why, how it goes on."""

import json
from pathlib import Path
from typing import Any

import pytest
from openai_server import OpenAIServer, Response, make_error
from question_writer import Say, make_writer, write_corpus
from quorum_command import CommandOutcome, Quorum

from quorum.core.context import Context
from quorum.core.errors import SetupError
from quorum.datasets.questions import read_questions
from quorum.datasets.records import read_passages
from quorum.evaluation.questions.draw import QUESTION_KINDS
from quorum.evaluation.questions.file import QuestionFile
from quorum.evaluation.questions.write import Options, WrittenQuestions, make_questions, plan
from quorum.retrievers.index import index_passages

OUTPUT_FILE = Path("questions.jsonl")
SINGLE_ONLY: dict[Any, float] = {"single": 1}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write_corpus(tmp_path_factory.mktemp("towers") / "corpus.jsonl", 4)


@pytest.fixture(scope="module")
def store(corpus: str) -> str:
    """The collection "towers", made once."""
    folder = str(Path(corpus).parent / "store")
    index_passages(read_passages(Path(corpus)), collection="towers", store=folder)
    return folder


def context(**given: Any) -> Context:
    return Context(**{"model": "openai:test", "retriever": "bm25", "k": 3, "attempts": 1} | given)


async def make(store: str, options: Options, **given: Any) -> WrittenQuestions:
    return await make_questions(await plan(None, "towers", context(store=store, **given), options, OUTPUT_FILE))


def lines() -> list[dict[str, Any]]:
    return [json.loads(line) for line in OUTPUT_FILE.read_text(encoding="utf-8").splitlines()]


async def test_all_three_kinds_have_gold_passages_and_their_writer(store: str, openai_server: OpenAIServer) -> None:
    openai_server.reply(make_writer())
    written = await make(store, Options(n=10, mix={"single": 60, "two": 20, "unanswerable": 20}))
    assert (written.kept, written.drafts, written.faults.total()) == ({"single": 6, "two": 2, "unanswerable": 2}, 10, 0)
    assert len(openai_server.chats()) == 6 * 3 + 2 * 5 + 2 * 3 == written.spent.calls
    by_kind = {kind: [line for line in lines() if line["meta"]["kind"] == kind] for kind in QUESTION_KINDS}
    single, two, open_ = by_kind["single"][0], by_kind["two"][0], by_kind["unanswerable"][0]
    number = single["gold"][0][1:]
    assert single["keep"] is True
    assert single["answers"] in ([f"Ida{number}", f"the Ida{number}"][:1], [f"Orm{number}"])
    assert single["meta"]["evidence"][0]["passage"] == single["gold"][0]
    assert sorted(two["gold"]) == sorted([f"l{two['gold'][0][1:]}", f"t{two['gold'][0][1:]}"])
    assert two["meta"]["read"] == {
        "passages": two["answers"][0],
        "memory": "unknown",
        "passage 1": "unknown",
        "passage 2": "unknown",
    }
    assert (open_["answers"], open_["gold"]) == ([], [])
    assert open_["meta"]["read"] == {"passages": "unknown", "retrieved": "unknown"}
    assert {line["meta"]["model"] for line in lines()} == {line["meta"]["verifier"] for line in lines()}
    assert single["meta"]["model"] == "openai:test"
    assert (single["meta"]["prompt"], len(single["meta"]["version"])) == ("question_single", 10)
    assert [record["passages"] for record in read_questions(OUTPUT_FILE)] == [[]] * 10
    assert len({line["id"] for line in lines()}) == 10


async def test_the_seed_decides_what_is_asked(store: str, openai_server: OpenAIServer) -> None:
    openai_server.reply(make_writer())
    collected = []
    for seed in (0, 0, 1):
        OUTPUT_FILE.unlink(missing_ok=True)
        await make(store, Options(n=5, mix=SINGLE_ONLY), seed=seed)
        collected.append(OUTPUT_FILE.read_text())
    assert collected[0] == collected[1] != collected[2]
    assert len({line["gold"][0][1:] for line in lines()}) > 1


def spoil_even_things(faulty: str, what: str) -> Say:
    """Things with an even number are spoiled: the prompt `faulty` is answered with `what`."""
    return lambda prompt, n, text: what.format(n=n) if prompt == faulty and n % 2 == 0 else None


def answer_from_first_passage(prompt: str, n: int, text: str) -> str | None:
    """Every question about two passages can be answered from the lamp's alone."""
    return f"Ida{n}" if prompt == "answer" and "whose tower" in text and f"keeper Ida{n}" in text else None


def answer_from_retrieved_passages(prompt: str, n: int, text: str) -> str | None:
    """The retrieved passages answer the question that its own passage leaves open."""
    return "Rembrandt" if prompt == "answer" and "Who painted" in text and "[2]" in text and n % 2 == 0 else None


FAULTY_DRAFTS: list[tuple[str, str, Say]] = [
    ("single", "unread", spoil_even_things("question_single", "I would rather not.")),
    ("single", "unread", spoil_even_things("question_single", "Question: Who lit the lamp of Vell{n}?")),
    ("single", "declined", spoil_even_things("question_single", "Question: none")),
    (
        "single",
        "speaks_of_passage",
        spoil_even_things("question_single", "Whom does the passage name?\nAnswer: Orm{n}"),
    ),
    (
        "single",
        "given_away",
        spoil_even_things("question_single", "Question: Was it Orm{n} or Ida{n}?\nAnswer: Orm{n}"),
    ),
    ("single", "yes_no", spoil_even_things("question_single", "Question: Is the tower of Vell{n} old?\nAnswer: Yes")),
    (
        "single",
        "long",
        spoil_even_things("question_single", "Question: Who of Vell{n}?\nAnswer: " + "so many words " * 4),
    ),
    (
        "single",
        "duplicate",
        spoil_even_things("question_single", "Question: Which mason finished Vell2?\nAnswer: Orm2"),
    ),
    ("single", "unsupported", spoil_even_things("answer", "Unknown")),
    ("single", "unsupported", spoil_even_things("answer", "somebody else")),
    ("single", "known", spoil_even_things("answer_base_closed", "Orm{n} Ida{n}")),
    ("two", "one_enough", answer_from_first_passage),
    ("unanswerable", "answered", spoil_even_things("answer", "Rembrandt")),
    ("unanswerable", "answered_elsewhere", answer_from_retrieved_passages),
]


@pytest.mark.parametrize(("kind", "fault", "say"), FAULTY_DRAFTS)
async def test_faults_of_questions_are_found_and_counted(
    kind: Any, fault: str, say: Say, store: str, openai_server: OpenAIServer
) -> None:
    openai_server.reply(make_writer(say))
    written = await make(store, Options(n=8, mix={kind: 1}, every=True))
    assert written.faults[fault] >= 2
    assert written.drafts == sum(written.kept.values()) + written.faults.total()
    rejected = [line for line in lines() if not line["keep"]] if OUTPUT_FILE.exists() else []
    assert {line["meta"]["why"] for line in rejected} >= (set() if fault in ("declined", "unread") else {fault})
    assert all(line["question"] for line in rejected)
    assert written.ended == {kind: "corpus"}


async def test_a_sound_question_needs_no_review(store: str, openai_server: OpenAIServer) -> None:
    """Rejected on its face, a question is checked by no call."""
    openai_server.reply(
        make_writer(lambda prompt, n, text: "Who?\nAnswer: yes" if prompt == "question_single" else None)
    )
    written = await make(store, Options(n=2, mix=SINGLE_ONLY))
    assert (written.faults["yes_no"], len(openai_server.chats()), written.ended) == (8, 8, {"single": "tries"})


async def test_a_verifier_checks_in_the_models_place(store: str, openai_server: OpenAIServer) -> None:
    openai_server.reply(make_writer())
    await make(store, Options(n=2, mix=SINGLE_ONLY), verifier="openai:judge")
    sent_texts = [(request.body["model"], request.text.startswith("You write")) for request in openai_server.chats()]
    assert set(sent_texts) == {("test", True), ("judge", False)}
    assert {line["meta"]["verifier"] for line in lines()} == {"openai:judge"}


async def test_the_embedded_reader_may_check(store: str, openai_server: OpenAIServer) -> None:
    openai_server.reply(make_writer())
    written = await make(store, Options(n=1, mix=SINGLE_ONLY), verifier="embedded")
    assert written.drafts == len(openai_server.chats())


async def test_thinking_is_no_part_of_a_question(store: str, openai_server: OpenAIServer) -> None:
    sound = make_writer()
    openai_server.reply(lambda request: f"<think>Question: What?\nAnswer: x</think>\n```\n{sound(request)}\n```")
    assert (await make(store, Options(n=3, mix=SINGLE_ONLY))).kept["single"] == 3


async def test_reviewed_lines_stay_and_rejected_ones_are_replaced(store: str, openai_server: OpenAIServer) -> None:
    openai_server.reply(make_writer())
    await make(store, Options(n=3, mix=SINGLE_ONLY))
    edited = lines()
    edited[0] |= {"keep": False, "note": "dull"}
    edited[1]["answers"].append("a third form")
    OUTPUT_FILE.write_text("\n".join(map(json.dumps, edited)))  # as an editor leaves it, without a last line end
    again = await make(store, Options(n=3, mix=SINGLE_ONLY))
    assert lines()[:3] == edited
    assert (len(lines()), again.before, again.kept["single"]) == (4, 2, 3)
    request_count = len(openai_server.chats())
    done = await make(store, Options(n=3, mix=SINGLE_ONLY))
    assert (done.drafts, len(openai_server.chats())) == (0, request_count)


async def test_stopped_by_the_limit_on_cost_it_goes_on_from_the_journal(
    tmp_path: Path, store: str, openai_server: OpenAIServer
) -> None:
    prices = tmp_path / "prices.toml"
    prices.write_text('["openai:test"]\ninput = 1\noutput = 1\n')
    writer = make_writer()
    openai_server.reply(
        lambda request: Response(writer(request), usage={"prompt_tokens": 9000, "completion_tokens": 1})
    )
    options = Options(n=3, mix=SINGLE_ONLY, concurrency=1, prices=prices, max_cost=0.03)
    with pytest.raises(SetupError, match=r"the limit is \$0\.03"):
        await make(store, options, journal="journal.sqlite")
    first = len(openai_server.chats())
    written = await make(store, Options(n=3, mix=SINGLE_ONLY), journal="journal.sqlite")
    assert (first, written.kept["single"], written.spent.calls) == (4, 3, 9 - first)


async def test_a_failed_draft_is_reported_and_asked_again(store: str, openai_server: OpenAIServer) -> None:
    sound = make_writer()
    openai_server.reply(lambda request: make_error(400, "no") if "Which mason" in request.text else sound(request))
    written = await make(store, Options(n=8, mix=SINGLE_ONLY, every=True), journal="journal.sqlite")
    assert (written.kept["single"], written.faults["failed"], len(lines())) == (4, 4, 4)
    assert "400: no" in str(written.error)
    openai_server.reply(sound)
    again = await make(store, Options(n=8, mix=SINGLE_ONLY), journal="journal.sqlite")
    assert (again.kept["single"], again.spent.calls) == (8, 4 * 2)


async def test_one_run_writes_to_a_file_at_a_time(store: str, openai_server: OpenAIServer) -> None:
    openai_server.reply(make_writer())
    planned = await plan(None, "towers", context(store=store), Options(n=1, mix=SINGLE_ONLY), OUTPUT_FILE)
    with planned.file.lock(), pytest.raises(SetupError, match="Another run is writing"):
        await make(store, Options(n=1, mix=SINGLE_ONLY))


def command(quorum: Quorum, *args: str) -> CommandOutcome:
    return quorum("questions", *args, "--retriever", "bm25", "--k", "3", "--set", "attempts=1")


def test_the_command_writes_questions_that_an_evaluation_reads(
    corpus: str, openai_server: OpenAIServer, quorum: Quorum, caplog: pytest.LogCaptureFixture
) -> None:
    openai_server.reply(make_writer(spoil_even_things("answer_base_closed", "Orm{n} Ida{n}")))
    run = command(quorum, corpus, "--model", "openai:test", "--n", "5", "--mix", "single=4,unanswerable=1", "--all")
    assert run.code == 0, run.err
    words = run.out.splitlines()
    assert words[0].endswith(" answered without it.")
    assert "5 kept: " in words[0]
    assert words[1] == "questions.jsonl: 5 questions to keep (4 single, 1 unanswerable)."
    assert run.err.startswith("To write 5 questions: 15 calls, about ")
    rejected = [line for line in lines() if not line["keep"]]
    assert {line["meta"]["why"] for line in rejected} == {"known"}
    openai_server.reply(make_writer())
    eval_command = (
        "eval",
        str(OUTPUT_FILE),
        "--methods",
        "concat",
        "--corpus",
        corpus,
        "--model",
        "openai:test",
        "--retriever",
    )
    run = quorum(*eval_command, "bm25", "--out", "out")
    assert run.code == 0, run.err
    rows = [json.loads(line) for line in Path("out/results.jsonl").read_text().splitlines()]
    assert {row["id"] for row in rows} == {line["id"] for line in lines() if line["keep"]}
    assert [row["em"] for row in rows] == [1.0] * 5
    assert {row["recall"] for row in rows if row["gold"]} == {1.0}
    assert f"{len(rejected)} question{'s' * (len(rejected) > 1)} left out, marked keep: false" in caplog.text


def test_kinds_that_fell_short_are_reported(corpus: str, openai_server: OpenAIServer, quorum: Quorum) -> None:
    openai_server.reply(make_writer())
    run = command(quorum, corpus, "--model", "openai:test", "--n", "9", "--mix", "single=1")
    assert run.out.splitlines()[2:] == ["8 of 9 single: the corpus has no more passages for them."]
    openai_server.reply("Question: none")
    run = command(quorum, corpus, "--model", "openai:test", "--n", "2", "--mix", "two=1", "--out", "other.jsonl")
    assert (run.code, Path("other.jsonl").exists()) == (1, False)
    assert "0 kept: 4 where there was nothing to ask for." in run.out


def test_a_collection_and_a_dry_run(corpus: str, openai_server: OpenAIServer, quorum: Quorum) -> None:
    assert quorum("index", corpus, "--collection", "towers").code == 0
    run = command(quorum, "--collection", "towers", "--model", "openai:test", "--dry-run")
    assert (run.code, run.err, openai_server.requests, OUTPUT_FILE.exists()) == (0, "", [], False)
    assert run.out.startswith("To write 100 questions: 330 calls, about ")
    assert run.out.endswith(" if every draft is kept; 1,320 calls at the most.\n")


SHORT_OF = [
    ([], "The model 'embedded' cannot write questions: it can only find text; choose a chat model"),
    (["--model", "openai:test", "--n", "0"], "--n 0 does not fit"),
    (["--model", "openai:test", "--mix", "single=1,double=2"], "cannot be read at 'double=2'; write each of single"),
    (["--model", "openai:test", "--mix", "single=0"], "asks for nothing"),
    (["--model", "openai:test", "--mix", ""], "asks for nothing"),
    (["--model", "openai:test", "--mix", "two"], "cannot be read at 'two'"),
    (["--model", "openai:test", "--threshold", "0"], "give a token F1 above 0"),
    (["--model", "openai:test", "--threshold", "nan"], "give a token F1 above 0"),
    (["--model", "openai:test", "--min-words", "99"], "holds no passage of 99 words or more"),
    (["--model", "openai:test", "--out", "q.csv"], "give a name that ends in .jsonl"),
    (["--model", "openai:test", "--max-cost", "-1"], "give dollars, from 0 on"),
    (["--model", "openai:test", "--max-cost", "1"], "a model has no price"),
    (["--model", "openai:test", "--collection", "c"], "one of them (given are"),
    (["--model", "openai:test", "--concurrency", "0"], "--concurrency 0 does not fit"),
    (["--model", "openai:test", "--set", "answer_type=long"], "Questions are written with short answers"),
]


@pytest.mark.parametrize(("options", "message"), SHORT_OF)
def test_impossible_options_are_refused_in_one_sentence(
    options: list[str], message: str, corpus: str, openai_server: OpenAIServer, quorum: Quorum
) -> None:
    run = command(quorum, corpus, *options)
    assert (run.code, run.err.count("\n"), openai_server.chats()) == (2, 1, []), run.err
    assert message in run.err


def test_a_corpus_that_is_not_there_or_not_named(openai_server: OpenAIServer, quorum: Quorum) -> None:
    assert "There is no corpus nowhere; give a folder" in command(quorum, "nowhere", "--model", "openai:test").err
    assert "Name where the passages are" in command(quorum, "--model", "openai:test").err


@pytest.mark.parametrize(
    "meta", ['{"kind": ["single"]}', '{"kind": "single", "evidence": 5}', '{"evidence": [{"passage": ["p"]}]}', "{}"]
)
def test_a_line_with_edited_meta_is_read(meta: str) -> None:
    OUTPUT_FILE.write_text('{"id": "q", "question": "Who?", "answers": ["Ida"], "meta": ' + meta + "}\n")
    file = QuestionFile(OUTPUT_FILE)
    file.check([], "the corpus")
    assert (file.ids, sum(file.count_kept().values())) == ({"q"}, int("evidence" in meta and "kind" in meta))


def test_a_deleted_file_is_written_again() -> None:
    OUTPUT_FILE.write_text('{"id": "q", "question": "Who?", "answers": ["Ida"]}\n')
    file = QuestionFile(OUTPUT_FILE)
    OUTPUT_FILE.unlink()
    with file.lock():
        assert (file.ids, list(file.questions())) == (set(), [])


def test_a_file_that_cannot_be_replaced_leaves_no_half_one() -> None:
    file = QuestionFile(OUTPUT_FILE)
    OUTPUT_FILE.mkdir()
    with pytest.raises(SetupError, match="cannot be written"):
        file.add([], {})
    assert [path.name for path in Path().glob(".questions*")] == []


def test_questions_of_another_corpus_are_not_mixed_in(
    tmp_path: Path, corpus: str, openai_server: OpenAIServer, quorum: Quorum
) -> None:
    openai_server.reply(make_writer())
    assert command(quorum, corpus, "--model", "openai:test", "--n", "1", "--mix", "single=1").code == 0
    other = tmp_path / "other.jsonl"
    other.write_text(json.dumps({"id": "x", "text": "word " * 30}))
    run = command(quorum, str(other), "--model", "openai:test", "--n", "1")
    assert (run.code, "does not hold; give another file with --out" in run.err) == (2, True)
    OUTPUT_FILE.write_text('{"question": "who", "answer": ["x"]}\n')
    assert "data of another format" in command(quorum, corpus, "--model", "openai:test").err
    OUTPUT_FILE.write_text('{"id": "broken"\n')
    assert "questions.jsonl, line 1: not JSON" in command(quorum, corpus, "--model", "openai:test").err
