"""Reads which of the numbered passages a reply chooses as relevant.

The reply may be prose, a list or JSON. It may name the passages by numbers ("1, 3"), by ranges ("1-3"), by words ("the
second"), or by a word for all or none of them ("all", "none", "all except 2"). Below, prose is always in lower case.
"""

import re
import unicodedata
from dataclasses import dataclass, field
from typing import Any

from quorum.core.json_text import parse_json
from quorum.parsing.answers import Parsed
from quorum.parsing.number_words import COUNT_WORD, PASSAGE_NOUN, replace_number_words
from quorum.parsing.wrapping import remove_wrapping

# How many characters at the end of a reply are read: a longer reply gives its numbers there.
LONGEST_READ_REPLY = 6000

RANGE = r"\s?(?:-|–|—|\.\.\.?|to|through|until)\s?"
NUMBER_OR_RANGE = rf"[\[(#]{{0,2}} ?\d{{1,3}}(?:{RANGE}[\[(#]{{0,2}}\d{{1,3}})? ?[\])]{{0,2}}(?![\w%])"
SEPARATOR = rf"\s{{0,3}}(?:,\s?and|,|;|&|/|\+|and|or|、|as well as)\s{{0,3}}(?:{PASSAGE_NOUN}\s?)?"
# Atomic groups: without them a long list could be matched in very many ways.
NUMBER_LIST = rf"(?>{NUMBER_OR_RANGE})(?>{SEPARATOR}{NUMBER_OR_RANGE})*"
# Numbers that clearly mean passages: "passages 1 and 3", "p1", "k 2" (k for "knowledge"), "#5", "[1, 4]".
LABELLED_NUMBERS = re.compile(
    rf"(?:\b{PASSAGE_NOUN}[ \t_:#*-]{{0,3}}(?:{PASSAGE_NOUN}[ \t_:#*-]{{0,3}})?|(?<!\w)[pk][ _]?(?=\d)"
    rf"|#)(?P<list>{NUMBER_LIST})"
    rf"|\[\s?(?P<bracketed>\d{{1,3}}(?:(?:{RANGE}|[,;\s]{{1,3}})\d{{1,3}})*)\s?\]"
)
# A number or a range without a label, in a reply without labelled numbers: "1, 3-5".
BARE_NUMBER = re.compile(rf"(?<!\w)(?<![a-z]-)\d{{1,3}}(?:{RANGE}\d{{1,3}})?(?!\w)")
NUMBER = re.compile(rf"(?P<from>\d{{1,3}})(?:{RANGE}[\[(#]{{0,2}}(?P<to>\d{{1,3}}))?")
PASSAGE_PLURAL = r"(?:passages|documents|docs|texts|contexts|paragraphs|sources)"
# Numbers that mean no passage: "1,000", "0.9", "1931", "50%", "2 of the 5", and the numbers that count (see below).
OTHER_NUMBERS = re.compile(
    r"\d{1,3}(?:,\d{3})+(?!\d)|\d+\.\d+|\d{4,}|\d+\s?%"
    rf"|\b(?:\d+|{COUNT_WORD}) (?:out )?of (?:the |these |those )?(?:\d+|{COUNT_WORD})\b"
    # Numbers that count: "the 2 relevant passages", "the other 3", "only 1 passage", "none of the 3 films". But in
    # "1 and 3 passages are relevant", 3 is a passage.
    r"|\b(?<!\d )(?<!\d, )(?<!and )(?<!or )(?<!& )\d{1,3} "
    rf"(?=(?:\w+ly )?(?:relevant |useful |helpful |related |other )?{PASSAGE_PLURAL}\b)"
    rf"|(?<=\bother )\d{{1,3}}\b|\b(?:only|just) 1 (?={PASSAGE_NOUN})|(?<=\bnone of )(?:the |these "
    rf"|those )?\d{{1,3}} (?=[a-z])"
)
# The place where a reply begins with a list of numbers, such as "1, 5." in "1, 5. Passage 2 is irrelevant."
LEADING_NUMBERS = re.compile(rf"\A[\s*_]{{0,5}}(?={NUMBER_LIST}\s?(?:[.;(\n]|$))")
# The number of a list item, such as "2. " at the beginning of a line.
ENUMERATOR = re.compile(r"^[ \t]*(\d{1,3})[.)][ \t]+", re.MULTILINE)

