"""A parser reads which of two summaries a chat model prefers. Some replies praise or criticise both summaries, and some
prefer neither.
"""

import pytest

from quorum.parsing.preferences import parse_preference

# Replies that prefer Summary 1.
FIRST_IS_BETTER = [
    "Summary 1 is better because it names the founder, whereas Summary 2 only gives the year.",
    "Summary 1 is the more helpful of the two. Summary 2 repeats the question without answering it.",
    "I would go with Summary 1. It is short and to the point. Summary 2, though accurate, drifts into trade policy.",
    "Between the two, the first summary answers the question more fully. The second one is also relevant.",
    "Both summaries mention the treaty, but Summary 1 also says who signed it.\n\nTherefore, Summary 1 is better.",
    "**Summary 1** is the stronger summary.\n\n- It gives the date.\n- Summary 2 leaves the date out.",
    "Summary 1 > Summary 2",
    "The better summary is Summary 1.",
    "Better: Summary 1\nReason: Summary 2 does not mention the river at all.",
    "Summary 2 is fluent and well organised. However, it never answers the question. Summary 1 does.",
    "Summary 2 is a decent attempt, but it gets the year wrong, so Summary 1 is the better choice.",
    "While Summary 2 is longer and has more context, Summary 1 is more directly relevant to what was asked.",
    "Although Summary 2 offers useful background, I find Summary 1 more informative on the point in question.",
    "Summary 1 provides the specific answer (1887), which Summary 2 does not.",
    "Summary 1. Summary 2 contains details that are not needed.",
    "1. The other one is vague.",
    "My preference: 1",
    "Winner: Summary 1",
    "Final verdict: [[1]]",
    "[[1]]",
    "[1]",
    "<answer>Summary 1</answer>",
    "\\boxed{1}",
    "Answer: \\boxed{\\text{Summary 1}}",
    "The answer is Summary 1.<|im_end|>",
    "Summary 1</s>",
    "Summary 1 is superior to Summary 2 in terms of accuracy and detail.",
    "Compared to Summary 1, Summary 2 is less specific.",
    "Compared with Summary 2, Summary 1 gives a clearer account.",
    "Summary 2 is not as informative as Summary 1.",
    "Summary 2 isn't as good as Summary 1, since it omits the cause.",
    "Summary 2 is worse: it invents a second treaty.",
    "I prefer Summary 1 over Summary 2.",
    "I prefer Summary 1 to Summary 2 because it is more complete.",
    "Rather than Summary 2, I would choose Summary 1.",
    "Summary 1 is slightly better than Summary 2, as the latter leaves out the town.",
    "Summary 1 answers the question directly, making it the better one. Summary 2 is good too.",
    "Summary 1 is more concise and avoids the errors that Summary 2 contains.",
    "Summary 1 is more accurate. Summary 2 incorrectly says that the bridge was built in 1920.",
    "Summary 1 correctly identifies the author. Summary 2 incorrectly attributes the novel to his brother.",
    "In terms of informativeness, Summary 1 outperforms Summary 2.",
    "In conclusion, while both summaries are well written, Summary 1 is more informative.",
    "Overall, Summary 1 does a better job of answering the question.",
    "Looking at both: Summary 1 says where; Summary 2 says when. The question asks where. Hence Summary 1.",
    "It is Summary 1 that answers the question.",
    "Summary 1 is preferable.",
    "Summary 1 should be ranked higher than Summary 2.",
    "The first summary is more relevant to the question than the second.",
    "The first one is better, as it does not include needless detail.",
    "1 is better than 2.",
    "1 is better because it answers in one sentence without adding unrelated facts.",
    "Summary 1 is better as it stays on topic, without any of the speculation that mars Summary 2.",
    "Summary 2 fails to answer the question, unlike Summary 1.",
    "Summary 2 lacks the detail that Summary 1 provides.",
    "Summary 1 is better. Summary 2 is also a good summary, with a clear structure and more detail on the later years.",
    "Summary 1 is clearly the winner here. Summary 2 is more general and more verbose.",
    "The more informative one is Summary 1, not Summary 2.",
    "I'd say Summary 1 edges out Summary 2.",
    '{"better": 1, "reason": "Summary 2 is off topic"}',
    '{"preference": "Summary 1"}',
    "Summary 1 is the one that would help a reader most. Summary 2 would leave them with more questions.",
    "After weighing both, I lean towards Summary 1. That said, Summary 2 has its merits.",
    "Summary 1 gives more details about the battle and is therefore more informative.",
    "Summary 1 is more comprehensive, covering both the birth and the career; Summary 2 covers the birth only.",
    "I choose 1.",
    "Option 1 is better; option 2 is irrelevant to the question.",
    "As a judge, I think that the first summary is better since it is consistent with the passages.",
    "Summary 1 is better, but Summary 2 is more concise.",
    "Summary 2 is more detailed, but Summary 1 is better because it answers what was asked.",
    "Summary 1 is better than Summary 2 because Summary 2 is more vague.",
]
# Replies that prefer neither summary, or state no preference.
NEITHER_IS_BETTER = [
    "Both summaries are equally good.",
    "Both summaries are equally informative.",
    "Neither summary answers the question.",
    "It is a tie.",
    "I cannot decide between Summary 1 and Summary 2.",
    "Summary 1 and Summary 2 say the same thing in different words.",
    "Both Summary 1 and Summary 2 contain the answer, so they are of equal value.",
    "I'm sorry, but I can't judge these summaries.",
    "Please provide the summaries that you would like me to compare.",
    "There is no clear winner.",
    "Neither Summary 1 nor Summary 2 is better.",
    "It depends on what the reader wants: Summary 1 is shorter, Summary 2 is longer.",
    "Summary 1 is as good as Summary 2.",
    "Summary 1 or Summary 2",
    "",
    "Summary 1 talks about the river. Summary 2 talks about the town.",
    "Is Summary 1 better than Summary 2?",
    "I would need more context to say whether Summary 1 is better than Summary 2.",
    "Neither is clearly better; both miss the point.",
    "Tie",
    "Equal",
    "Output: tie",
]
# 0: the reply prefers Summary 1; 1: it prefers Summary 2; None: it has no clear preference.
PREFERENCE_OF_REPLY = {
    (
        "Output: Summary 1 is better.\n\nSummary 1 follows the instruction exactly while Summary 2 "
        "adds details nobody asked for."
    ): 0,
    (
        "Summary 2 is better because it is more precise. Summary 1 gives a lot of extra "
        "information that isn't needed, making it harder to read."
    ): 1,
    "Summary 1 is better as it does not contain factual errors.": 0,
    "I think Summary 2 is the better option here. Summary 1 isn't bad, but it's less complete.": 1,
    "Summary 1 correctly answers the question, but Summary 2 does not.": 0,
    "Summary 2 does not answer the question. Summary 1 does.": 0,
    "While Summary 1 has a better structure, Summary 2 is better overall.": 1,
    "Summary 1 is better in terms of fluency, but Summary 2 is better because it is factually right.": 1,
    "Both are good. Summary 2 is slightly better in my opinion.": 1,
    "Both Summary 1 and Summary 2 mention the date, but only Summary 2 mentions the place.": 1,
    "Only Summary 1 answers the question.": 0,
    "Summary 1 has no errors. Summary 2 has several errors.": 0,
    "Summary 2 is not better than Summary 1.": 0,
    "Summary 1 is no better than Summary 2.": None,
    "Summary 1: good\nSummary 2: bad\nI choose Summary 1.": 0,
    "Summary 1: 8/10\nSummary 2: 6/10\nSummary 1 is better.": 0,
    "Score: Summary 1 - 4, Summary 2 - 5. So Summary 2 wins.": 1,
    "Summary 2's answer is wrong. Summary 1's answer is right.": 0,
    "Summary 1 is the worse of the two.": 1,
    "I'd choose Summary 2, since Summary 1 doesn't answer.": 1,
    "Summary 2 is more helpful, relevant, accurate, and creative than Summary 1.": 1,
    "In this case, Summary 1 is preferred because Summary 2 is not relevant to the question.": 0,
    "Summary 1 doesn't provide any information; Summary 2, on the other hand, explains the reason.": 1,
    "Summary 2 is better: Summary 1 is not helpful because it says nothing about the year.": 1,
    "The second summary would be more useful to the reader, although the first summary is better written.": 1,
    "Summary 1 seems better. However, Summary 2 is more accurate, so I would go with Summary 2.": 1,
    "Neither is perfect, but Summary 1 is closer to the answer.": 0,
    "Summary 1 and Summary 2 are both wrong, but Summary 2 is less wrong.": 1,
    "Summary 1 contains an error in the date, which makes Summary 2 the better choice.": 1,
    "Not Summary 1 but Summary 2.": 1,
    "Summary 2, because Summary 1 is better known but wrong.": 1,
    "Output (a)": None,
    "A": 0,
    "B": 1,
    "Summary A is better than Summary B": 0,
    "Although Summary 1 is longer, it is not better than Summary 2.": 1,
    "It is hard to say which is better.": None,
    "I cannot say that Summary 1 is better.": None,
    "Summary 1 is better than nothing.": 0,
    "If I had to choose, Summary 2.": 1,
    "If I had to choose, I would pick Summary 2 over Summary 1.": 1,
    "Summary 1 might be better if the question were about wine, but as it is about beer Summary 2 is better.": 1,
    "My choice is 2.": 1,
    "2 is better.": 1,
    "The answer is 2.": 1,
    "Response: 2": 1,
    "Summary 2 is significantly worse.": 0,
    (
        "Summary 1 is significantly better.\n\nReason: Summary 1 gives feedback that is specific. "
        "Summary 2, although it is shorter, does not fail to mention the main flaw but is less "
        "clear."
    ): 0,
}
SWAPPED_DIGITS = str.maketrans("12", "21")


