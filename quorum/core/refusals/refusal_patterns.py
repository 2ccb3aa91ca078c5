"""The wordings of refusals as regular expressions, for `quorum.core.refusals.unknown`.

They match text in lower case with contractions written out. The words after a match matter: "cannot be determined from
the text" is a refusal, "cannot be determined simultaneously" is a fact.
"""

import re

DETERMINER = (
    r"(?:the|this|that|these|those|any|all|of|given|provided|supplied|available|above|retrieved|current|presented"
    r"|relevant|background|input|context|my|your|either|each|both|\w+ of the)"
)
SOURCE_NOUN = (
    r"(?:search result|context|passage|text|document|source material|source|input|article|excerpt|snippet|material"
    r"|content|paragraph"
    r"|information)"
)
SOURCE = (
    rf"(?:(?:{DETERMINER} ){{1,5}}{SOURCE_NOUN}s?(?: (?:provided|given|available|above|itself|alone|here|at hand"
    r"|(?:that )?(?:i|we) (?:have|had|was given|were given|am given)|(?:that )?you (?:gave|provided|shared)(?: me)?))?"
    r"|passages? \[?\d+\]?)\b"
)
# What a refusal speaks of: "it", "the question", "the answer to that".
PRONOUN = (
    r"(?:it|this|that|there|(?:the|this|your) (?:question|(?:\w+ )?answer|information)(?: to (?:the|this"
    r"|that|your)(?: question)?)?)"
)
BE = r"(?:is|are|was|were|has been|have been|remains?)"
# What a refusal says is missing: "no information", "no mention".
WANTED_NOUN = (
    r"(?:information|info|context|mention|answer|records?|details?|data|knowledge|access|clue|reference|indication"
    r"|ability"
    r"|evidence|anything|way)"
)
# Any words before the verb, unless the text begins with "yes" or "no,": then it is an answer.
ANY_SUBJECT = r"(?:(?!yes\b|no\b,).{1,150} )"
# What a question asks for: "the exact date", "his name", "the number of ships".
ATTRIBUTE = (
    r"(?:the|his|her|its|their) (?:(?:exact|specific|precise|full|real|actual|true|original) )?"
    r"(?:(?:number|date|name|year|identity|age|location|cause|reason|time|place|figure|amount|author|title|winner"
    r"|origin)s?"
    r"(?: of [^.,;]{1,80})?)"
)
ADVERBS = r"(?:(?:\w+ly|yet|even|be) )*"
INABILITY = r"(?:can not|could not|unable to|not able to|(?:not |im)possible to)"
# Verbs that only a refusal uses. The participles of find, state and give below also occur in statements of
# facts: "the wreck was not found".
ANSWER_VERB = r"(?:answer|determine|infer|ascertain|deduce|conclude)"
ANSWER_PARTICIPLE = r"(?:answered|determined|inferred|ascertained|deduced|concluded)"
FIND_PARTICIPLE = r"(?:found|known|located|identified|established|confirmed|verified|derived|extracted|said|told)"
STATE_PARTICIPLE = (
    r"(?:mentioned|specified|stated|provided|indicated|disclosed|discussed|addressed|answerable|determinable|revealed"
    r"|reported|explained|described|made clear)"
)
GIVE_PARTICIPLE = (
    r"(?:given|found|available|known|included|listed|present|clear|sure|certain|named|identified|possible|applicable"
    r"|covered)"
)
QUESTION_WORD = r"(?:who|whom|whose|what|when|where|which|why|how|if|whether)"
ANSWER_NOUN = r"(?:answer|figure|number|name|date|estimate|response|list|details?|information|explanation|account)"
# The end of the text, a punctuation mark or a dash.
CLAUSE_END = r"(?:\W*$|\s*[.,;:!?()\[\]/–—…]|\s+-+\s)"
BASED_ON = r"(?:based )?(?:only |solely )?(?:on|upon)"
PREPOSITION = rf"(?:{BASED_ON}|from|in|within|by|with|using|given|per|to|for|according to|anywhere in)"
# Nouns that name the source without a determiner: "in passages", "from context".
SOURCE_PLURAL = r"(?:passages|documents|texts?|sources|articles|snippets|excerpts|context|search results)\b"
FROM_SOURCE = rf"(?: {PREPOSITION} (?:{SOURCE}|{SOURCE_PLURAL}))"
# What may follow a refusal: the end of the clause, a source, or a word such as "because", "but" or "here".
REFUSAL_END = (
    rf"(?={CLAUSE_END}|{FROM_SOURCE}| (?:because|since|as|due to|given that|so|but|though|although|here|anywhere"
    rf"|at all|explicitly"
    r"|directly)\b)"
)
SENTENCE_SUBJECT = r"(?:i|we|one|it|this|that|there|the (?:answer|question)|no)"