NEGATIVE_WORDS = (
    r"(?:\bnot\b|n't\b|\bnever\b|\birrelevant\b|\bunrelated\b|\bunhelpful\b|\buseless\b|\bunnecessary\b|\bnon-?relevant\b"
    r"|\bno (?:relevan\w+|bearing|help|use|information|mention|connection)\b|\bcannot\b|\bneither\b|[✗✘❌]"
    r"|\b(?:remov|exclud|discard|dropp?|ignor|reject)(?:e|es|ed|s|ing)?\b|\brul(?:e|ed|es|ing) out\b"
    r"|(?:[:=|→]|[-–]>?)\s?(?:no|false)\b)"
)
NEGATIVE_PATTERN = re.compile(NEGATIVE_WORDS)
# Names of a passage's verdict in JSON ("relevant"), and names that mean the opposite ("irrelevant").
VERDICT_NAME = re.compile(
    r"(?:is[ _-]?)?(?:relevant|relevance|verdict|useful|helpful|keep|decision|judge?ment)", re.IGNORECASE
)
REVERSED_NAME = re.compile(
    r"(?:is[ _-]?)?(?:irrelevant|unrelated|unhelpful|useless|not[ _-]?(?:relevant|related|helpful|useful))",
    re.IGNORECASE,
)
NONE_WORDS = re.compile(
    rf"\bnone\b|\bno (?:\w+ )?{PASSAGE_NOUN}|\bnothing\b|\bneither\b|\bempty\b|(?<!\w)n/?a\b|^\W*no\W*$|∅|\[\s?\]"
    rf"|\bno ones?\b"
)
ALL_WORDS = re.compile(
    rf"(?<!at )(?<!not )\ball\b(?=\s(?:of\b|them\b|the\b|these\b|those\b|{PASSAGE_NOUN}|are\b|relevant)|\W*$)"
    rf"|\b(?:every|each) (?:one|single|{PASSAGE_NOUN})|\beverything\b|\bthey all\b"
)
LEADING_NONE = re.compile(rf"\W*(?:none\b|nothing\b|neither\b|no (?:\w+ )?{PASSAGE_NOUN})")
POSITIVE_WORDS = re.compile(
    r"\b(?:is|are|seems?|does|do)\s+(?:\w+ly\s+|somewhat\s+)?(?:relevant|helpful|useful|needed|necessary|help|bear|answer)\b"
    r"|\b(?:keep|kept|answers|helps|select)\b"
)
# All passages that were not named before.
REST_WORDS = re.compile(r"\b(?:the|all) (?:rest|others?|remaining)\b")
EXCEPTION_WORDS = re.compile(
    r"\b(?:except(?:ing)?(?: for| from)?|excluding|other than|apart from|aside from|besides)\b"
)
BRACKETED_TEXT = re.compile(r"\[[^\[\]]{0,99}\]")
# A "but" that means "except": "all but passage 4", "none ..., but passage 1 is relevant". In "none ..., but passage 3
# mentions the river" it does not.
BUT_EXCEPTION = re.compile(
    rf"(\b(?:all|every\w*|each|none|nothing|no {PASSAGE_NOUN})\b[^.;\n]{{0,40}}?)\bbut\b(?! {PASSAGE_NOUN} \d+ (?!"
    rf"(?:is|are)\b)\w)"
)
# A label before a result, such as "Relevant passages:". The group `negative` matches only if the label introduces the
# passages that are not chosen, such as "Irrelevant passages:".
CONCLUSION_LABEL = re.compile(
    rf"(?:(?P<negative>{NEGATIVE_WORDS}[^:\n]{{0,30}})|relevan\w+|answer|helpful|useful|final)[^:\n\d]{{0,40}}:(?=\W*\w)"
)
# A label after the result, such as "Explanation:".
EXPLANATION_LABEL = re.compile(
    r"(?<=\d)\W*\n[\s*_#]*(?:explanation|reason(?:ing|s)?|rationale|justification|note)s?\b[^\n:]{0,30}:"
)
CLAUSE_STOP = (
    r"[;\n]|\.(?=\s|$)|\b(?:but|while|whereas|however|although|though)\b"
    r"|\band (?=remov|drop|discard|exclud|ignor|reject)|,\s?(?:and )?(?=the (?:rest|others?|remaining)\b)"
)
VERDICT_AFTER_NUMBER = r"[\])]?\s?(?:\((?:not |ir|un)?relevan|is\b|isn't\b|was\b|does\b|doesn't\b|helps\b|:)"
# {pattern of the reply's numbers: where the reply is split into clauses, each with one verdict}. A comma ends a clause
# only before "the rest" and before a passage with its own verdict: "passage 1 is relevant, passage 2 is not".
CLAUSE_BREAK = {
    LABELLED_NUMBERS: re.compile(
        rf"{CLAUSE_STOP}|,\s?(?:and )?(?=(?:{PASSAGE_NOUN}\s?[\[(#]?|\[)\d{{1,3}}{VERDICT_AFTER_NUMBER})"
    ),
    BARE_NUMBER: re.compile(rf"{CLAUSE_STOP}|,\s?(?:and )?(?=[\[(#]?\d{{1,3}}{VERDICT_AFTER_NUMBER})"),
}
# The beginning of a clause that gives no number, because it is about the same passages as the clause before it, such as
# "is not relevant" in "passage 1 names the tower but is not relevant".
SAME_SUBJECT = re.compile(
    r"\W*(?:(?:and|so|thus|therefore|hence)\b\W*)*(?:it|this|that|they|these|those|which|both)?(?: passages?)?\s?"
    r"(?:is|are|was|were|does|do|should|can|seems?|appears?|not\b|irrelevant|relevant|remove|drop|keep)"
)
VERDICT_WORD = re.compile(r"relevan|unrelated|help|useful|useless|bear|need|keep|drop|remove|discard|exclude")


