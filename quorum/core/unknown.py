"""Decides whether an answer says that there is no answer.

The rules match the beginning of the first line, in lower case and with contractions written out. The words after a
match matter: "cannot be determined from the text" is a refusal, "cannot be determined simultaneously" is a fact.
"""

import re

from quorum.core.thinking import cut_own_turn

UNKNOWN = "unknown"

WRAPPING = " \t\n*_`\"'“”‘’«»()[]{}<>#-–—•"
STOPS = ".,;:?!…"

# The vocabulary of refusals.
DETERMINER = (
    r"(?:the|this|that|these|those|any|all|of|given|provided|supplied|available|above|retrieved|current|presented"
    r"|relevant|background|input|context|my|your|\w+ of the)"
)
NAMED = (
    r"(?:search result|context|passage|text|document|source|input|article|excerpt|snippet|material|content|paragraph"
    r"|information)"
)
SOURCE = (
    rf"(?:(?:{DETERMINER} ){{1,5}}{NAMED}s?(?: (?:provided|given|available|above|itself|alone))?|passages? \[?\d+\]?)\b"
)
IT = r"(?:it|this|that|there|(?:the|this|your) (?:question|(?:\w+ )?answer|information)(?: to (?:the|this) question)?)"
IS = r"(?:is|are|was|were|has been|have been|remains?)"
FACT = r"(?:information|info|context|mention|answer|records?|details?|data|knowledge|access|clue)"
SUBJECT = r"(?:(?!yes\b|no\b,).{1,150} )"
THING = (
    r"(?:the|his|her|its|their) (?:(?:exact|specific|precise|full|real|actual|true|original) )?"
    r"(?:(?:number|date|name|year|identity|age|location|cause|reason|time|place|figure|amount|author|title|winner|origin)s?"
    r"(?: of [^.,;]{1,80})?)"
)
SURELY = r"(?:(?:\w+ly|yet|even|be) )*"
CAN_NOT = r"(?:can not|could not|unable to|not able to|(?:not |im)possible to)"
# ANSWER: verbs that only a refusal uses. FOUND, STATED, GIVEN: verbs that facts use, too ("the wreck was not found").
ANSWER = r"(?:answer|determine|infer|ascertain|deduce|conclude)"
ANSWERED = r"(?:answered|determined|inferred|ascertained|deduced|concluded)"
FOUND = r"(?:found|known|located|identified|established|confirmed|verified|derived|extracted|said|told)"
STATED = (
    r"(?:mentioned|specified|stated|provided|indicated|disclosed|discussed|addressed|answerable|determinable|revealed"
    r"|reported|explained|described|made clear)"
)
GIVEN = (
    r"(?:given|found|available|known|included|listed|present|clear|sure|certain|named|identified|possible|applicable"
    r"|covered)"
)
ASKED = r"(?:who|whom|whose|what|when|where|which|why|how|if|whether)"
TOLD = r"(?:answer|figure|number|name|date|estimate|response|list|details?|information|explanation|account)"
# What may follow a refusal: the end of the line, a source or a reason.
END = r"(?:\W*$|\s*[.,;:!?()\[\]/–—…]|\s+-+\s)"
BASED = r"(?:based )?(?:only |solely )?(?:on|upon)"
PREPOSITION = rf"(?:{BASED}|from|in|within|by|with|using|given|per|to|for|according to|anywhere in)"
FROM = rf"(?: {PREPOSITION} {SOURCE})"
AFTER = rf"(?={END}|{FROM}| (?:because|since|as|due to|given that|so|but|though|although|here)\b)"

