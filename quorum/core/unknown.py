"""Decides whether an answer says that there is no answer.

The rules match the beginning of the first line, in lower case and with contractions written out. The words after a
match matter: "cannot be determined from the text" is a refusal, "cannot be determined simultaneously" is a fact.
"""

import re

UNKNOWN = "unknown"

WRAPPING = " \t\n*_`\"'“”‘’«»()[]{}<>#-–—•"
STOPS = ".,;:?!…"

# The vocabulary of refusals.
DETERMINER = (
    r"(?:the|this|that|these|those|any|all|of|given|provided|supplied|available|above|retrieved|current|presented"
    r"|relevant|background|input|context|my|your|\w+ of the)"
)
NAMED = r"(?:context|passage|text|document|source|input|article|excerpt|snippet|material|content|paragraph|information)"
SOURCE = (
    rf"(?:(?:{DETERMINER} ){{1,5}}{NAMED}s?(?: (?:provided|given|available|above|itself|alone))?|passages? \[?\d+\]?)\b"
)
IT = r"(?:it|this|that|there|(?:the|this) (?:question|(?:\w+ )?answer|information)(?: to (?:the|this) question)?)"
IS = r"(?:is|are|was|were|has been|have been|remains?)"
SUBJECT = r"(?:.{1,150} )"
SURELY = r"(?:(?:\w+ly|yet|even|be) )*"
CAN_NOT = r"(?:can not|could not|unable to|not able to|(?:not |im)possible to)"
# ANSWER: verbs that only a refusal uses. FOUND, STATED, GIVEN: verbs that facts use, too ("the wreck was not found").
ANSWER = r"(?:answer|determine|infer|ascertain|deduce|conclude)"
ANSWERED = r"(?:answered|determined|inferred|ascertained|deduced|concluded)"
FOUND = r"(?:found|known|located|identified|established|confirmed|verified|derived|extracted|said|told)"
STATED = r"(?:mentioned|specified|stated|provided|indicated|disclosed|discussed|addressed|answerable|determinable)"
GIVEN = (
    r"(?:given|found|available|known|included|listed|present|clear|sure|certain|named|identified|possible|applicable"
    r"|covered)"
)
# What may follow a refusal: the end of the line, a source or a reason.
END = r"(?:\W*$|\s*[.,;:!?()\[\]/–—…]|\s+-+\s)"
BASED = r"(?:based )?(?:only |solely )?(?:on|upon)"
PREPOSITION = rf"(?:{BASED}|from|in|within|by|with|using|given|per|to|for|according to|anywhere in)"
FROM = rf"(?: {PREPOSITION} {SOURCE})"
AFTER = rf"(?={END}|{FROM}| (?:because|since|as|due to|given that|so|but|though|although|here)\b)"

LEAD_IN = re.compile(
    "(?:"
    r"(?:the |my |final |short )*answer(?: is)? ?:|a:"
    r"|(?:(?:i am )?(?:so |very )?sorry|i apologi[sz]e(?: for [\w ]+)?|unfortunately"
    r"|as an? (?:ai|large|language)[\w ]*)(?:,? but |, |[.:] )"
    rf"|(?:{BASED}|according to|from|in|within|given|with) {SOURCE},? "
    r"|(?:it (?:seems|appears)|i (?:think|believe|am afraid))(?: that)?,? "
    r")\W*"
)

SAYS_UNKNOWN = re.compile(
    rf"(?:{SUBJECT}?{IS} (?:\w+ )?)?unknown"
    rf"(?=$|\s*[.,;:!?()\[\]/–—…\"]|\s*\*|\s+-|-+\s|--|{FROM}| (?:because|since|as|due to|given)\b)"
)

NOTHING_TO_ANSWER_FROM = [
    r"(?:there (?:is|are|was) |i have |we have )?(?:(?:just )?not (?:enough|sufficient)|insufficient|no|not any)"
    r"(?: (?!one\b)\w+){0,2}? (?:information|info|context|mention|answer)"
    rf"(?={END}| (?:to|in|is|was|are|about|for|from|on|of|that|which|regarding|concerning|given|provided|available"
    r"|found|here)\b)",
    rf"(?:there is |i have )?(?:not enough|insufficient)(?: \w+)? (?:data|details|knowledge)(?={END}| to\b|{FROM})",
    r"(?:there is )?(?:no|not enough|insufficient)(?: \w+)? (?:evidence|data|details?|indication|reference)"
    rf"(?= to {ANSWER}|{FROM}| (?:is |are )?{STATED})",
    r"(?:i )?(?:need|require) (?:more|additional|further) (?:information|context)",
    r"(?:more|additional|further) (?:information|context) (?:is|would be) (?:needed|required|necessary)",
    rf"(?:information|answer|context) (?:is )?(?:not {SURELY}(?:{STATED}|{GIVEN})|unavailable|missing){AFTER}",
    r"n/a(?!\w)|n\.a\.?$|none of the above\W*$",
]

