"""`answer_text`: every method returns the answer as the model wrote it, beside the answer that is measured."""

from typing import Any

import pytest
from method_fixtures import PASSAGES, QUESTION
from openai_server import OpenAIServer

from quorum.algorithms.votes import count_votes
from quorum.core.context import Context
from quorum.core.state import Vote
from quorum.evaluation.metrics.answers import Reference, contains, em
from quorum.graphs import METHODS, answer
from quorum.models.scripted import ScriptedModel
from quorum.parsing.answer_text import find_answer_text

SENTENCE = "It was finished in **1931** [1]."


async def ask(method: str, model: Any, **settings: Any) -> Any:
    return await answer(QUESTION, method, Context(model=model, **settings), given=PASSAGES[:3])


@pytest.mark.parametrize("name", METHODS)
async def test_every_method_with_the_embedded_reader_gives_its_answer_as_the_text(name: str) -> None:
    result = await ask(name, "embedded")
    if result["unknown"]:
        assert result["answer"] == "unknown"
    else:
        assert result["answer_text"].rstrip(".") == result["answer"].rstrip(".")


async def test_the_text_is_the_reply_without_its_thoughts_and_fence() -> None:
    reply = f"<think>Which tower?</think>\n```markdown\n{SENTENCE}\n```"
    assert (await ask("concat", ScriptedModel().on("answer", reply)))["answer_text"] == SENTENCE


async def test_the_text_of_an_unknown_answer_is_the_reply_that_says_so() -> None:
    result = await ask("concat", ScriptedModel().on("answer", "The passages do not say when."))
    assert (result["answer"], result["answer_text"]) == ("unknown", "The passages do not say when.")


async def test_the_text_of_a_vote_is_that_of_the_first_vote_for_the_winner() -> None:
    votes = [
        Vote(rank=2, passage="c", answer="the 1931", answer_text="The 1931", unknown=False),
        Vote(rank=0, passage="a", answer="unknown", answer_text="Not given.", unknown=True),
        Vote(rank=1, passage="b", answer="1931", answer_text=SENTENCE, unknown=False),
    ]
    assert count_votes(votes).answer_text == SENTENCE
    assert count_votes(votes[1:2]).answer_text is None  # several votes are unknown, each in words of its own
    old_vote = Vote(rank=0, passage="a", answer="1931", unknown=False)  # from a file of an older version
    assert count_votes([old_vote]).answer_text == "1931"


async def test_an_answer_after_a_chain_of_thought_has_no_reasoning_in_its_text() -> None:
    model = ScriptedModel().on("reason", "The mast was painted in 1950. So the answer is 1931.")
    result = await ask("cot", model)
    assert (result["answer_text"], "1950" in result["rationale"]) == ("1931", True)


async def test_an_earlier_text_does_not_stay_when_a_later_step_gives_no_answer() -> None:
    model = ScriptedModel().on("answer", "The passages do not say when.", "unknown", "unknown", "unknown")
    result = await ask("concat_pf", model)
    assert (result["answer"], result["answer_text"]) == ("unknown", None)


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        ('{"answer": "Paris, **France**"}', "Paris, **France**"),
        ('```json\n{"answer": null}\n```', "unknown"),
        ("<answer>Paris</answer>", "Paris"),
        ("\\boxed{42}", "42"),
        ("Paris<|im_end|>", "Paris"),
        ("Paris\n\nQuestion: Who built it?\nAnswer: Ada", "Paris"),
        ("First.\n\n- one\n- two", "First.\n\n- one\n- two"),
        ("Use `<output>` for it.", "Use `<output>` for it."),
        ("", ""),
    ],
)
def test_only_what_surrounds_a_reply_is_removed(reply: str, text: str) -> None:
    assert find_answer_text(reply, "Paris", QUESTION) == text


def test_contains_is_measured_on_the_text_and_exact_match_on_the_answer() -> None:
    reference = Reference(answers=["Ada Moreau"])
    result: Any = {"answer": "1931", "answer_text": "Ada Moreau finished it in 1931.", "unknown": False}
    assert (contains(result, reference), em(result, reference)) == (1.0, 0.0)
    for text in (None, "missing"):  # an answer without a text, and a row of an older version
        old_result = {key: value for key, value in result.items() if key != "answer_text"}
        old_result |= {} if text else {"answer_text": None}
        assert contains(old_result, reference) == 0.0
        assert contains({**old_result, "answer": "Ada Moreau in 1931"}, reference) == 1.0


async def test_the_text_of_a_served_model_is_what_it_wrote(openai_server: OpenAIServer) -> None:
    openai_server.reply(SENTENCE)
    result = await ask("post_fusion", "openai:test", shorten="off")
    assert result["answer_text"] == SENTENCE
    assert [vote["answer_text"] for vote in result["votes"]] == [SENTENCE] * 3
