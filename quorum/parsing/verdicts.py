"""Reads a judge's verdict on whether a text supports a prediction."""

import re
from typing import Any

from quorum.parsing.answers import Parsed, get_first_line, read_object
from quorum.parsing.wrapping import unwrap

# Verdicts of one word, also in other languages, because judges sometimes change language.
TRUE = """true yes correct supported valid verdadero verdadeiro cierto certo vrai wahr richtig vero waar sant sann
    prawda doğru правда верно истина sí sim oui ja tak да はい 真 正确 正確 是 对 對 支持 正しい 정답 참 예 صحيح"""
FALSE = """false no untrue incorrect unsupported invalid falso faux falsch vals falskt fałsz yanlış ложь неверно não nao
    non nein nee nej nie нет いいえ 假 错误 錯誤 不正确 不正確 否 错 錯 不支持 誤り 오답 거짓 아니오 خطأ"""
WORDS = dict.fromkeys(TRUE.split(), True) | dict.fromkeys(FALSE.split(), False)

# Verdicts inside a sentence: words that are verdicts anywhere, and words that are verdicts only after "is".
ASSERTED = re.compile(
    r"\b(?:(?P<true>true|supported|supports?|verdadero|verdadeiro|vrai|wahr|vero|правда|верно)"
    r"|(?P<false>false|untrue|unsupported|falso|faux|falsch|ложь|неверно))\b"
    r"|(?:\b(?:is|are|was|were|seems|appears|be)|['’]s|n['’]t)(?:\s+\w+){0,3}?\s+"
    r"(?:(?P<right>correct|valid|accurate|right)|(?P<wrong>incorrect|invalid|inaccurate|wrong))\b",
    re.IGNORECASE,
)
NEGATION = re.compile(
    r"\b(?:not|cannot|never|no|nothing|none|neither(?!.*\bnor\b)|nor|hardly|fails?|failed|lacks?|lacking|without|insufficient|unable"
    r"|doubt|far\s+from|nicht|pas|nie|niet|inte|não|non|не)\b|n['’]t\b",
    re.IGNORECASE,
)
HEDGED = re.compile(
    r"\b(?:partial(?:ly)?|partly|half|somewhat|maybe|perhaps|possibly|mixed)\W+(?:\w+\W+)?\Z", re.IGNORECASE
)
OPEN = re.compile(r"\b(?:whether|unclear|uncertain|unsure|unsettled|undecided|questionable)\b", re.IGNORECASE)
CLAUSE = re.compile(
    r"[.!?;:\n(){}\[\]|/]|,\s+(?:and|but|so|as|because|while|which|though|yet|it|the|this|there)\b|\bbut\b",
    re.IGNORECASE,
)
CONCEDED = re.compile(
    r"\b(?:while|although|though|whereas|even\s+if|it(?:\s+is|['’]s)\s+true\s+that)\b[^,.;:\n]{1,300}(?:,|\bbut\b)",
    re.IGNORECASE,
)
RESTATED = re.compile(
    r"(?:\bchoices\s*:\s*)?\[?\btrue\s*(?:,|/|\bor\b)\s*false\b\]?\s*[:?.]|\bchoices\s*:\s*\[[^\]]*\]\.?", re.IGNORECASE
)
LABEL = re.compile(
    r"\b(?:answer|verdict|conclusion|judge?ment|decision|output)[*_\"'`]{0,3}[ \t]*(?:[:：=]|\bis\b[ \t]*[:：]?)"
    r"|\b(?:is_)?(?:true|supported|supports?|valid|validity)[\"'*]{0,3}\s?[:=](?=\W{0,9}(?:true|false|yes|no)\b)"
    r"|(?:^|[.,;!?]\s+)(?:therefore|thus|hence|so|overall|consequently|in\s+(?:conclusion|summary))\b|\\boxed\s?\{|<answer>",
    re.IGNORECASE | re.MULTILINE,
)
SENTENCE = re.compile(r"(?<=[.!?。！？])\s+|\n+")
OPENING = re.compile(r"[\W_]*(?:(?:option|choice)?\s*[(\[]?[ab12][)\].:]+[\W_]*)?", re.IGNORECASE)
WORD = re.compile(r"[^\W\d_]+")
ENDED = re.compile(
    r"\s*(?:\Z|[.,;:!?)\]}>*_\"'`”’»。，！、(–—|]|-+\s|<|(?:because|since|as|given|based|due)\b)", re.IGNORECASE
)
KEYS = frozenset(
    ("true", "supported", "supports", "support", "valid", "validity", "verdict", "answer", "result", "correct", "false")
)
TURNED = frozenset(("false", "untrue", "unsupported", "invalid", "incorrect", "not"))


