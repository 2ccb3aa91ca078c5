"""Every published data format is read. The records are invented for these tests."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from published_records import (
    ALCE,
    ASQA,
    DPR,
    FEVER,
    FEVER_UNKNOWN,
    FLASHRAG,
    HOTPOTQA,
    HOTPOTQA_HUGGING_FACE,
    KILT,
    KILT_FEVER,
    NQ,
    QUORUM_RECORD,
    SQUAD,
    STRATEGYQA,
    TOWER,
    TRIVIAQA,
    TRIVIAQA_HUGGING_FACE,
    TWOWIKI,
    WEBQUESTIONS,
)

from quorum.core.errors import SetupError
from quorum.datasets.questions import read_questions
from quorum.datasets.records import Record, hash_content


def read_records(tmp_path: Path, content: str, name: str = "data.json") -> list[Record]:
    (tmp_path / name).write_text(content, encoding="utf-8")
    return list(read_questions(tmp_path / name))


def join_lines(*values: Any) -> str:
    return "\n".join(map(json.dumps, values)) + "\n"


@pytest.mark.parametrize("indent", [None, 2])
def test_squad_records_have_their_paragraph_and_may_be_unanswerable(tmp_path: Path, indent: int | None) -> None:
    answerable, unanswerable = read_records(tmp_path, json.dumps(SQUAD, indent=indent))
    passage_id = hash_content("Vell", TOWER)
    assert (answerable["id"], answerable["answers"], answerable["gold"]) == ("s1", ["80 metres"], [passage_id])
    assert answerable["passages"] == [{"id": passage_id, "title": "Vell", "text": TOWER}] == unanswerable["passages"]
    assert (unanswerable["answers"], unanswerable["source"]) == ([], "data.json")
    hugging_face_record = {
        "id": "r",
        "title": "Vell",
        "context": TOWER,
        "question": "High?",
        "answers": {"text": [], "answer_start": []},
    }
    assert read_records(tmp_path, join_lines(hugging_face_record))[0]["gold"] == [passage_id]


def test_nq_open_and_flashrag_lists_of_answers_are_read(tmp_path: Path) -> None:
    first_record, second_record = read_records(tmp_path, join_lines(NQ, NQ | {"answer": "1412"}))
    assert (first_record["id"], second_record["id"]) == ("1", "2")
    assert (first_record["answers"], second_record["answers"]) == (["1412", "in 1412"], ["1412"])
    (flashrag_record,) = read_records(tmp_path, join_lines(FLASHRAG))
    assert (flashrag_record["id"], flashrag_record["answers"], flashrag_record["meta"]) == (
        "dev_0",
        ["Ann"],
        {"level": "easy"},
    )


@pytest.mark.parametrize(
    "content",
    [json.dumps(TRIVIAQA), json.dumps({"data": None} | TRIVIAQA), join_lines(TRIVIAQA_HUGGING_FACE)],
)
def test_triviaqa_answers_are_the_value_and_its_aliases(tmp_path: Path, content: str) -> None:
    (record,) = read_records(tmp_path, content)
    assert (record["id"], record["answers"]) == ("tc_1", ["Orm", "River Orm"])


@pytest.mark.parametrize(
    "content", [json.dumps(HOTPOTQA), json.dumps(HOTPOTQA, indent=1), join_lines(HOTPOTQA_HUGGING_FACE)]
)
def test_hotpotqa_records_have_paragraphs_and_supporting_facts(tmp_path: Path, content: str) -> None:
    (record,) = read_records(tmp_path, content)
    texts = ["The Orm is a river. It passes Vell.", "Kett is a lake.", "The tower of Vell was built in 1412."]
    assert [(p["title"], p["text"]) for p in record["passages"]] == list(
        zip(("Orm", "Kett", "Vell"), texts, strict=True)
    )
    assert record["gold"] == [record["passages"][0]["id"], record["passages"][2]["id"]]
    assert (record["id"], record["answers"]) == ("h1", ["yes"])
    assert record["meta"]["supporting_facts"] == [["Vell", 0], ["Orm", 1]]
    assert "answer_type" not in record["meta"]  # the model must not learn that the answer is yes or no


def test_2wikimultihopqa_keeps_its_evidence_triples(tmp_path: Path) -> None:
    (record,) = read_records(tmp_path, json.dumps(TWOWIKI))
    assert record["meta"]["evidences"] == [["Vell", "river", "Orm"]]


def test_strategyqa_answers_are_yes_or_no_and_its_facts_are_no_passages(tmp_path: Path) -> None:
    (record,) = read_records(tmp_path, json.dumps(STRATEGYQA))
    assert (record["id"], record["answers"], record["passages"]) == ("q1", ["no"], [])
    assert record["gold"] == ["Vell-3", "Orm-1"]
    assert (record["meta"]["answer_type"], len(record["meta"]["decomposition"])) == ("yes_no", 2)


def test_webquestions_lists_are_read(tmp_path: Path) -> None:
    (record,) = read_records(tmp_path, json.dumps(WEBQUESTIONS))
    assert (record["question"], record["answers"]) == (
        "what waters are near vell?",
        ["Orm (river)", "Kett", 'say "Ai"'],
    )


def test_fever_records_have_labels_and_evidence(tmp_path: Path) -> None:
    refuted_claim, undecided_claim = read_records(tmp_path, join_lines(FEVER, FEVER_UNKNOWN))
    assert (refuted_claim["answers"], refuted_claim["gold"]) == (["REFUTES"], ["Vell_0", "Tower_-LRB-Vell-RRB-_4"])
    assert (refuted_claim["question"], refuted_claim["meta"]) == ("Vell has no tower.", {"answer_type": "label"})
    assert (undecided_claim["id"], undecided_claim["answers"], undecided_claim["gold"]) == (
        "8",
        ["NOT ENOUGH INFO"],
        [],
    )


def test_asqa_records_name_their_split_and_alce_adds_documents(tmp_path: Path) -> None:
    train, dev = read_records(tmp_path, json.dumps(ASQA))
    assert [(r["id"], r["meta"]["split"]) for r in (train, dev)] == [("-1", "train"), ("42", "dev")]
    assert dev["answers"] == ["The base is of 1412, the roof of 1420."]
    assert dev["meta"]["short_answers"] == [["1412"], ["1420", "in 1420"]]
    assert dev["meta"]["answer_type"] == "long"
    (alce_record,) = read_records(tmp_path, json.dumps(ALCE))
    assert (alce_record["id"], alce_record["passages"]) == ("42", [{"id": "9", "title": "Vell", "text": TOWER}])
    assert alce_record["answers"] == dev["answers"]


def test_kilt_records_have_answers_and_provenance(tmp_path: Path) -> None:
    question_record, claim_record = read_records(tmp_path, join_lines(KILT, KILT_FEVER))
    assert (question_record["answers"], question_record["gold"]) == (["1412", "in 1412"], ["77:2", "77:3", "78:1"])
    assert question_record["meta"] == {"gold_articles": [["77"], ["78", "Orm"]]}
    assert claim_record["meta"] == {"answer_type": "label", "labels": ["SUPPORTS", "REFUTES"]}


def test_kilts_conversations_and_long_answers_get_their_tasks(tmp_path: Path) -> None:
    """An input of several turns is a dialogue, and a long answer means the task "long". A single turn with a short
    answer gets its task from the name of the file or of its folder.
    """
    conversation = {"id": "w1", "input": "I like hockey.\nSo do I.\nWho won?", "output": [{"answer": "Orm did."}]}
    long_question = {"id": "e1", "input": "Why is the sky blue?", "output": [{"answer": "word " * 40}]}
    dialogue, long_answer = read_records(tmp_path, join_lines(conversation, long_question))
    assert dialogue["question"] == "User: I like hockey.\nAssistant: So do I.\nUser: Who won?"
    assert [item["meta"]["answer_type"] for item in (dialogue, long_answer)] == ["dialogue", "long"]
    for name, task in (
        ("wow-dev-kilt.jsonl", "dialogue"),
        ("eli5-dev-kilt.jsonl", "long"),
        ("nq.jsonl", None),
        ("wow/dev.jsonl", "dialogue"),
        ("ELI5/kilt/dev.jsonl", "long"),
        ("wow/nq/dev.jsonl", None),
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"id": "1", "input": "I like it.", "output": [{"answer": "Me too."}]}))
        (record,) = read_questions(path)
        assert record["meta"].get("answer_type") == task
        assert record["question"] == ("User: I like it." if task == "dialogue" else "I like it.")


@pytest.mark.parametrize("content", [json.dumps(DPR), join_lines(*DPR)])
def test_dpr_results_have_passages(tmp_path: Path, content: str) -> None:
    (record,) = read_records(tmp_path, content)
    assert [passage["id"] for passage in record["passages"]] == ["wiki:1", "wiki:2"]
    assert (record["gold"], record["meta"]) == (["wiki:2"], {"gold_kind": "passage contains an answer string"})


@pytest.mark.parametrize(
    "content",
    [
        'question,answers,id,kind\n"Who, then?",Ann|Anna,a1,who\n\n"Two\nlines?","[""Bo|b""]",a2,\n',
        '\nID;Question;Answer;Kind\na1;Who, then?;Ann | Anna;who\na2;"Two\nlines?";"[""Bo|b""]";\n',
        'question\tanswers\tid\tkind\nWho, then?\tAnn|Anna\ta1\twho\n"Two\nlines?"\t"[""Bo|b""]"\ta2\n',
    ],
)
def test_a_table_is_read_by_its_header(tmp_path: Path, content: str) -> None:
    first_record, second_record = read_records(tmp_path, content, "data.csv")
    assert (first_record["id"], first_record["question"], first_record["answers"]) == (
        "a1",
        "Who, then?",
        ["Ann", "Anna"],
    )
    assert (second_record["question"], second_record["answers"]) == ("Two\nlines?", ["Bo|b"])
    assert first_record["meta"]["kind"] == "who"


TABLE = "question,answers\nWho is Zoë?,Zoë Müller\nWho is “Ana”?,[]\n"


@pytest.mark.parametrize(
    ("data", "warning"),
    [
        (TABLE.encode(), ""),
        (TABLE.encode("utf-8-sig"), ""),
        (TABLE.encode("utf-16"), ""),
        (TABLE.encode("utf-16-le"), "read as UTF-16-le"),
        (TABLE.encode("cp1252"), "read as Windows-1252"),
        (f"sep=;\r\n{TABLE}".replace(",", ";").replace("\n", "\r\n").encode("cp1252"), "read as Windows-1252"),
        (f'"sep=\t"\n{TABLE}'.replace(",", "\t").encode("utf-16"), ""),
        (f"SEP=|\n{TABLE}".replace(",", "|").encode(), ""),
    ],
)
def test_a_table_is_read_as_excel_saves_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, data: bytes, warning: str
) -> None:
    path = tmp_path / "data.csv"
    path.write_bytes(data)
    records = [list(read_questions(path)) for _ in range(2)][1]
    assert [(record["question"], record["answers"]) for record in records] == [
        ("Who is Zoë?", ["Zoë Müller"]),
        ("Who is “Ana”?", []),
    ]
    messages = [record.getMessage() for record in caplog.records]
    assert len(messages) == bool(warning)  # one warning for two readings
    assert all(warning in message and str(path) in message for message in messages)


def test_json_lines_in_utf16_are_read(tmp_path: Path) -> None:
    path = tmp_path / "data.jsonl"
    path.write_bytes(join_lines(QUORUM_RECORD | {"question": "Wer ist Zoë?"}).encode("utf-16"))
    assert [record["question"] for record in read_questions(path)] == ["Wer ist Zoë?"]


def test_rows_of_empty_cells_are_skipped_and_keep_their_numbers(tmp_path: Path) -> None:
    records = read_records(tmp_path, "question,answers\nWho?,Ann\n,\n , \nWho else?,Bo\n", "data.csv")
    assert [(record["id"], record["question"]) for record in records] == [("1", "Who?"), ("4", "Who else?")]


def test_of_the_accepted_answers_empty_ones_are_dropped(tmp_path: Path) -> None:
    (record,) = read_records(tmp_path, join_lines(QUORUM_RECORD | {"answers": ["", "Ann", " "]}))
    assert record["answers"] == ["Ann"]


def test_a_rejected_question_may_lack_its_answer(tmp_path: Path) -> None:
    content = "question,answers,keep\nWho?,,false\nWho else?,Bo,true\n"
    assert [record["question"] for record in read_records(tmp_path, content, "data.csv")] == ["Who else?"]


def test_quorums_own_records_are_read_one_at_a_time(tmp_path: Path) -> None:
    (record,) = read_records(tmp_path, join_lines(QUORUM_RECORD | {"source": "here"}))
    assert record == {**QUORUM_RECORD, "id": "3", "source": "here"}
    path = tmp_path / "broken_second_line.jsonl"
    path.write_text(join_lines(QUORUM_RECORD) + "{", encoding="utf-8")
    assert next(iter(read_questions(path)))["id"] == "3"


@pytest.mark.parametrize("content", [json.dumps(SQUAD), join_lines(NQ), "question,answers\nWho?,Ann\n"])
@pytest.mark.parametrize("name", ["data.gz", "data.unnamed"])
def test_a_gzip_file_is_read_whether_or_not_its_name_ends_in_gz(tmp_path: Path, content: str, name: str) -> None:
    unpacked_records = read_records(tmp_path, content, "data")
    (tmp_path / name).write_bytes(gzip.compress(content.encode()))
    assert [{**r, "source": ""} for r in read_questions(tmp_path / name)] == [
        {**r, "source": ""} for r in unpacked_records
    ]


@pytest.mark.parametrize(
    ("inputs", "outputs", "question", "answers"),
    [
        ({"question": "Who?", "lang": "en"}, {"answers": ["Ada", "A. Korn"]}, "Who?", ["Ada", "A. Korn"]),
        ({"Input": "Who?"}, {"expected_output": "Ada"}, "Who?", ["Ada"]),
        ({"what_is_asked": "Who?"}, {"gold": 1874}, "Who?", ["1874"]),
        ({"query": "Is it?"}, {"label": True, "why": "x"}, "Is it?", ["yes"]),
        ({"question": "Who?"}, {"answers": []}, "Who?", []),
        (
            {"messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Who?"}]},
            {"output": {"role": "assistant", "content": "Ada"}},
            "Who?",
            ["Ada"],
        ),
    ],
)
def test_examples_of_langsmith_have_a_question_and_answers(
    inputs: dict[str, Any], outputs: dict[str, Any], question: str, answers: list[str], tmp_path: Path
) -> None:
    example = {"id": "e1", "inputs": inputs, "outputs": outputs, "metadata": {"task": "short", "level": 2}}
    [record] = read_records(tmp_path, json.dumps(example) + "\n", "data.jsonl")
    assert (record["id"], record["question"], record["answers"]) == ("e1", question, answers)
    assert record["meta"] == {"metadata": {"level": 2}, "answer_type": "short"}


@pytest.mark.parametrize(
    ("example", "reason"),
    [
        ({"inputs": {"question": "Who?"}, "outputs": None}, "it has no outputs"),
        ({"inputs": {"question": "Who?"}, "outputs": {"a": "x", "b": "y"}}, "its outputs have the keys a, b"),
        ({"inputs": {"question": "Who?"}, "outputs": {"answer": {"x": 1}}}, "neither a text nor a list of texts"),
        ({"inputs": {"messages": [{"role": "user", "content": "Hi"}] * 2}, "outputs": {"answer": "x"}}, "2 messages"),
    ],
)
def test_a_bad_example_of_langsmith_says_why(example: dict[str, Any], reason: str, tmp_path: Path) -> None:
    with pytest.raises(SetupError, match=reason):
        read_records(tmp_path, json.dumps(example) + "\n", "data.jsonl")
