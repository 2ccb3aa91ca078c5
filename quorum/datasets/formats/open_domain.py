"""Converts records of Quorum's own format, of data sets that have questions but no documents, and of DPR's results:
questions with their retrieved passages.

In every converter, `where` is the record's place, "FILE, line 3", for messages. `find_kilt_type` also reads the names
of the file and its folders from it.
"""

import re
from collections.abc import Sequence
from pathlib import PurePath
from typing import Any

from quorum.core.json_text import parse_json
from quorum.core.state import Passage
from quorum.datasets.data_set_names import find_data_set_name
from quorum.datasets.formats.convert import (
    FEVER_LABELS,
    Format,
    UnusableRecord,
    check_text,
    check_texts,
    make_passage,
    make_record,
    require_answers,
)
from quorum.datasets.records import Record, get_list, parse_passage

KILT_LABELS = ("SUPPORTS", "REFUTES")
PARAGRAPH_WORDS = 30  # answers of at least this many words, on average, are paragraphs
DESCRIPTION = re.compile(r'\(description\s+("(?:[^"\\]|\\.)*"|[^()]*)\)')


def convert_own_record(value: dict[str, Any], where: str) -> Record:
    """A record of Quorum's own format. A reviewer's mark "keep" goes to `meta.keep`."""
    record = make_record(
        value.get("id"),
        value["question"],
        check_texts(value["answers"]),
        [parse_passage(item, where) for item in get_list(value, "passages", where)],
        [str(id_) for id_ in get_list(value, "gold", where)],
    )
    meta = value.get("meta") or {}
    if not isinstance(meta, dict):
        raise UnusableRecord("meta is not an object")
    record["meta"] = meta | parse_keep(value.get("keep", meta.get("keep")))
    if "source" in value:
        record["source"] = str(value["source"])
    return record


def parse_keep(value: Any) -> dict[str, bool]:
    """{"keep": true or false} from a reviewer's mark, {} without a mark.

    A CSV file holds only text, so the mark may also be a word: true, yes, false or no.
    """
    if value in (None, ""):
        return {}
    words = {"true": True, "yes": True, "false": False, "no": False}
    keep = value if isinstance(value, bool) else words.get(value.strip().lower()) if isinstance(value, str) else None
    if keep is None:
        raise UnusableRecord(f"keep is neither true nor false: {value!r}")
    return {"keep": keep}


def convert_nq(value: dict[str, Any], where: str) -> Record:
    """A record of NQ-open (Lee et al. 2019)."""
    return make_record(value.get("id"), value["question"], require_answers(value["answer"]))


def convert_triviaqa(value: dict[str, Any], where: str) -> Record:
    """A record of TriviaQA (Joshi et al. 2017). The aliases are accepted answers, too."""
    raw_answer = value.get("Answer") or value.get("answer")
    if not isinstance(raw_answer, dict):
        raise UnusableRecord("there is no answer: the test part of a data set cannot be scored")
    answer = {name.lower(): content for name, content in raw_answer.items()}
    id_ = value.get("QuestionId", value.get("question_id"))
    question = value.get("Question", value.get("question"))
    return make_record(id_, question, [check_text(answer["value"]), *check_texts(answer.get("aliases") or [])])


def convert_webquestions(value: dict[str, Any], where: str) -> Record:
    """A record of WebQuestions (Berant et al. 2013).

    Its answers are a Lisp list: (list (description "Padmé Amidala") (description Jamaica)).
    """
    descriptions = [item.group(1).strip() for item in DESCRIPTION.finditer(value["targetValue"])]
    answers = [parse_json(answer) if answer.startswith('"') else answer for answer in descriptions]
    return make_record(None, value["utterance"], require_answers(answers), url=value.get("url"))


def convert_kilt(value: dict[str, Any], where: str) -> Record:
    """A record of KILT (Petroni et al. 2021).

    The gold ids are those of paragraphs, WIKIPEDIA_ID:NUMBER. `meta.gold_articles` has the id and the title of each
    gold article, because KILT counts the recall of articles. FEVER's claims have two labels in KILT; Wizard of
    Wikipedia asks for dialogue turns, ELI5 for long answers.
    """
    answers = require_answers(
        [check_text(output["answer"]) for output in value["output"] if output.get("answer") is not None]
    )
    sources = [source for output in value["output"] for source in output.get("provenance") or []]
    gold = [
        f"{source['wikipedia_id']}:{paragraph}"
        for source in sources
        if source.get("wikipedia_id") is not None and source.get("start_paragraph_id") is not None
        for paragraph in range(
            int(source["start_paragraph_id"]), int(source.get("end_paragraph_id", source["start_paragraph_id"])) + 1
        )
    ]
    articles = [[str(source[key]) for key in ("wikipedia_id", "title") if source.get(key)] for source in sources]
    answer_type = find_kilt_type(value["input"], answers, where)
    return make_record(
        value.get("id"),
        mark_turns(value["input"]) if answer_type == "dialogue" else value["input"],
        answers,
        gold=gold,
        answer_type=answer_type,
        gold_articles=[list(names) for names in dict.fromkeys(map(tuple, articles)) if names],
        labels=[*KILT_LABELS] if answer_type == "label" else None,
    )