AS_OF = (
    r"(?:as of |up to |until )?(?:my|the) (?:last |latest |most recent )?(?:knowledge |training |data |information )?"
    r"(?:cut-?off|update|training|knowledge)(?: date| update)?(?: (?:is |was )?(?:in |of )?(?:\w+ )?\d{4}| in \w+)?,? "
    r"(?=i |there |no )"
)
# The question, repeated before a refusal: "The president of the society: as of my last update ..."
ECHO = re.compile(r"[^:.?!]{1,150}: (?=as of my |i (?:am|can|could|do) |unfortunately|sorry)")
LEAD_IN = re.compile(
    "(?:"
    r"(?:the |my |final |short )*answer(?: is)? ?:|a:"
    r"|(?:(?:i am )?(?:so |very )?sorry|i apologi[sz]e(?: for [\w ]+)?|unfortunately|well|hmm+|oh|honestly|however"
    r"|as (?:i )?(?:mentioned|stated|noted|said) (?:earlier|before|above|previously)"
    r"|i regret(?: to (?:say|inform you))?(?: that)?"
    r"|as an? (?:ai|large|language)[\w -]*)(?:,? but |,? |[.:] )"
    rf"|{AS_OF}"
    r"|i wish i could(?: \w+){0,4},? but "
    r"|(?:based on|to|as far as|given|with) my (?:\w+ )?knowledge(?: cut-?off)?(?: \w+){0,3}, "
    r"|to (?:answer|determine|say|know)[^,.]{1,60}, (?=i |we |more |additional )"
    r"|without (?:knowing|seeing|having)[^,.]{1,80}, (?=i |we |it )"
    rf"|(?:as|since|because) (?:{SOURCE}|there is)[^.]{{1,150}}, "
    r"(?=(?:i|we) (?:can|do|am|are)|the answer (?:is|can)|it (?:is|can) (?:not|un|im))"
    r"|without (?:more|further|additional|any|the)(?: \w+)? (?:information|context|details?|data)(?: \w+){0,4}, "
    rf"|(?:{BASED}|according to|from|in|within|given|with) {SOURCE},? "
    r"|(?:it (?:seems|appears)|i (?:think|believe|am afraid))(?: that)?,? "
    r")\W*"
)

SAYS_UNKNOWN = re.compile(
    rf"(?:{SUBJECT}?{IS} (?:\w+ )?)?unknown"
    rf"(?=$|\s*[.,;:!?()\[\]/–—…\"]|\s*\*|\s+-|-+\s|--|{FROM}| (?:because|since|as|due to|given|{ASKED})\b)"
)

NOTHING_TO_ANSWER_FROM = [
    r"(?:there (?:is|are|was|(?:seems?|appears?) to be) |(?:i|we) (?:have|see|found|find) )?"
    r"(?:(?:just )?not (?:enough|sufficient)|insufficient|no|not any)"
    r"(?: (?!one\b)\w+){0,2}? (?:information|info|context|mention|answer|record)"
    rf"(?={END}| (?:to|in|is|was|are|about|for|from|on|of|that|which|regarding|concerning|given|provided|available"
    r"|found|here|can|could)\b)",
    rf"(?:there is |i have )?(?:not enough|insufficient)(?: \w+)? (?:data|details|knowledge)(?={END}| to\b|{FROM})",
    r"(?:there is )?(?:no|not enough|insufficient)(?: \w+)? (?:evidence|data|details?|indication|reference)"
    rf"(?= to {ANSWER}|{FROM}| (?:is |are )?{STATED}| (?:about|on|of|regarding|as to) {ASKED}\b)",
    rf"there (?:is|was|are|were|has been|have been) no (?:official|specific|confirmed|exact|definitive) (?:\w+ ){{1,4}}"
    rf"(?:announced|confirmed|known|available|set)(?={END}|{FROM}| (?:for|about|on|regarding|yet|so|because|since)\b)",
    r"no (?:[\w'-]+ ){1,4}(?:has|have) been (?:\w+ly )?(?:announced|confirmed|revealed|disclosed)\b",
    r"(?:could|can|would) you (?:please )?(?:provide|clarify|specify|share)\b",
    r"please (?:provide|clarify|specify|share)\b",
    rf"there do(?:es)? not (?:seem|appear) to be (?:\w+ ){{1,3}}{FACT}\b",
    r"(?:i |we )?(?:would )?(?:need|require) (?:some )?(?:more|additional|further) (?:information|context|details)",
    r"the (?:\w+ )?information(?: (?:needed|required|necessary))?(?: to [\w ]{1,60})? is"
    r" (?:not (?:in|given|available)|missing)\b",
    rf"{THING} {IS} not (?:\w+ly )?(?:known|given|available|clear|recorded){AFTER}",
    rf"(?:{THING}|it|that|this) (?:(?:has|have) (?:not|never) (?:yet )?been|(?:was|were) never) (?:\w+ly )?"
    r"(?:announced|revealed|disclosed|confirmed|determined|established|made public|decided|identified)\b",
    r"(?:more|additional|further) (?:information|context) (?:is|would be) (?:needed|required|necessary)",
    rf"(?:information|answer|context) (?:is )?(?:not {SURELY}(?:{STATED}|{GIVEN})|unavailable|missing){AFTER}",
    r"n/a(?!\w)|n\.a\.?$|none of the above\W*$",
]

