"""Tells by its words what kind of answer a question asks for: short, yes or no, or a paragraph or steps (long).

The rules read English; a question in another language counts as short. `python -m benchmarks.question_kinds` measures
them.
"""

import re
from functools import lru_cache
from typing import Literal

from quorum.algorithms.question_language import find_foreign_language

QuestionKind = Literal["short", "yes_no", "long"]

AUXILIARY = (
    "(?:is|are|was|were|am|do|does|did|can|could|will|would|shall|should|may|might|must|has|have|had|ought|need)"
)
NEGATED = rf"(?:{AUXILIARY}n'?t|cannot|can't|won't|shan't|ain't)"
VERB = rf"(?:{NEGATED}|{AUXILIARY})\b"
PRONOUN = "(?:i|you|he|she|it|we|they|there|this|that|these|those|one)"
SOMEONE = rf"(?:{AUXILIARY}|won't|can't) (?:you|someone|anyone|anybody|somebody)"
QUESTION_WORD = r"(?:what|which|who|whom|whose|when|where|why|how|if|whether|about|in which|in what)\b"
FACT_NOUN = r"(?!.{0,12}\b(?:name|date|year|number)\b)"  # "give me the name" asks for a short answer

# What people say before the question itself, which alone decides.
GREETING = re.compile(
    r"(?:(?:please|hi|hello|hey|thanks|so|and|but|well|ok|okay|also|now|then|sorry|excuse me|quick question|question"
    r"|just|actually|q)\b[\s,.:!-]*)+"
)
POLITE = re.compile(
    rf"(?:(?:{SOMEONE}|(?:{AUXILIARY}) i|i (?:would|'d)? ?(?:like|want|need|love)|i'd (?:like|love)|we (?:want|need)"
    r"|let me|help me)\b[\s,]*(?:please|kindly|just|to)?[\s,]*(?:to )?)?"
    r"(?:please )?(?:(?:tell|remind|teach|show|inform) (?:me|us)|know|ask|understand|learn|find out|see|wondering|say)"
    rf"\b[\s,:]*(?={QUESTION_WORD})"
)
WONDER = re.compile(
    r"(?:(?:i|we)(?:'m| am| was| are)? (?:just )?(?:wonder(?:ing|ed)?|curious)|any idea|no idea)\b"
    rf"[\s,]*(?={QUESTION_WORD})"
)
ORDER = re.compile(rf"(?:{SOMEONE}(?: please| kindly)?|i (?:want|need) you to|i(?:'d| would) like you to)[\s,]+")
LONG_ORDER = re.compile(
    r"(?:please )?(?:(?:tell|remind|teach|show|give|help|walk|guide|talk) (?:me|us)\b"
    rf"{FACT_NOUN}|(?:explain|describe|compare|contrast|list|outline|summari[sz]e|discuss|elaborate|enumerate"
    rf"|demonstrate|illustrate|detail|clarify|define|justify)\b|give (?:an?|some|the|all)\b{FACT_NOUN})"
    r"|(?:tell (?:me|us) )?(?:more |all |something )?about\b"
)
SHORT_ORDER = re.compile(r"(?:please )?(?:name|say|recall)\b")

