"""Which passages a reply names: numbers, ranges, words, all or none of them, in prose, lists or JSON."""

import re
import unicodedata
from dataclasses import dataclass, field
from typing import Any

from quorum.core.json_text import parse_json
from quorum.parsing.answers import Parsed
from quorum.parsing.number_words import COUNT, NOUN, digits
from quorum.parsing.wrapping import unwrapped

LONGEST = 6000  # characters read, from the end: where a reply that runs on gives its numbers

RANGE = r"\s?(?:-|–|—|\.\.\.?|to|through|until)\s?"
ITEM = rf"[\[(#]{{0,2}} ?\d{{1,3}}(?:{RANGE}[\[(#]{{0,2}}\d{{1,3}})? ?[\])]{{0,2}}(?![\w%])"
SEPARATOR = rf"\s{{0,3}}(?:,\s?and|,|;|&|/|\+|and|or|、|as well as)\s{{0,3}}(?:{NOUN}\s?)?"
NUMBERS = rf"(?>{ITEM})(?>{SEPARATOR}{ITEM})*"  # atomic: a space fits in two places, and a long list would try all
LABELLED = re.compile(
    rf"(?:\b{NOUN}[ \t_:#*-]{{0,3}}(?:{NOUN}[ \t_:#*-]{{0,3}})?|(?<!\w)[pk][ _]?(?=\d)|#)(?P<list>{NUMBERS})"
    rf"|\[\s?(?P<bracketed>\d{{1,3}}(?:(?:{RANGE}|[,;\s]{{1,3}})\d{{1,3}})*)\s?\]"
)
BARE = re.compile(rf"(?<!\w)(?<![a-z]-)\d{{1,3}}(?:{RANGE}\d{{1,3}})?(?!\w)")
NUMBER = re.compile(rf"(?P<from>\d{{1,3}})(?:{RANGE}[\[(#]{{0,2}}(?P<to>\d{{1,3}}))?")
PLURAL = r"(?:passages|documents|docs|texts|contexts|paragraphs|sources)"
NOISE = re.compile(
    r"\d{1,3}(?:,\d{3})+(?!\d)|\d+\.\d+|\d{4,}|\d+\s?%"
    rf"|\b(?:\d+|{COUNT}) (?:out )?of (?:the |these |those )?(?:\d+|{COUNT})\b"
    # numbers that count: "the 2 relevant passages", "none of the 3 films", "the other 3"
    r"|\b(?<!\d )(?<!\d, )(?<!and )(?<!or )(?<!& )\d{1,3} "
    rf"(?=(?:\w+ly )?(?:relevant |useful |helpful |related |other )?{PLURAL}\b)"
    rf"|(?<=\bother )\d{{1,3}}\b|\b(?:only|just) 1 (?={NOUN})|(?<=\bnone of )(?:the |these |those )?\d{{1,3}} (?=[a-z])"
)
FIRST = re.compile(rf"\A[\s*_]{{0,5}}(?={NUMBERS}\s?(?:[.;(\n]|$))")  # a list of numbers before anything else
ENUMERATOR = re.compile(r"^[ \t]*(\d{1,3})[.)][ \t]+", re.MULTILINE)