THE_SPEAKER_CANNOT_TELL = [
    rf"(?:i |we )?(?:really |honestly |just )?do not (?:really )?know(?={END}|{FROM}"
    r"| (?:the|who|whom|whose|what|when|where|which|why|how|if|whether|that|this|because|since|as|based)\b)",
    rf"(?:i|we) (?:do|did|could) not (?:actually |currently )?(?:have|see|find|possess) (?:[\w-]+ ){{0,4}}{FACT}\b",
    rf"(?:i|we) (?:have|see|find|found) no (?:\w+ ){{0,2}}{FACT}\b",
    r"i do not have (?:personal|any personal|feelings|opinions|preferences)\b",
    r"(?:i am |we are |i was |we were |i have (?:not )?been )"
    r"(?:not sure|unsure|uncertain|unable|not able|(?<=not been )able|not certain|not aware|unaware)\b",
    rf"(?:i|we) do not (?:think|believe)(?: that)? (?:{SOURCE}|there is (?:\w+ ){{1,3}}{FACT}\b)",
    r"my (?:\w+ ){0,2}(?:knowledge|training|data|information)(?: \w+)? (?:does|do|did|can|could) not\b",
    rf"(?:i have )?(?:not sure|unsure|no idea|no clue|idk|dunno){AFTER}",
    rf"(?:i|we) (?:can not|could not) {SURELY}(?:{ANSWER}|find|tell|say|identify|locate|know|confirm|verify|provide"
    r"|extract|give|see|predict|browse|access|(?:help|assist)(?: you)? with|complete|fulfill)\b",
    rf"(?:{IT} {IS} )?{CAN_NOT} {SURELY}{ANSWER}\b",
    rf"(?:{IT} {IS} )?{CAN_NOT} {SURELY}(?:find|tell|say|know|identify|locate)"
    rf"(?={END}|{FROM}| (?:the |an |any )?(?:answer|information))",
    rf"(?:{IT} {IS} )?{CAN_NOT} {SURELY}(?:provide|give|offer|name|state) (?:an?|the|any|more)(?: [\w-]+){{0,2}}"
    rf" {TOLD}\b",
    rf"{IT} (?:can not|could not) be {SURELY}{ANSWERED}\b",
    rf"{SUBJECT}?(?:can not|could not|can never) be {SURELY}{ANSWERED}{AFTER}",
    rf"(?:{IT} )?(?:can not|could not) be {SURELY}{FOUND}{AFTER}",
    rf"{SUBJECT}(?:can not|could not) be {SURELY}{FOUND}(?={FROM})",
]

THE_PASSAGES_DO_NOT_TELL = [
    rf"{SOURCE} (?:also )?(?:(?:do|does|did|can|is|are|was|were) not|never|fail(?:s|ed)? to|lacks?"
    r"|(?:is|are) (?:silent|insufficient|unrelated|irrelevant)"
    r"|(?:says?|has|have|contains?|provides?|gives?|makes?|offers?) (?:no|nothing))\b",
    rf"{SOURCE} (?:only )?(?:discuss|mention|describe|cover|talk about|refer to|focus on)[^.]{{1,150}}?"
    r" but (?:it |they )?do(?:es)? not\b",
    rf"(?:while|although|though) {SOURCE} [^.]{{1,150}}?,"
    r" (?:(?:they|it) do(?:es)? not|there is no|none of (?:them|these))\b",
    rf"(?:none|neither) of {SOURCE}(?= \w|\W*$)|nothing (?:\w+ )?(?:in|from) {SOURCE}|nowhere in {SOURCE}"
    rf"|neither {NAMED}s?\b",
    rf"no {NAMED}s? (?:\w+ly )?(?:mention|contain|state|provide|say|specif|give|answer|discuss|name|indicat|explain)",
    r"do(?:es)? not (?:\w+ly )?(?:say|mention|specify|state|contain|provide|tell|indicate)\b",
    rf"(?:it|this|that) do(?:es)? not {SURELY}(?:say|mention|specify|state|tell|indicate)"
    rf"(?={END}| (?:{ASKED}|the|any|its?|his|her)\b)",
    rf"{IT} {IS} not {SURELY}(?:{STATED}|{GIVEN}|known) (?=(?:to \w+ )?{ASKED}\b)",
    rf"(?:{SUBJECT}{IS} )?not {SURELY}{STATED}{AFTER}",
    rf"{SUBJECT}{IS} not {SURELY}(?:provided|specified|stated|disclosed|revealed) in (?:the|this|any|my|your)\b",
    rf"no (?!one\b)(?:[\w'-]+ ){{1,6}}{IS} {SURELY}(?:{STATED}{AFTER}|{GIVEN}(?={FROM}))",
    rf"(?:{IT} {IS} )?not {SURELY}{GIVEN}{AFTER}",
    rf"{SUBJECT}{IS} not {SURELY}{GIVEN}(?={FROM})",
    rf"(?:{IT} {IS} )?not {SURELY}(?:in|from|within) {SOURCE}",
    rf"{IT} {IS} (?:not (?:clear|known)|unclear|unspecified|uncertain|incomplete|ambiguous)\b",
    rf"(?:{SUBJECT}{IS} )?(?:unclear|unspecified|unanswerable|undetermined|inconclusive){AFTER}",
]

