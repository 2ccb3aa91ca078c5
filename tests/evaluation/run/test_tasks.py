"""Answers other than short facts: labels, yes or no, turns of a conversation, paragraphs."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from method_fixtures import PASSAGES

from quorum.core.context import Context
from quorum.core.errors import SetupError
from quorum.core.labels import LABELS
from quorum.core.text import UNKNOWN
from quorum.graphs import answer
from quorum.models.scripted import ScriptedModel
from quorum.parsing.labels import parse_label
from quorum.parsing.long_answers import parse_long_answer, parse_turn
from quorum.prompts import render_prompt

SUPPORTS, REFUTES, NOT_ENOUGH_INFO = LABELS
CLAIM = "The Lumen Tower was finished in 1931."

LABEL_REPLIES = [
    *[
        (reply, SUPPORTS)
        for reply in ("SUPPORTS", "Supports", "supports.", "**SUPPORTS**", "[SUPPORTS]", "SUPPORTED", "True")
    ],
    *[
        (reply, REFUTES)
        for reply in ("REFUTES", "`REFUTES`", "Refuted", "- REFUTES", "(REFUTES)", "False", "No", "Wrong.")
    ],
    *[
        (reply, NOT_ENOUGH_INFO)
        for reply in ("NOT ENOUGH INFO", '"NOT ENOUGH INFO"', "NOT_ENOUGH_INFO", "NEI", "Unverifiable")
    ],
    *[
        (reply, NOT_ENOUGH_INFO)
        for reply in ("not enough information", "Not enough evidence", "Insufficient information.", "Neutral")
    ],
    ("Label: SUPPORTS", SUPPORTS),
    ("label: refutes", REFUTES),
    ("Answer: NOT ENOUGH INFO", NOT_ENOUGH_INFO),
    ("**Label:** REFUTES", REFUTES),
    ("Verdict: **SUPPORTS**", SUPPORTS),
    ("Label:\nSUPPORTS", SUPPORTS),
    ("The label is REFUTES.", REFUTES),
    ("The correct label is SUPPORTS.", SUPPORTS),
    ("The answer is REFUTES.", REFUTES),
    ("Final verdict: The claim is refuted.", REFUTES),
    ('{"label": "REFUTES"}', REFUTES),
    ('{"answer": "SUPPORTS"}', SUPPORTS),
    ('```json\n{"label": "NOT ENOUGH INFO"}\n```', NOT_ENOUGH_INFO),
    ("```\nSUPPORTS\n```", SUPPORTS),
    ("SUPPORTS - passage 2 says that it was opened in 1883.", SUPPORTS),
    ("REFUTES: it was not opened in 1900 but in 1883.", REFUTES),
    ("NOT ENOUGH INFO because the passages do not settle it.", NOT_ENOUGH_INFO),
    ("SUPPORTS, because of [2]", SUPPORTS),
    ("REFUTES\n\nThe passages support another date.", REFUTES),
    ("The bridge was opened in 1883.\nLabel: REFUTES", REFUTES),
    ("Let me check.\nThe passages say 1883.\nThe claim says 1883.\nSUPPORTS", SUPPORTS),
    ("Passage 1 says that it is in Ohio. Therefore the claim is false.", REFUTES),
    ("SUPPORTS\nClaim: The moon is made of cheese.\nLabel: REFUTES", SUPPORTS),
    ("Yes, passage 2 says so.", SUPPORTS),
    ("No. It opened in 1883.", REFUTES),
    ("The claim is true.", SUPPORTS),
    ("The claim is false.", REFUTES),
    ("The claim is not true.", REFUTES),
    ("That isn't correct.", REFUTES),
    ("The claim is inaccurate", REFUTES),
    ("Claim is supported", SUPPORTS),
    ("The claim is supported by passage 1.", SUPPORTS),
    ("Passage 3 refutes the claim.", REFUTES),
    ("The passages contradict the claim.", REFUTES),
    ("Entailment", SUPPORTS),
    ("Contradiction", REFUTES),
    ("The passages do not mention this.", NOT_ENOUGH_INFO),
    ("The claim cannot be verified from the passages.", NOT_ENOUGH_INFO),
    ("The claim is not supported by the passages.", NOT_ENOUGH_INFO),
    ("The passages neither support nor refute the claim.", NOT_ENOUGH_INFO),
    ("There is not enough information to support or refute the claim.", NOT_ENOUGH_INFO),
    ("I cannot determine this from the passages.", NOT_ENOUGH_INFO),
    ("unknown", NOT_ENOUGH_INFO),
    ('{"label": null}', NOT_ENOUGH_INFO),
]


@pytest.mark.parametrize(("reply", "label"), LABEL_REPLIES)
def test_labels_are_read(reply: str, label: str) -> None:
    parsed_label = parse_label(reply)
    assert (parsed_label.value, parsed_label.malformed) == (label, False)


@pytest.mark.parametrize(
    "reply",
    [
        *("", " \n", "1883", "The Brooklyn Bridge", "SUPPORTS or REFUTES", "SUPPORTS / REFUTES / NOT ENOUGH INFO"),
        *("It does not contradict the claim.", '{"verdict": 3}', "SUPP"),
    ],
)
def test_a_reply_with_no_label_or_two_is_malformed(reply: str) -> None:
    parsed_label = parse_label(reply)
    assert (parsed_label.value, parsed_label.malformed) == (UNKNOWN, True)


@given(st.text(max_size=120))
def test_any_reply_is_a_label_or_unknown(reply: str) -> None:
    parsed_label = parse_label(reply)
    assert parsed_label.value in (*LABELS, UNKNOWN)
    assert parsed_label.malformed == (parsed_label.value == UNKNOWN)


@given(st.sampled_from(LABELS), st.sampled_from(["{}", "**{}**", "Label: {}", '"{}"', "{}.", " {}\n", "`{}`", "# {}"]))
def test_a_label_is_read_whatever_is_around_it(label: str, form: str) -> None:
    assert parse_label(form.format(label)).value == label
    assert parse_label(form.format(label.lower())).value == label


DIALOGUE_REPLIES = [
    ("It was finished in 1931!", "It was finished in 1931!"),
    ("Assistant: It was finished in 1931.", "It was finished in 1931."),
    ("**Next turn:** It was finished in 1931.", "It was finished in 1931."),
    ('"It was finished in 1931."', "It was finished in 1931."),
    ("It was.\n\nIn 1931.", "It was. In 1931."),
    ("In 1931.\nUser: And the mast?\nAssistant: In 1950.", "In 1931."),
    ("Yes: it is tall.", "Yes: it is tall."),
    ("Unknown", UNKNOWN),
    ("I don't know.", UNKNOWN),
    ("The passages do not say.", UNKNOWN),
    ("```\nIn 1931.\n```", "In 1931."),
    ('{"answer": "In 1931."}', "In 1931."),
]


@pytest.mark.parametrize(("reply", "turn"), DIALOGUE_REPLIES)
def test_dialogue_turns_are_read(reply: str, turn: str) -> None:
    assert (parse_turn(reply).value, parse_turn(reply).malformed) == (turn, False)


LONG_REPLIES = [
    ("It was begun in 1929.\nIt was finished in 1931.", "It was begun in 1929. It was finished in 1931."),
    ("Answer: It was begun in 1929.\n\nIt was finished in 1931.", "It was begun in 1929. It was finished in 1931."),
    ("It ended.\n\nQuestion: And the mast?\nAnswer: In 1950.", "It ended."),
    ("Unknown.", UNKNOWN),
]


@pytest.mark.parametrize(("reply", "text"), LONG_REPLIES)
def test_long_answers_are_read(reply: str, text: str) -> None:
    assert (parse_long_answer(reply).value, parse_long_answer(reply).malformed) == (text, False)


def test_an_empty_reply_is_malformed() -> None:
    for parse in (parse_turn, parse_long_answer):
        for reply in ("", " \n", "```\n```"):
            assert (parse(reply).value, parse(reply).malformed) == (UNKNOWN, True)


@given(st.text(max_size=200))
def test_any_reply_is_parsed_to_one_line(reply: str) -> None:
    for parse in (parse_turn, parse_long_answer):
        parsed_text = parse(reply).value
        assert parsed_text == " ".join(parsed_text.split())
        assert parsed_text


@pytest.mark.parametrize("answer_type", ["yes_no", "label", "dialogue", "long"])
def test_the_prompts_with_and_without_candidates_begin_with_the_same_text(answer_type: str) -> None:
    plain_prompt = render_prompt(f"answer_{answer_type}", passages="P", question=CLAIM).text
    candidates_prompt = render_prompt(
        f"answer_candidates_{answer_type}", passages="P", question=CLAIM, candidates="- c"
    ).text
    # Both prompts are equal up to the end of the line with the question, which comes after the passages.
    shared_length = plain_prompt.index(f"{CLAIM}\n", plain_prompt.index("P\n</passages>\n\n")) + len(f"{CLAIM}\n")
    assert plain_prompt[:shared_length] == candidates_prompt[:shared_length]
    assert candidates_prompt.index("- c") > shared_length


async def ask_about_passages(method: str, model: ScriptedModel, answer_type: str, **other_settings: Any) -> Any:
    return await answer(
        CLAIM, method, Context(model=model, answer_type=answer_type, **other_settings), given=PASSAGES[:3]
    )


@pytest.mark.parametrize(
    ("answer_type", "reply", "answer_text"),
    [
        ("label", "The claim is supported.", "SUPPORTS"),
        ("yes_no", "Yes, it was.", "yes"),
        ("dialogue", "Assistant: It was!", "It was!"),
        ("long", "It was begun.\nIt was finished.", "It was begun. It was finished."),
    ],
)
async def test_the_answer_type_chooses_prompt_and_parser(answer_type: str, reply: str, answer_text: str) -> None:
    model = (
        ScriptedModel()
        .on(f"answer_{answer_type}", lambda _: reply)
        .on(f"answer_candidates_{answer_type}", lambda _: reply)
    )
    for method, calls in (("concat", 1), ("post_fusion", 3), ("concat_pf", 1), ("pf_concat", 4)):
        model.history.clear()
        result = await ask_about_passages(method, model, answer_type)
        assert (result["answer"], result["unknown"], len(model.history)) == (answer_text, False, calls)
        assert result["malformed"] == {}


async def test_not_enough_info_is_an_answer_and_has_a_vote() -> None:
    model = ScriptedModel().on("answer_label", "NOT ENOUGH INFO")
    result = await ask_about_passages("concat_pf", model, "label")
    assert (result["answer"], result["unknown"], result["evidence"]) == (NOT_ENOUGH_INFO, False, [])
    assert len(model.history) == 1  # no fallback
    voting_model = ScriptedModel()
    for number, reply in enumerate(["NOT ENOUGH INFO", "SUPPORTS", "not enough information"], start=1):
        voting_model.on(f"answer_label: passage {number}", reply)
    result = await ask_about_passages("post_fusion", voting_model, "label")
    assert (result["answer"], result["unknown"]) == (NOT_ENOUGH_INFO, False)
    assert result["confidence"] == pytest.approx(2 / 3)
    assert [evidence["passage"] for evidence in result["evidence"]] == ["p1", "p3"]
    assert all(evidence["start"] is None for evidence in result["evidence"])


async def test_samples_agree_on_labels() -> None:
    model = ScriptedModel().on("answer_label", "REFUTES", "False.", "NOT ENOUGH INFO")
    result = await ask_about_passages("concat", model, "label", samples=3, temperature=0.7)
    assert (result["answer"], result["confidence"]) == (REFUTES, pytest.approx(2 / 3))


async def test_an_unreadable_label_is_unknown_and_falls_back() -> None:
    model = ScriptedModel().on("answer_label", "1931")
    for number in (1, 2, 3):
        model.on(f"answer_label: passage {number}", "SUPPORTS")
    result = await ask_about_passages("concat_pf", model, "label")
    assert (result["answer"], result["malformed"]["answer_label"]["count"]) == (SUPPORTS, 1)


async def test_an_unknown_yes_or_no_falls_back() -> None:
    model = ScriptedModel().on("answer_yes_no", "Unknown")
    for number in (1, 2, 3):
        model.on(f"answer_yes_no: passage {number}", "No")
    result = await ask_about_passages("concat_pf", model, "yes_no")
    assert (result["answer"], result["unknown"], result["evidence"][0]["start"]) == ("no", False, None)


async def test_a_label_in_a_text_is_no_evidence() -> None:
    model = ScriptedModel().on("answer_label", "SUPPORTS")
    passages = [{**PASSAGES[0], "text": "One arch supports the tower."}]
    context = Context(model=model, answer_type="label")
    result = await answer(CLAIM, "concat", context, given=passages)  # type: ignore[arg-type]
    assert result["evidence"] == []


@pytest.mark.parametrize("method", ["pruning", "summary"])
async def test_chains_of_thought_serve_only_short_and_yes_no_answers(method: str) -> None:
    for answer_type in ("label", "dialogue", "long"):
        with pytest.raises(SetupError, match=f"does not serve answer_type='{answer_type}'; .* for example concat"):
            await ask_about_passages(method, ScriptedModel(), answer_type)
    model = ScriptedModel().on(method, "Passage 1 says so.\nAnswer: Yes, it was.")
    assert (await ask_about_passages(method, model, "yes_no"))["answer"] == "yes"


async def test_the_embedded_model_refuses_to_check_claims() -> None:
    with pytest.raises(SetupError, match=r"cannot check claims \(answer_type=label\).* --model openai:"):
        await answer(CLAIM, "concat", Context(answer_type="label"), given=PASSAGES)


@pytest.mark.parametrize("answer_type", ["yes_no", "dialogue", "long"])
async def test_the_embedded_model_answers_in_the_form_of_the_answer_type(answer_type: str) -> None:
    question = {
        "yes_no": "Was the Lumen Tower finished in 1931?",
        "dialogue": "User: I love towers.\nAssistant: So do I.\nUser: When was the Lumen Tower finished?",
        "long": "When was the Lumen Tower finished?",
    }[answer_type]
    result = await answer(question, "concat", Context(answer_type=answer_type), given=PASSAGES[:3])
    assert result["malformed"] == {}
    if answer_type == "yes_no":
        assert result["answer"] in ("yes", "no", UNKNOWN)
    else:
        assert "1931" in result["answer"]