def exchange_names(reply: str) -> str:
    """The reply with the names of the two summaries exchanged.

    Years are replaced by "long ago", because the exchange of 1 and 2 would change their digits.
    """
    for left, right in (("first", "second"), ("former", "latter")):
        reply = reply.replace(left, "\0").replace(right, left).replace("\0", right)
    for year in ("1887", "1920"):
        reply = reply.replace(year, "long ago")
    return reply.translate(SWAPPED_DIGITS)


@pytest.mark.parametrize("reply", FIRST_IS_BETTER)
def test_a_preference_in_sentences_is_read(reply: str) -> None:
    assert parse_preference(reply).value == 0


@pytest.mark.parametrize("reply", FIRST_IS_BETTER)
def test_the_opposite_preference_in_the_same_words_is_read(reply: str) -> None:
    assert parse_preference(exchange_names(reply)).value == 1


@pytest.mark.parametrize("reply", NEITHER_IS_BETTER)
def test_a_reply_without_a_preference_has_none(reply: str) -> None:
    assert parse_preference(reply).value is None


@pytest.mark.parametrize(("reply", "preferred"), PREFERENCE_OF_REPLY.items())
def test_preferences_in_other_words_are_read(reply: str, preferred: int | None) -> None:
    assert parse_preference(reply).value == preferred