def parse_validity(reply: str) -> Parsed[bool]:
    """Whether a reply says that the text supports the prediction: "true", "yes", "supported", or a negation of them.

    The first of these sources that has a verdict decides: JSON; the line after the last "Answer:" or "therefore"; a
    sentence that begins with a verdict; any sentence. Without a verdict, or with two that disagree, the reply is
    malformed, and the value is False.

    >>> parse_validity("The dates differ, so it is not supported.").value
    False
    """
    found = find_conclusion(unwrap(reply).strip())
    return Parsed(found == {True}, malformed=len(found) != 1)


def find_conclusion(text: str) -> set[bool]:
    """The verdicts in the conclusion of a reply."""
    if len(text) == 1 and text.lower() in "tf":
        return {text.lower() == "t"}
    if found := read_object_verdicts(text):
        return found
    text = CONCEDED.sub(" ", RESTATED.sub(" ", text))
    for label in list(LABEL.finditer(text))[:-9:-1]:  # the last few: a model in a loop writes labels without end
        if found := find_verdicts(get_first_line(text[label.end() : label.end() + 500])):
            return found
    return find_verdicts(text)


def find_verdicts(text: str) -> set[bool]:
    """The verdicts of sentences that begin with one; if there are none, the verdicts asserted anywhere."""
    standing = [found for sentence in SENTENCE.split(text) if (found := find_leading_verdict(sentence))]
    return set().union(*standing) or find_asserted(text)


def find_leading_verdict(sentence: str) -> set[bool]:
    """The verdict at the beginning of a sentence, and those that the rest asserts; empty if it begins with none."""
    opening = OPENING.match(sentence)
    word = WORD.match(sentence, opening.end() if opening else 0)
    if not word or word[0].lower() not in WORDS or not ENDED.match(sentence, word.end()):
        return set()
    return {WORDS[word[0].lower()]} | find_asserted(sentence[word.end() :])


def find_asserted(text: str) -> set[bool]:
    """The verdicts inside sentences.

    An odd number of negations earlier in the clause reverses a verdict. A clause that leaves it open ("whether it is
    true") gives none.
    """
    found = set()
    for match in ASSERTED.finditer(text):
        place = match.start(match.lastgroup or 0)
        before = text[max(0, place - 120) : place]
        clause = " ".join(CLAUSE.split(before)[-1].split()[-9:])
        if not HEDGED.search(before) and not OPEN.search(clause):
            positive = match.lastgroup in ("true", "right")
            found.add(positive == (len(NEGATION.findall(clause)) % 2 == 0))
    return found


def read_object_verdicts(text: str) -> set[bool]:
    """The verdicts in a JSON or Python object. A key such as "is_false" reverses its value."""
    piece = text[text.find("{") : text.rfind("}") + 1]
    loose = piece.replace("'", '"').replace("True", "true").replace("False", "false")
    value = read_object(piece) or read_object(loose) or {}
    found = set()
    for key, content in value.items():
        words = frozenset(re.findall(r"[a-z]+", key))
        if words & KEYS or len(value) == 1:
            found |= {verdict != bool(words & TURNED) for verdict in read_value_verdicts(content)}
    return found


def read_value_verdicts(content: Any) -> set[bool]:
    """The verdicts in a JSON value."""
    if isinstance(content, bool):
        return {content}
    return find_verdicts(content) if isinstance(content, str) else set()
