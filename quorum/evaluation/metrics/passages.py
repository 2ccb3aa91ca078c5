"""Scorers of the passages that a method read: pure functions, as in `quorum.evaluation.metrics.answers`.

`passages` of a result are the final passages: those that the answer was read from, as a filter shortened them.
`retrieved` are the ids of all passages that were retrieved, before a filter, and before an experiment kept only the
best of them or inserted or moved gold passages. A result without any of these steps has no `retrieved`.

A measure that needs gold passages is None if the data name none. A measure that looks for an accepted answer in texts
is None if the data name no answer. Where the data name gold articles (KILT), every passage of such an article is a gold
passage, and all of them together count as one.
"""

from collections.abc import Iterable, Sequence

from quorum.algorithms.filco_measures import compute_unigram_precision
from quorum.core import text
from quorum.core.state import Passage, Result
from quorum.evaluation.metrics.answers import Reference, get_comparison
from quorum.models.token_estimate import estimate_tokens

TASKS_WITHOUT_SPANS = ("yes_no", "label", "dialogue", "long")  # tasks whose answers are not spans of a passage


def list_final_ids(outputs: Result, reference_outputs: Reference) -> list[str]:
    """The ids of the final passages, best first, each once; passages of a gold article appear under the article's
    name.
    """
    return name_articles((passage["id"] for passage in outputs.get("passages") or []), outputs, reference_outputs)


def list_ids_before_filter(outputs: Result, reference_outputs: Reference) -> list[str] | None:
    """The ids in `retrieved`, listed in the way of `list_final_ids`; None if the result has no `retrieved`."""
    ids_before_filter = outputs.get("retrieved")
    return None if ids_before_filter is None else name_articles(ids_before_filter, outputs, reference_outputs)


def name_articles(ids: Iterable[str], outputs: Result, reference_outputs: Reference) -> list[str]:
    """The ids, each once; the id of a passage of a gold article is replaced by the first name of the article.

    A passage belongs to an article if one of the article's names is the passage's title, or the part of its id before
    the colon (WIKIPEDIA_ID:NUMBER). Only final passages have a known title; a passage that a filter removed is
    recognised only by its id.
    """
    names = {name: article[0] for article in reference_outputs.get("articles") or () for name in article}
    titles = {passage["id"]: passage["title"] for passage in outputs.get("passages") or []} if names else {}
    article_names = []
    for id_ in ids:
        page, colon, _ = id_.partition(":")
        article_names.append(names.get(page if colon else "") or names.get(titles.get(id_) or "") or id_)
    return list(dict.fromkeys(article_names))


def list_gold_names(reference_outputs: Reference) -> set[str]:
    """The first name of each gold article; if the data name no gold articles, the ids of the gold passages."""
    articles = reference_outputs.get("articles")
    return {article[0] for article in articles} if articles else set(reference_outputs.get("gold") or ())


def recall(outputs: Result, reference_outputs: Reference) -> float | None:
    """The share of the gold passages that are among the final ones."""
    return compute_recall(list_final_ids(outputs, reference_outputs), reference_outputs)


def precision(outputs: Result, reference_outputs: Reference) -> float | None:
    """The share of the final passages that are gold; 0 if no passage is left."""
    return compute_precision(list_final_ids(outputs, reference_outputs), reference_outputs)


def s_precision(outputs: Result, reference_outputs: Reference) -> float | None:
    """S-Precision: 1 if the final passages are exactly the gold ones, else 0 (BlendFilter, section 4)."""
    return compute_s_precision(list_final_ids(outputs, reference_outputs), reference_outputs)


def recall_before_filter(outputs: Result, reference_outputs: Reference) -> float | None:
    """Recall of all retrieved passages, before a filter; None if the result has no `retrieved`."""
    return compute_recall(list_ids_before_filter(outputs, reference_outputs), reference_outputs)


def precision_before_filter(outputs: Result, reference_outputs: Reference) -> float | None:
    """Precision of all retrieved passages, before a filter; None if the result has no `retrieved`."""
    return compute_precision(list_ids_before_filter(outputs, reference_outputs), reference_outputs)


def s_precision_before_filter(outputs: Result, reference_outputs: Reference) -> float | None:
    """S-Precision of all retrieved passages, before a filter; None if the result has no `retrieved`."""
    return compute_s_precision(list_ids_before_filter(outputs, reference_outputs), reference_outputs)


def compute_recall(ids: Sequence[str] | None, reference_outputs: Reference) -> float | None:
    gold = list_gold_names(reference_outputs)
    return None if ids is None or not gold else len(gold & set(ids)) / len(gold)


def compute_precision(ids: Sequence[str] | None, reference_outputs: Reference) -> float | None:
    gold = list_gold_names(reference_outputs)
    if ids is None or not gold:
        return None
    return len(gold & set(ids)) / len(set(ids)) if ids else 0.0


