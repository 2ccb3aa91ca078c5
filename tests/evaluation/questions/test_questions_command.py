"""`quorum questions`: what it prints, which options it refuses, and the file of questions that it writes."""

import json
from pathlib import Path

import pytest
from openai_bodies import Response, make_error
from openai_server import OpenAIServer, Request
from question_writer import make_question_writer
from questions_fixtures import OUTPUT_FILE, corpus, read_lines, reply_to_even_numbers
from quorum_command import CommandOutcome, Quorum

from quorum.core.errors import SetupError
from quorum.evaluation.questions.file import QuestionFile
from quorum.retrievers.index import index_passages

__all__ = ["corpus"]  # a fixture, used by name


def run_questions(quorum: Quorum, *args: str) -> CommandOutcome:
    return quorum("questions", *args, "--retriever", "bm25", "--k", "3", "--set", "attempts=1")


def test_the_command_writes_questions_that_an_evaluation_reads(
    corpus: str, openai_server: OpenAIServer, quorum: Quorum, caplog: pytest.LogCaptureFixture
) -> None:
    # Without a passage, the model knows the answers about towers and lamps with an even number, so the questions about
    # them are rejected.
    openai_server.reply(make_question_writer(reply_to_even_numbers("answer_base_closed", "Orm{n} Ida{n}")))
    # --all also writes the questions that were rejected
    run = run_questions(
        quorum, corpus, "--model", "openai:test", "--n", "5", "--mix", "single=4,unanswerable=1", "--all"
    )
    assert run.code == 0, run.err
    lines = run.out.splitlines()
    assert lines[0].endswith(" answered without their passage.")
    assert "5 kept, " in lines[0]
    assert lines[1] == "questions.jsonl: 5 questions to keep (4 single, 1 unanswerable)."
    assert run.err.startswith("To write 5 questions: 15 calls, about ")
    rejected_lines = [line for line in read_lines() if not line["keep"]]
    assert {line["meta"]["why"] for line in rejected_lines} == {"known"}
    openai_server.reply(make_question_writer())
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
        "bm25",
        "--out",
        "out",
    )
    run = quorum(*eval_command)
    assert run.code == 0, run.err
    rows = [json.loads(line) for line in Path("out/results.jsonl").read_text().splitlines()]
    assert {row["id"] for row in rows} == {line["id"] for line in read_lines() if line["keep"]}
    assert [row["em"] for row in rows] == [1.0] * 5
    assert {row["recall"] for row in rows if row["gold"]} == {1.0}
    assert (
        f"{len(rejected_lines)} question{'s' * (len(rejected_lines) > 1)} left out, marked keep: false" in caplog.text
    )


def test_kinds_with_too_few_questions_are_reported(corpus: str, openai_server: OpenAIServer, quorum: Quorum) -> None:
    openai_server.reply(make_question_writer())
    run = run_questions(quorum, corpus, "--model", "openai:test", "--n", "9", "--mix", "single=1")
    assert run.out.splitlines()[2:] == [
        "Only 8 of 9 questions of the kind single were kept: the corpus has no more passages for such questions."
    ]
    openai_server.reply("Question: none")  # the model finds nothing to ask about
    run = run_questions(quorum, corpus, "--model", "openai:test", "--n", "2", "--mix", "two=1", "--out", "other.jsonl")
    assert (run.code, Path("other.jsonl").exists()) == (1, False)
    assert "0 kept, 4 rejected: 4 where the passage gave nothing to ask about." in run.out


@pytest.mark.parametrize(
    ("wanted", "consequence"),
    [
        (3, "other drafts took their place"),
        (8, "run the same command again to ask for the questions that are still missing"),
    ],
)
def test_failed_drafts_are_reported_with_what_follows(
    wanted: int, consequence: str, corpus: str, openai_server: OpenAIServer, quorum: Quorum
) -> None:
    write_reply, failed_prompts = make_question_writer(), list[str]()

    def fail_first_prompt(request: Request) -> str | Response:
        if not failed_prompts or request.text in failed_prompts:
            failed_prompts[:] = [request.text]
            return make_error(418, "a teapot")
        return write_reply(request)

    openai_server.reply(fail_first_prompt)
    run = run_questions(quorum, corpus, "--model", "openai:test", "--n", str(wanted), "--mix", "single=1")
    assert run.code == 1
    assert "1 draft failed (" in run.err
    assert run.err.splitlines()[-1].endswith(f"; {consequence}.")


def test_a_dry_run_over_a_collection_prints_the_estimate_and_asks_nothing(
    corpus: str, openai_server: OpenAIServer, quorum: Quorum
) -> None:
    assert quorum("index", corpus, "--collection", "towers").code == 0
    run = run_questions(quorum, "--collection", "towers", "--model", "openai:test", "--dry-run")
    assert (run.code, run.err, openai_server.requests, OUTPUT_FILE.exists()) == (0, "", [], False)
    assert run.out.startswith("To write 100 questions: 330 calls, about ")
    assert run.out.endswith(" if every draft is kept; 1,320 calls at the most.\n")


