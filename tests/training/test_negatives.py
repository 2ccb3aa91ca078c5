"""Wrong passages (negatives) for a question: search results that do not answer the question."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from quorum.core.errors import SetupError
from quorum.core.text import squad_contains_answer
from training.examples import read_negatives
from training.negatives import draw_questions, main, mine_negatives, parse_options, read_questions

LONG_TEXT = (
    " It stands beside the river, and every summer thousands of people come to look at it from the old stone quay." * 2
)
CORPUS = [
    {"id": "gold", "title": "Lumen Tower", "text": "The Lumen Tower was finished in 1931." + LONG_TEXT},
    # The answer is in the title.
    {"id": "also", "title": "1931", "text": "In that year the Lumen Tower opened." + LONG_TEXT},
    {"id": "wrong", "title": "Lumen Tower", "text": "The Lumen Tower has a lift and was painted in 1950." + LONG_TEXT},
    {"id": "mast", "title": "Iron Mast", "text": "The Iron Mast is a tower that was finished in 1950." + LONG_TEXT},
    {"id": "copy", "title": "Copy", "text": "The Iron Mast is a tower that was finished in 1950." + LONG_TEXT},
    {"id": "short", "title": "Lumen Tower", "text": "The Lumen Tower was finished late."},
    # Of the next two passages, the evaluation set dev.jsonl (see `arguments`) contains one and names the other as gold.
    {"id": "tested", "title": "Lumen Tower", "text": "When the Lumen Tower was finished, people sang." + LONG_TEXT},
    {"id": "elsewhere", "title": "Lumen Tower", "text": "When the Lumen Tower was finished, it rained." + LONG_TEXT},
    {"id": "other", "title": "Otters", "text": "Otters eat fish. " * 20},
]
QUESTION = {"id": "q1", "question": "When was the Lumen Tower finished?", "answers": ["1931"], "gold": ["gold"]}
CONTEXT = "Reeds grow at the Lumen Tower, and herons nest there, as Ada Brook wrote." + LONG_TEXT
READING_EXAMPLES = [
    {
        "id": "r1",
        "question": "Who wrote of herons at the tower?",
        "context": CONTEXT,
        "answers": [{"text": "Ada Brook", "start": 54}],
    },
    {"id": "r2", "question": "Who wrote of mice?", "context": CONTEXT, "answers": []},
    {
        "id": "r3",
        "question": "Which animals sang at the tower?",
        "context": "Otters. " * 30,
        "answers": [{"text": "Otters", "start": 0}],
    },
]


def write_records(name: str, records: list[Any]) -> str:
    data = "".join(json.dumps(record) + "\n" for record in records).encode()
    Path(name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return name


@pytest.fixture
def arguments() -> list[str]:
    """Writes a corpus, question answering data, reading data and an evaluation set. Returns the arguments of the
    command that mines negatives from these files.
    """
    write_records("corpus.jsonl.gz", CORPUS)
    write_records("qa.jsonl", [QUESTION])
    write_records("reading.jsonl", [record | {"source": f"set{n}"} for n, record in enumerate(READING_EXAMPLES)])
    tested_passage = next(passage for passage in CORPUS if passage["id"] == "tested")
    write_records("dev.jsonl", [{"question": "?", "answers": [], "passages": [tested_passage], "gold": ["elsewhere"]}])
    return [
        *("--corpus", "corpus.jsonl.gz", "reading.jsonl", "--questions", "qa.jsonl", "reading.jsonl"),
        *("--exclude-passages-of", "dev.jsonl", "--out", "out.jsonl.gz"),
    ]


def mine_by_command(arguments: list[str]) -> dict[str, list[dict[str, str]]]:
    """Run the command with these arguments; return question id -> negatives from the file that it writes."""
    options = parse_options(arguments)
    mine_negatives(options)
    with (gzip.open if options.out.suffix == ".gz" else open)(options.out, "rt", encoding="utf-8") as lines:
        return {line["id"]: line["negatives"] for line in map(json.loads, lines)}


def test_results_without_the_answer_become_negatives(arguments: list[str]) -> None:
    negatives_of_id = mine_by_command(arguments)
    assert {passage["text"].split(".")[0] for passage in negatives_of_id["q1"]} == {
        "The Lumen Tower has a lift and was painted in 1950",
        "The Iron Mast is a tower that was finished in 1950",
        "Reeds grow at the Lumen Tower, and herons nest there, as Ada Brook wrote",
    }
    assert len(negatives_of_id["r1"]) == 1  # the default for reading data; for question answering data it is 3
    assert negatives_of_id["r1"][0]["text"] != CONTEXT
    assert "r2" not in negatives_of_id  # without an answer, no passage is known to be wrong
    for passage in negatives_of_id["q1"]:
        assert set(passage) == {"title", "text"}
        assert not squad_contains_answer(passage["title"] + " " + passage["text"], ["1931"])
    examples = read_negatives(Path("out.jsonl.gz"))
    assert f"Lumen Tower: {CORPUS[2]['text']}" in [example.context for example in examples]
    assert not any(example.spans for example in examples)


def test_the_gold_passages_of_an_evaluation_set_without_passages_are_excluded(arguments: list[str]) -> None:
    write_records("dev.jsonl", [{"question": "?", "answers": [], "gold": ["elsewhere"]}])
    negatives = mine_by_command([*arguments, "--per-question", "9"])["q1"]
    assert any("people sang" in passage["text"] for passage in negatives)  # "tested", which no set names any more
    assert not any("it rained" in passage["text"] for passage in negatives)  # "elsewhere"


def test_mining_negatives_is_reproducible(arguments: list[str]) -> None:
    mine_by_command(arguments)
    first_output = Path("out.jsonl.gz").read_bytes()
    mine_by_command(arguments)
    assert Path("out.jsonl.gz").read_bytes() == first_output


def test_options_limit_the_negatives_and_their_sources(arguments: list[str]) -> None:
    assert [len(negatives) for negatives in mine_by_command([*arguments, "--per-question", "2"]).values()] == [2, 2, 2]
    negatives_of_id = mine_by_command([*arguments, "--sources", "set2", "--out", "out.jsonl"])
    assert set(negatives_of_id) == {"q1", "r3"}  # q1, too: --sources restricts only reading data
    assert "Reeds" not in json.dumps(negatives_of_id)  # a passage of another source


def test_a_draw_depends_on_the_seed_and_keeps_the_order() -> None:
    records = [{"id": f"q{n}", "question": f"What is {n}?", "answers": ["x"]} for n in range(200)]
    path = Path(write_records("many.jsonl", records))
    numbers_of_seed = {
        seed: [
            int(question.id[1:])
            for question in draw_questions(read_questions(path, negatives_per_question=3), 20, seed)
        ]
        for seed in (1, 2)
    }
    assert numbers_of_seed[1] != numbers_of_seed[2]
    assert all(numbers == sorted(numbers) and len(set(numbers)) == 20 for numbers in numbers_of_seed.values())
    assert [question.id for question in draw_questions(read_questions(path, negatives_per_question=3), 20, 1)] == [
        f"q{n}" for n in numbers_of_seed[1]
    ]
    assert len(draw_questions(read_questions(path, negatives_per_question=3), 500, 1)) == 200


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (["--corpus", "nowhere.jsonl"], "no file nowhere.jsonl"),
        (["--corpus", "qa.jsonl"], "expected a passage"),
        (["--corpus", "small.jsonl"], "no passage of more than 150 characters"),
        (["--questions", "corpus.jsonl.gz"], "expected 'question', a text"),
        (["--questions", "unanswered.jsonl"], "no question with an answer"),
        (["--questions", "strange.jsonl"], "line 1: expected 'text', a text"),
        (["--out", "nowhere/out.jsonl"], "no folder nowhere"),
    ],
)
def test_invalid_input_is_refused_in_one_sentence(arguments: list[str], change: list[str], message: str) -> None:
    write_records("small.jsonl", CORPUS[5:6])
    write_records("unanswered.jsonl", READING_EXAMPLES[1:2])
    write_records("strange.jsonl", [READING_EXAMPLES[0] | {"answers": ["Ada Brook"]}])
    with pytest.raises(SetupError, match=message):
        mine_negatives(parse_options([*arguments, *change]))
    assert not list(Path().glob("out*"))


def test_the_command_writes_negatives_and_refuses_wrong_options(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    main(arguments)
    assert capsys.readouterr().out == "out.jsonl.gz: 5 negatives for 3 questions\n"
    for wrong_options in (["--corpus", "nowhere.jsonl"], ["--limit", "0"], ["--per-question", "x"]):
        with pytest.raises(SystemExit) as command_exit:
            main([*arguments, *wrong_options])
        assert command_exit.value.code == 2
    assert "whole number from 1, got 'x'" in capsys.readouterr().err