def compute_s_precision(ids: Sequence[str] | None, reference_outputs: Reference) -> float | None:
    gold = list_gold_names(reference_outputs)
    return None if ids is None or not gold else float(set(ids) == gold)


def hit(outputs: Result, reference_outputs: Reference) -> float | None:
    """1 if a retrieved passage is a gold one, else 0 (hit@k, with k passages retrieved). Without `retrieved`, the final
    passages count.
    """
    reciprocal = reciprocal_rank(outputs, reference_outputs)
    return None if reciprocal is None else float(reciprocal > 0)


def hit_at_1(outputs: Result, reference_outputs: Reference) -> float | None:
    """1 if the first retrieved passage is a gold one, else 0. Without `retrieved`, the final passages count."""
    reciprocal = reciprocal_rank(outputs, reference_outputs)
    return None if reciprocal is None else float(reciprocal == 1)


def reciprocal_rank(outputs: Result, reference_outputs: Reference) -> float | None:
    """1 / the rank of the first gold passage among the retrieved ones, 0 if none of them is gold.

    Without `retrieved`, the final passages count. The mean over the questions is MRR.
    """
    gold, ids_before_filter = list_gold_names(reference_outputs), list_ids_before_filter(outputs, reference_outputs)
    ids = list_final_ids(outputs, reference_outputs) if ids_before_filter is None else ids_before_filter
    ranks = (1 / rank for rank, id_ in enumerate(ids, start=1) if id_ in gold)
    return next(ranks, 0.0) if gold else None


def answer_in_passages(outputs: Result, reference_outputs: Reference) -> bool | None:
    """Whether a final passage contains an accepted answer.

    The mean over the questions is what FILCO calls recall on NQ and TriviaQA (table 2).
    """
    if not reference_outputs["answers"]:
        return None
    return any(holds_answer(outputs, index, reference_outputs) for index in range(len(outputs.get("passages") or [])))


def answer_on_top(outputs: Result, reference_outputs: Reference) -> bool | None:
    """Whether the first final passage supports an accepted answer (a "positive" passage in FILCO, section 4.4)."""
    return has_support(outputs, outputs["passages"][:1] if outputs.get("passages") else [], reference_outputs)


def supported(outputs: Result, reference_outputs: Reference) -> bool | None:
    """Whether a final passage supports an accepted answer.

    The mean over the questions is what FILCO calls recall (section 3.2, table 2).

    For tasks whose answers are spans of a passage, this is `answer_in_passages`. For the other tasks, a gold passage
    among the final ones counts as support.
    """
    return has_support(outputs, outputs.get("passages") or [], reference_outputs)


def has_support(outputs: Result, passages: Sequence[Passage], reference_outputs: Reference) -> bool | None:
    """Whether one of these passages supports an accepted answer.

    If the task's answers are spans of a passage, a passage supports an accepted answer that it contains; None if the
    data name no accepted answer. For TASKS_WITHOUT_SPANS, a passage supports the answer if it is a gold passage or is
    from a gold article; None if the data name neither.
    """
    answers = reference_outputs["answers"]
    if reference_outputs.get("task") in TASKS_WITHOUT_SPANS:
        gold = list_gold_names(reference_outputs)
        names = name_articles((passage["id"] for passage in passages), outputs, reference_outputs)
        return bool(gold & set(names)) if gold else None
    contains_answer = get_comparison(reference_outputs).contains_answer
    return any(contains_answer(passage["text"], answers) for passage in passages) if answers else None


def holds_answer(outputs: Result, index: int, reference_outputs: Reference) -> bool:
    """Whether the passage at this index of the final passages contains an accepted answer."""
    contains_answer = get_comparison(reference_outputs).contains_answer
    return contains_answer(outputs["passages"][index]["text"], reference_outputs["answers"])


def context_tokens(outputs: Result, reference_outputs: Reference | None = None) -> int:
    """Tokens of the final passages' titles and texts, at three bytes a token (`quorum.models.token_estimate`)."""
    return sum(estimate_tokens(f"{passage['title']}\n{passage['text']}") for passage in outputs.get("passages") or [])


def context_precision(outputs: Result, reference_outputs: Reference) -> float | None:
    """The share of the final passages' words that also occur in an accepted answer (FILCO's unigram precision, section
    4.5, table 3). A word counts at most as often as it occurs in the answer. With several accepted answers, the largest
    share counts. 0 if a filter left nothing, as in the paper; None if the method reads no passages.
    """
    passages_text = " ".join(passage["text"] for passage in outputs.get("passages") or [])
    answers = reference_outputs["answers"]
    if not answers or not (text.normalize(passages_text) or outputs.get("retrieved")):
        return None
    return compute_unigram_precision(passages_text, answers, reference_outputs.get("answer_measure", "exact_match"))
