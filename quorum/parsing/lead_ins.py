"""Removes what chatty replies begin with: greetings, "Based on the passages,", "Passage 2 says that"."""

import re

MOST_LEAD_INS = 6

SOURCE_NOUN = (
    r"(?:passage|document|doc|source|snippet|excerpt|article|context|text|(?:search )?result|reference|information"
    r"|material|data|content|evidence|documentation|file|page)s?"
)
GREETING = re.compile(
    r"\W*(?:sure(?: thing)?|certainly|of course|absolutely|definitely|great question|good question|okay|ok|alright"
    r"|hello(?: there)?|hi(?: there)?|hey|thanks?(?: you)?(?: for [^.!\n]{1,60})?|happy to help"
    r"|i[’']d be (?:happy|glad) to help(?: [^.!\n]{1,60})?|no problem|got it|let me (?:help|check)[^.!\n]{0,60})"
    r"\s*(?:[!.,:]+|\s[–—-]+)\s+",
    re.IGNORECASE,
)
CONNECTIVE = re.compile(
    r"(?:so|therefore|thus|hence|in short|in summary|overall|in conclusion|to summarize|to answer (?:your|the) question"
    r"|in fact|well|simply put|accordingly|consequently)\s*,\s*",
    re.IGNORECASE,
)
BASED_ON = re.compile(
    r"(?:based (?:solely |only )?(?:up)?on|according to|judging (?:by|from)|from|given|per|in|as per|using|looking at"
    r"|(?:after )?(?:reading|reviewing|considering)|as (?:\w+ )?(?:stated|mentioned|noted|described|shown|indicated"
    r"|given|reported|seen|written|explained|said) (?:in|by|on))\s+"
    rf"(?:[^.!?:\n]{{0,80}}?\b{SOURCE_NOUN}\b(?:\s+(?:\[?\d{{1,3}}\]?|and|provided|given|above|available|i have"
    r"|you (?:gave|provided|shared)(?: me)?|at hand|retrieved)(?!\w))*)"
    r"\s*(?:[,:]\s*|(?=(?:the|it|this|i|we|he|she|they)\b))",
    re.IGNORECASE,
)
SOURCE_SAYS = re.compile(
    rf"(?:(?:all|both|most|some) )?(?:of )?(?:(?:the|these|those|this|your) )?(?:\w+ ){{0,2}}?{SOURCE_NOUN}"
    r"(?: (?:\[\d{1,3}\]|\d{1,3}))? (?:also |clearly |explicitly |directly )?(?:says?|states?|mentions?"
    r"|indicates?|shows?|suggests?|tells?(?: us)?|reports?|confirms?|notes?|explains?)(?: that)?\s*[:,]?\s+",
    re.IGNORECASE,
)
I_SAY = re.compile(
    r"(?:(?:i (?:think|believe|would say|can say|can tell you|found|see|conclude|understand)|it (?:seems|appears|looks"
    r" like)|we can (?:see|say|conclude|infer))(?: that)?\s+"
    r"|here(?: is|[’']s) (?:the|your|my|an?|what) [^:\n]{1,80}:\s*)",
    re.IGNORECASE,
)
LEAD_INS = (GREETING, CONNECTIVE, BASED_ON, SOURCE_SAYS, I_SAY)


def remove_lead_ins(text: str) -> str:
    """The text without the lead-ins at its beginning, of which several may follow one another.

    >>> remove_lead_ins("Sure! Based on the passages you gave me, it was Ida Brenn.")
    'it was Ida Brenn.'
    """
    for _ in range(MOST_LEAD_INS):
        matches = (match for pattern in LEAD_INS if (match := pattern.match(text)) and match.end() < len(text))
        lead_in = next(matches, None)
        if lead_in is None:
            break
        text = text[lead_in.end() :].lstrip()
    return text
