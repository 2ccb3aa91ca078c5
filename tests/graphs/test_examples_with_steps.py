"""The examples that a user gives to react and self_ask: the methods' prompts show each example as a whole run."""

import json
from pathlib import Path
from typing import Any

import pytest
from stepwise_fixtures import ask

from quorum.core.errors import SetupError
from quorum.models.scripted import ScriptedModel

EXAMPLE = {
    "question": "How high is the mountain that Karl climbed?",
    "answer": "812 metres",
    "rationale": "The Stufe is 812 metres high.",
    "steps": [
        {
            "thought": "Which mountain was it?",
            "query": "Which mountain did Karl climb?",
            "answer": "the Stufe",
            "passages": [{"id": "1", "title": "Karl", "text": "Karl climbed the Stufe."}],
        },
        {"query": "How high is the Stufe?", "answer": "812 metres"},
    ],
}
PLAIN_EXAMPLE = {"question": "Who?", "answer": "Karl", "rationale": "Karl it was."}


def write_examples(folder: Path, *lines: Any) -> str:
    path = folder / "examples.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return str(path)


async def test_examples_with_steps_are_shown_as_whole_runs(tmp_path: Path) -> None:
    model = ScriptedModel().on("react", "So.\nAction: Finish[x]").on("self_ask", "So the final answer is: x")
    for method in ("react", "self_ask"):
        await ask(method, model, examples=write_examples(tmp_path, EXAMPLE, PLAIN_EXAMPLE))
    assert (
        "Question: How high is the mountain that Karl climbed?\n\nThought 1: Which mountain was it?\n"
        "Action 1: Search[Which mountain did Karl climb?]\n"
        "Observation 1:\n<passages>\n[1] Karl\nKarl climbed the Stufe.\n</passages>\n\n"
        "Thought 2: \nAction 2: Search[How high is the Stufe?]\nObservation 2:\nNo passage.\n\n"
        "Thought 3: The Stufe is 812 metres high.\nAction 3: Finish[812 metres]\n\nNow"
    ) in model.history[0].text
    assert (
        "Question: How high is the mountain that Karl climbed?\nAre follow up questions needed here: Yes.\n"
        "Follow up: Which mountain did Karl climb?\nIntermediate answer: the Stufe\n"
        "Follow up: How high is the Stufe?\nIntermediate answer: 812 metres\nSo the final answer is: 812 metres\n\nNow"
    ) in model.history[1].text
    prompt_texts = model.history[0].text + model.history[1].text
    assert "Karl it was" not in prompt_texts  # the example without steps is not shown
    assert "Frankenstein" not in prompt_texts  # the built-in examples are replaced


async def test_examples_without_steps_do_not_replace_the_built_in_examples(tmp_path: Path) -> None:
    model = ScriptedModel().on("react", "So.\nAction: Finish[x]").on("self_ask", "So the final answer is: x")
    for method in ("react", "self_ask"):
        await ask(method, model, examples=write_examples(tmp_path, PLAIN_EXAMPLE))
    for call in model.history:
        assert call.text.count("Question: ") == 4  # those of three built-in examples, and the one asked
        assert "Question: Who?" not in call.text
        assert call.text.count("How old was the author of Frankenstein") == 1


@pytest.mark.parametrize("steps", [["x"], [{"query": "Who?"}], [{"query": 1, "answer": "x"}], "x"])
async def test_steps_of_another_form_are_a_setup_error(tmp_path: Path, steps: Any) -> None:
    with pytest.raises(SetupError, match="line 1: expected a "):
        await ask("react", ScriptedModel(), examples=write_examples(tmp_path, {**PLAIN_EXAMPLE, "steps": steps}))
