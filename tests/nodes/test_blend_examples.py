"""The demonstrations in few-shot prompts: the built-in ones for each answer type, and those from a user's file."""

import json
from pathlib import Path

import pytest
from blendfilter_fixtures import PASSAGES, make_blend_model
from method_fixtures import make_runtime

from quorum.core.context import Context
from quorum.core.errors import SetupError
from quorum.core.text import normalize, squad_contains_answer
from quorum.graphs import answer
from quorum.models.scripted import ScriptedModel
from quorum.nodes.demonstrations import BUILT_IN_DEMONSTRATIONS, format_demonstrations
from quorum.parsing.answers import ReasonedAnswer
from quorum.parsing.reasoning import parse_conclusion

OWN_EXAMPLES = [
    {
        "question": "Which colour is the door?",
        "answer": "green",
        "rationale": "The house is Anna's. Her door is green.",
        "passages": [{"id": "1", "title": "Anna", "text": "Anna's door is green."}],
    },
    {"question": "Who lives there?", "answer": "Anna", "rationale": "It is her house."},
]


@pytest.fixture
def examples_file(tmp_path: Path) -> str:
    path = tmp_path / "examples.jsonl"
    path.write_text("\n".join(map(json.dumps, OWN_EXAMPLES)), encoding="utf-8")
    return str(path)


async def test_a_demonstration_has_the_form_of_the_prompt_that_shows_it(examples_file: str) -> None:
    runtime = make_runtime(examples=examples_file)
    assert await format_demonstrations("Who is it?", runtime, with_reasoning=True, with_passages=True) == (
        "Passages:\n<passages>\n[1] Anna\nAnna's door is green.\n</passages>\n\nQuestion: Which colour is the door?\n"
        "Rationale: The house is Anna's. Her door is green. So the answer is green.\n\n"
        "Question: Who lives there?\nRationale: It is her house. So the answer is Anna."
    )
    assert await format_demonstrations("Who is it?", runtime, with_reasoning=False, with_passages=False) == (
        "Question: Which colour is the door?\nAnswer: green\n\nQuestion: Who lives there?\nAnswer: Anna"
    )


@pytest.mark.parametrize("kind", ["short", "multi_hop", "yes_no"])
def test_each_kind_has_three_built_in_demonstrations_whose_passages_contain_the_answer(kind: str) -> None:
    examples = BUILT_IN_DEMONSTRATIONS[kind]
    assert len(examples) == 3
    for example in examples:
        texts = [f"{passage['title']}\n{passage['text']}" for passage in example["passages"]]
        assert 2 <= len(texts) <= 3
        assert kind == "yes_no" or squad_contains_answer("\n".join(texts), [example["answer"]])
        assert kind == "short" or len(example["rationale"].split(". ")) >= 2
    assert {example["answer"] for example in BUILT_IN_DEMONSTRATIONS["yes_no"]} == {"Yes", "No"}


async def test_the_answer_is_parsed_from_every_demonstrated_chain_of_thought() -> None:
    for kind in ("multi_hop", "yes_no"):
        for example in BUILT_IN_DEMONSTRATIONS[kind]:
            text = f"{example['rationale']} So the answer is {example['answer']}."
            assert parse_conclusion(text).value == ReasonedAnswer(example["answer"], example["rationale"])


@pytest.mark.parametrize(
    ("answer_type", "with_reasoning", "expected_kind"),
    [("short", True, "multi_hop"), ("short", False, "short"), ("yes_no", True, "yes_no"), ("yes_no", False, "yes_no")],
)
async def test_the_answer_type_chooses_the_demonstrations(
    answer_type: str, with_reasoning: bool, expected_kind: str
) -> None:
    text = await format_demonstrations(
        "Who is it?", make_runtime(answer_type=answer_type), with_reasoning=with_reasoning, with_passages=True
    )
    questions = [example["question"] for example in BUILT_IN_DEMONSTRATIONS[expected_kind]]
    assert [line for line in text.splitlines() if line.startswith("Question: ")] == [
        f"Question: {q}" for q in questions
    ]


def test_no_demonstration_is_a_question_of_the_sample() -> None:
    sample = Path(__file__).parents[2] / "data" / "sample" / "questions.jsonl"
    sample_questions = {
        normalize(json.loads(line)["question"]) for line in sample.read_text(encoding="utf-8").splitlines()
    }
    assert (
        not {normalize(example["question"]) for examples in BUILT_IN_DEMONSTRATIONS.values() for example in examples}
        & sample_questions
    )


@pytest.mark.parametrize(
    ("method", "call_names"),
    [("direct", ["direct"]), ("cot", ["reason"]), ("blendfilter", ["reason: external", "reason"])],
)
async def test_user_examples_replace_the_built_in_examples(
    examples_file: str, method: str, call_names: list[str]
) -> None:
    model = make_blend_model().on("direct", "Jillian Belk")
    await answer("Who?", method, Context(model=model, examples=examples_file, k=2), given=PASSAGES)
    shown_texts = [call.text for call in model.history if call.prompt_name in ("direct", "reason")]
    assert [call.name for call in model.history if call.prompt_name in ("direct", "reason")] == call_names
    assert all("Which colour is the door?" in text and "Who lives there?" in text for text in shown_texts)
    assert not any(
        example["question"] in text
        for text in shown_texts
        for examples in BUILT_IN_DEMONSTRATIONS.values()
        for example in examples
    )


async def test_a_chain_of_thought_needs_rationales(tmp_path: Path) -> None:
    path = tmp_path / "bare.jsonl"
    path.write_text('{"question": "Who?", "answer": "Anna"}', encoding="utf-8")
    model = ScriptedModel().on("direct", "Jillian Bell")
    # `queries` leaves out the internal query, and filter_turns=1 the prompt for the question's topic. So BlendFilter's
    # first prompt is `reason`, for the external query ("ex").
    context = Context(model=model, examples=str(path), queries="q+ex", filter_turns=1)
    assert (await answer("Who?", "direct", context, given=PASSAGES))["answer"] == "Jillian Bell"
    for method in ("cot", "blendfilter"):
        with pytest.raises(SetupError, match=r"Example 1 of .*bare\.jsonl has no rationale"):
            await answer("Who?", method, context, given=PASSAGES)


async def test_a_missing_examples_file_is_named() -> None:
    with pytest.raises(SetupError, match=r"There is no file missing\.jsonl"):
        await answer("Who?", "cot", Context(model=ScriptedModel(), examples="missing.jsonl"), given=PASSAGES)