def parse_passage_ids(reply: str, count: int) -> Parsed[list[int]]:
    """The numbers of the passages that a reply chooses, from 1 to `count`, each once, in ascending order.

    A reply that only names passages that do not help chooses all others. "None" and an empty reply choose no passage.
    Numbers out of range are ignored. If nothing can be read, or every number is out of range, the reply is malformed,
    and the value is all passages.

    >>> parse_passage_ids("Passages 1 and 3 are relevant.", 5).value
    [1, 3]
    >>> parse_passage_ids("Passage 2 is not relevant.", 5).value
    [1, 3, 4, 5]
    """
    text = unicodedata.normalize("NFKC", remove_wrapping(reply).strip()[-LONGEST_READ_REPLY:]).lower().replace("’", "'")
    if not any(character.isalnum() for character in text):
        return Parsed([])
    value = find_json(text)
    ids = read_ids_in_prose(text, count) if value is None else read_ids_in_json(value[0], count)
    return Parsed(list(range(1, count + 1)), malformed=True) if ids is None else Parsed(sorted(ids))


def find_json(text: str) -> tuple[Any] | None:
    """The value of the text as JSON, or of the JSON object inside it; None if there is no JSON.

    The value is in a tuple of one, because JSON's null is None, too.
    """
    for json_text in (text, text[text.find("{") : text.rfind("}") + 1]):
        try:
            return (parse_json(json_text),)
        except ValueError:
            continue
    return None


def read_ids_in_json(value: Any, count: int) -> set[int] | None:
    """The numbers of the passages that a JSON value chooses. The set is empty for null and for empty values; None if
    nothing can be read.
    """
    if value is None or value in ([], {}, ""):
        return set()
    if isinstance(value, bool | float):
        return None
    if isinstance(value, int):
        return {value} if 1 <= value <= count else None
    if isinstance(value, str):
        return read_ids_in_prose(value, count)
    if isinstance(value, dict):
        return read_ids_in_object(value, count)
    parts = [ids for item in value if (ids := read_ids_in_json(item, count)) is not None]
    return set().union(*parts) if parts else None