THE_SPEAKER_CANNOT_TELL = [
    rf"(?:i |we )?(?:really |honestly |just )?do not (?:really )?know(?={END}|{FROM}"
    r"| (?:the|who|whom|whose|what|when|where|which|why|how|if|whether|that|this|because|since|as|based)\b)",
    r"(?:i|we) do not (?:actually |currently )?(?:have|see|find) (?:\w+ ){0,4}"
    r"(?:information|info|context|access|knowledge|answer|details?|mention|data)\b",
    r"(?:i am |we are )(?:not sure|unsure|uncertain|unable|not able|not certain|not aware)\b",
    rf"(?:i have )?(?:not sure|unsure|no idea|no clue|idk|dunno){AFTER}",
    rf"(?:i|we) (?:can not|could not) {SURELY}(?:{ANSWER}|find|tell|say|identify|locate|know|confirm|verify|provide"
    r"|extract|give|see|(?:help|assist)(?: you)? with|complete|fulfill)\b",
    rf"(?:{IT} {IS} )?{CAN_NOT} {SURELY}{ANSWER}\b",
    rf"(?:{IT} {IS} )?{CAN_NOT} {SURELY}(?:find|tell|say|know|identify|locate)"
    rf"(?={END}|{FROM}| (?:the |an |any )?(?:answer|information))",
    rf"{IT} (?:can not|could not) be {SURELY}{ANSWERED}\b",
    rf"{SUBJECT}?(?:can not|could not|can never) be {SURELY}{ANSWERED}{AFTER}",
    rf"(?:{IT} )?(?:can not|could not) be {SURELY}{FOUND}{AFTER}",
    rf"{SUBJECT}(?:can not|could not) be {SURELY}{FOUND}(?={FROM})",
]

THE_PASSAGES_DO_NOT_TELL = [
    rf"{SOURCE} (?:also )?(?:(?:do|does|did|can|is|are|was|were) not|never|fail(?:s|ed)? to|lacks?"
    r"|(?:is|are) (?:silent|insufficient|unrelated|irrelevant)"
    r"|(?:says?|has|have|contains?|provides?|gives?|makes?|offers?) (?:no|nothing))\b",
    rf"(?:none|neither) of {SOURCE}(?= \w|\W*$)|nothing (?:\w+ )?(?:in|from) {SOURCE}|nowhere in {SOURCE}",
    rf"no {NAMED}s? (?:\w+ly )?(?:mention|contain|state|provide|say|specif|give|answer|discuss|name|indicat|explain)",
    r"do(?:es)? not (?:\w+ly )?(?:say|mention|specify|state|contain|provide|tell|indicate)\b",
    rf"(?:{SUBJECT}{IS} )?not {SURELY}{STATED}{AFTER}",
    rf"no (?!one\b)(?:[\w'-]+ ){{1,6}}{IS} {SURELY}(?:{STATED}{AFTER}|{GIVEN}(?={FROM}))",
    rf"(?:{IT} {IS} )?not {SURELY}{GIVEN}{AFTER}",
    rf"{SUBJECT}{IS} not {SURELY}{GIVEN}(?={FROM})",
    rf"(?:{IT} {IS} )?not {SURELY}(?:in|from|within) {SOURCE}",
    rf"{IT} {IS} (?:not (?:clear|known)|unclear|unspecified|uncertain)\b",
    rf"(?:{SUBJECT}{IS} )?(?:unclear|unspecified|unanswerable){AFTER}",
]

REFUSAL = re.compile("|".join(NOTHING_TO_ANSWER_FROM + THE_SPEAKER_CANNOT_TELL + THE_PASSAGES_DO_NOT_TELL))


def is_unknown(answer: str) -> bool:
    """Whether an answer is empty, says "unknown" (alone or with a reason), or refuses in a usual wording.

    Pass the raw text, not a normalised one. Titles are answers: "Unknown Pleasures", "I Don't Know How She Does It".

    >>> import quorum
    >>> quorum.is_unknown("I cannot tell from the passages."), quorum.is_unknown("Unknown Pleasures")
    (True, False)
    """
    line = next((line for line in answer.splitlines() if line.strip(WRAPPING + STOPS)), "")
    text = spell_out(line[:1000])
    while lead := LEAD_IN.match(text):
        text = text[lead.end() :]
    if not text.strip(WRAPPING + STOPS) or SAYS_UNKNOWN.match(text):
        return True
    refusal = REFUSAL.match(text)
    if refusal is None:
        return False
    rest = text[refusal.end() :].strip(WRAPPING + STOPS)
    return not rest or not is_title(line.strip(WRAPPING))


def spell_out(line: str) -> str:
    """The line in lower case, with contractions written out, without markdown or quotes around it."""
    text = " ".join(line.replace("’", "'").lower().split()).strip(WRAPPING)
    text = re.sub(r"\bcannot\b|\bcan't\b", "can not", text)
    text = re.sub(r"n't\b", " not", text)
    return re.sub(r"\b(it|there|that|what)'s\b", r"\1 is", re.sub(r"\bi'm\b", "i am", text))


def is_title(text: str) -> bool:
    """Whether every word of more than three letters is capitalised, but the text is not all in capitals."""
    words = [word for word in re.findall(r"[^\W\d_][\w'’]*", text) if len(word) > 3]
    return not text.isupper() and bool(words) and all(word[0].isupper() for word in words)
