"""Parsing replies that give a short answer, or reasons and then an answer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorum.core.text import is_unknown
from quorum.parsing.answers import ABBREVIATION, Parsed, ReasonedAnswer, parse_reasoned_answer, parse_short_answer

QUESTION = "Which film?"  # the question that the prompt asks; some of the replies repeat it


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        ("Paris", "Paris"),
        ("Paris.", "Paris"),
        ("Paris, France", "Paris, France"),
        ("  Paris \n", "Paris"),
        ("**Paris**", "Paris"),
        ("*Paris*", "Paris"),
        ("`Paris`", "Paris"),
        ("“Paris”", "Paris"),
        ('"Heroes"', "Heroes"),
        ('"A" and "B"', '"A" and "B"'),
        ("- Paris", "Paris"),
        ("Answer: Paris", "Paris"),
        ("A: Paris", "Paris"),
        ("**Answer:** Paris.", "Paris"),
        ("**Answer**: **Paris**.", "Paris"),
        ("### Answer\nParis", "Paris"),
        ("Answer:\n\nParis", "Paris"),
        ("Final answer: Paris", "Paris"),
        ("The answer is Paris.", "Paris"),
        ("The final answer is: Paris", "Paris"),
        ("Passage 2 names the city.\nAnswer: Paris", "Paris"),
        ("```\nParis\n```", "Paris"),
        ('{"answer": "Paris"}', "Paris"),
        ('```json\n{"Answer": "Paris."}\n```', "Paris"),
        ('Here it is: {"final_answer": "Paris"}', "Paris"),
        ('{"answer": 1931}', "1931"),
        ('{"answer": true}', "yes"),
        ('{"answer": ["Paris"]}', "Paris"),
        ('{"answer": null}', "unknown"),
        ("Paris\n\nQuestion: Who?\nAnswer: Bob", "Paris"),
        ("Paris\n---\nPassages:\n[1] x\nQuestion: Who?\nAnswer: Bob", "Paris"),
        ("Question: Which film?\nAnswer: Paris", "Paris"),
        ("U.S.", "U.S."),
        ("St. Louis.", "St. Louis"),
        ("Washington, D.C.", "Washington, D.C."),
        ("5 p.m.", "5 p.m."),
        ("Sammy Davis Jr.", "Sammy Davis Jr."),
        ("No.", "No"),
        ("Jeopardy!", "Jeopardy!"),
        ("Who's Afraid of Virginia Woolf?", "Who's Afraid of Virginia Woolf?"),
        ("R&B.", "R&B"),
        ("*NSYNC", "*NSYNC"),
        ("-5", "-5"),
        ("#1", "#1"),
        ("C++", "C++"),
        ("$5.00", "$5.00"),
        ("1984", "1984"),
        ("Unknown.", "Unknown"),
        ("The answer is not in the passages.", "The answer is not in the passages"),
    ],
)
def test_a_short_answer_is_read(reply: str, answer: str) -> None:
    assert parse_short_answer(reply, QUESTION) == Parsed(answer)


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        ("", "unknown"),
        ("   ", "unknown"),
        ("...", "unknown"),
        ("Answer:", "unknown"),
        ("Based on the passages:\n\nParis", "Paris"),
        ("- Paris\n- London", "Paris"),
        ("Paris\nBecause passage 1 says so.", "Paris"),
        ('{"answer": "Par', "Par"),
        ("{'answer': 'Paris'}", "Paris"),
        ('{"city": "Paris"}', "Paris"),
        ('{"answer": ["Paris", "Rome"]}', "Paris"),
        ('{"answer": []}', "unknown"),
        ('{"answer": {"city": "Paris"}}', "unknown"),
        ('{"city": "Paris", "year": 1900}', "unknown"),
    ],
)
def test_a_short_answer_in_another_form_is_marked_malformed(reply: str, answer: str) -> None:
    assert parse_short_answer(reply, QUESTION) == Parsed(answer, malformed=True)


@pytest.mark.parametrize(
    ("reply", "answer", "rationale"),
    [
        ("Passage 1 is out.\nAnswer: Saw VI", "Saw VI", "Passage 1 is out."),
        ("Rationale: Passage 1 is out. Answer: Saw VI", "Saw VI", "Passage 1 is out."),
        ("Out.\n**Answer:** Saw VI", "Saw VI", "Out."),
        ("Out.\n\n**Final Answer:** **Saw VI.**", "Saw VI", "Out."),
        ("Out.\nAnswer:\nSaw VI", "Saw VI", "Out."),
        ("Out.\n## Answer\nSaw VI\n\nAsk me more.", "Saw VI", "Out."),
        ("Out.\n\n---\n\nAnswer: Saw VI", "Saw VI", "Out."),
        ("Answer: Saw VI", "Saw VI", None),
        (
            "Out.\nAnswer: Saw V\nNo: that is older.\nAnswer: Saw VI",
            "Saw VI",
            "Out.\nAnswer: Saw V\nNo: that is older.",
        ),
        ("Out.\nAnswer: Saw VI\n\nQuestion: Who?\nRationale: He.\nAnswer: Bob", "Saw VI", "Out."),
        ("Out.\nAnswer: Saw VI Question: Who? Answer: Bob", "Saw VI", "Out."),
        ("Out.\nAnswer: Saw VI\n\nPassages:\n[1] x\n\nQuestion: Who?\nAnswer: Bob", "Saw VI", "Out."),
        ("Question: Which film?\nRationale: Out.\nAnswer: Saw VI", "Saw VI", "Out."),
        ("Passages:\n[1] x\nQuestion: which film\nRationale: Out.\nAnswer: Saw VI", "Saw VI", "Out."),
        ('{"rationale": "Out.", "answer": "Saw VI"}', "Saw VI", "Out."),
        ("None says it.\nAnswer: unknown", "unknown", "None says it."),
    ],
)
def test_a_reasoned_answer_is_read_with_its_rationale(reply: str, answer: str, rationale: str | None) -> None:
    assert parse_reasoned_answer(reply, QUESTION) == Parsed(ReasonedAnswer(answer, rationale))


@pytest.mark.parametrize(
    ("reply", "answer", "rationale"),
    [
        ("", "unknown", None),
        ("Answer:", "unknown", None),
        ("Out.\nAnswer:", "unknown", "Out."),
        ("Passage 1 is out.\n\nSaw VI.\n", "Saw VI", "Passage 1 is out."),
        ("It must be Saw VI.\n\nPassages:\n[1] x\n\nQuestion: Who?\nAnswer: Bob", "It must be Saw VI", None),
    ],
)
def test_a_reasoned_answer_in_another_form_is_marked_malformed(reply: str, answer: str, rationale: str | None) -> None:
    assert parse_reasoned_answer(reply, QUESTION) == Parsed(ReasonedAnswer(answer, rationale), malformed=True)


REPLY_LINES = st.lists(
    st.one_of(
        st.text(max_size=20),
        st.sampled_from(
            ["Answer: x", "**Answer:**", "Question: Who?", "Passages:", "---", "```", '{"answer": "x"}', "{", "}"]
        ),
    ),
    max_size=8,
).map("\n".join)


@given(REPLY_LINES)
def test_any_reply_gives_an_answer_of_one_line(reply: str) -> None:
    for answer in (parse_short_answer(reply, QUESTION).value, parse_reasoned_answer(reply, QUESTION).value.answer):
        assert answer
        assert len(answer.splitlines()) == 1
        assert answer == answer.strip()


PERSON_NAMES = st.from_regex(r"[A-Z][a-z]{2,8}( [A-Z][a-z]{2,8}){0,2}", fullmatch=True).filter(
    lambda name: not is_unknown(name) and "answer" not in name.lower() and not ABBREVIATION.search(f"{name}.")
)
ANSWER_WRAPPINGS = st.sampled_from(
    ["{}", "{}.", "**{}**", '"{}"', "Answer: {}", "**Answer:** {}.", '{{"answer": "{}"}}', "```\n{}\n```", "- {}"]
)


@given(PERSON_NAMES, ANSWER_WRAPPINGS)
def test_wrapping_does_not_change_the_answer(name: str, wrapping: str) -> None:
    assert parse_short_answer(wrapping.format(name)) == Parsed(name)


@given(PERSON_NAMES, ANSWER_WRAPPINGS, PERSON_NAMES)
def test_reasoning_before_the_answer_does_not_change_it(name: str, wrapping: str, other_name: str) -> None:
    if "```" in wrapping or "{{" in wrapping:  # such a block stands alone, not after "Answer: "
        return
    invented_question = f"\n\nQuestion: {other_name}?\nAnswer: {other_name}"
    reply = f"First I thought of {other_name}, then of {name}.\nAnswer: {wrapping.format(name)}{invented_question}"
    assert parse_reasoned_answer(reply, QUESTION).value.answer == name


@given(
    st.sampled_from(["Unknown", "I don't know.", "The passages do not say.", "Not enough information", "N/A"]),
    ANSWER_WRAPPINGS,
)
def test_an_unknown_stays_unknown_in_any_wrapping(answer: str, wrapping: str) -> None:
    assert is_unknown(parse_short_answer(wrapping.format(answer)).value)


@pytest.mark.parametrize(
    "piece", ["\n", " \n* ", "- ", "```\n", "Question: Which film?\n", "Answer: x\n", "Passages:\n", "the my "]
)
def test_a_reply_that_repeats_itself_is_read(piece: str) -> None:
    """A regular expression that takes quadratic time in the length of the reply would take minutes here."""
    assert parse_short_answer(piece * 20000, QUESTION).value
    assert parse_reasoned_answer("So.\n" + piece * 20000, QUESTION).value.answer
