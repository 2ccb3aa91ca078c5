"""What the embedded reader replies to the baselines' prompts.

A condition is a part of the question. The method self_verification hides it in a statement and asks the model to find
it again.
"""

import pytest
from reader_fixtures import write_offline

from quorum.core.context import Context
from quorum.core.state import Passage
from quorum.core.text import is_unknown
from quorum.graphs import answer
from quorum.models.embedded.replies import Sampler
from quorum.models.embedded.replies_baselines import (
    NO_NOTES,
    answer_base,
    find_conditions,
    mask_condition,
    rank_passages,
    recover_condition,
    zero_shot_cot,
)
from quorum.models.embedded.replies_baselines import (
    inference as write_notes_and_answer,
)
from quorum.parsing.rankings import parse_ranking
from quorum.parsing.statements import parse_answer_with_notes, parse_masked_statement

BIRTH_QUESTION = "Where was Joseph Haydn born?"
PASSAGES = [
    Passage(id="tea", title="Tea", text="Tea is a drink made from the leaves of a shrub. It came to Europe in 1610."),
    Passage(id="rohrau", title="Rohrau", text="The composer Joseph Haydn was born in Rohrau, a village on the Leitha."),
    Passage(id="haydn", title="Joseph Haydn", text="Joseph Haydn was born in Rohrau.\nHe died in Vienna in 1809."),
]
INPUTS = {"question": BIRTH_QUESTION, "passages": PASSAGES, "examples": "", "notes": ""}


async def test_answers_to_the_prompt_answer_base_have_three_words_at_most() -> None:
    text = "The library was given to the Royal Society of Northern Antiquaries in 1841."
    inputs = {"question": "To whom was the library given?", "passages": [Passage(id="l", title="", text=text)]}
    for temperature in (0.0, 0.3, 1.0):
        for seed in "abc":
            reply = await answer_base(inputs, Sampler(temperature, 1.0, seed))
            assert len(reply.split()) <= 3
    assert await answer_base({**inputs, "passages": []}, Sampler()) == "Unknown"


async def test_a_chain_of_thought_is_the_sentence_that_holds_the_answer() -> None:
    reply = await zero_shot_cot(INPUTS, Sampler())
    assert reply.startswith("Rationale: Passage ")
    assert "born in Rohrau" in reply
    assert reply.endswith("\nAnswer: Rohrau")


async def test_passages_that_answer_rank_before_those_that_do_not() -> None:
    reply = await rank_passages(INPUTS, Sampler())
    order = parse_ranking(reply, 3)
    assert (order.value[-1], order.malformed) == (0, False)  # the passage about tea is last
    assert parse_ranking(await rank_passages({**INPUTS, "passages": PASSAGES[:1]}, Sampler()), 1).value == [0]


async def test_a_passage_that_answers_adds_to_the_notes_and_later_passages_do_not_change_the_answer() -> None:
    reply_without_answer = parse_answer_with_notes(
        await write_notes_and_answer({**INPUTS, "passages": PASSAGES[:1]}, Sampler())
    )
    assert reply_without_answer.value.rationale == NO_NOTES
    assert is_unknown(reply_without_answer.value.answer)
    assert not reply_without_answer.malformed
    parsed_reply = parse_answer_with_notes(
        await write_notes_and_answer({**INPUTS, "notes": NO_NOTES, "passages": PASSAGES[2:]}, Sampler())
    )
    assert parsed_reply.value.rationale == "Joseph Haydn: Joseph Haydn was born in Rohrau."
    assert parsed_reply.value.answer == "Rohrau"
    later_reply = parse_answer_with_notes(
        await write_notes_and_answer(
            {**INPUTS, "notes": parsed_reply.value.rationale, "passages": PASSAGES[:1]}, Sampler()
        )
    )
    assert later_reply == parsed_reply


@pytest.mark.parametrize(
    ("question", "first_condition"),
    [
        (BIRTH_QUESTION, "Joseph Haydn"),
        ("Which tower was finished in 1931?", "1931"),
        ("Which tower was painted?", "painted"),
        ("Who wrote The Lord of the Rings?", "The Lord of the Rings"),
        ("Which Nobel Prize did he win?", "Nobel Prize"),
        ("When?", None),
        ("", None),
    ],
)
def test_the_first_condition_of_a_question_is_found(question: str, first_condition: str | None) -> None:
    assert next(iter(find_conditions(question)), None) == first_condition


async def test_the_reader_hides_a_condition_in_the_quoted_question_and_finds_it_again() -> None:
    reply = await mask_condition({"question": BIRTH_QUESTION, "answer": "Rohrau"}, Sampler())
    masked_statement = parse_masked_statement(reply, "Rohrau").value
    assert masked_statement == {
        "statement": 'The answer to "Where was [MASK] born?" is Rohrau.',
        "hidden_words": "Joseph Haydn",
    }
    inputs = {"statement": masked_statement["statement"], "passages": PASSAGES}
    assert await recover_condition(inputs, Sampler()) == "Joseph Haydn"
    assert await recover_condition({**inputs, "passages": []}, Sampler()) == "Unknown"


@pytest.mark.parametrize(
    ("question", "answer"), [("When?", "1931"), ("1931?", "1931"), ("", ""), ('"Hidden: x"\nA?', "y")]
)
async def test_the_reply_that_hides_a_condition_is_well_formed_for_any_question(question: str, answer: str) -> None:
    parsed_reply = parse_masked_statement(
        await mask_condition({"question": question, "answer": answer}, Sampler()), answer
    )
    assert not parsed_reply.malformed


async def test_an_answer_from_memory_is_unknown() -> None:
    assert (
        await write_offline("answer_base_closed", {"question": BIRTH_QUESTION, "examples": ""}, Sampler()) == "Unknown"
    )


@pytest.mark.parametrize("method", ["selection_inference", "self_verification", "rerank", "replug", "base"])
async def test_every_baseline_answers_offline(method: str) -> None:
    result = await answer(BIRTH_QUESTION, method, Context(), given=PASSAGES)
    assert "Rohrau" in result["answer"]
    assert (result["malformed"], result["dropped"]) == ({}, 0)
