"""The embedded reader's longer answers: the steps of a how-to question, and yes or no with the deciding sentence."""

import pytest

from quorum import Context, answer
from quorum.core.state import Passage

MANUAL = [
    Passage(id="pump", title="Pump", text="The pump was built in 1931. It weighs 40 kg and stands in the cellar."),
    Passage(
        id="lost",
        title="Equipment",
        text=(
            "Equipment\nLaptops are replaced after four years. If you lose a device, do this:\n"
            "1. Call the service desk.\n2. Change your password.\n3. Report the loss to the police.\n"
            "Private devices may read mail."
        ),
    ),
    Passage(
        id="back",
        title="heron",
        text=(
            "heron back\nBrings files back:\nheron back notes.txt\nheron back --all --into /tmp/restore\n"
            "It overwrites nothing."
        ),
    ),
    Passage(
        id="trouble",
        title="Troubleshooting",
        text="Troubleshooting\n- Vault is locked: remove the file lock.\n- Slow first push: set more threads.",
    ),
]


@pytest.mark.parametrize(
    ("question", "lines"),
    [
        (
            "What should I do if I lose a device?",
            [
                "If you lose a device, do this: [2]",
                "1. Call the service desk [2].",
                "2. Change your password [2].",
                "3. Report the loss to the police [2].",
            ],
        ),
        (
            "How do I bring all files back with heron back?",
            ["Brings files back: [3]", "heron back notes.txt [3]", "heron back --all --into /tmp/restore [3]"],
        ),
        ("How do I mend a slow first push?", ["- Slow first push: set more threads [4]."]),
    ],
)
async def test_a_how_to_question_gets_the_lines_that_hold_the_steps(question: str, lines: list[str]) -> None:
    result = await answer(question, "concat", Context(), given=MANUAL)
    assert (result["answer_type"], (result["answer_text"] or "").splitlines()) == ("long", lines)


async def test_a_yes_no_question_gets_the_verdict_and_the_sentence_that_decides() -> None:
    result = await answer("Does the pump weigh 40 kg?", "concat", Context(), given=MANUAL)
    assert result["answer_type"] == "yes_no"
    assert result["answer"] in ("yes", "no")
    verdict, _, sentence = (result["answer_text"] or "").partition(". ")
    assert (verdict.lower(), sentence) == (result["answer"], "It weighs 40 kg and stands in the cellar.")


@pytest.mark.parametrize("question", ["How do I cook lentils?", "Is the moon made of cheese?"])
async def test_a_question_that_no_passage_answers_is_unknown(question: str) -> None:
    result = await answer(question, "concat", Context(), given=MANUAL)
    assert (result["answer"], result["unknown"]) == ("unknown", True)


async def test_a_comparison_by_rule_has_a_verdict() -> None:
    passages = [
        Passage(id="a", title="Ada Korn", text="Ada Korn (born 3 May 1901 in Oslo) was a Norwegian painter."),
        Passage(id="b", title="Ida Brenn", text="Ida Brenn (born 9 June 1950 in Bergen) is a Norwegian singer."),
    ]
    result = await answer("Are Ada Korn and Ida Brenn both Norwegian?", "concat", Context(), given=passages)
    assert (result["answer"], result["answer_type"]) == ("yes", "yes_no")


CODES = [
    Passage(
        id="codes",
        title="Errors",
        text="Code: 401; Name: BadKey; What to do: make a new key\nCode: E402; Name: NoCredit; What to do: buy credits",
    )
]


async def test_the_line_that_names_the_code_of_the_question_answers() -> None:
    result = await answer("What should I do about the error E402?", "concat", Context(), given=CODES)
    assert result["answer_text"] == "Code: E402; Name: NoCredit; What to do: buy credits [1]"


async def test_of_a_table_an_explanation_quotes_the_line_that_answers() -> None:
    rows = "\n".join(f"Setting: s{i}; Meaning: how many threads of kind {i} there are" for i in range(4))
    text = f"{rows}\nSetting: cache; Meaning: files are kept because reading them again is slow"
    passages = [Passage(id="settings", title="Settings", text=text)]
    result = await answer("Why are files kept in the cache?", "concat", Context(), given=passages)
    assert result["answer_text"] == "Setting: cache; Meaning: files are kept because reading them again is slow [1]"
