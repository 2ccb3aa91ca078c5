"""Finds the statement of a passage that supports an answer, also where the answer has other words.

Each sentence of the answer is compared with the statements of the passages (sentences, list items, rows of tables). How
well they are aligned is a sum of three signals: how close their embeddings are, how well the statement answers the
question (`statements.Statement.score`), and the share of the sentence's words that the statement holds. The statement
that is aligned best must then agree: it holds the sentence's numbers and names, and does not deny it
(`quorum.algorithms.agreement`). benchmarks/support.py measures this.
"""

import asyncio
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from quorum.algorithms.agreement import Agreement, Claim, compare, is_in, is_opposed, list_content_stems, read_claim
from quorum.algorithms.near_copies import find_exchanged_words, is_repeated, is_said_of_opposite
from quorum.core.sentences import find_sentences
from quorum.core.state import Passage
from quorum.models.embedded.batching import WORKER
from quorum.models.embedded.encoder import LONGEST_REMEMBERED_TEXT, Floats, get_encoder
from quorum.models.embedded.recent_items import RecentItems
from quorum.models.embedded.statements import (
    MAX_EMBEDDED,
    Statement,
    describe_headings,
    list_bounds,
    list_statements,
    read_spans,
    sort_by_closeness,
)

WEIGHTS = {"closeness": 1.0, "question": 0.05, "coverage": 0.25}  # of the three signals of the alignment
LOWEST_ALIGNMENT = 0.75  # a statement that is aligned worse supports nothing
LOWEST_WITH_ALL_WORDS = 0.6  # the same for a statement that holds all words of the claim
LOWEST_CLOSENESS_WITHOUT_WORDS = 0.85  # a statement that holds no word of the claim must be as close as this
LONGEST_LABEL = 60  # characters of what stands before a colon at the beginning of a line: "Changes in 5.2.1: ..."
SURE_SPAN = -1.0  # log-odds: a span with a higher score speaks against an answer that has other names or numbers
PHRASE = 3  # words: a claim of at most as many is no sentence, but a name, a number or the like
LOWEST_OF_SYNONYMS = 0.42  # the cosine of two words' embeddings; below, they have different meanings
MOST_BELOW_BEST = 0.12  # a statement may support a sentence if its alignment is at most this much below the best
STEEPNESS = 8.0  # of the curve from the alignment to the score, 0.5 at LOWEST_ALIGNMENT
MIN_SUPPORTED_SHARE = 0.75  # of the sentences of an answer of at most FEW_SENTENCES
MIN_SUPPORTED_SHARE_OF_MANY = 0.5  # of the sentences of a longer one, among which are introductions and conclusions
FEW_SENTENCES = 3
NO_SENTENCES = re.compile(r"^```.*?^```|^#{1,6} [^\n]*$|^\|[^\n]*$", re.MULTILINE | re.DOTALL)  # code, headings, tables
MAX_BY_WORDS = 6  # for each sentence, this many statements are compared because they hold its words
MAX_SENTENCES = 12  # only the first sentences of a long answer are compared
DENIAL = {"coverage": 0.7, "closeness": 0.7}  # a claim is refuted by another word only if the rest agrees so well

RECENT_VECTORS: RecentItems[str, Floats] = RecentItems(4096)  # by the statements' texts; 1.5 KB each


@dataclass(frozen=True)
class Match:
    """A statement that supports a sentence of the answer. score: 0..1, at least 0.5."""

    passage: int
    start: int
    end: int
    score: float


@dataclass(frozen=True)
class Findings:
    """What the passages say about an answer.

    ranked: the statements that answer the question best, best first, as `rank_statements` gives them; matches: for each
    sentence of the answer the statement that supports it, or None; sentences without content are left out.
    """

    ranked: list[Statement]
    matches: list[Match | None]

    @property
    def best(self) -> Match | None:
        """The best of the matches, if enough sentences of the answer are supported; else None."""
        found = [match for match in self.matches if match is not None]
        is_short = len(self.matches) <= FEW_SENTENCES
        share = MIN_SUPPORTED_SHARE if is_short else MIN_SUPPORTED_SHARE_OF_MANY
        if not found or len(found) < share * len(self.matches):
            return None
        return max(found, key=lambda match: match.score)


