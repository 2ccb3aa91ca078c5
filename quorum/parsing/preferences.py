"""Which of two passages a judge's reply prefers."""

import re
from collections.abc import Sequence
from typing import Any

from quorum.parsing.answers import Parsed, first_line, read_object, unwrapped

TIE = 2  # beside the places 0 and 1 of the two passages

# Each way to name a passage becomes one sign, so that the rules below need not know them.
SIGNS = "①②"
NOUN = r"(?:passage|text|summary|paragraph|option|choice|candidate|document|answer|pasaje|passaggio|(?:text)?abschnitt)"
PAIR = re.compile(rf"\b{NOUN}s?\s?[(\[]?1[)\]]?\s?(and|or|&|,|/|vs\.?|versus)\s?[(\[]?2\b[)\]]?", re.IGNORECASE)
MENTION = re.compile(
    rf"\b{NOUN}[\s_]{{0,2}}(?:#|no\.?|number)?\s?[(\[\"'*_]{{0,3}}(?:(1|one|a)|(2|two|b))\b[)\]\"']{{0,2}}"
    rf"|(?:\bthe\s+)?\b(?:(first|1st)|(second|2nd))\s+(?:one\b|{NOUN}\b)"
    r"|(?:\bthe\s+)(?:(former|first)|(latter|second))\b(?!\s+(?:half|part|sentence|time|place|of))"
    r"|[\[(](?:(1)|(2))[)\]]|\bP(?:(1)|(2))\b",
    re.IGNORECASE,
)
EMPHASIS = re.compile(r"(?<![^\W_])_+|_+(?![^\W_])")  # underscores that are no part of a word
ALONE = re.compile(r"[\W_]*(?:no\.?\s*)?(?:(1|1st|one|first|a)|(2|2nd|two|second|b))[\W_]*", re.IGNORECASE)
LABEL = re.compile(
    r"\b(?:answer|verdict|conclusion|judge?ment|decision|choice|winner|output|preferred|preference)[*_\"'`]{0,3}[ \t]*"
    r"(?:[:：=]|\bis\b[ \t]*[:：]?)"
    r"|(?:^|[.,;!?]\s+)(?:therefore|thus|hence|so|overall|consequently|in\s+(?:conclusion|summary))\b"
    r"|\\boxed\s?\{|<answer>",
    re.IGNORECASE | re.MULTILINE,
)
RESTATED = re.compile(r"\bchoices\s*:\s*\[[^\]]*\]\.?|[(\[]\s?[①②]\s{0,2}(?:or|,|/)\s{0,2}[①②]\s?[)\]]?", re.IGNORECASE)
STANDING = re.compile(
    r"[\W_]*([①②])[*_\"'`)\]]*(?:\s*(?:\Z|[.,!;]|[(–—]|-+\s|\b(?:because|since|as)\b))", re.IGNORECASE
)
SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
AGAINST = re.compile(
    r"\b(?:than|over|compared\s+(?:to|with)|in\s+(?:comparison|contrast)\s+(?:to|with)|rather\s+than|instead\s+of|unlike"
    r"|as\s+opposed\s+to|versus|between|among|of|not(?=\s+[①②]\s*\W*\Z)|(?<=prefer\s[①②]\s)to|(?<=preferred\s)to)"
    r"\s+(?:that\s+of\s+)?[①②](?:\s*(?:and|or)\s*[①②])?\s?,?",
    re.IGNORECASE,
)
SIGNED = {">": 0, ">>": 0, "≻": 0, "<": 1, "<<": 1, "=": TIE, "==": TIE, "≈": TIE, "~": TIE}
ORDERED = re.compile(r"([①②])\s*(>>?|≻|<<?|==?|≈|~)\s*([①②])")
MEASURED = "≺"  # where the passage stood that another is measured against
BREAK = re.compile(
    r"[,;]?\s*\b(?:while|whereas|but|although|though|however|because|since|yet|so|as(?=\s+[①②]))\b|[;:]|,\s*(?:and\b|(?=[①②]))",
    re.IGNORECASE,
)
BETTER = re.compile(
    r"\b(?:more|most|better|best|prefer\w*|choose|choosing|chosen|select\w*|pick|superior|strong(?:er|est)|clear(?:er|est)|directly"
    r"|greater|wins?|winner|favou?r\w*|answers?\s+the|answering\s+the|right|correct)\b",
    re.IGNORECASE,
)
WORSE = re.compile(
    r"\b(?:less|least|worse|worst|inferior|weak(?:er|est)|irrelevant|uninformative|unrelated|not|cannot|never|no|nothing"
    r"|fails?|lacks?|lacking|without|neither|nor)\b|n['’]t\b",
    re.IGNORECASE,
)
EVEN = re.compile(
    r"\b(?:both|equal(?:ly)?|same|tied?|neither|similar(?:ly)?|identical|indistinguishable|as\s+\w+\s+as|no\s+(?:clear\s+)?difference)\b",
    re.IGNORECASE,
)


