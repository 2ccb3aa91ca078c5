"""Scorers of answers: pure functions of a result and the gold answers, usable alone and by `langsmith.evaluate`.

Each takes `outputs` (a `Result`) and `reference_outputs` (a `Reference`: {"answers": [accepted answer, ...]} and
further keys) and returns a number or a truth value, or None if there is nothing to measure. A question whose `answers`
are empty has no answer in the data: "unknown" is right. Scorers of passages are in
`quorum.evaluation.metrics.passages`.
"""

import re
from collections.abc import Sequence
from typing import NotRequired

from typing_extensions import TypedDict

from quorum.algorithms.answer_measures import ANSWER_MEASURES, AnswerComparison, separate_unspaced
from quorum.algorithms.fold_characters import fold_characters
from quorum.algorithms.tfidf import compute_cosines
from quorum.core.citation_marks import strip_marks
from quorum.core.state import Result
from quorum.core.text import PUBLISHED_MEASURE, AnswerMeasure

PUBLISHED_WORDS = re.compile(r"[a-z0-9]+")
WORDS = re.compile(r"(?:[^\W_]|[\u0300-\u036f\u0900-\u0963\u0966-\u0dff\u200c\u200d])+")  # letters, digits, vowel signs


class Reference(TypedDict):
    """The reference for scoring a question; if it has no answers, "unknown" is right.

    gold: ids of the passages that support the answer; articles: instead of passages, the names (id, title) of each
    article that supports it; groups: for each part of a long answer, its accepted short answers; task: the kind of
    answer, as in `Context.answer_type`; answer_measure: how answers are compared. The default, "exact_match", suits
    a user's own data (`quorum.algorithms.answer_measures`); "squad_exact_match" is SQuAD's, as published.
    """

    answers: list[str]
    gold: NotRequired[list[str]]
    articles: NotRequired[list[list[str]]]
    groups: NotRequired[list[list[str]]]
    task: NotRequired[str]
    answer_measure: NotRequired[AnswerMeasure]


def get_comparison(reference_outputs: Reference) -> AnswerComparison:
    """The functions that compare answers with accepted answers."""
    return ANSWER_MEASURES[reference_outputs.get("answer_measure", "exact_match")]


def unknown(outputs: Result, reference_outputs: Reference | None = None) -> bool:
    """Whether the method gave no answer (%Unk)."""
    return outputs["unknown"]


def em(outputs: Result, reference_outputs: Reference) -> float:
    """Exact match in 0..1 with any gold answer, by the reference's `answer_measure`."""
    golds = reference_outputs["answers"]
    exact_match = get_comparison(reference_outputs).exact_match
    return exact_match(outputs["answer"], golds) if golds else float(unknown(outputs))


def squad_exact_match(outputs: Result, reference_outputs: Reference) -> float:
    """Exact match in 0..1 as SQuAD publishes it (Rajpurkar et al. 2016), whatever the reference's `answer_measure`."""
    return em(outputs, {**reference_outputs, "answer_measure": PUBLISHED_MEASURE})


def squad_f1(outputs: Result, reference_outputs: Reference) -> float:
    """Token F1 in 0..1 as SQuAD publishes it, whatever the reference's `answer_measure`."""
    return f1(outputs, {**reference_outputs, "answer_measure": PUBLISHED_MEASURE})


def f1(outputs: Result, reference_outputs: Reference) -> float:
    """Token F1 in 0..1, the best over the gold answers. The F1 of an unknown answer is its exact match, even if it
    shares words with a gold answer.
    """
    if unknown(outputs) or not reference_outputs["answers"]:
        return em(outputs, reference_outputs)
    return get_comparison(reference_outputs).f1(outputs["answer"], reference_outputs["answers"])


