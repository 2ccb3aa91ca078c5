"""Questions and answers without documents of their own, and retrieval results."""

import re
from typing import Any

from quorum.core.json_text import loads
from quorum.core.state import Passage
from quorum.datasets.formats.convert import LABELS, Broken, Format, made, passage, some, text, texts
from quorum.datasets.records import Record, as_passage, list_of

DESCRIPTION = re.compile(r'\(description\s+("(?:[^"\\]|\\.)*"|[^()]*)\)')


def ours(value: dict[str, Any], where: str) -> Record:
    record = made(
        value.get("id"),
        value["question"],
        texts(value["answers"]),
        [as_passage(item, where) for item in list_of(value, "passages", where)],
        [str(id_) for id_ in list_of(value, "gold", where)],
    )
    meta = value.get("meta") or {}
    if not isinstance(meta, dict):
        raise Broken("meta is no object")
    record["meta"] = meta | kept(value.get("keep", meta.get("keep")))
    if "source" in value:
        record["source"] = str(value["source"])
    return record


def kept(said: Any) -> dict[str, bool]:
    """What a reviewer said of the record, {} where nobody did. A table says it in words."""
    if said in (None, ""):
        return {}
    words = {"true": True, "yes": True, "false": False, "no": False}
    found = said if isinstance(said, bool) else words.get(said.strip().lower()) if isinstance(said, str) else None
    if found is None:
        raise Broken(f"keep is neither true nor false: {said!r}")
    return {"keep": found}


def nq(value: dict[str, Any], where: str) -> Record:
    return made(value.get("id"), value["question"], some(value["answer"]))


def triviaqa(value: dict[str, Any], where: str) -> Record:
    given = value.get("Answer") or value.get("answer")
    if not isinstance(given, dict):
        raise Broken("there is no answer: the test part of a data set cannot be scored")
    answer = {name.lower(): found for name, found in given.items()}
    id_ = value.get("QuestionId", value.get("question_id"))
    question = value.get("Question", value.get("question"))
    return made(id_, question, [text(answer["value"]), *texts(answer.get("aliases") or [])])


def webquestions(value: dict[str, Any], where: str) -> Record:
    """The answers are a Lisp list of descriptions: (list (description "Padmé Amidala") (description Jamaica))."""
    found = [one.group(1).strip() for one in DESCRIPTION.finditer(value["targetValue"])]
    answers = [loads(answer) if answer.startswith('"') else answer for answer in found]
    return made(None, value["utterance"], some(answers), url=value.get("url"))


def kilt(value: dict[str, Any], where: str) -> Record:
    """Petroni et al. 2021. A paragraph is named WIKIPEDIA_ID:NUMBER."""
    answers = some([text(output["answer"]) for output in value["output"] if output.get("answer") is not None])
    gold = [
        f"{source['wikipedia_id']}:{paragraph}"
        for output in value["output"]
        for source in output.get("provenance") or []
        if source.get("wikipedia_id") is not None and source.get("start_paragraph_id") is not None
        for paragraph in range(
            int(source["start_paragraph_id"]), int(source.get("end_paragraph_id", source["start_paragraph_id"])) + 1
        )
    ]
    answer_type = "label" if set(answers) <= LABELS else None
    return made(value.get("id"), value["input"], answers, gold=gold, answer_type=answer_type)


def dpr(value: dict[str, Any], where: str) -> Record:
    """Karpukhin et al. 2020. Nobody annotated the gold passages: an answer occurs in them, as `meta` says."""
    found = [context(item) for item in value["ctxs"]]
    gold = [one["id"] for one, item in zip(found, value["ctxs"], strict=True) if item.get("has_answer")]
    kind = "passage contains an answer string" if gold else None
    return made(value.get("id"), value["question"], some(value["answers"]), found, gold, gold_kind=kind)


def context(item: dict[str, Any]) -> Passage:
    """A retrieved passage. Results may call the id `id`, `passage_id` or `psg_id`."""
    id_ = next((item[name] for name in ("id", "passage_id", "psg_id") if item.get(name) is not None), None)
    return passage(item.get("title"), item["text"], id_)


def flashrag(value: dict[str, Any], where: str) -> Record:
    meta = value.get("metadata") or {}
    record = made(value.get("id"), value["question"], some(value["golden_answers"]))
    record["meta"] = meta if isinstance(meta, dict) else {}
    return record


def is_triviaqa(value: dict[str, Any]) -> bool:
    answer = value.get("answer")
    return ("Question" in value and "QuestionId" in value) or (isinstance(answer, dict) and "value" in answer)


OURS = Format(
    "Quorum",
    '{"id", "question": text, "answers": [text, ...]}',
    lambda value: isinstance(value.get("question"), str) and isinstance(value.get("answers"), list),
    ours,
)
NQ = Format(
    "NQ-open",
    '{"question": text, "answer": [text, ...]}',
    lambda value: isinstance(value.get("question"), str) and isinstance(value.get("answer"), str | list),
    nq,
)
TRIVIAQA = Format(
    "TriviaQA",
    'TriviaQA\'s {"QuestionId", "Question", "Answer": {"Value", "Aliases"}}',
    is_triviaqa,
    triviaqa,
)
WEBQUESTIONS = Format(
    "WebQuestions",
    'WebQuestions\' {"utterance", "targetValue": "(list (description ...))"}',
    lambda value: "utterance" in value and "targetValue" in value,
    webquestions,
)
KILT = Format(
    "KILT",
    'KILT\'s {"id", "input", "output": [{"answer", "provenance"}, ...]}',
    lambda value: "input" in value and isinstance(value.get("output"), list),
    kilt,
)
DPR = Format(
    "DPR results",
    'DPR\'s {"question", "answers": [text, ...], "ctxs": [{"id", "title", "text"}, ...]}',
    lambda value: "question" in value and isinstance(value.get("ctxs"), list),
    dpr,
)
FLASHRAG = Format(
    "FlashRAG",
    'FlashRAG\'s {"id", "question", "golden_answers": [text, ...]}',
    lambda value: "golden_answers" in value,
    flashrag,
)