async def find_support_in_passages(
    question: str, answer: str, passages: Sequence[Passage], *, ranks: bool = False
) -> Findings:
    """The statements of the passages that support the answer. ranks: also those that answer the question best."""
    return (await find_support_of_each(question, [answer], passages, ranks=ranks))[0]


async def find_support_of_each(
    question: str, answers: Sequence[str], passages: Sequence[Passage], *, ranks: bool = False
) -> list[Findings]:
    """As `find_support_in_passages`, for each of several answers, for example the parts of one that are cited alone.

    The passages are read and embedded once for all of them, and not at all if no statement of theirs can support any,
    because each lacks a name or number of the answer. ranks: whether the findings rank the statements all the same.
    """
    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(WORKER, find_support_blocking, question, answers, passages, ranks)


def find_support_blocking(
    question: str, answers: Sequence[str], passages: Sequence[Passage], ranks: bool = False
) -> list[Findings]:
    """Like `find_support_of_each`, but blocking."""
    claims_of_answers = [read_claims(question, answer) for answer in answers]
    claims = [claim for claims_of_answer in claims_of_answers for claim in claims_of_answer]
    by_words = [{bounds: agree(claim, bounds, passages) for bounds in list_bounds(passages)} for claim in claims]
    if not ranks and not any(may_be_supported(*pair) for pair in zip(claims, by_words, strict=True)):
        return [Findings([], [None] * len(claims_of_answer)) for claims_of_answer in claims_of_answers]
    statements = list_statements(question, passages)
    if not statements:
        return [Findings([], []) for _ in answers]
    agreements = [
        [narrow_to_span(claim, statement, agreement[statement.bounds]) for statement, _ in statements]
        for claim, agreement in zip(claims, by_words, strict=True)
    ]
    chosen = choose_candidates(len(statements), agreements)
    own = get_encoder().embed([question, *(f"{question} {claim.text}" for claim in claims)])
    others = embed_statements([statements[index][1] for index in chosen])
    candidates = [
        replace(statements[index][0], closeness=float(vector @ own[0]))
        for index, vector in zip(chosen, others, strict=True)
    ]
    focuses = [
        focus
        for answer, claims_of_answer in zip(answers, claims_of_answers, strict=True)
        for focus in [find_focus(question, answer) if claims_of_answer else frozenset[str]()] * len(claims_of_answer)
    ]
    matches = iter(
        [
            match_claim(claim, candidates, others @ vector, [agreement[index] for index in chosen], focus, passages)
            for claim, vector, agreement, focus in zip(claims, own[1:], agreements, focuses, strict=True)
        ]
    )
    first = [statement for statement, _ in statements[:MAX_EMBEDDED]]
    ranked = sort_by_closeness(first, others[: len(first)] @ own[0])
    return [Findings(ranked, [next(matches) for _ in claims_of_answer]) for claims_of_answer in claims_of_answers]


def embed_statements(texts: Sequence[str]) -> Floats:
    """The embeddings of statements. Those of the last statements are remembered, because the passages of a collection
    are found again and again.
    """
    vectors = [RECENT_VECTORS.get(text) for text in texts]
    missing = [index for index, vector in enumerate(vectors) if vector is None]
    for index, vector in zip(missing, get_encoder().embed([texts[index] for index in missing]), strict=True):
        vectors[index] = vector
        if len(texts[index]) <= LONGEST_REMEMBERED_TEXT:
            RECENT_VECTORS.put(texts[index], vector.copy())
    return np.stack([vector for vector in vectors if vector is not None])