NOT = (
    r"(?:\bnot\b|n't\b|\bnever\b|\birrelevant\b|\bunrelated\b|\bunhelpful\b|\buseless\b|\bunnecessary\b|\bnon-?relevant\b"
    r"|\bno (?:relevan\w+|bearing|help|use|information|mention|connection)\b|\bcannot\b|\bneither\b|[✗✘❌]"
    r"|\b(?:remov|exclud|discard|dropp?|ignor|reject)(?:e|es|ed|s|ing)?\b|\brul(?:e|ed|es|ing) out\b"
    r"|(?:[:=|→]|[-–]>?)\s?(?:no|false)\b)"
)
NEGATIVE = re.compile(NOT)
NONE = re.compile(
    rf"\bnone\b|\bno (?:\w+ )?{NOUN}|\bnothing\b|\bneither\b|\bempty\b|(?<!\w)n/?a\b|^\W*no\W*$|∅|\[\s?\]|\bno ones?\b"
)
ALL = re.compile(
    rf"(?<!at )(?<!not )\ball\b(?=\s(?:of\b|them\b|the\b|these\b|those\b|{NOUN}|are\b|relevant)|\W*$)"
    rf"|\b(?:every|each) (?:one|single|{NOUN})|\beverything\b|\bthey all\b"
)
FIRST_NONE = re.compile(rf"\W*(?:none\b|nothing\b|neither\b|no (?:\w+ )?{NOUN})")
POSITIVE = re.compile(
    r"\b(?:is|are|seems?|does|do)\s+(?:\w+ly\s+|somewhat\s+)?(?:relevant|helpful|useful|needed|necessary|help|bear|answer)\b"
    r"|\b(?:keep|kept|answers|helps|select)\b"
)
REST = re.compile(r"\b(?:the|all) (?:rest|others?|remaining)\b")
EXCEPT = re.compile(r"\b(?:except(?:ing)?(?: for| from)?|excluding|other than|apart from|aside from|besides)\b")
BRACKETS = re.compile(r"\[[^\[\]]{0,99}\]")
BUT = re.compile(
    rf"(\b(?:all|every\w*|each|none|nothing|no {NOUN})\b[^.;\n]{{0,40}}?)\bbut\b(?! {NOUN} \d+ (?!(?:is|are)\b)\w)"
)
LABEL = re.compile(rf"(?:(?P<no>{NOT}[^:\n]{{0,30}})|relevan\w+|answer|helpful|useful|final)[^:\n\d]{{0,40}}:(?=\W*\w)")
EXPLAINED = re.compile(
    r"(?<=\d)\W*\n[\s*_#]*(?:explanation|reason(?:ing|s)?|rationale|justification|note)s?\b[^\n:]{0,30}:"
)
STOP = (
    r"[;\n]|\.(?=\s|$)|\b(?:but|while|whereas|however|although|though)\b"
    r"|\band (?=remov|drop|discard|exclud|ignor|reject)|,\s?(?:and )?(?=the (?:rest|others?|remaining)\b)"
)
OWN_VERDICT = r"[\])]?\s?(?:\((?:not |ir|un)?relevan|is\b|isn't\b|was\b|does\b|doesn't\b|helps\b|:)"
CLAUSE = {
    LABELLED: re.compile(rf"{STOP}|,\s?(?:and )?(?=(?:{NOUN}\s?[\[(#]?|\[)\d{{1,3}}{OWN_VERDICT})"),
    BARE: re.compile(rf"{STOP}|,\s?(?:and )?(?=[\[(#]?\d{{1,3}}{OWN_VERDICT})"),
}
SAME = re.compile(
    r"\W*(?:(?:and|so|thus|therefore|hence)\b\W*)*(?:it|this|that|they|these|those|which|both)?(?: passages?)?\s?"
    r"(?:is|are|was|were|does|do|should|can|seems?|appears?|not\b|irrelevant|relevant|remove|drop|keep)"
)
VERDICT = re.compile(r"relevan|unrelated|help|useful|useless|bear|need|keep|drop|remove|discard|exclude")


def passage_ids(reply: str, count: int) -> Parsed[list[int]]:
    """The numbers of the passages that a reply names, in 1..count, each once, in ascending order.

    "None", and a reply without a word, name no passage; numbers out of range are left out. Default (malformed): all
    passages, where nothing can be read or every number is out of range.
    """
    text = unicodedata.normalize("NFKC", unwrapped(reply).strip()[-LONGEST:]).lower().replace("’", "'")
    if not any(character.isalnum() for character in text):
        return Parsed([])
    value = json_of(text)
    found = in_words(text, count) if value is None else in_json(value[0], count)
    return Parsed(list(range(1, count + 1)), malformed=True) if found is None else Parsed(sorted(found))


def json_of(text: str) -> tuple[Any] | None:
    """The JSON value that the text is, or the object that stands in it; None without one."""
    for place in (text, text[text.find("{") : text.rfind("}") + 1]):
        try:
            return (parse_json(place),)
        except ValueError:
            continue
    return None


def in_json(value: Any, count: int) -> set[int] | None:
    """The ids in a JSON value; None when there is nothing to read."""
    if value is None or value in ([], {}, ""):
        return set()
    if isinstance(value, bool | float):
        return None
    if isinstance(value, int):
        return {value} if 1 <= value <= count else None
    if isinstance(value, str):
        return in_words(value, count)
    if isinstance(value, dict):
        return in_object(value, count)
    parts = [found for item in value if (found := in_json(item, count)) is not None]
    return set().union(*parts) if parts else None


def in_object(value: dict[str, Any], count: int) -> set[int] | None:
    """{"relevant": [1, 3]}, {"1": true, "2": "not relevant"} or {"id": 1, "relevant": true}."""
    single = next((name for name in ("id", "passage", "knowledge") if isinstance(value.get(name), int | str)), None)
    if single is not None:
        return set() if any(content is False for content in value.values()) else in_json(value[single], count)
    if all(any(character.isdigit() for character in name) for name in value):
        said = {True: "relevant", False: "not relevant"}
        lines = (f"passage {name}: {said[v] if isinstance(v, bool) else v}" for name, v in value.items())
        return in_words("\n".join(lines), count)
    ids = [content for name, content in value.items() if not re.search(r"irrelevan|unrelated|not|reason|judge", name)]
    parts = [found for content in ids if (found := in_json(content, count)) is not None]
    return set().union(*parts) if parts else None


