"""Parsing replies that hold a chain of thought, a topic, free text, or yes or no."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorum.core.text import is_unknown
from quorum.parsing.answers import ABBREVIATION, Parsed, ReasonedAnswer
from quorum.parsing.reasoning import parse_conclusion, parse_free_text, parse_topic, parse_yes_no_conclusion
from quorum.parsing.yes_no import parse_yes_no

QUESTION = "Which film?"


@pytest.mark.parametrize(
    ("reply", "answer", "rationale"),
    [
        ("It is so. So the answer is Paris.", "Paris", "It is so."),
        ("So the answer is Paris", "Paris", None),
        ("so the answer is: Paris", "Paris", None),
        ("It is so. So the answer is **Paris**.", "Paris", "It is so."),
        ('It is so. So the answer is "Heroes".', "Heroes", "It is so."),
        ("It is so.\nSo the answer is\nParis.", "Paris", "It is so."),
        ("Rationale: It is so. So the answer is Paris.", "Paris", "It is so."),
        ("It is so. Therefore, the final answer is Paris.", "Paris", "It is so."),
        ("It is so. Thus the correct answer is Paris.", "Paris", "It is so."),
        ("It is so. Hence, my answer would be Paris.", "Paris", "It is so."),
        ("It is so. The answer to the question is Paris.", "Paris", "It is so."),
        ("The answer is Rome, some say. So the answer is Paris.", "Paris", "The answer is Rome, some say."),
        ("So the answer is Washington, D.C.", "Washington, D.C.", None),
        ("So the answer is Dr. No. It is a film.", "Dr. No", None),
        ("So the answer is J. R. R. Tolkien.", "J. R. R. Tolkien", None),
        ("So the answer is 3.5 million.", "3.5 million", None),
        ("So the answer is Jeopardy!", "Jeopardy!", None),
        ("So the answer is Paris. It lies on the Seine.", "Paris", None),
        (
            "It is so. So the answer is Paris.\n\nQuestion: Who?\nRationale: He. So the answer is Bob.",
            "Paris",
            "It is so.",
        ),
        (
            "It is so. So the answer is Paris.\n\nPassages:\n\n[1] x\n\nQuestion: Who?\nAnswer: Bob",
            "Paris",
            "It is so.",
        ),
        ("```\nIt is so. So the answer is Paris.\n```", "Paris", "It is so."),
        ("It is so.\nAnswer: Paris", "Paris", "It is so."),
        ("So the answer is Rome.\nAnswer: Paris", "Paris", "So the answer is Rome."),
        ("It is so. So the answer is Unknown.", "unknown", "It is so."),
        ("The answer is not given in the passages.", "unknown", None),
        ("It is dark. The answer is unknown because nobody looked.", "unknown", "It is dark."),
        ('{"reasoning": "It is so.", "answer": "Paris"}', "Paris", "It is so."),
        ("It is so. So the answer is 東京。", "東京。", "It is so."),
    ],
)
def test_the_conclusion_of_a_chain_of_thought_is_read(reply: str, answer: str, rationale: str | None) -> None:
    assert parse_conclusion(reply, QUESTION) == Parsed(ReasonedAnswer(answer, rationale))


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        ("", "unknown"),
        ("So the answer is", "unknown"),
        ("It is so.\nParis.", "Paris"),
        ("So the answer is **.", "unknown"),
    ],
)
def test_a_chain_of_thought_without_conclusion_is_malformed(reply: str, answer: str) -> None:
    parsed_reply = parse_conclusion(reply, QUESTION)
    assert (parsed_reply.value.answer, parsed_reply.malformed) == (answer, True)


@pytest.mark.parametrize(
    ("reply", "answer", "malformed"),
    [
        ("They met. So the answer is Yes.", "yes", False),
        ("They never met. So the answer is no.", "no", False),
        ("So the answer is Unknown.", "unknown", False),
        ("They never met.\nAnswer: False", "no", False),
        ("They met in Vienna. So the answer is Vienna.", "unknown", True),
        ("They met.\nTherefore, yes.", "yes", True),
        ("", "unknown", True),
    ],
)
def test_a_verdict_at_the_end_of_reasoning_is_read(reply: str, answer: str, malformed: bool) -> None:
    parsed_reply = parse_yes_no_conclusion(reply, QUESTION)
    assert (parsed_reply.value.answer, parsed_reply.malformed) == (answer, malformed)


YES_REPLIES = [
    *(
        "Yes",
        "yes.",
        "YES!",
        "**Yes**",
        '"Yes"',
        "Yes, they met.",
        "Yes - in 1790.",
        "Yes.\nThey met.",
        "True",
        "true.",
        "y",
    ),
    *("Yeah", "Yep.", "Correct.", "That is correct.", "Indeed.", "Absolutely!", "Certainly, in 1790.", "Of course."),
    *("Answer: Yes", "The answer is yes.", "So, yes", "- Yes", '{"answer": true}', '{"answer": "Yes"}', "It is true."),
    *("They met twice, so yes.", "It is true that they met.", "Yes, it is not true that they never met.", "It's true"),
]
NO_REPLIES = [
    *(
        "No",
        "no.",
        "NO",
        "**No**",
        "No, they never met.",
        "No.\nThey did not.",
        "False",
        "false.",
        "n",
        "Nope.",
        "Incorrect.",
    ),
    *("It is not true.", "That isn't true.", "That is not correct.", "It's false.", "Not at all.", "Definitely not."),
    *(
        "Answer: No",
        "The answer is no.",
        "Therefore no",
        '{"answer": false}',
        '{"answer": "No"}',
        "The claim is untrue.",
    ),
    *("They are not, so no.", "It would not be correct.", "Certainly not", "It is not quite true.", "No - never."),
]
UNKNOWN_REPLIES = [
    "Unknown",
    "unknown.",
    "I don't know.",
    "The passages do not say.",
    "N/A",
    "No information is available.",
    "Cannot be determined.",
    "No one knows for sure who it was.",
]
UNCLEAR_REPLIES = [
    "",
    "  ",
    "...",
    "**",
    "-",
    "Vienna",
    "Norway",
    "Yes and no.",
    "Perhaps.",
    "It is both true and false.",
]


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        *((reply, "yes") for reply in YES_REPLIES),
        *((reply, "no") for reply in NO_REPLIES),
        *((reply, "unknown") for reply in UNKNOWN_REPLIES),
    ],
)
def test_yes_or_no_is_read(reply: str, answer: str) -> None:
    assert parse_yes_no(reply, "Did they meet?") == Parsed(answer)


@pytest.mark.parametrize("reply", UNCLEAR_REPLIES)
def test_a_reply_that_is_neither_yes_nor_no_is_malformed(reply: str) -> None:
    assert parse_yes_no(reply) == Parsed("unknown", malformed=True)


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        (" A line.\nAnother. ", "A line.\nAnother."),
        ("Rationale: A line.", "A line."),
        ("**Passage:** A line.", "A line."),
        ("```\nA line.\n```", "A line."),
        ("A line.\n\nQuestion: Who?\nRationale: He.", "A line."),
    ],
)
def test_free_text_is_kept_without_its_label(reply: str, text: str) -> None:
    assert parse_free_text(reply, QUESTION) == Parsed(text)
    assert parse_free_text("", QUESTION) == Parsed("", malformed=True)


@pytest.mark.parametrize(
    ("reply", "topic"),
    [
        ("Television comedies", "Television comedies"),
        ("Topic: Television comedies.", "Television comedies"),
        ("The topic is television comedies.", "television comedies"),
        ("The question is related to television comedies.", "television comedies"),
        ("**Television comedies**", "Television comedies"),
    ],
)
def test_a_topic_is_read(reply: str, topic: str) -> None:
    assert parse_topic(reply, QUESTION) == Parsed(topic)


@pytest.mark.parametrize("reply", ["", "Unknown", "I do not know."])
def test_a_reply_without_a_topic_gives_the_question(reply: str) -> None:
    assert parse_topic(reply, QUESTION) == Parsed(QUESTION, malformed=True)


REPLY_PIECES = [
    *"ab 1.:{}\"'*-\n",
    "Answer: ",
    "Question: ",
    "so the answer is ",
    "the answer is ",
    "yes",
    "no ",
    "not ",
    "true",
    "東",
]
TEXT = st.one_of(st.text(max_size=60), st.lists(st.sampled_from(REPLY_PIECES), max_size=25).map("".join))


@given(TEXT)
def test_any_reply_is_read(reply: str) -> None:
    assert parse_yes_no(reply).value in ("yes", "no", "unknown")
    assert parse_yes_no_conclusion(reply).value.answer in ("yes", "no", "unknown")
    assert parse_conclusion(reply).value.answer
    assert parse_free_text(reply).malformed == (not parse_free_text(reply).value)
    assert parse_topic(reply, QUESTION).value


@given(
    st.from_regex(r"[A-Z][a-z]{2,9}( [A-Z][a-z]{2,9}){0,2}", fullmatch=True).filter(
        lambda answer: not ABBREVIATION.search(f"{answer}.")  # "Ave." keeps its full stop
    ),
    st.sampled_from(["", "It is so. ", "A\nb. "]),
)
def test_a_plain_answer_comes_back_as_it_is(answer: str, reasoning: str) -> None:
    expected = "unknown" if is_unknown(f"The answer is {answer}.") else answer  # "Unknown" would be no answer
    assert parse_conclusion(f"{reasoning}So the answer is {answer}.").value.answer == expected