def read_claims(question: str, answer: str) -> list[Claim]:
    """What each sentence of the answer says; a verdict counts only if nothing else follows it."""
    prose = "\n\n".join(part for part in NO_SENTENCES.split(answer) if part.strip())
    text = re.sub(r"^[ \t]*(?:[-*+]|\d{1,2}[.)])[ \t]+", "", prose or answer, flags=re.MULTILINE)
    spans = find_sentences(text)[:MAX_SENTENCES]
    claims = [read_claim(question, text[start:end]) for start, end in spans]
    full = [claim for claim in claims if not claim.is_bare and (claim.words or claim.shared)]
    return full or [claim for claim in claims if claim.words][:1]


def agree(claim: Claim, bounds: tuple[int, int, int], passages: Sequence[Passage]) -> Agreement:
    """How well the words of a statement agree with a claim, given the headings above it and the beginning of its line.

    A part of a name, such as a first name, may also stand elsewhere in the passage. bounds: as in `Statement`.
    """
    index, start, end = bounds
    passage = passages[index]
    text = passage["text"][start:end]
    line_start = passage["text"].rfind("\n", 0, start) + 1
    before, headings = passage["text"][line_start:start], describe_headings(passage)
    label = before.partition(":")[0] if ":" in before[:LONGEST_LABEL] else ""
    agreement = compare(claim, text, f"{headings} {before}", label=f"{headings} {label}")
    missing_names = agreement.missing & claim.names
    if missing_names and claim.names - missing_names:
        missing = agreement.missing - (missing_names & list_content_stems(passage["text"]))
        agreement = replace(agreement, missing=missing)
    return agreement


def may_be_supported(claim: Claim, agreements: Mapping[tuple[int, int, int], Agreement]) -> bool:
    """Whether a statement has the names and numbers of a claim, without which `supports` is never true. A bare "no" has
    none, and may be supported by any statement.
    """
    return (claim.is_bare and claim.verdict is False) or any(not agreement.missing for agreement in agreements.values())


def narrow_to_span(claim: Claim, statement: Statement, agreement: Agreement) -> Agreement:
    """The agreement, given what the reader reads in the statement: a short phrase that it reads there is denied only by
    a negation within what it reads.
    """
    is_phrase = claim.verdict is None and 0 < len(claim.words) <= PHRASE and not claim.shared
    if is_phrase and statement.span and claim.words <= list_content_stems(statement.span.text):
        agreement = replace(agreement, opposes=is_opposed(claim, statement.span.text))
    return agreement


def choose_candidates(count: int, agreements: Sequence[Sequence[Agreement]]) -> list[int]:
    """The indexes of the statements to embed: the first ones, then for each claim those that hold its words."""
    chosen = dict.fromkeys(range(min(count, MAX_EMBEDDED)))
    for agreement in agreements:
        by_words = sorted(range(count), key=lambda index: -agreement[index].coverage)[:MAX_BY_WORDS]
        chosen.update(dict.fromkeys(index for index in by_words if agreement[index].coverage > 0))
    return list(chosen)


def find_focus(question: str, answer: str) -> frozenset[str]:
    """The words by which the answer answers the question: what the reader reads out of it, without the question's."""
    spans = read_spans(question, [Passage(id="", title="", text=answer)])[0]
    return list_content_stems(spans[0].text) - list_content_stems(question) if spans else frozenset()