def read_ids_in_object(value: dict[str, Any], count: int) -> set[int] | None:
    """The numbers of the passages that a JSON object chooses; None if nothing can be read.

    The object is a passage with its verdict, {"id": 1, "relevant": true} or {"id": 1, "relevant": "no"}; or a verdict
    for each passage, {"1": true, "2": "not relevant"}; or a list under a name, {"relevant": [1, 3]}. A list under a
    name such as "irrelevant" or "reason" is not read. In an object with an id, false under any name but such a
    one means that the passage is not chosen.
    """
    id_key = next((name for name in ("id", "passage", "knowledge") if isinstance(value.get(name), int | str)), None)
    if id_key is not None:
        is_refused = any(is_negative_verdict(name, content) for name, content in value.items() if name != id_key)
        return set() if is_refused else read_ids_in_json(value[id_key], count)
    if all(any(character.isdigit() for character in name) for name in value):
        word_of_flag = {True: "relevant", False: "not relevant"}
        lines = (f"passage {name}: {word_of_flag[v] if isinstance(v, bool) else v}" for name, v in value.items())
        return read_ids_in_prose("\n".join(lines), count)
    contents = [item for name, item in value.items() if not re.search(r"irrelevan|unrelated|not|reason|judge", name)]
    parts = [ids for content in contents if (ids := read_ids_in_json(content, count)) is not None]
    return set().union(*parts) if parts else None


def is_negative_verdict(name: str, content: Any) -> bool:
    """Whether a value under this name in JSON says that a passage does not help, such as "no" under "relevant" or true
    under "irrelevant". The value false says so under any other name.
    """
    if REVERSED_NAME.fullmatch(name):
        return str(content).strip(" .").lower() in ("true", "yes")
    if isinstance(content, str) and VERDICT_NAME.fullmatch(name):
        return NEGATIVE_PATTERN.search(f": {content.lower()}") is not None
    return content is False


@dataclass
class NamedPassages:
    """The passages that the clauses read so far have named.

    kept_ids, dropped_ids: the passages called relevant, or not relevant; last_ids: the passages that the next verdict
    refers to if it gives no number; names_all, names_none: whether a clause chose all passages, or none, by a word.
    """

    kept_ids: set[int] = field(default_factory=set)
    dropped_ids: set[int] = field(default_factory=set)
    last_ids: set[int] = field(default_factory=set)
    names_all: bool = False
    names_none: bool = False


def read_ids_in_prose(text: str, count: int) -> set[int] | None:
    """The numbers of the passages that a text in prose chooses. The set is empty if the text says "none"; None if
    nothing can be read.
    """
    text = normalize_result(text, count)
    text = ENUMERATOR.sub(r"[\1] " if LABELLED_NUMBERS.search(text) is None else "", text)
    text = LEADING_NUMBERS.sub("passages ", text) if LABELLED_NUMBERS.search(text) else text
    pattern = LABELLED_NUMBERS if LABELLED_NUMBERS.search(text) else BARE_NUMBER
    named_passages = NamedPassages()
    clauses = CLAUSE_BREAK[pattern].split(text)
    begins_with_none = LEADING_NONE.match(clauses[0]) and not EXCEPTION_WORDS.search(clauses[0])
    for clause in clauses:
        if not (begins_with_none and only_describes_passages(clause)):
            record_clause(clause, named_passages, pattern, count)
    remaining_ids = set(range(1, count + 1)) - named_passages.dropped_ids
    if named_passages.kept_ids:
        return named_passages.kept_ids
    if named_passages.names_all or (named_passages.dropped_ids and not named_passages.names_none):
        return remaining_ids
    return set() if named_passages.names_none else None


def only_describes_passages(clause: str) -> bool:
    """Whether a clause neither begins with "none" nor calls a passage relevant. In a reply that begins with "none",
    such a clause only describes passages.
    """
    return not LEADING_NONE.match(clause) and not POSITIVE_WORDS.search(clause)


