"""Questions that come with paragraphs, facts or evidence."""

from collections.abc import Iterator
from typing import Any

from quorum.datasets.formats.convert import LABELS, Broken, Format, made, passage, text, texts
from quorum.datasets.records import Record


def squad(value: dict[str, Any], where: str) -> Record:
    """Rajpurkar et al. 2016, 2018. A question of version 2 without an answer has none here: "unknown" is right."""
    given = value["answers"]
    answers = texts(given["text"]) if isinstance(given, dict) else [text(answer["text"]) for answer in given]
    if not answers and value.get("is_impossible") is False:
        raise Broken("there is no answer, and it is not marked as impossible")
    paragraph = passage(value.get("title"), value["context"])
    return made(value.get("id"), value["question"], answers, [paragraph], [paragraph["id"]])


def hotpotqa(value: dict[str, Any], where: str) -> Record:
    """Yang et al. 2018; Ho et al. 2020 (2WikiMultihopQA), whose evidence triples are kept in `meta`."""
    found = [
        passage(title, " ".join(sentence.strip() for sentence in texts(s))) for title, s in pairs(value, "context")
    ]
    facts = [[text(title), sentence] for title, sentence in pairs(value, "supporting_facts")]
    titles = {title for title, _ in facts}
    return made(
        value.get("_id", value.get("id")),
        value["question"],
        [text(value["answer"])],
        found,
        [one["id"] for one in found if one["title"] in titles],
        type=value.get("type"),
        level=value.get("level"),
        supporting_facts=facts,
        evidences=value.get("evidences"),
    )


def pairs(value: dict[str, Any], name: str) -> Iterator[tuple[Any, Any]]:
    """Pairs of a title and its sentences (or a sentence's number); also where the two are lists of their own."""
    given = value.get(name) or []
    if isinstance(given, dict):
        (second,) = (part for key, part in given.items() if key != "title")
        yield from zip(given["title"], second, strict=True)
    else:
        yield from given


def strategyqa(value: dict[str, Any], where: str) -> Record:
    """Geva et al. 2021. The annotators' facts answer the question: they go to `meta` and are no passages."""
    return made(
        value.get("qid", value.get("id")),
        value["question"],
        ["yes" if value["answer"] else "no"],
        gold=paragraph_ids(value.get("evidence")),
        answer_type="yes_no",
        term=value.get("term"),
        description=value.get("description"),
        facts=value.get("facts"),
        decomposition=value.get("decomposition"),
    )


def paragraph_ids(evidence: Any) -> Iterator[str]:
    """The paragraphs in the evidence: by annotator, by step, lists of ids beside the words for none."""
    if isinstance(evidence, list):
        for part in evidence:
            yield from paragraph_ids(part)
    elif isinstance(evidence, str) and evidence not in ("no_evidence", "operation"):
        yield evidence


def fever(value: dict[str, Any], where: str) -> Record:
    """Thorne et al. 2018. The claim takes the question's place; a sentence of evidence is named PAGE_NUMBER."""
    label = text(value["label"])
    if label not in LABELS:
        raise Broken(f"the label is none of {', '.join(sorted(LABELS))}")
    gold = [
        f"{page}_{sentence}"
        for group in value.get("evidence") or []
        for _, _, page, sentence in group
        if page is not None and sentence is not None
    ]
    return made(value.get("id"), value["claim"], [label], gold=gold, answer_type="label")


def asqa(value: dict[str, Any], where: str) -> Record:
    """Stelmakh et al. 2022. `meta.short_answers`: for each reading of the question its answers, for STR-EM.

    The passages that ALCE (Gao et al. 2023) adds under `docs` are taken as given.
    """
    answers = [text(annotation["long_answer"]) for annotation in value.get("annotations") or []]
    if not answers and value.get("answer"):
        answers = [text(value["answer"])]
    if not answers:
        raise Broken("there is no long answer")
    return made(
        value.get("sample_id", value.get("id")),
        value.get("ambiguous_question", value.get("question")),
        answers,
        [passage(item.get("title"), item["text"], item.get("id")) for item in value.get("docs") or []],
        answer_type="long",
        short_answers=[texts(pair["short_answers"]) for pair in value["qa_pairs"]],
        readings=[text(pair["question"]) for pair in value["qa_pairs"]],
        split=value.get("split"),
    )


SQUAD = Format(
    "SQuAD",
    'SQuAD\'s {"id", "question", "answers": [{"text"}, ...]} under a paragraph with its context',
    lambda value: isinstance(value.get("context"), str) and "question" in value and "answers" in value,
    squad,
)
HOTPOTQA = Format(
    "HotpotQA and 2WikiMultihopQA",
    'HotpotQA\'s {"_id", "question", "answer": text, "context": [[title, [sentence, ...]], ...], "supporting_facts"}',
    lambda value: "question" in value and isinstance(value.get("context"), list | dict),
    hotpotqa,
)
STRATEGYQA = Format(
    "StrategyQA",
    'StrategyQA\'s {"qid", "question", "answer": true or false}',
    lambda value: "question" in value and isinstance(value.get("answer"), bool),
    strategyqa,
)
FEVER = Format(
    "FEVER",
    'FEVER\'s {"id", "claim", "label", "evidence"}',
    lambda value: "claim" in value and "label" in value,
    fever,
)
ASQA = Format(
    "ASQA",
    'ASQA\'s {"ambiguous_question", "qa_pairs": [{"question", "short_answers"}], "annotations": [{"long_answer"}]}',
    lambda value: "qa_pairs" in value,
    asqa,
)