IMPOSSIBLE_OPTIONS = [
    ([], "The model 'embedded' cannot write questions: it can only find text; choose a chat model"),
    (["--model", "openai:test", "--n", "0"], "--n 0 does not fit"),
    (["--model", "openai:test", "--mix", "single=1,double=2"], "cannot be read at 'double=2'; give each kind (single"),
    (["--model", "openai:test", "--mix", "single=0"], "asks for nothing"),
    (["--model", "openai:test", "--mix", ""], "asks for nothing"),
    (["--model", "openai:test", "--mix", "two"], "cannot be read at 'two'"),
    (["--model", "openai:test", "--threshold", "0"], "give a token F1 above 0"),
    (["--model", "openai:test", "--threshold", "nan"], "give a token F1 above 0"),
    (["--model", "openai:test", "--min-words", "99"], "holds no passage of 99 words or more"),
    (["--model", "openai:test", "--out", "q.csv"], "give a name that ends in .jsonl"),
    (["--model", "openai:test", "--max-cost", "-1"], "give dollars, from 0 on"),
    (["--model", "openai:test", "--max-cost", "1"], "a model has no price"),
    (["--model", "openai:test", "--collection", "c"], "Name one place of the passages"),
    (["--model", "openai:test", "--concurrency", "0"], "--concurrency 0 does not fit"),
    (["--model", "openai:test", "--set", "answer_type=long"], "Questions are written only with short answers"),
]


@pytest.mark.parametrize(("options", "message"), IMPOSSIBLE_OPTIONS)
def test_impossible_options_are_refused_in_one_sentence(
    options: list[str], message: str, corpus: str, openai_server: OpenAIServer, quorum: Quorum
) -> None:
    run = run_questions(quorum, corpus, *options)
    assert (run.code, run.err.count("\n"), openai_server.chats()) == (2, 1, []), run.err
    assert message in run.err


def test_a_missing_or_unnamed_corpus_is_refused(openai_server: OpenAIServer, quorum: Quorum) -> None:
    missing = run_questions(quorum, "absent_docs", "--model", "openai:test")
    assert "There is no corpus absent_docs; give a folder" in missing.err
    for name in ("handbook", "minutes"):
        index_passages([{"id": "1", "title": "", "text": "a text"}], collection=name)  # type: ignore[list-item]
    assert "holds 2 collections (handbook, minutes)" in run_questions(quorum, "--model", "openai:test").err


@pytest.mark.parametrize(
    ("meta", "count_with_kind"),
    [
        ('{"kind": ["single"]}', 0),
        ('{"kind": "single", "evidence": 5}', 1),
        ('{"evidence": [{"passage": ["p"]}]}', 0),
        ("{}", 0),
    ],
)
def test_a_line_with_edited_meta_is_read(meta: str, count_with_kind: int) -> None:
    OUTPUT_FILE.write_text('{"id": "q", "question": "Who?", "answers": ["Ida"], "meta": ' + meta + "}\n")
    file = QuestionFile(OUTPUT_FILE)
    file.check_corpus([], "the corpus")
    assert (file.ids, sum(file.count_kept_by_kind().values())) == ({"q"}, count_with_kind)


def test_the_lines_of_a_deleted_file_are_forgotten() -> None:
    OUTPUT_FILE.write_text('{"id": "q", "question": "Who?", "answers": ["Ida"]}\n')
    file = QuestionFile(OUTPUT_FILE)
    OUTPUT_FILE.unlink()
    with file.lock():
        assert (file.ids, list(file.list_question_texts())) == (set(), [])


def test_a_failed_replacement_leaves_no_half_written_file() -> None:
    file = QuestionFile(OUTPUT_FILE)
    OUTPUT_FILE.mkdir()
    with pytest.raises(SetupError, match="cannot be written"):
        file.add([], {})
    assert [path.name for path in Path().glob(".questions*")] == []


def test_questions_of_another_corpus_are_not_mixed_in(
    tmp_path: Path, corpus: str, openai_server: OpenAIServer, quorum: Quorum
) -> None:
    openai_server.reply(make_question_writer())
    assert run_questions(quorum, corpus, "--model", "openai:test", "--n", "1", "--mix", "single=1").code == 0
    other_corpus = tmp_path / "other.jsonl"
    other_corpus.write_text(json.dumps({"id": "x", "text": "word " * 30}))
    run = run_questions(quorum, str(other_corpus), "--model", "openai:test", "--n", "1")
    assert (run.code, "does not hold; give another file with --out" in run.err) == (2, True)
    OUTPUT_FILE.write_text('{"question": "who", "answer": ["x"]}\n')
    assert "data of another format" in run_questions(quorum, corpus, "--model", "openai:test").err
    OUTPUT_FILE.write_text('{"id": "broken"\n')
    assert "questions.jsonl, line 1: not JSON" in run_questions(quorum, corpus, "--model", "openai:test").err