def normalize_result(text: str, count: int) -> str:
    """The part of a reply that gives the result, with number words as digits and without numbers that only count."""
    # "all five" -> "all"; "nos. 1 and 2" -> "passage 1 and 2"
    text = re.sub(rf"\ball (?:of )?(?:the |these |those )?(?:\d+|{COUNT_WORD})\b", "all", text)
    text = find_result_part(OTHER_NUMBERS.sub(" ", re.sub(r"\bnos?\. ?(?=\d)", "passage ", text)))
    # The "not" in "not all of them are relevant: 1 and 2 are" is no verdict on passages 1 and 2. In "none (passage 1 is
    # about tea)" the bracket only explains, so it becomes a clause of its own.
    text = re.sub(r"\bnot (?:all|irrelevant|unrelated)\b", "relevant", text)
    text = re.sub(r"\bnone\b\W{0,3}\(", "none; ", text)
    # "[1; 3]" -> "[1, 3]", because ";" ends a clause
    text = BRACKETED_TEXT.sub(lambda match: match[0].replace(";", ","), text)
    return BUT_EXCEPTION.sub(r"\1except", replace_number_words(text, count))


def find_result_part(text: str) -> str:
    """The text after the last label such as "Relevant passages:" and before "Not relevant:" or an explanation; the
    whole text if there is no such label.

    Words after a passage's number are no label: in "passage 1 is relevant: it names the year", "relevant:" is a
    verdict.
    """
    labels = list(CONCLUSION_LABEL.finditer(text))
    words_before_labels = [re.split(r"[.;\n]", text[: label.start()])[-1] for label in labels]
    result_labels = [
        label
        for label, words_before in zip(labels, words_before_labels, strict=True)
        if not label["negative"] and not re.search(r"\d", words_before)
    ]
    if not result_labels:
        return text
    begin = result_labels[-1].end()
    result = text[
        begin : next((label.start() for label in labels if label["negative"] and label.start() > begin), len(text))
    ]
    return EXPLANATION_LABEL.split(result)[0]


def record_clause(clause: str, named_passages: NamedPassages, pattern: re.Pattern[str], count: int) -> None:
    """Add the passages that a clause keeps or drops. If two clauses disagree about a passage, the later one counts.

    pattern: LABELLED_NUMBERS or BARE_NUMBER, whichever matches the passages' numbers in this reply.
    """
    rule, *exceptions = EXCEPTION_WORDS.split(clause, maxsplit=1)  # "all except 2" -> "all ", " 2"
    if exceptions and (NONE_WORDS.search(rule) or ALL_WORDS.search(rule)):
        excepted_ids = find_ids(exceptions[0], pattern, count)
        named_passages.names_none = bool(NONE_WORDS.search(rule))
        named_passages.names_all = not named_passages.names_none
        (named_passages.kept_ids if named_passages.names_none else named_passages.dropped_ids).update(excepted_ids)
        return
    ids, negative = find_ids(clause, pattern, count), bool(NEGATIVE_PATTERN.search(clause) or NONE_WORDS.search(clause))
    if not ids and SAME_SUBJECT.match(clause) and VERDICT_WORD.search(clause):
        ids = set(named_passages.last_ids)
    # "The others are not" can only be read after a clause that named passages.
    if REST_WORDS.search(clause) and not ids and (named_passages.kept_ids or named_passages.dropped_ids):
        ids = set(range(1, count + 1)) - named_passages.kept_ids - named_passages.dropped_ids
    if ids:
        named_passages.last_ids = ids
        (named_passages.dropped_ids if negative else named_passages.kept_ids).update(ids)
        (named_passages.kept_ids if negative else named_passages.dropped_ids).difference_update(ids)
    elif NONE_WORDS.search(clause) or (ALL_WORDS.search(clause) and negative):
        named_passages.names_none = True
    elif ALL_WORDS.search(clause):
        named_passages.names_all = True


def find_ids(clause: str, pattern: re.Pattern[str], count: int) -> set[int]:
    """The numbers from 1 to `count` that a clause names. A range gives all its numbers.

    pattern: see `record_clause`.
    """
    ids: set[int] = set()
    for match in pattern.finditer(clause):
        for number in NUMBER.finditer(match[0]):
            low, high = sorted((int(number["from"]), int(number["to"] or number["from"])))
            ids.update(range(max(1, low), min(high, count) + 1))
    return ids