REFUSAL = re.compile("|".join(NOTHING_TO_ANSWER_FROM + THE_SPEAKER_CANNOT_TELL + THE_PASSAGES_DO_NOT_TELL))


# After a refusal: words that announce an answer nevertheless, and what is none.
CONTRAST = re.compile(
    r"(?:\b(?:however|but|nevertheless|nonetheless|that (?:being )?said|i can (?:tell you|say) that)\b)[, ]*"
    r"(?:(?:i can (?:tell you|say)|i know|i believe|i think)(?: that)? )?"
)
TELLING = (
    r"(?:mention|state|say|discusse?|provide|describe|note|talk|contain|refer|give|list|focuse?|include|mean"
    r"|suggest(?! that))s?"
)
NO_ANSWER = re.compile(
    rf"(?:{SOURCE}|they|these|those|it|the \w+) (?:also |only |do |does |did )?{TELLING}\b"
    r"|(?:you|we|one|i) (?:can|could|may|might|should|would|will|am|recommend|suggest|hope|advise|do|did|have|was"
    r"|need)\b"
    r"|(?:please|feel free|if you|for (?:more|the (?:latest|most|exact))|let me|perhaps you|try|check)\b"
    r"|it (?:is|may be|might be|would be|could be) (?:recommended|best|important|worth|advisable|possible|always|also"
    r"|not|unclear|unknown|helpful|safe)\b"
    r"|(?:there (?:is|are|was|were)|this|that|no|none|not|only|one of|more|further|additional|without)\b"
)
SENTENCE = re.compile(r"[.!?] +")
LONGEST = 1000  # characters that are read


def is_unknown(answer: str) -> bool:
    """Whether an answer is empty, says "unknown" (alone or with a reason), or refuses in a usual wording.

    Pass the raw text, not a normalised one. Titles are answers: "Unknown Pleasures", "I Don't Know How She Does It".
    So is what follows a refusal after "however" or "but", unless it refuses again, advises, or tells what the passages
    say instead.

    >>> import quorum
    >>> quorum.is_unknown("I cannot tell from the passages."), quorum.is_unknown("Unknown Pleasures")
    (True, False)
    """
    own = cut_own_turn(answer[: 9 * LONGEST]).lstrip(WRAPPING + STOPS)[:LONGEST]
    line = own.partition("\n")[0]
    text = spell_out(line)
    if is_refusal(text):
        return is_empty(text) or not (has_late_answer(spell_out(own)) or is_name(line, text))
    return False


def is_empty(text: str) -> bool:
    return not text.strip(WRAPPING + STOPS)


def remove_lead_ins(text: str) -> str:
    while lead := (LEAD_IN.match(text) or ECHO.match(text)):
        text = text[lead.end() :]
    return text


def is_refusal(text: str) -> bool:
    """Whether a text, spelled out, begins with a refusal, or is nothing."""
    text = remove_lead_ins(text)
    return is_empty(text) or bool(SAYS_UNKNOWN.match(text) or REFUSAL.match(text))


def is_name(line: str, text: str) -> bool:
    """Whether what sounds like a refusal is a name that goes on after it: "Not Mentioned in Dispatches"."""
    text = remove_lead_ins(text)
    refusal = None if SAYS_UNKNOWN.match(text) else REFUSAL.match(text)
    return refusal is not None and not is_empty(text[refusal.end() :]) and is_title(line.strip(WRAPPING))


def has_late_answer(text: str) -> bool:
    """Whether a refusal goes on to an answer: "I do not have recent data. However, it was released in 2018"."""
    text = remove_lead_ins(text)
    refusal = SAYS_UNKNOWN.match(text) or REFUSAL.match(text)
    if refusal is None or text.startswith(UNKNOWN):
        return False
    own, *following = SENTENCE.split(text[refusal.end() :], maxsplit=2)
    for sentence, place in ((own, CONTRAST.search), *((one, CONTRAST.match) for one in following[:1])):
        if contrast := place(sentence):
            said = sentence[contrast.end() :]
            if len(said.split()) > 2 and not is_refusal(said) and not NO_ANSWER.match(remove_lead_ins(said)):
                return True
    return False


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
