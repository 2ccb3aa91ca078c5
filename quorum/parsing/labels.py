"""Reads replies whose answer is a label."""

import re

from quorum.core.labels import LABELS, NOT_ENOUGH_INFO, REFUTES, SUPPORTS
from quorum.core.text import UNKNOWN, is_unknown
from quorum.parsing.answers import Parsed, cut_invented_question, format_value, get_first_line, list_lines, read_object
from quorum.parsing.wrapping import remove_wrapping

LABEL_SLOT = re.compile(
    r"\b(?:label|verdict|answer|judge?ment|conclusion)\b[*_\"'`]{0,3}[ \t]*(?:[:：]|is\b)", re.IGNORECASE
)
NEXT_CLAIM = re.compile(r"(?<=\S)\s*\n\W{0,3}claim\b\W{0,3}[:：]", re.IGNORECASE)
LABEL_KEYS = ("label", "verdict", "answer", "judgment", "judgement", "prediction")
NEGATION_WORDS = r"(?:\bnot|\bcannot|\bnever|n[’']t|\bhardly|\bnothing|\bnone)\b[ -]?(?:\w+ ){0,2}"
NEGATION_AT_END = re.compile(NEGATION_WORDS + r"\Z", re.IGNORECASE)
# Words that state a label.
NOT_ENOUGH_WORDS = re.compile(
    r"\bnot[ _-]enough[ _-](?:info|evidence|context|data)\w*|\bnei\b|\bneither\b|\b(?:insufficient|lack of|no|missing)"
    r" (?:info|evidence)\w*|\b(?:unverifiable|inconclusive|undetermined|undecided|unknown|unclear|neutral)\b"
    r"|\b(?:can ?not|could not|can[’']t|impossible to) (?:be )?(?:verif|determin|confirm)\w*"
    r"|(?:\bnot|n[’']t) (?:\w+ ){0,2}(?:support|confirm|verif|mention|address|say|state)\w*",
    re.IGNORECASE,
)
SUPPORT_WORDS = re.compile(
    r"\b(?:support(?:s|ed|ing)?|true|correct|accurate|verified|confirm(?:s|ed)?|entail(?:s|ed|ment)?|yes)\b",
    re.IGNORECASE,
)
REFUTE_WORDS = re.compile(
    r"\b(?:refut(?:e|es|ed|ing|ation)|contradict(?:s|ed|ion|ing)?|false|incorrect|inaccurate|untrue|wrong|disprove[sdn]?"
    r"|debunk(?:s|ed)?|no(?=\W*(?:\Z|[.,;:!\n])))\b"
    r"|(?:\bnot|\bcan ?not|n[’']t) (?:\w+ ){0,2}(?:true|correct|accurate|the case)\b",
    re.IGNORECASE,
)
# Words by which a writer says that the claim cannot be judged.
DOUBT_WORDS = re.compile(
    r"(?:\b(?:not|hardly)|n[’']t) (?:\w+ ){0,2}(?:sure|certain|clear|know|tell|say|determine|decide|judge)\b"
    r"|\b(?:no (?:way|means) (?:to|of)|unclear|unsure|uncertain|unknown)\b"
    r"|\bcan ?not (?:\w+ )?(?:know|tell|say|determine|decide|judge)\b"
    r"|\b(?:whether|if) (?:\w+ ){1,6}true\b",
    re.IGNORECASE,
)
CONCLUSION_WORDS = re.compile(
    r"\b(?:so|therefore|thus|hence|consequently|accordingly|overall|in conclusion)\b"
    r"|\b(?:I|we)(?: am| will| would| can| have to| must|[’'](?:m|ll|d|ve))*(?: going to| safely)?"
    r" (?:assume|say|conclude|guess|go with|label|judge)\b(?: (?:it|this|the claim) (?:as|to be))?(?: that)?"
    r"|\b(?:means|meaning|implies|implying)\b(?: that)?",
    re.IGNORECASE,
)
# A clause such as "Although it is old," at the beginning of a line.
CONCESSION = re.compile(r"\A\W*(?:although|though|even though|while|even if)\b[^,.;]{1,300},", re.IGNORECASE)
TURNING_WORD = re.compile(r"\b(?:but|however|yet)\b", re.IGNORECASE)
WORD = re.compile(r"\w")
SENTENCE_BREAK = re.compile(r"(?<=[.!?])\s+|\n+")


def parse_label(reply: str, question: str = "") -> Parsed[str]:
    """SUPPORTS, REFUTES or NOT ENOUGH INFO. Words such as "true", "contradicted" or "cannot be verified" count
    as labels.

    The first of these sources that has a label decides:

    1. a JSON object;
    2. the text after the last "Label:";
    3. the beginning of the reply, and the clause after its last "so", "therefore" or "I will assume";
    4. the last line with label words, unless the reply names two of the labels in capital letters.

    The reply is malformed, and the value is "unknown", if no source has a label. The same holds if the two parts of
    source 3 have different labels, or if the line of source 4 has no single label (`find_label_of_last_line`).
    """
    text = remove_wrapping(reply)
    value = read_object(text.strip())
    json_label = next((format_value(value[name]) for name in LABEL_KEYS if name in value), "") if value else ""
    text = NEXT_CLAIM.split(cut_invented_question(text, question)[0], maxsplit=1)[0]
    slots = list(LABEL_SLOT.finditer(text))
    label = find_leading_label(json_label) or (
        find_leading_label(get_first_line(text[slots[-1].end() :])) if slots else None
    )
    if label is None:
        leading, concluding = find_leading_label(get_first_line(text)), find_concluding_label(text)
        disagree = leading and concluding and leading != concluding
        label = None if disagree else leading or concluding or find_label_of_last_line(text)
    return Parsed(label or UNKNOWN, malformed=label is None)