def find_kilt_type(input_text: str, answers: Sequence[str], where: str) -> str | None:
    """The answer type of a KILT record; None for short answers.

    "label" if the answers are FEVER's labels; "dialogue" if the input has several lines or the file or its folder is
    named like Wizard of Wikipedia's (wow-dev-kilt.jsonl); "long" if it is named like ELI5's or the answers are
    paragraphs.
    """
    path = where.partition(", line")[0]
    file_name, data_set = PurePath(path).name.lower(), find_data_set_name(path)
    if set(answers) <= FEVER_LABELS:
        return "label"
    if "\n" in input_text.strip() or data_set == "WoW" or file_name.startswith(("wow", "wizard")):
        return "dialogue"
    mean_words = sum(len(answer.split()) for answer in answers) / len(answers)
    return "long" if data_set == "ELI5" or file_name.startswith("eli5") or mean_words >= PARAGRAPH_WORDS else None


def mark_turns(text: str) -> str:
    """The turns of a conversation, one per line, each with its speaker; the last turn is the user's.

    >>> mark_turns("I like hockey.\\nSo do I.\\nWho won?")
    'User: I like hockey.\\nAssistant: So do I.\\nUser: Who won?'
    """
    turns = [turn.strip() for turn in text.splitlines() if turn.strip()]
    speakers = ("User", "Assistant")
    return "\n".join(f"{speakers[(len(turns) - 1 - place) % 2]}: {turn}" for place, turn in enumerate(turns))


def convert_dpr(value: dict[str, Any], where: str) -> Record:
    """A question with its retrieved passages in DPR's format (Karpukhin et al. 2020).

    Nobody has marked gold passages: the passages that contain an answer count as gold.
    """
    passages = [convert_retrieved_passage(item) for item in value["ctxs"]]
    gold = [passage["id"] for passage, item in zip(passages, value["ctxs"], strict=True) if item.get("has_answer")]
    gold_kind = "passage contains an answer string" if gold else None
    return make_record(
        value.get("id"), value["question"], require_answers(value["answers"]), passages, gold, gold_kind=gold_kind
    )


def convert_retrieved_passage(item: dict[str, Any]) -> Passage:
    """One of DPR's passages as a `Passage`. Its id is under `id`, `passage_id` or `psg_id`."""
    id_ = next((item[name] for name in ("id", "passage_id", "psg_id") if item.get(name) is not None), None)
    return make_passage(item.get("title"), item["text"], id_)


def convert_flashrag(value: dict[str, Any], where: str) -> Record:
    """A record of FlashRAG's format (Jin et al. 2024)."""
    meta = value.get("metadata") or {}
    record = make_record(value.get("id"), value["question"], require_answers(value["golden_answers"]))
    record["meta"] = meta if isinstance(meta, dict) else {}
    return record


def is_triviaqa(value: dict[str, Any]) -> bool:
    """Whether a record has TriviaQA's keys, in its own spelling or in that of Hugging Face."""
    answer = value.get("answer")
    return ("Question" in value and "QuestionId" in value) or (isinstance(answer, dict) and "value" in answer)


OWN_FORMAT = Format(
    "Quorum",
    '{"id", "question": text, "answers": [text, ...]}',
    lambda value: isinstance(value.get("question"), str) and isinstance(value.get("answers"), list),
    convert_own_record,
)
NQ = Format(
    "NQ-open",
    '{"question": text, "answer": [text, ...]}',
    lambda value: isinstance(value.get("question"), str) and isinstance(value.get("answer"), str | list),
    convert_nq,
)
TRIVIAQA = Format(
    "TriviaQA",
    'TriviaQA\'s {"QuestionId", "Question", "Answer": {"Value", "Aliases"}}',
    is_triviaqa,
    convert_triviaqa,
)
WEBQUESTIONS = Format(
    "WebQuestions",
    'WebQuestions\' {"utterance", "targetValue": "(list (description ...))"}',
    lambda value: "utterance" in value and "targetValue" in value,
    convert_webquestions,
)
KILT = Format(
    "KILT",
    'KILT\'s {"id", "input", "output": [{"answer", "provenance"}, ...]}',
    lambda value: "input" in value and isinstance(value.get("output"), list),
    convert_kilt,
)
DPR = Format(
    "DPR results",
    'DPR\'s {"question", "answers": [text, ...], "ctxs": [{"id", "title", "text"}, ...]}',
    lambda value: "question" in value and isinstance(value.get("ctxs"), list),
    convert_dpr,
)
FLASHRAG = Format(
    "FlashRAG",
    'FlashRAG\'s {"id", "question", "golden_answers": [text, ...]}',
    lambda value: "golden_answers" in value,
    convert_flashrag,
)
