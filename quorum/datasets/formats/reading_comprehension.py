"""Converts data sets whose questions come with paragraphs, facts or evidence."""

from collections.abc import Iterator
from typing import Any

from quorum.datasets.formats.convert import (
    FEVER_LABELS,
    Format,
    UnusableRecord,
    check_text,
    check_texts,
    make_passage,
    make_record,
)
from quorum.datasets.records import Record


def convert_squad(value: dict[str, Any], where: str) -> Record:
    """Rajpurkar et al. 2016, 2018. The list of answers is empty for the unanswerable questions of version 2, to which
    the right answer is "unknown".
    """
    raw_answers = value["answers"]
    answers = (
        check_texts(raw_answers["text"])
        if isinstance(raw_answers, dict)
        else [check_text(answer["text"]) for answer in raw_answers]
    )
    if not answers and value.get("is_impossible") is False:
        raise UnusableRecord("there is no answer, and the question is not marked as impossible")
    paragraph = make_passage(value.get("title"), value["context"])
    return make_record(value.get("id"), value["question"], answers, [paragraph], [paragraph["id"]])


def convert_hotpotqa(value: dict[str, Any], where: str) -> Record:
    """Yang et al. 2018; Ho et al. 2020 (2WikiMultihopQA), whose evidence triples go to `meta`."""
    passages = [
        make_passage(title, " ".join(sentence.strip() for sentence in check_texts(sentences)))
        for title, sentences in read_pairs(value, "context")
    ]
    facts = [[check_text(title), sentence] for title, sentence in read_pairs(value, "supporting_facts")]
    titles = {title for title, _ in facts}
    return make_record(
        value.get("_id", value.get("id")),
        value["question"],
        [check_text(value["answer"])],
        passages,
        [item["id"] for item in passages if item["title"] in titles],
        type=value.get("type"),
        level=value.get("level"),
        supporting_facts=facts,
        evidences=value.get("evidences"),
    )


def read_pairs(value: dict[str, Any], name: str) -> Iterator[tuple[Any, Any]]:
    """The pairs under the key `name`: (title, sentences) in "context", (title, number of a sentence) in
    "supporting_facts". The value is a list of pairs, or an object with a list of titles and a list of the second parts.
    """
    pairs = value.get(name) or []
    if isinstance(pairs, dict):
        (second_parts,) = (values for key, values in pairs.items() if key != "title")
        yield from zip(pairs["title"], second_parts, strict=True)
    else:
        yield from pairs


def convert_strategyqa(value: dict[str, Any], where: str) -> Record:
    """Geva et al. 2021. The annotators' facts give the answer away, so they go to `meta` and are not passages."""
    return make_record(
        value.get("qid", value.get("id")),
        value["question"],
        ["yes" if value["answer"] else "no"],
        gold=list_paragraph_ids(value.get("evidence")),
        answer_type="yes_no",
        term=value.get("term"),
        description=value.get("description"),
        facts=value.get("facts"),
        decomposition=value.get("decomposition"),
    )


def list_paragraph_ids(evidence: Any) -> Iterator[str]:
    """The paragraph ids in the evidence, which is lists of lists: by annotator, then by step of the reasoning.

    The marks "no_evidence" and "operation" of steps without a paragraph are left out.
    """
    if isinstance(evidence, list):
        for part in evidence:
            yield from list_paragraph_ids(part)
    elif isinstance(evidence, str) and evidence not in ("no_evidence", "operation"):
        yield evidence


def convert_fever(value: dict[str, Any], where: str) -> Record:
    """Thorne et al. 2018. The claim is the question. The gold ids are those of the evidence sentences: the title of the
    page and the number of the sentence in the page, such as Vell_0.
    """
    label = check_text(value["label"])
    if label not in FEVER_LABELS:
        raise UnusableRecord(f"the label is none of {', '.join(sorted(FEVER_LABELS))}")
    gold = [
        f"{page}_{sentence}"
        for evidence_set in value.get("evidence") or []
        for _, _, page, sentence in evidence_set
        if page is not None and sentence is not None
    ]
    return make_record(value.get("id"), value["claim"], [label], gold=gold, answer_type="label")


def convert_asqa(value: dict[str, Any], where: str) -> Record:
    """Stelmakh et al. 2022. `meta.short_answers` has the answers to each interpretation of the question, for STR-EM.

    The passages that ALCE (Gao et al. 2023) adds under `docs` become the question's passages.
    """
    answers = [check_text(annotation["long_answer"]) for annotation in value.get("annotations") or []]
    if not answers and value.get("answer"):
        answers = [check_text(value["answer"])]
    if not answers:
        raise UnusableRecord("there is no long answer")
    return make_record(
        value.get("sample_id", value.get("id")),
        value.get("ambiguous_question", value.get("question")),
        answers,
        [make_passage(item.get("title"), item["text"], item.get("id")) for item in value.get("docs") or []],
        answer_type="long",
        short_answers=[check_texts(pair["short_answers"]) for pair in value["qa_pairs"]],
        readings=[check_text(pair["question"]) for pair in value["qa_pairs"]],
        split=value.get("split"),
    )


SQUAD = Format(
    "SQuAD",
    'SQuAD\'s {"id", "question", "answers": [{"text"}, ...]}, with the paragraph under "context" in the record or '
    'beside "qas"',
    lambda value: isinstance(value.get("context"), str) and "question" in value and "answers" in value,
    convert_squad,
)
HOTPOTQA = Format(
    "HotpotQA and 2WikiMultihopQA",
    'HotpotQA\'s {"_id", "question", "answer": text, "context": [[title, [sentence, ...]], ...], "supporting_facts"}',
    lambda value: "question" in value and isinstance(value.get("context"), list | dict),
    convert_hotpotqa,
)
STRATEGYQA = Format(
    "StrategyQA",
    'StrategyQA\'s {"qid", "question", "answer": true or false}',
    lambda value: "question" in value and isinstance(value.get("answer"), bool),
    convert_strategyqa,
)
FEVER = Format(
    "FEVER",
    'FEVER\'s {"id", "claim", "label", "evidence"}',
    lambda value: "claim" in value and "label" in value,
    convert_fever,
)
ASQA = Format(
    "ASQA",
    'ASQA\'s {"ambiguous_question", "qa_pairs": [{"question", "short_answers"}], "annotations": [{"long_answer"}]}',
    lambda value: "qa_pairs" in value,
    convert_asqa,
)
