"""`is_unknown` recognises refusals in many wordings, and takes no name or statement of fact for one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorum.core.text import is_unknown

UNKNOWN_ANSWERS = r"""
unknown
Unknown.
UNKNOWN
unknown - the passages do not say
Unknown – not in the text
Unknown—the text is silent
unknown-- no passage says so
**Unknown**
**Unknown.**
`unknown`
"Unknown"
“Unknown.”
(unknown)
[Unknown]
- unknown
Answer: Unknown
**Answer:** Unknown
Answer: **unknown**
A: unknown
Final answer: Unknown
The answer is unknown.
The answer is: unknown
Unknown, the passages name no director.
Unknown (not mentioned in the passages)
Unknown: no passage mentions it
Unknown because the passages do not say.
unknown based on the given context
Unknown from the provided passages
unknown/not mentioned
It is unknown.
The year of his birth is unknown.
His date of death remains unknown
Sorry, unknown.
I don't know
I don't know.
I don’t know the answer to this question.
I do not know who wrote it
Don't know
I don't know based on the provided context
I really don't know.
I'm not sure.
I am not sure who wrote it.
I am unable to answer this question.
I cannot answer the question based on the context provided.
I can't determine that from the passages.
I could not find the answer in the passages.
I'm sorry, but I cannot find this information in the given passages.
I'm sorry, I can't assist with that.
I apologize, but the passages do not contain this information.
Unfortunately, the context does not say.
As an AI language model, I cannot answer that.
I don't have enough information to answer.
I do not have access to that information
No idea
not enough information
Not enough information.
NOT ENOUGH INFO
Not Enough Information
There is not enough information to answer the question.
There isn't enough information in the passages.
There is not enough context to determine the answer
Insufficient information
Insufficient context to answer.
insufficient data
No information
No relevant information found in the passages
No information is provided about the director.
no answer
No answer found
no context provided
There is no mention of a director.
There's no information about this in the text.
No mention of the film
No specific date is mentioned.
No exact year of the tower's completion was stated in the passages
No director is named in the text.
More information is needed.
I need more context to answer.
cannot be determined
Cannot be determined.
Can't be determined from the passages
The answer cannot be determined from the given context.
The question cannot be answered based on the passages.
It cannot be determined who directed it.
Based on the provided context, it is not possible to determine the year.
According to the passages, this is not specified.
It is impossible to say.
Unable to determine
Unable to answer based on the given passages.
Not possible to determine
The context does not mention X
The provided input does not contain the context to answer the question.
The passages do not provide this information.
The given passages don't say who directed the film.
The text doesn't mention his birthplace.
None of the passages mention the director.
None of the provided passages contain the answer.
None of these documents answer the question.
No passage mentions it.
Nothing in the passages answers this.
The passage never mentions the author.
The provided context lacks this information.
Passage 1 does not mention it.
The documents provided do not contain the answer
It seems that the passages do not mention it.
Does not say
not mentioned
Not mentioned in the passages
Not specified.
Not stated in the context
not in the passages
not provided
Not given
Not found
Not available
not known
It is not known.
It is not mentioned in the text.
The director is not mentioned in the passages.
The name of the director is not specified.
His age is not given in the text.
It is unclear from the passages.
unclear
unspecified
unanswerable
Information not available
The answer is not in the passages.
The answer is not provided in the given context.
The information is not available in the passages
N/A
n/a
N/A.
None of the above
"""

# Names and statements that begin like a refusal or use its words.
KNOWN_ANSWERS = r"""
Unknown Pleasures
Unknown Mortal Orchestra
The Unknown Soldier
Tomb of the Unknown Soldier
The Unknown
unknown soldier
Into the Unknown
The Great Unknown
Not Enough Information Society
No Information About Nothing
Not Available Records
Missing Data
I Don't Know How She Does It
I Don't Know How to Love Him
Don't Know Why
Don't Look Back
I Can't Tell You Why
Can't Help Falling in Love
can't help falling in love
Can't Stop the Feeling!
Cannot Buy My Soul
Not Given Lightly
Not Fade Away
Not Afraid
not guilty
No Country for Old Men
No Doubt
No Answer Machine
Nothing Else Matters
Nowhere Man
Sorry
Sorry, Wrong Number
The Context
The Answer
The Passage
a passage to India
The Text of the Treaty
The Documents in the Case
In the Heat of the Night
From the Earth to the Moon
Information Society
Uncertain, Texas
None
none
no
No
No one
nobody
nothing
never mentioned it
the defendant was not named
no evidence of fraud
no survivors were found
No one was mentioned
No goals were given away
No smoking is provided for
insufficient evidence
unable to find work
Position and momentum cannot be determined simultaneously
the death penalty
Data
Sure
Clear
N
Na
NaN
0
1984
-5
No. 1
1 in 5
U.S.
$
無
Paris
Paris. The context does not mention the population.
"""


@pytest.mark.parametrize("answer", UNKNOWN_ANSWERS.strip().splitlines())
def test_refusals_are_unknown(answer: str) -> None:
    assert is_unknown(answer)
    assert is_unknown(f"  {answer}\nHere is why: the passages are about something else.")


@pytest.mark.parametrize("answer", KNOWN_ANSWERS.strip().splitlines())
def test_answers_are_not_unknown(answer: str) -> None:
    assert not is_unknown(answer)


@pytest.mark.parametrize("answer", ["", "  \n\t", "...", "**", "-", '""', "?"])
def test_an_empty_answer_is_unknown(answer: str) -> None:
    assert is_unknown(answer)


@given(st.text())
def test_any_text_gives_true_or_false(text: str) -> None:
    assert is_unknown(text) in (True, False)


@given(st.sampled_from(["unknown", "Unknown"]), st.sampled_from([".", ",", ";", ":", " -", " (", "—", "\n"]), st.text())
def test_unknown_before_punctuation_is_unknown_with_any_ending(word: str, mark: str, ending: str) -> None:
    assert is_unknown(f"{word}{mark} {ending}")


# After "Unknown", these words begin a reason ("Unknown Because", "Unknown From Context") or a statement
# ("Unknown Remains Unclear"), not a name.
WORDS_AFTER_UNKNOWN = {
    "Because",
    "Currently",
    "From",
    "Given",
    "Here",
    "Remains",
    "Since",
    "Upon",
    "Using",
    "Were",
    "What",
    "When",
    "Where",
    "Whether",
    "Which",
    "Whom",
    "Whose",
    "With",
    "Within",
}


@given(
    st.from_regex(r"[A-Z][a-z]{3,9}( [A-Z][a-z]{3,9})?", fullmatch=True).filter(
        lambda name: name.split()[0] not in WORDS_AFTER_UNKNOWN
    )
)
def test_a_capitalised_name_after_unknown_is_a_name(name: str) -> None:
    assert not is_unknown(f"Unknown {name}")
