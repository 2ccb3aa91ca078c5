"""Reads a model's verdict on whether a text supports a prediction, as SuRe's prompt "validity" asks for it."""

import re
from typing import Any

from quorum.parsing.answers import Parsed, get_first_line, read_object
from quorum.parsing.wrapping import remove_wrapping

# Verdicts of one word, also in other languages, because models sometimes change language.
TRUE_WORDS = """true yes correct supported valid verdadero verdadeiro cierto certo vrai wahr richtig vero waar sant sann
    prawda doğru правда верно истина sí sim oui ja tak да はい 真 正确 正確 是 对 對 支持 正しい 정답 참 예 صحيح"""
FALSE_WORDS = """false no untrue incorrect unsupported invalid falso faux falsch vals falskt fałsz yanlış ложь неверно
    não nao non nein nee nej nie нет いいえ 假 错误 錯誤 不正确 不正確 否 错 錯 不支持 誤り 오답 거짓 아니오 خطأ"""
VERDICT_OF_WORD = dict.fromkeys(TRUE_WORDS.split(), True) | dict.fromkeys(FALSE_WORDS.split(), False)

# Verdicts inside a sentence: words that are verdicts anywhere, and words that are verdicts only after "is",
# "seems" or a similar verb.
ASSERTED_VERDICT = re.compile(
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
HEDGED_VERDICT = re.compile(
    r"\b(?:partial(?:ly)?|partly|half|somewhat|maybe|perhaps|possibly|mixed)\W+(?:\w+\W+)?\Z", re.IGNORECASE
)
OPEN_QUESTION_WORD = re.compile(
    r"\b(?:whether|unclear|uncertain|unsure|unsettled|undecided|questionable)\b", re.IGNORECASE
)
CLAUSE_BREAK = re.compile(
    r"[.!?;:\n(){}\[\]|/]|,\s+(?:and|but|so|as|because|while|which|though|yet|it|the|this|there)\b|\bbut\b",
    re.IGNORECASE,
)
# A clause such as "although it is true that he lived there,", whose verdict is not the conclusion.
CONCESSION = re.compile(
    r"\b(?:while|although|though|whereas|even\s+if|it(?:\s+is|['’]s)\s+true\s+that)\b[^,.;:\n]{1,300}(?:,|\bbut\b)",
    re.IGNORECASE,
)
# The choices of the prompt, repeated in the reply: "True or False?", "Choices: [True, False]."
RESTATED_CHOICES = re.compile(
    r"(?:\bchoices\s*:\s*)?\[?\btrue\s*(?:,|/|\bor\b)\s*false\b\]?\s*[:?.]|\bchoices\s*:\s*\[[^\]]*\]\.?", re.IGNORECASE
)
# What introduces the conclusion: "Answer:", "is_true:", "Therefore", "<answer>".
CONCLUSION_LABEL = re.compile(
    r"\b(?:answer|verdict|conclusion|judge?ment|decision|output)[*_\"'`]{0,3}[ \t]*(?:[:：=]|\bis\b[ \t]*[:：]?)"
    r"|\b(?:is_)?(?:true|supported|supports?|valid|validity)[\"'*]{0,3}\s?[:=](?=\W{0,9}(?:true|false|yes|no)\b)"
    r"|(?:^|[.,;!?]\s+)(?:therefore|thus|hence|so|overall|consequently|in\s+(?:conclusion|summary))\b|\\boxed\s?\{|<answer>",
    re.IGNORECASE | re.MULTILINE,
)
MOST_LABELS = 8  # only the last labels are read, because a model in a loop writes endless ones
SENTENCE_BREAK = re.compile(r"(?<=[.!?。！？])\s+|\n+")
# The number of a choice before the verdict, such as "(a)" or "Option 1."; may be empty.
OPTION_NUMBER = re.compile(r"[\W_]*(?:(?:option|choice)?\s*[(\[]?[ab12][)\].:]+[\W_]*)?", re.IGNORECASE)
WORD = re.compile(r"[^\W\d_]+")
# What may follow a verdict at the beginning of a sentence: "False, because ...", but not "No evidence ...".
VERDICT_END = re.compile(
    r"\s*(?:\Z|[.,;:!?)\]}>*_\"'`”’»。，！、(–—|]|-+\s|<|(?:because|since|as|given|based|due)\b)", re.IGNORECASE
)
# Words in the keys of a JSON object: keys whose value is a verdict, and keys that reverse the verdict ("is_false").
VERDICT_KEYS = frozenset(
    ("true", "supported", "supports", "support", "valid", "validity", "verdict", "answer", "result", "correct", "false")
)
REVERSING_KEYS = frozenset(("false", "untrue", "unsupported", "invalid", "incorrect", "not"))
# The value of a key such as "invalid_reason" is a text about the verdict, so these keys count only with a bare verdict.
NEGATIVE_KEYS = REVERSING_KEYS - {"false", "not"}
BARE_VERDICTS = frozenset(("true", "false", "yes", "no"))


def parse_validity(reply: str) -> Parsed[bool]:
    """Whether a reply says that the text supports the prediction: "true", "yes" or "supported". A negation reverses
    the verdict.

    The first of these sources that has a verdict decides: JSON; the rest of the line after "Answer:", "therefore" or
    another label of a conclusion, the last label first; a sentence that begins with a verdict; any sentence. Without a
    verdict, or with two that disagree, the reply is malformed, and the value is False.

    >>> parse_validity("The dates differ, so it is not supported.").value
    False
    """
    verdicts = find_concluding_verdicts(remove_wrapping(reply).strip())
    return Parsed(verdicts == {True}, malformed=len(verdicts) != 1)


def find_concluding_verdicts(text: str) -> set[bool]:
    """The verdicts in the conclusion of a reply."""
    if len(text) == 1 and text.lower() in "tf":
        return {text.lower() == "t"}
    if verdicts := read_object_verdicts(text):
        return verdicts
    text = CONCESSION.sub(" ", RESTATED_CHOICES.sub(" ", text))
    last_labels = list(CONCLUSION_LABEL.finditer(text))[-MOST_LABELS:]
    for label in reversed(last_labels):
        if verdicts := find_verdicts(get_first_line(text[label.end() : label.end() + 500])):
            return verdicts
    return find_verdicts(text)


def find_verdicts(text: str) -> set[bool]:
    """The verdicts of sentences that begin with one; if there are none, the verdicts asserted anywhere."""
    leading = [verdicts for sentence in SENTENCE_BREAK.split(text) if (verdicts := find_leading_verdict(sentence))]
    return set().union(*leading) or find_asserted_verdicts(text)


def find_leading_verdict(sentence: str) -> set[bool]:
    """The verdict at the beginning of a sentence, and those that the rest asserts; empty if it begins with none."""
    opening = OPTION_NUMBER.match(sentence)
    word = WORD.match(sentence, opening.end() if opening else 0)
    if not word or word[0].lower() not in VERDICT_OF_WORD or not VERDICT_END.match(sentence, word.end()):
        return set()
    return {VERDICT_OF_WORD[word[0].lower()]} | find_asserted_verdicts(sentence[word.end() :])


def find_asserted_verdicts(text: str) -> set[bool]:
    """The verdicts inside sentences.

    An odd number of negations earlier in the clause reverses a verdict. A verdict that is hedged ("partly true") or
    left open ("whether it is true") does not count.
    """
    verdicts = set()
    for match in ASSERTED_VERDICT.finditer(text):
        place = match.start(match.lastgroup or 0)
        before = text[max(0, place - 120) : place]
        clause = " ".join(CLAUSE_BREAK.split(before)[-1].split()[-9:])
        if not HEDGED_VERDICT.search(before) and not OPEN_QUESTION_WORD.search(clause):
            positive = match.lastgroup in ("true", "right")
            verdicts.add(positive == (len(NEGATION.findall(clause)) % 2 == 0))
    return verdicts


def read_object_verdicts(text: str) -> set[bool]:
    """The verdicts in a JSON or Python object.

    They are read from the value of its only key, or of each key with a word of VERDICT_KEYS, or of NEGATIVE_KEYS if the
    value is just true, false, yes or no. A key such as "is_false" reverses its value.
    """
    piece = text[text.find("{") : text.rfind("}") + 1]
    as_json = piece.replace("'", '"').replace("True", "true").replace("False", "false")
    value = read_object(piece) or read_object(as_json) or {}
    verdicts = set()
    for key, content in value.items():
        words = frozenset(re.findall(r"[a-z]+", key))
        is_bare_verdict = str(content).strip().lower() in BARE_VERDICTS
        if words & VERDICT_KEYS or len(value) == 1 or (words & NEGATIVE_KEYS and is_bare_verdict):
            verdicts |= {verdict != bool(words & REVERSING_KEYS) for verdict in read_value_verdicts(content)}
    return verdicts


def read_value_verdicts(content: Any) -> set[bool]:
    """The verdicts in a JSON value."""
    if isinstance(content, bool):
        return {content}
    return find_verdicts(content) if isinstance(content, str) else set()