# "As of my last knowledge update in March 2023, ", before a refusal.
KNOWLEDGE_DATE = (
    r"(?:as of |up to |until )?(?:my|the) (?:last |latest |most recent )?(?:knowledge |training |data |information )?"
    r"(?:cut-?off|update|training|knowledge)(?: date| update)?(?: (?:is |was )?(?:in |of )?(?:\w+ )?\d{4}| in \w+)?,? "
    r"(?=i |there |no )"
)
# The question, repeated before a refusal: "The president of the society: as of my last update ..."
REPEATED_QUESTION = re.compile(r"[^:.?!]{1,150}: (?=as of my |i (?:am|can|could|do) |unfortunately|sorry)")
# What often precedes a refusal: "Unfortunately, ", "Based on the passages, ".
LEAD_IN = re.compile(
    "(?:"
    r"(?:the |my |final |short )*answer(?: is)? ?:|a:"
    r"|(?:(?:i am )?(?:so |very )?sorry|(?:i |my )?apolog(?:i[sz]e|ies)(?: for [\w ]+)?|unfortunately|regrettably"
    r"|sadly|well|hmm+|oh|honestly|however"
    r"|as (?:i )?(?:mentioned|stated|noted|said) (?:earlier|before|above|previously)"
    r"|i regret(?: to (?:say|inform you))?(?: that)?"
    r"|as an? (?:ai|large|language)[\w -]*)(?:,? but |,? |[.:] )"
    rf"|{KNOWLEDGE_DATE}"
    r"|i wish i could(?: \w+){0,4},? but "
    r"|(?:based on|to|as far as|given|with) my (?:\w+ )?knowledge(?: cut-?off)?(?: \w+){0,3}, "
    r"|to (?:answer|determine|say|know)[^,.]{1,60}, (?=i |we |more |additional )"
    r"|without [^,.]{1,80}?,? (?=(?:i|we|one|the (?:answer|question)) |it is (?:not possible|impossible|difficult"
    r"|hard) )"
    rf"|(?:after|upon|on|having) (?:\w+ly )?(?:review|read|look|examin|check|search|analy[sz]|consider|stud|go)\w*"
    rf" [^,.]{{1,80}}, (?={SENTENCE_SUBJECT} )"
    r"|(?:i|we) (?:have )?(?:\w+ly )?(?:looked|read|checked|searched|reviewed|examined|went"
    r"|gone)\b[^,.]{1,80}?,? (?:and|but) "
    rf"|(?:with|given|from|considering|because of|due to|{BASED_ON}) [^,.]{{1,80}}, (?={SENTENCE_SUBJECT} )"
    r"|(?:as of|at) (?:now|today|present|this (?:time|point|moment|writing)|the (?:time of writing|moment)"
    r"|(?:\w+ )?\d{4}),? "
    rf"(?={SENTENCE_SUBJECT} )"
    r"|(?:currently|so far|(?:to|to the best of) my knowledge),? (?=there |no |it is not |i |we )"
    r"|i was trained [^,.]{1,80}, (?:so|and) "
    rf"|(?:as|since|because) (?:{SOURCE}|there is)[^.]{{1,150}}, "
    r"(?=(?:i|we) (?:can|do|am|are)|the answer (?:is|can)|it (?:is|can) (?:not|un|im))"
    rf"|(?:{BASED_ON}|according to|from|in|within|given|with) {SOURCE},? "
    r"|(?:it (?:seems|appears)|i (?:think|believe|am afraid))(?: that)?,? "
    r")\W*"
)

# "unknown", "the date is unknown because ...", but not "Unknown Pleasures".
UNKNOWN_STATEMENT = re.compile(
    rf"(?:{ANY_SUBJECT}?{BE} (?:\w+ )?)?unknown"
    rf"(?=$|\s*[.,;:!?()\[\]/–—…\"]|\s*\*|\s+-|-+\s|--|{FROM_SOURCE}| (?:because|since|as|due to|given"
    rf"|{QUESTION_WORD}|at this"
    r"|at present|to (?:me|us)|here|yet|currently)\b)"
)