def find_concluding_label(text: str) -> str | None:
    """The label that the text concludes: that of the last sentence with a label after a conclusion word such as "so".

    Only the clause after the sentence's last conclusion word is read.
    """
    for sentence in reversed(SENTENCE_BREAK.split(text)):
        ends = [match.end() for match in CONCLUSION_WORDS.finditer(sentence)]
        clause_starts = [end for end in ends if WORD.search(sentence, end)]  # "so" at the end concludes nothing
        if clause_starts and (label := find_clause_label(sentence[clause_starts[-1] :])):
            return label
    return None


def find_leading_label(text: str) -> str | None:
    """The label at the beginning of the text, if `is_end_of_label` accepts what follows it.

    None if the label is the first of several alternatives ("true or false", "SUPPORTS / REFUTES").
    """
    bare = text.lstrip(" \t*_`\"'“”‘’([{<#->")
    for label, pattern in ((NOT_ENOUGH_INFO, NOT_ENOUGH_WORDS), (REFUTES, REFUTE_WORDS), (SUPPORTS, SUPPORT_WORDS)):
        match = pattern.match(bare)
        rest = bare[match.end() :] if match else ""
        if match and not re.match(r"\W{0,3}(?:\bor\b|/|\|)", rest) and is_end_of_label(rest):
            return label
    return None


def is_end_of_label(text_after: str) -> bool:
    """Whether a label is followed by nothing, punctuation, a new line, or a word of a reason ("because", "by").

    Any other word after it shows that it is only a word of a sentence.
    """
    return not re.match(r"[ \t]*\w", text_after) or bool(
        re.match(r"[ \t]*(?:because|since|as|by|based|according|to)\b", text_after)
    )


def find_label_of_last_line(text: str) -> str | None:
    """The label of the last line with label words.

    A concession ("Although it is old, ...") at the beginning of the line is left out. If the rest of the line has no
    single label, the words after its last "but", "however" or "yet" decide. None if these have no single label either,
    or if the text names two of the labels in capital letters.
    """
    if sum(label in text for label in LABELS) > 1:
        return None
    for line in reversed(list(list_lines(text))):
        statement = CONCESSION.sub("", line)
        if label := find_clause_label(statement) or find_clause_label(TURNING_WORD.split(statement)[-1]):
            return label
        if (
            contains_unnegated_word(SUPPORT_WORDS, statement)
            or contains_unnegated_word(REFUTE_WORDS, statement)
            or PARTIAL_VERDICT.search(statement)
        ):
            return None
    return None


PARTIAL_VERDICT = re.compile(
    r"\b(?:partial(?:ly)?|partly|half|somewhat|mixed)\W+(?:\w+\W+)?(?:true|correct|accurate|false)\b", re.I
)
# Words by which a writer says that the claim is probably not true.
DOUBTED_VERDICT = re.compile(
    r"(?:\bnot|n[’']t) (?:think|believe|seem|appear|look)\b[^,.;]{0,40}?\b(?:true|correct|accurate|right|supported)\b"
    r"|\b(?:unlikely|doubtful|I doubt)\b",
    re.IGNORECASE,
)


def find_clause_label(text: str) -> str | None:
    """The label that the words of a clause or line state; None if they state none, state both SUPPORTS and REFUTES, or
    say "partly true".

    Doubt about the truth ("I do not think that it is true") is REFUTES; doubt about the judgement ("I am not sure") is
    NOT ENOUGH INFO. Words of NOT ENOUGH INFO decide even beside words of SUPPORTS or REFUTES.
    """
    if PARTIAL_VERDICT.search(text) or not WORD.search(text):
        return None
    if DOUBTED_VERDICT.search(text) and not DOUBT_WORDS.search(text):
        return REFUTES
    if DOUBT_WORDS.search(text) or NOT_ENOUGH_WORDS.search(text) or is_unknown(text):
        return NOT_ENOUGH_INFO
    is_refuted = contains_unnegated_word(REFUTE_WORDS, text)
    is_supported = contains_unnegated_word(SUPPORT_WORDS, REFUTE_WORDS.sub(" ", text))
    return None if is_refuted == is_supported else REFUTES if is_refuted else SUPPORTS


def contains_unnegated_word(pattern: re.Pattern[str], line: str) -> bool:
    """Whether the line has a word of the pattern with no negation closely before it."""
    return any(
        not NEGATION_AT_END.search(line[max(0, match.start() - 80) : match.start()]) for match in pattern.finditer(line)
    )