@dataclass
class Named:
    """What clauses name so far; `last`: the passages that a verdict without a number is about."""

    keep: set[int] = field(default_factory=set)
    drop: set[int] = field(default_factory=set)
    last: set[int] = field(default_factory=set)
    everything: bool = False
    nothing: bool = False


def in_words(text: str, count: int) -> set[int] | None:
    """The ids in prose; None when there is nothing to read."""
    text = own_words(text, count)
    text = ENUMERATOR.sub(r"[\1] " if LABELLED.search(text) is None else "", text)
    text = FIRST.sub("passages ", text) if LABELLED.search(text) else text
    pattern = LABELLED if LABELLED.search(text) else BARE
    named = Named()
    clauses = CLAUSE[pattern].split(text)
    denied = FIRST_NONE.match(clauses[0]) and not EXCEPT.search(clauses[0])
    for clause in clauses:
        if not (denied and mentions_only(clause)):
            note(clause, named, pattern, count)
    rest = set(range(1, count + 1)) - named.drop
    if named.keep:
        return named.keep
    if named.everything or (named.drop and not named.nothing):
        return rest
    return set() if named.nothing else None


def mentions_only(clause: str) -> bool:
    """Whether a clause calls no passage relevant: after "none" it only tells what a passage is about."""
    return not FIRST_NONE.match(clause) and not POSITIVE.search(clause)


def own_words(text: str, count: int) -> str:
    """The part that gives the result, its number words written as digits, numbers that name no passage left out."""
    text = re.sub(rf"\ball (?:of )?(?:the |these |those )?(?:\d+|{COUNT})\b", "all", text)
    text = result_part(NOISE.sub(" ", re.sub(r"\bnos?\. ?(?=\d)", "passage ", text)))
    text = re.sub(r"\bnot (?:all|irrelevant|unrelated)\b", "relevant", text)
    text = re.sub(r"\bnone\b\W{0,3}\(", "none; ", text)
    text = BRACKETS.sub(lambda found: found[0].replace(";", ","), text)
    return BUT.sub(r"\1except", digits(text, count))


def result_part(text: str) -> str:
    """What follows the last "Relevant passages:", up to "Not relevant:" or an explanation; all of the text without such
    a label. In "passage 1 is relevant: it names the year" the word is a verdict and no label.
    """
    labels = list(LABEL.finditer(text))
    heads = [re.split(r"[.;\n]", text[: label.start()])[-1] for label in labels]
    own = [label for label, head in zip(labels, heads, strict=True) if not label["no"] and not re.search(r"\d", head)]
    if not own:
        return text
    begin = own[-1].end()
    result = text[begin : next((label.start() for label in labels if label["no"] and label.start() > begin), len(text))]
    return EXPLAINED.split(result)[0]


def note(clause: str, named: Named, pattern: re.Pattern[str], count: int) -> None:
    """Add what one clause says. Of two verdicts on a passage the later counts."""
    base, *exceptions = EXCEPT.split(clause, maxsplit=1)
    if exceptions and (NONE.search(base) or ALL.search(base)):
        excepted = ids_in(exceptions[0], pattern, count)
        named.nothing = bool(NONE.search(base))
        named.everything = not named.nothing
        (named.keep if named.nothing else named.drop).update(excepted)
        return
    ids, negative = ids_in(clause, pattern, count), bool(NEGATIVE.search(clause) or NONE.search(clause))
    if not ids and SAME.match(clause) and VERDICT.search(clause):
        ids = set(named.last)
    if REST.search(clause) and not ids and (named.keep or named.drop):  # "the others" than what?
        ids = set(range(1, count + 1)) - named.keep - named.drop
    if ids:
        named.last = ids
        (named.drop if negative else named.keep).update(ids)
        (named.keep if negative else named.drop).difference_update(ids)
    elif NONE.search(clause) or (ALL.search(clause) and negative):
        named.nothing = True
    elif ALL.search(clause):
        named.everything = True


def ids_in(clause: str, pattern: re.Pattern[str], count: int) -> set[int]:
    """The numbers in 1..count that the clause names, ranges written out."""
    found: set[int] = set()
    for place in pattern.finditer(clause):
        for number in NUMBER.finditer(place[0]):
            low, high = sorted((int(number["from"]), int(number["to"] or number["from"])))
            found.update(range(max(1, low), min(high, count) + 1))
    return found