HOW = re.compile(
    r"how(?:'d|'s)? (?:to|come|about)\b|how (?:exactly |best |else |then )?"
    r"(?:do|does|can|could|should|would|might|must|shall|will|may|is|are|am|don't|can't)\b"
)
# "How is it spelled?"; "How do sailors describe the wind?" asks for their words, "Why is it called the mistral?" for an
# origin; "How to Eat, written in which year?" names a book.
BRIEF_HOW_OR_WHY = re.compile(
    r"how (?:do|does|is|are|can|would|should)\b.*\b(?:called|spell(?:ed|t)?|say|written|pronounced?|named|abbreviated"
    r"|known|characteri[sz]ed|regarded|old|far|tall|big|expensive|often|rated)\b[^,]*$"
    rf"|how (?:do|does) (?!{PRONOUN}\b)(?:\S+ ){{1,4}}(?:think|feel|describe|view|rate|regard|perceive)\b"
    rf"|why {AUXILIARY} .*\b(?:called|named|nicknamed|known as) (?:the|a|an) (?!first|second|third|last|next|same)"
    r"|how to .*, (?:\S+ ){0,2}(?:in|by|of|on) (?:which|what|whom)\b"
)
WHY = re.compile(r"(?:for what reason|what(?:'s| is| are| was| were) the reasons?|why)\b")
# "What are the main differences ...", "What is the best way to ...", "What should I do ..."
MANY_SENTENCES = (
    r"(?:differences?|steps|advantages|disadvantages|benefits|drawbacks|options|features|pros|cons|requirements"
    r"|ways? (?:to|of|for|in)|prerequisites|reasons|consequences|best practices|limitations|instructions|guidelines"
    r"|trade-?offs|stages|downsides|upsides|use cases|approach(?:es)? (?:to|for)|procedure|similarities"
    r"|methods? (?:to|of|for))"
)
MODIFIERS = (
    "(?:(?:the|some|all|its|their|your|our|possible|main|most|many|key|different|other|several|common|important|various"
    "|typical|best|recommended|preferred|right|correct|proper|good|easiest|simplest|fastest|quickest|usual|basic"
    "|necessary|first|following|a|an|any) )*"
)
WHAT = re.compile(
    r"what (?:happens (?:if|when|after|once|with)\b"
    r"|(?:should|can|must|shall|could|do) (?:(?:i|you|we|one) do|be done)\b)"
    rf"|(?:what(?:'s| is| are| would be| were)|which are) {MODIFIERS}{MANY_SENTENCES}\b"
    r"|what .*\b(?:is|are|'s) the differences?\b|(?:in )?what ways?\b"
)
NOUN = re.compile(
    r"(?:the )?(?:steps|instructions|ways?|guide|tutorial|tips|pros and cons|best practices|differences?|reasons?)"
    r" (?:to|for|on|of|between|why)\b"
)

TAG = re.compile(
    rf", (?:(?:{NEGATED}|{AUXILIARY}) {PRONOUN}(?: not)?|right|correct|true|no|yes|is that (?:right|correct|so))$"
)
OR_NOT = re.compile(r"\bor not$|\byes or no\b|\btrue or false\b")
YES_NO = re.compile(rf"{VERB}(?!.*(?:\b(?:what|which|whose)$|, name the\b))")
# "Is it A or B?" asks for one of the two; "Is there an A or B?", "Can it read A or B?" and "Is it kept if it fails or
# ends?" ask for yes or no.
ALTERNATIVE = re.compile(
    r"\bor\b(?! (?:not|any|anything|anyone|others?|another|something|someone|else|more|less|fewer|later|newer|older"
    r"|earlier|above|below|over|under|so|similar|even)\b)"
)
EITHER = re.compile(rf"{VERB} there\b|(?:can|could|may|might)\b|.*\b(?:any|either)\b.*\bor\b")
SUBORDINATE = re.compile(
    r"\b(?:if|when|whenever|unless|because|while|that|which|who|whose|where|whether|even|without)\b.*"
)
WHETHER = re.compile(r"(?:if|whether)\b")
FACT = re.compile(r"(?:what|which|who|whom|whose|when|where)(?:'s)?\b|how\b")
# "Snowboarding is a rarity in Hilo?", but not "A polygraph is also called a?"
STATEMENT = re.compile(
    rf"(?!{VERB})(?!.*\b(?:what|which|who|whom|whose|when|where|whence|why|how|name|this|or)\b)(?=.*\b{VERB})"
    r"(?:\S+ ){2,14}(?!(?:a|an|the|in|as|of|to|for|by|with|from|on|at|number|amongst?)$)[a-z0-9'-]+"
)
CLAUSE = re.compile(
    r"(?:if|when|while|after|before|once|since|because|given|assuming|suppose|for|in|on|at|with|without|according|based"
    r"|using|during|by|as|under|to|from|unlike|besides|regarding|hypothetically)\b"
)
CLAUSE_END = re.compile(r"[,;:] (?:then )?")
EXPLAINED = re.compile(r"(?:why|how|what)\b")
FACT_WORD = re.compile(r"\b(?:what|which|who|whom|whose|where)\b")
ASKING_WORD = re.compile(r"\b(?:what|which|who|whom|whose|when|where|why|how|name)\b")
SENTENCE_BREAK = re.compile(r"(?<=[A-Za-z]{4}[.!?]) (?=\S)|(?<=[A-Za-z][!?]) (?=\S)")
CAPITAL_BREAK = re.compile(
    r"(?<=[A-Za-z]{4}[.]) (?=\S)|(?<=[A-Za-z][!?]) (?=(?:who|what|when|where|why|how|can|could|do|does)\b|[^a-z(])"
)
HOW_TO = re.compile(r"\b(?:how|steps|ways?|instructions?|procedure|what (?:should|can|must|do))\b", re.IGNORECASE)
MARKS = " ?.!\"'`"