def preferred_passage(reply: str) -> Parsed[int | None]:
    """The place, 0 or 1, of the passage that a reply prefers; null where it finds them equal.

    Read: "Passage 2", "2", "the second"; JSON; what follows the last "Answer:" or "therefore"; comparisons, which
    "less", "than" and "not" turn. Default (malformed): null, where there is no preference or two that disagree.
    """
    found = concluded(EMPHASIS.sub(" ", unwrapped(reply)).strip())
    place = found.pop() if len(found) == 1 else None
    return Parsed(None if place == TIE else place, malformed=place is None)


def concluded(text: str) -> set[int]:
    """The preferences in the part of a reply that concludes it."""
    if alone := ALONE.fullmatch(text):
        return {0 if alone[1] else 1}
    value = read_object(text[text.find("{") : text.rfind("}") + 1])
    if value and (found := from_object(value)):
        return found
    text = RESTATED.sub(" ", with_signs(text))
    for label in list(LABEL.finditer(text))[:-9:-1]:  # the last few: a model in a loop writes labels without end
        if found := preferences(first_line(text[label.end() : label.end() + 500])):
            return found
    return preferences(text)


def with_signs(text: str) -> str:
    """The text with ① and ② for the passages, however it names them."""
    text = PAIR.sub(r" ① \1 ② ", text)
    return MENTION.sub(lambda found: f" {SIGNS[((found.lastindex or 1) - 1) % 2]} ", text)


def preferences(text: str) -> set[int]:
    """A passage that stands by itself, else what the sentences say, else the only passage that is named."""
    if alone := ALONE.fullmatch(text):
        return {0 if alone[1] else 1}
    sentences = SENTENCE.split(text)
    openings = [STANDING.match(sentence) for sentence in sentences if not ORDERED.search(sentence)]
    if standing := {SIGNS.index(opening[1]) for opening in openings if opening}:
        return standing
    if found := {place for sentence in sentences for place in compared(sentence)}:
        return found
    if len(named := set(re.findall("[①②]", text))) == 1:
        return {SIGNS.index(named.pop()) ^ bool(WORSE.search(text))}
    return {TIE} if EVEN.search(text) else set()


def compared(sentence: str) -> set[int]:
    """The preference of one sentence; without the passage that another is measured against."""
    if ordered := ORDERED.search(sentence):
        sign = SIGNED[ordered[2]]
        return {sign if sign == TIE or ordered[1] == "①" else 1 - sign} if ordered[1] != ordered[3] else set()
    own = AGAINST.sub(f" {MEASURED} ", sentence)
    clauses = BREAK.split(own)
    return preferred_in(clauses) or (preferred_in(clauses, measured=True) if MEASURED in own else set())


def preferred_in(clauses: Sequence[str], *, measured: bool = False) -> set[int]:
    """The preferences of clauses that name one passage and judge it. `measured`: against the other, every one of them;
    else those in which the other stood.
    """
    found: set[int] = set()
    for clause in clauses:
        named = set(re.findall("[①②]", clause))
        if len(named) != 1 or EVEN.search(clause):
            continue
        place, worse = SIGNS.index(named.pop()), len(WORSE.findall(clause)) % 2
        if worse or measured or MEASURED in clause or BETTER.search(clause):
            found.add(place ^ worse)
    return found


NAMES = frozenset(
    ("answer", "choice", "passage", "winner", "preferred", "preference", "better", "result", "verdict", "decision")
)


def from_object(value: dict[str, Any]) -> set[int]:
    """The preferences of a JSON object."""
    found: set[int] = set()
    for key, content in value.items():
        if len(value) == 1 or NAMES & set(re.findall(r"[a-z]+", key)):
            found |= preferences(with_signs(str(content)))
    return found