def contains(outputs: Result, reference_outputs: Reference) -> float | None:
    """Whether the answer as the model wrote it (`answer_text`) contains a gold answer, on normalised token boundaries;
    None for the tasks yes_no, label, long and dialogue. A result without a text is measured by its `answer`.

    This is the accuracy of PopQA (Mallen et al. 2023, section 3) and Self-RAG (Asai et al. 2024, section 4.1), but
    their code also finds "US" in "must". A sentence that contains a right answer counts as right, and so does an
    answer that lists many names, one of them right.

    >>> contains({"answer": "It was Ada Korn.", "unknown": False}, {"answers": ["Ada Korn"]})
    1.0
    """
    if reference_outputs.get("task") in ("yes_no", "label", "long", "dialogue"):
        return None
    if unknown(outputs) or not reference_outputs["answers"]:
        return em(outputs, reference_outputs)
    contains_answer = get_comparison(reference_outputs).contains_answer
    answer_text = strip_marks(outputs.get("answer_text") or outputs["answer"])
    return float(contains_answer(answer_text, reference_outputs["answers"]) or em(outputs, reference_outputs))


def accuracy(outputs: Result, reference_outputs: Reference) -> float | None:
    """Whether the answer is right: by its first word for the task yes_no, by exact match for the task label. None for
    other tasks.
    """
    task = reference_outputs.get("task")
    if task == "yes_no" and reference_outputs["answers"]:
        split_tokens = get_comparison(reference_outputs).split_tokens
        first_word = split_tokens(outputs["answer"])[:1]
        golds = [split_tokens(gold)[:1] for gold in reference_outputs["answers"]]
        return float(bool(first_word) and first_word in golds)
    return em(outputs, reference_outputs) if task in ("yes_no", "label") else None


def list_known_votes(outputs: Result) -> list[str] | None:
    """The known answers that were voted on; None if there was no vote."""
    votes = outputs.get("votes")
    return None if votes is None else [vote["answer"] for vote in votes if not vote["unknown"]]


def right_answer_among_votes(outputs: Result, reference_outputs: Reference) -> bool | None:
    """Whether any answer that was voted on is right, by exact match; None if there was no vote."""
    answers, exact_match = list_known_votes(outputs), get_comparison(reference_outputs).exact_match
    return None if answers is None else any(exact_match(answer, reference_outputs["answers"]) for answer in answers)


def right_answer_outvoted(outputs: Result, reference_outputs: Reference) -> bool | None:
    """Whether an answer that was voted on is right and the final answer is wrong (%NM; Liu et al. 2024, section 4);
    None if there was no vote.
    """
    is_among_votes = right_answer_among_votes(outputs, reference_outputs)
    return None if is_among_votes is None else is_among_votes and em(outputs, reference_outputs) == 0


def oracle(outputs: Result, reference_outputs: Reference) -> bool | None:
    """Whether any candidate is right or, if the method has no candidates, any answer that was voted on (SuRe, section
    4.3); None if it has neither.
    """
    candidates = outputs.get("candidates")
    answers = list_known_votes(outputs) if candidates is None else candidates
    if answers is None:
        return None
    exact_match = get_comparison(reference_outputs).exact_match
    return any(exact_match(answer, reference_outputs["answers"]) for answer in answers)


def oracle_f1(outputs: Result, reference_outputs: Reference) -> float | None:
    """The highest F1 of the candidates or, if the method has no candidates, of the answers that were voted on (SuRe,
    table 6); None if it has neither.
    """
    candidates = outputs.get("candidates")
    answers = list_known_votes(outputs) if candidates is None else candidates
    if answers is None:
        return None
    golds, token_f1 = reference_outputs["answers"], get_comparison(reference_outputs).f1
    return max((token_f1(answer, golds) for answer in answers), default=0.0) if golds else 0.0