@lru_cache(maxsize=256)  # every node that asks a prompt wants to know
def find_question_kind(question: str) -> QuestionKind:
    """The kind of answer that a question asks for.

    "How did ...?" counts as short, because it mostly asks for a fact ("How did he die?").

    >>> [find_question_kind(question) for question in ("Can I undo it?", "how do i undo it", "Who wrote it?")]
    ['yes_no', 'long', 'short']
    """
    if find_foreign_language(question) is not None:
        return "short"
    text = " ".join(question.replace("’", "'").replace("*", "").split()).strip("\"'` ")
    # After a capital at the beginning, a title such as "Savage!" goes on with a small letter, a new sentence does not.
    sentence_break = CAPITAL_BREAK if text[:1].isupper() else SENTENCE_BREAK
    last_sentence = sentence_break.split(text.rstrip(MARKS))[-1].strip(MARKS).lower()
    kind = classify(last_sentence)
    return "yes_no" if kind == "short" and text.endswith("?") and STATEMENT.fullmatch(last_sentence) else kind


def is_yes_no_question(question: str) -> bool:
    """Whether a question asks for yes or no. "Is it A or B?" asks for one of the two.

    >>> is_yes_no_question("Is Oslo a port?"), is_yes_no_question("Is it Oslo or Bergen?")
    (True, False)
    """
    return find_question_kind(question) == "yes_no"


def asks_how(question: str) -> bool:
    """Whether a question asks how to do something, or for steps.

    >>> [asks_how(question) for question in ("How do I undo it?", "What are the steps?", "Why is it slow?")]
    [True, True, False]
    """
    return find_question_kind(question) == "long" and HOW_TO.search(question) is not None


def classify(text: str) -> QuestionKind:
    """The kind of a question in lower case, without its mark."""
    greeting = GREETING.match(text)
    text = text[greeting.end() :] if greeting else text
    if politeness := WONDER.match(text) or POLITE.match(text):
        rest = text[politeness.end() :]
        return "yes_no" if WHETHER.match(rest) else classify(rest)
    order = ORDER.match(text)
    if LONG_ORDER.match(text) or (order and LONG_ORDER.match(text[order.end() :])):
        return "long"
    if order and SHORT_ORDER.match(text[order.end() :]):
        return "short"
    if BRIEF_HOW_OR_WHY.match(text):
        return "short"
    if WHY.match(text) or WHAT.match(text) or NOUN.match(text) or HOW.match(text):
        return "long"
    if OR_NOT.search(text) or (TAG.search(text) and not ASKING_WORD.search(text)):
        return "yes_no"
    if YES_NO.match(text):
        return "short" if offers_alternatives(text) else "yes_no"
    return "short" if FACT.match(text) else classify_last_clause(text)


def offers_alternatives(text: str) -> bool:
    """Whether a question that begins with a verb asks for one of two things that it names: "Is it A or B"."""
    return bool(ALTERNATIVE.search(SUBORDINATE.sub("", text))) and not EITHER.match(text)


def classify_last_clause(text: str) -> QuestionKind:
    """The kind of a question that begins with another clause: "If it fails, is the file kept"."""
    for comma in CLAUSE_END.finditer(text):
        rest = text[comma.end() :]
        is_yes_no = CLAUSE.match(text) and YES_NO.match(rest) and not FACT_WORD.search(text)
        if EXPLAINED.match(rest) or is_yes_no:
            return classify(rest)
    return "short"