MISSING_INFORMATION = [
    r"(?:there (?:is|are|was|(?:seems?|appears?) to be) |(?:i|we) (?:have|see|found|find) )?"
    r"(?:(?:just )?not (?:enough|sufficient)|insufficient|no|not any)"
    r"(?: (?!one\b)\w+){0,2}? (?:information|info|context|mention|answer|record|details?|data|reference|indication"
    r"|announcement|confirmation)"
    rf"(?={CLAUSE_END}| (?:to|in|is|was|are|about|for|from|on|of|that|which|regarding|concerning|given|provided"
    rf"|available"
    r"|found|here|can|could)\b)",
    rf"(?:there is |i have )?(?:not enough|insufficient)(?: \w+)? (?:data|details|knowledge)(?={CLAUSE_END}| to\b"
    rf"|{FROM_SOURCE})",
    r"(?:there is )?(?:no|not enough|insufficient)(?: \w+)? (?:evidence|data|details?|indication|reference)"
    rf"(?= to {ANSWER_VERB}|{FROM_SOURCE}| (?:is |are )?{STATE_PARTICIPLE}| (?:about|on|of|regarding"
    rf"|as to) {QUESTION_WORD}\b)",
    rf"there (?:is|was|are|were|has been|have been) no (?:official|specific|confirmed|exact"
    rf"|definitive) (?:\w+ ){{1,4}}"
    rf"(?:announced|confirmed|known|available|set)(?={CLAUSE_END}|{FROM_SOURCE}| (?:for|about|on|regarding|yet|so"
    rf"|because|since)\b)",
    r"no (?:[\w'-]+ ){1,4}(?:has|have) been (?:\w+ly )?(?:announced|confirmed|revealed|disclosed)\b",
    r"there (?:is|was|are|were|has been|have been) (?:currently |yet |still )?no (?:confirmed|announced"
    r"|set) (?:\w+ )?dates?\b",
    r"(?:there (?:is|was) |(?:i|we) (?:have|see) )?no (?:\w+ )?(?:way|means) (?:to|of) (?:be )?"
    r"(?:know|tell|determin|say|answer|find|confirm|verif|sure|certain|identif)\w*",
    rf"(?:there (?:is|was) |(?:i|we) (?:see|saw|find|found|have) )?nothing (?:here\b|(?:\w+ )?(?:in|from) {SOURCE}"
    rf"|(?:that )?(?:answers|indicates|mentions|says|suggests)\b|(?:about|on|regarding) [^,.]{{1,60}} (?:in"
    rf"|from) {SOURCE})",
    rf"no (?:specific|exact|explicit|clear|definite"
    rf"|precise) (?:[\w'-]+ ){{1,3}}{BE} {ADVERBS}{GIVE_PARTICIPLE}{REFUSAL_END}",
    rf"no (?:relevant|matching|useful|suitable) (?:\w+ )?(?:{SOURCE_NOUN}|result)s? (?:(?:was|were|is|are|could be) )?"
    rf"(?:found|available|provided){REFUSAL_END}",
    r"(?:nobody|no one|no-one) (?:\w+ly )?knows(?=[.!,]| (?:for (?:sure|certain)|exactly|the answer|who|what|when"
    r"|where|why"
    r"|how|which|whether)\b)",
    rf"{ANY_SUBJECT}(?:remains?|(?:is|are) still) (?:a mystery|uncertain|undetermined|to be (?:determined|confirmed"
    rf"|announced))"
    rf"{REFUSAL_END}",
    rf"{ATTRIBUTE} {BE} (?:still )?uncertain{REFUSAL_END}",
    r"(?:which|what) [^?]{1,80}? (?:are you|do you) (?:refer|mean|ask|talk)",
    r"what do you mean\b",
    r"the question (?:is (?:\w+ )?(?:vague|ambiguous|broad|incomplete)\b|does not (?:say|specify|make clear|state))",
    r"any (?:answer|response) would be (?:\w+ )?(?:speculat|a guess|guess)",
    rf"(?:hard|difficult|impossible) to (?:say|determine|tell|know|answer)(?={CLAUSE_END}|{FROM_SOURCE})",
    rf"{PRONOUN} (?:{BE}|would be) (?:\w+ )?(?:hard|difficult) to (?:\w+ly )?"
    rf"(?:say|determine|tell|know|answer|pinpoint|be (?:sure|certain))(?={CLAUSE_END}|{FROM_SOURCE}"
    rf"| (?:for|with|without|based|given|because|exactly|the|an?|{QUESTION_WORD})\b)",
    r"(?:could|can|would) you (?:please )?(?:provide|clarify|specify|share)\b",
    r"please (?:provide|clarify|specify|share)\b",
    rf"there do(?:es)? not (?:seem|appear) to be (?:\w+ ){{1,3}}{WANTED_NOUN}\b",
    r"(?:i |we )?(?:would )?(?:need|require) (?:some )?(?:more|additional|further) (?:information|context|details)",
    r"(?:i|we) would (?:need|have|like) to (?:know|see|ask)\b",
    r"(?:you|one) (?:would|will|may|might|should) (?:need|want|have) to (?:consult|check|look at|refer to|visit) "
    r"(?:(?:the|an?|other|another|some) )?(?:official|other|another|additional|(?:more )?recent|reliable|external"
    r"|source)",
    r"i (?:would )?(?:recommend|suggest|advise) (?:that you )?(?:check|consult|look|visit|refer)\w* ",
    r"the (?:\w+ )?information(?: (?:needed|required|necessary))?(?: (?:that )?(?:you|i"
    r"|we) [\w ]{1,40}?)?(?: to [\w ]{1,60})?"
    r" is (?:not (?:in|given|available)|missing)\b",
    rf"{ATTRIBUTE} {BE} not (?:\w+ly )?(?:known|given|available|clear|recorded){REFUSAL_END}",
    rf"(?:{ATTRIBUTE}|it|that|this) (?:(?:has|have) (?:not|never) (?:yet )?been|(?:was|were) never) (?:\w+ly )?"
    r"(?:announced|revealed|disclosed|confirmed|determined|established|made public|decided|identified)\b",
    r"(?:more|additional|further) (?:information|context) (?:is|would be) (?:needed|required|necessary)",
    rf"(?:information|answer|context|details?|data) (?:(?:is|are|was|were) )?"
    rf"(?:not {ADVERBS}(?:{STATE_PARTICIPLE}|{GIVE_PARTICIPLE})|unavailable|missing){REFUSAL_END}",
    rf"(?:information|answer|details?|data) (?:(?:is|are|was|were) )?not{FROM_SOURCE}",
    r"insufficient (?:data|details?|knowledge)\.?$",
    r"not enough (?:evidence|data|details?|knowledge)(?: \w+)?\.?$",
    r"n/a(?!\w)|n\.a\.?$|none of the above\W*$",
]