def rouge_l(outputs: Result, reference_outputs: Reference) -> float | None:
    """ROUGE-L in 0..1 for long answers (Lin 2004), the best over the gold answers; None for other tasks.

    The F-measure of the longest common subsequence of lower-case words and numbers, without stemming: what rouge_score
    0.1.2 computes as "rougeL". (That package is not maintained and brings NLTK, which this function does not need.)
    It knows only ASCII. With the `answer_measure` exact_match, letters of all scripts count, typography does not, and
    in scripts without spaces each character is a word; for ASCII texts both are the same.
    """
    if reference_outputs.get("task") != "long" or not reference_outputs["answers"]:
        return None
    is_published = reference_outputs.get("answer_measure") == PUBLISHED_MEASURE
    split_words = PUBLISHED_WORDS.findall if is_published else split_words_of_any_script
    answer_words = split_words(outputs["answer"].lower())
    return max(compute_subsequence_f1(answer_words, split_words(gold.lower())) for gold in reference_outputs["answers"])


def split_words_of_any_script(text_in_lower_case: str) -> list[str]:
    """The words of a text without regard to its typography; the characters of scripts without spaces.

    >>> split_words_of_any_script("l’été, ﬁn"), split_words_of_any_script("北京市")
    (['l', 'ete', 'fin'], ['北', '京', '市'])
    """
    return WORDS.findall(separate_unspaced(fold_characters(text_in_lower_case)))


def compute_subsequence_f1(prediction: Sequence[str], gold: Sequence[str]) -> float:
    """Twice the length of the longest common subsequence, divided by the sum of the two sequences' lengths."""
    previous_lengths = [0] * (len(gold) + 1)
    for word in prediction:
        lengths = [0]
        for index, gold_word in enumerate(gold):
            lengths.append(
                previous_lengths[index] + 1 if word == gold_word else max(previous_lengths[index + 1], lengths[index])
            )
        previous_lengths = lengths
    return 2 * previous_lengths[-1] / (len(prediction) + len(gold)) if previous_lengths[-1] else 0.0


def str_em(outputs: Result, reference_outputs: Reference) -> float | None:
    """STR-EM in 0..1: the share of the groups from which the answer contains at least one short answer (Stelmakh et
    al. 2022, section 5); None if the data have no groups.

    A short answer must stand on normalised token boundaries, as in all measures here; the published code also finds
    "US" in "must".
    """
    groups = reference_outputs.get("groups")
    if not groups:
        return None
    contains_answer = get_comparison(reference_outputs).contains_answer
    return sum(contains_answer(outputs["answer"], group) for group in groups) / len(groups)


def overlap_own_summary(outputs: Result, reference_outputs: Reference | None = None) -> float | None:
    """TF-IDF cosine in 0..1 of a candidate and the summary written for it, the mean over candidates (SuRe, figure 3).

    None for a result without candidates and their summaries.
    """
    cosines = compute_overlaps(outputs)
    return None if cosines is None else sum(row[index] for index, row in enumerate(cosines)) / len(cosines)


def overlap_other_summaries(outputs: Result, reference_outputs: Reference | None = None) -> float | None:
    """TF-IDF cosine in 0..1 of a candidate and a summary written for another candidate, the mean over all such pairs
    (SuRe, figure 3).

    None for a result with fewer than two candidates, or without their summaries.
    """
    cosines = compute_overlaps(outputs)
    if cosines is None or len(cosines) < 2:
        return None
    cosines_with_others = [
        cosine
        for candidate, row in enumerate(cosines)
        for candidate_of_summary, cosine in enumerate(row)
        if candidate_of_summary != candidate
    ]
    return sum(cosines_with_others) / len(cosines_with_others)


def compute_overlaps(outputs: Result) -> list[list[float]] | None:
    """The cosine of each candidate (row) with each summary (column); None if there is not one summary per candidate."""
    candidates, summaries = outputs.get("candidates") or [], outputs.get("summaries") or []
    if not candidates or len(candidates) != len(summaries):
        return None
    return [compute_cosines(candidate, summaries) for candidate in candidates]
