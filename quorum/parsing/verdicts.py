"""Whether a judge's reply says that a text supports a prediction."""

import re
from typing import Any

from quorum.parsing.answers import Parsed, first_line, read_object
from quorum.parsing.wrapping import unwrapped

# A verdict that stands by itself, in the languages that judges slip into.
TRUE = """true yes correct supported valid verdadero verdadeiro cierto certo vrai wahr richtig vero waar sant sann
    prawda doğru правда верно истина sí sim oui ja tak да はい 真 正确 正確 是 对 對 支持 正しい 정답 참 예 صحيح"""
FALSE = """false no untrue incorrect unsupported invalid falso faux falsch vals falskt fałsz yanlış ложь неверно não nao
    non nein nee nej nie нет いいえ 假 错误 錯誤 不正确 不正確 否 错 錯 不支持 誤り 오답 거짓 아니오 خطأ"""
WORDS = dict.fromkeys(TRUE.split(), True) | dict.fromkeys(FALSE.split(), False)

# A verdict inside a sentence: words that mean one wherever they stand, and words that do after "is".
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


def validity_verdict(reply: str) -> Parsed[bool]:
    """Whether a reply concludes that the text supports the prediction: true, yes, supported, or their negation.

    Read: JSON; what follows the last "Answer:" or "therefore"; a verdict that stands by itself; else what its sentences
    assert. Default (malformed): False, where there is no verdict or two that disagree.
    """
    found = concluded(unwrapped(reply).strip())
    return Parsed(found == {True}, malformed=len(found) != 1)


def concluded(text: str) -> set[bool]:
    """The verdicts in the part of a reply that concludes it."""
    if len(text) == 1 and text.lower() in "tf":
        return {text.lower() == "t"}
    if found := from_object(text):
        return found
    text = CONCEDED.sub(" ", RESTATED.sub(" ", text))
    for label in list(LABEL.finditer(text))[:-9:-1]:  # the last few: a model in a loop writes labels without end
        if found := verdicts_in(first_line(text[label.end() : label.end() + 500])):
            return found
    return verdicts_in(text)


def verdicts_in(text: str) -> set[bool]:
    """The verdicts that stand by themselves, with what their own sentences say; else those asserted anywhere."""
    standing = [found for sentence in SENTENCE.split(text) if (found := leading(sentence))]
    return set().union(*standing) or asserted(text)


def leading(sentence: str) -> set[bool]:
    """The verdict that a sentence begins with as a clause of its own, and what the rest of it asserts."""
    opening = OPENING.match(sentence)
    word = WORD.match(sentence, opening.end() if opening else 0)
    if not word or word[0].lower() not in WORDS or not ENDED.match(sentence, word.end()):
        return set()
    return {WORDS[word[0].lower()]} | asserted(sentence[word.end() :])


def asserted(text: str) -> set[bool]:
    """The verdicts inside sentences, each turned by an odd number of negations before it in its clause; what is left
    open ("whether it is true") is none.
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


def from_object(text: str) -> set[bool]:
    """The verdicts of a JSON object, or of one written as in Python; a key like "is_false" turns its value."""
    piece = text[text.find("{") : text.rfind("}") + 1]
    loose = piece.replace("'", '"').replace("True", "true").replace("False", "false")
    value = read_object(piece) or read_object(loose) or {}
    found = set()
    for key, content in value.items():
        words = frozenset(re.findall(r"[a-z]+", key))
        if words & KEYS or len(value) == 1:
            found |= {verdict != bool(words & TURNED) for verdict in spoken(content)}
    return found


def spoken(content: Any) -> set[bool]:
    """The verdicts in a JSON value."""
    if isinstance(content, bool):
        return {content}
    return verdicts_in(content) if isinstance(content, str) else set()