INABILITY_OF_SPEAKER = [
    rf"(?:i |we )?(?:really |honestly |just )?do not (?:really )?know(?={CLAUSE_END}|{FROM_SOURCE}"
    r"| (?:the|who|whom|whose|what|when|where|which|why|how|if|whether|that|this|because|since|as|based)\b)",
    rf"(?:i|we) (?:do|did|could) not (?:actually |currently )?(?:have|see|find"
    rf"|possess) (?:[\w-]+ ){{0,4}}{WANTED_NOUN}\b",
    rf"(?:i|we) (?:have|see|find|found) no (?:\w+ ){{0,2}}{WANTED_NOUN}\b",
    r"i do not have (?:personal|any personal|feelings|opinions|preferences)\b",
    r"(?:i am |we are |i was |we were |i have (?:not )?been )"
    r"(?:not sure|unsure|uncertain|unable|not able|(?<=not been )able|not certain|not aware|unaware)\b",
    rf"(?:i|we) do not (?:think|believe)(?: that)? (?:{SOURCE}|there is (?:\w+ ){{1,3}}{WANTED_NOUN}\b)",
    r"my (?:\w+ ){0,2}(?:knowledge|training|data|information)(?: \w+)? (?:does|do|did|can|could) not\b",
    rf"(?:i (?:\w+ly )?(?:have )?)?(?:not sure|unsure|no idea|no clue|idk|dunno){REFUSAL_END}",
    r"i (?:have not|do not have) the (?:faintest|slightest|foggiest)\b",
    rf"(?:i|we) (?:\w+ly )?lack (?:[\w-]+ ){{0,3}}{WANTED_NOUN}\b",
    r"(?:one|you) (?:can|could) not (?:say|tell|know|determine|answer|infer)\b",
    r"i (?:would|could|can) (?:only |just )?(?:be |have to )?(?:guess|speculat)(?:e|ing)?\b",
    r"(?:i|we) (?:can|could) only (?:answer|provide|give|help|rely|respond|use|see)\b",
    rf"(?:i|we) only have (?:\w+ ){{0,2}}{WANTED_NOUN}\b",
    r"my (?:\w+ ){0,2}(?:knowledge|training|data|information)(?: \w+)? (?:is|ends|stops|only|was) "
    r"(?:limited|restricted|up to|in|at|goes|extends|last updated|current)",
    r"(?:i|we|the reader|readers) (?:am|is|are|was|were) (?:not|never) told\b",
    rf"{PRONOUN} {BE} not something (?:i|we|that|you|{SOURCE})\b",
    rf"(?:i|we) (?:can not|could not) {ADVERBS}(?:{ANSWER_VERB}|find|tell|say|identify|locate|know|confirm|verify"
    rf"|provide"
    r"|extract|give|see|predict|browse|access|be (?:sure|certain)|(?:help|assist)(?: you)? with|complete|fulfill)\b",
    rf"(?:{PRONOUN} {BE} )?{INABILITY} {ADVERBS}{ANSWER_VERB}\b",
    rf"(?:{PRONOUN} {BE} )?{INABILITY} {ADVERBS}(?:find|tell|say|know|identify|locate)"
    rf"(?={CLAUSE_END}|{FROM_SOURCE}| from (?:this|that|these|it|here)\b| (?:the |an |any )?(?:answer|information))",
    rf"(?:{PRONOUN} {BE} )?{INABILITY} {ADVERBS}(?:provide|give|offer|name|state) (?:an?|the|any"
    rf"|more)(?: [\w-]+){{0,2}}"
    rf" {ANSWER_NOUN}\b",
    rf"{PRONOUN} (?:can not|could not) be {ADVERBS}{ANSWER_PARTICIPLE}\b",
    rf"{PRONOUN} {BE} not {ADVERBS}{ANSWER_PARTICIPLE}(?={CLAUSE_END}|{FROM_SOURCE})",
    rf"{ANY_SUBJECT}?(?:can not|could not|can never) be {ADVERBS}{ANSWER_PARTICIPLE}{REFUSAL_END}",
    rf"(?:{PRONOUN} )?(?:can not|could not) be {ADVERBS}{FIND_PARTICIPLE}{REFUSAL_END}",
    rf"{ANY_SUBJECT}(?:can not|could not) be {ADVERBS}{FIND_PARTICIPLE}(?={FROM_SOURCE})",
]