def match_claim(
    claim: Claim,
    candidates: Sequence[Statement],
    closeness: "np.ndarray[tuple[int], np.dtype[np.float32]]",
    agreements: Sequence[Agreement],
    focus: frozenset[str],
    passages: Sequence[Passage],
) -> Match | None:
    """The statement that supports the claim; None if the statements that are aligned best do not.

    closeness: the cosine of the claim's and each candidate's embedding.
    """
    alignments = [
        WEIGHTS["closeness"] * float(close)
        + WEIGHTS["question"] * candidate.score
        + WEIGHTS["coverage"] * agreement.coverage
        for candidate, close, agreement in zip(candidates, closeness, agreements, strict=True)
    ]
    order = sorted(range(len(candidates)), key=lambda index: -alignments[index])
    texts = [passages[item.passage]["text"][item.start : item.end] for item in candidates]
    for index in order:
        candidate, agreement, close = candidates[index], agreements[index], float(closeness[index])
        lowest = LOWEST_WITH_ALL_WORDS if agreement.coverage == 1 else LOWEST_ALIGNMENT
        is_close = (
            alignments[index] >= max(lowest, alignments[order[0]] - MOST_BELOW_BEST)
            and (agreement.coverage > 0 or close >= LOWEST_CLOSENESS_WITHOUT_WORDS)
            and not (focus & claim.words and lacks_focus(focus, texts[index], agreement))
        )
        if (
            (is_close or is_repeated(claim.text, texts[index]))
            and supports(claim, agreement, close, texts[index], is_best=index == order[0])
            and not is_contradicted_by_reader(claim, candidate)
            and not any(
                answers_instead(claim, texts[index], other, text) for other, text in zip(candidates, texts, strict=True)
            )
        ):
            score = 1 / (1 + math.exp(-STEEPNESS * max(0.0, alignments[index] - lowest)))
            return Match(candidate.passage, candidate.start, candidate.end, score)
    return None


def supports(claim: Claim, agreement: Agreement, closeness: float, text: str, *, is_best: bool) -> bool:
    """Whether a statement that is aligned with the claim supports it. A bare "no" is supported by what denies the
    question. text: the statement's.
    """
    opposes = agreement.opposes or is_said_of_opposite(claim.text, text)
    if not (claim.is_bare and claim.verdict is False):
        return not agreement.missing and not opposes and not has_other_word(claim, text)
    says_other = agreement.coverage >= DENIAL["coverage"] and closeness >= DENIAL["closeness"] and not agreement.is_full
    return opposes or (is_best and (bool(agreement.missing) or says_other or has_other_word(claim, text)))


def has_other_word(claim: Claim, text: str) -> bool:
    """Whether a statement repeats the claim, but has a word of another meaning in the place of one of its words."""
    pairs = find_exchanged_words(claim.text, text)
    if not pairs:
        return False
    vectors = get_encoder().embed([word for pair in pairs for word in pair])
    return any(float(own @ other) < LOWEST_OF_SYNONYMS for own, other in zip(vectors[::2], vectors[1::2], strict=True))


def is_contradicted_by_reader(claim: Claim, statement: Statement) -> bool:
    """Whether the reader reads another short answer in the statement than the name or number that the claim gives."""
    given = claim.names | claim.numbers
    if not given or len(claim.words) > PHRASE or claim.verdict is not None:
        return False
    if statement.span is None or statement.span.score < SURE_SPAN:
        return False
    read = list_content_stems(statement.span.text) - claim.shared
    return 0 < len(read) <= PHRASE and read.isdisjoint(claim.words)


def answers_instead(claim: Claim, text: str, other: Statement, other_text: str) -> bool:
    """Whether another statement has more of the question's words than the one with this text, and the reader reads
    another short answer there than the name or number that is all the claim adds to the question.
    """
    if not 0 < len(claim.words) <= PHRASE or not claim.words <= claim.names | claim.numbers or len(claim.shared) < 2:
        return False
    if other.span is None or other.span.score < SURE_SPAN:
        return False
    said, said_there = list_content_stems(text), list_content_stems(other_text)
    asked, asked_there = ([is_in(word, stems) for word in claim.shared].count(True) for stems in (said, said_there))
    read = list_content_stems(other.span.text) - claim.shared
    return asked < asked_there and 0 < len(read) <= PHRASE and claim.words.isdisjoint(said_there)


def lacks_focus(focus: frozenset[str], text: str, agreement: Agreement) -> bool:
    """Whether a statement lacks the very words that answer the question, and most of the other words, too."""
    return agreement.coverage <= 0.25 and 2 * len(focus & list_content_stems(text)) < len(focus)