SILENCE_OF_PASSAGES = [
    rf"{SOURCE} (?:also )?(?:(?:do|does|did|can|is|are|was|were) not|never|fail(?:s|ed)? to|lacks?"
    r"|(?:is|are) (?:silent|insufficient|unrelated|irrelevant)"
    r"|(?:says?|has|have|contains?|provides?|gives?|makes?|offers?) (?:no|nothing))\b",
    rf"{SOURCE} (?:only )?(?:discuss|mention|describe|cover|talk|refer|focus|provide)(?:es|s)?\b[^.]{{1,150}}?,?"
    r" (?:but (?:(?:it |they )?do(?:es)? not\b|not (?:about|on|of|for|its?|his|her|their|who|what|when|where|why"
    r"|how)\b)"
    r"|(?:so|and) (?:i|we|it|one) (?:can not|could not|do not)\b)",
    rf"{SOURCE} (?:disagree|conflict|contradict)\b[^.]{{0,60}}, so (?:i|we|it|one) (?:can not|do not)\b",
    rf"(?:while|although|though) {SOURCE} [^.]{{1,150}}?,"
    r" (?:(?:they|it) do(?:es)? not|there is no|none of (?:them|these))\b",
    r"(?:none|neither) of (?:them|these|those) (?:say|mention|state|specif|contain|answer|talk|discuss|name|indicat"
    r"|provid"
    r"|address|give|explain|tell)",
    rf"(?:none|neither) of {SOURCE}(?= \w|\W*$)|nothing (?:\w+ )?(?:in|from) {SOURCE}|nowhere in {SOURCE}"
    rf"|neither {SOURCE_NOUN}s?\b",
    rf"no {SOURCE_NOUN}s? (?:(?:in|of|from|here) [^.,]{{0,40}}?)?(?:\w+ly )?(?:mention|contain|state|provide|say|specif"
    rf"|give|answer|discuss|name|indicat|explain)",
    r"do(?:es)? not (?:\w+ly )?(?:say|mention|specify|state|contain|provide|tell|indicate)\b",
    rf"(?:it|this|that) do(?:es)? not {ADVERBS}(?:say|mention|specify|state|tell|indicate)"
    rf"(?={CLAUSE_END}| (?:{QUESTION_WORD}|the|any|its?|his|her|that|this|anything)\b)",
    rf"{ANY_SUBJECT}(?:do|does|did) not (?:seem to |even )?(?:appear|occur|come up|feature)(?={FROM_SOURCE})",
    rf"{PRONOUN} {BE} not {ADVERBS}(?:{STATE_PARTICIPLE}|{GIVE_PARTICIPLE}|known) (?=(?:to \w+ )?{QUESTION_WORD}\b)",
    rf"(?:{ANY_SUBJECT}{BE} )?(?:not|never) {ADVERBS}{STATE_PARTICIPLE}{REFUSAL_END}",
    rf"{ANY_SUBJECT}{BE} not {ADVERBS}(?:provided|specified|stated|disclosed|revealed) in (?:the|this|any|my|your)\b",
    rf"no (?!one\b)(?:[\w'-]+ ){{1,6}}{BE} {ADVERBS}(?:{STATE_PARTICIPLE}{REFUSAL_END}"
    rf"|{GIVE_PARTICIPLE}(?={FROM_SOURCE}))",
    rf"(?:{PRONOUN} {BE} )?not {ADVERBS}{GIVE_PARTICIPLE}{REFUSAL_END}",
    rf"{ANY_SUBJECT}{BE} not {ADVERBS}{GIVE_PARTICIPLE}(?={FROM_SOURCE})",
    rf"(?:(?:{PRONOUN}|{ATTRIBUTE}|(?:that|this) (?:detail|fact|name|date|part)) {BE} )?not {ADVERBS}(?:in|from"
    rf"|within) {SOURCE}",
    rf"{PRONOUN} {BE} (?:not (?:clear|known)|unclear|unspecified|uncertain|incomplete|ambiguous)\b",
    rf"(?:{ANY_SUBJECT}{BE} )?(?:unclear|unspecified|unanswerable|undetermined|indeterminate"
    rf"|inconclusive){REFUSAL_END}",
]

REFUSAL = re.compile("|".join(MISSING_INFORMATION + INABILITY_OF_SPEAKER + SILENCE_OF_PASSAGES))


# After a refusal, a contrast word such as "however" announces an answer, unless NO_ANSWER matches the words after it.
CONTRAST_WORDS = re.compile(
    r"(?:\b(?:however|but|nevertheless|nonetheless|that (?:being )?said|i can (?:tell you|say) that)\b)[, ]*"
    r"(?:(?:i can (?:tell you|say)|i know|i believe|i think)(?: that)? )?"
)
SOURCE_VERB = (
    r"(?:mention|state|say|discusse?|provide|describe|note|talk|contain|refer|give|list|focuse?|include|mean"
    r"|suggest(?! that))s?"
)
NO_ANSWER = re.compile(
    rf"(?:{SOURCE}|they|these|those|it|the \w+) (?:also |only |do |does |did )?{SOURCE_VERB}\b"
    r"|(?:you|we|one|i) (?:can|could|may|might|should|would|will|am|recommend|suggest|hope|advise|do|did|have|was"
    r"|need)\b"
    r"|(?:please|feel free|if you|for (?:more|the (?:latest|most|exact))|let me|perhaps you|try|check)\b"
    r"|it (?:is|may be|might be|would be|could be) (?:recommended|best|important|worth|advisable|possible|always|also"
    r"|not|unclear|unknown|helpful|safe)\b"
    r"|(?:there (?:is|are|was|were)|this|that|no|none|not|only|one of|more|further|additional|without)\b"
)
