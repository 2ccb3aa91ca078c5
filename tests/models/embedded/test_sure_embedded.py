"""SuRe with the embedded reader: the candidates that the reader proposes, the summaries that it writes and judges."""

from typing import Any

import pytest
from reader_fixtures import write_offline

from quorum.core.context import Context
from quorum.core.lettered_lists import format_lettered_list
from quorum.core.state import Passage
from quorum.core.text import squad_contains_answer
from quorum.graphs import answer
from quorum.models.embedded.replies import Sampler
from quorum.parsing.candidates import parse_candidates

QUESTION = "Where was Joseph Haydn born?"
PASSAGES = [
    Passage(id="a", title="Rohrau", text="The composer Joseph Haydn was born in Rohrau, a village on the Leitha."),
    Passage(id="b", title="Joseph Haydn", text="Joseph Haydn was born in Rohrau.\nHe died in Vienna in 1809."),
    Passage(id="c", title="Tea", text="Tea is a drink made from the leaves of a shrub. It came to Europe in 1610."),
]


async def reply(prompt: str, sampler: Sampler | None = None, **inputs: Any) -> str:
    """The reader's reply to the prompt of this name."""
    inputs = {"question": QUESTION, "passages": PASSAGES, **inputs}
    return await write_offline(prompt, inputs, sampler or Sampler())


async def propose_candidates(count: int, sampler: Sampler | None = None) -> list[str]:
    parsed_reply = parse_candidates(await reply("candidates", sampler, count=str(count)), limit=26)
    assert not parsed_reply.malformed
    return parsed_reply.value


async def test_candidates_are_short_and_different_and_stand_in_the_passages() -> None:
    candidates = await propose_candidates(4)
    assert candidates[0] == "Rohrau"
    assert len(candidates) == 4
    for index, candidate in enumerate(candidates):
        assert len(candidate.split()) <= 3
        assert any(squad_contains_answer(passage["text"], [candidate]) for passage in PASSAGES)
        assert not any(squad_contains_answer(candidate, [other]) for other in candidates[:index])
    assert await propose_candidates(2) == candidates[:2]


async def test_candidates_are_drawn_by_seed_above_temperature_0() -> None:
    pairs, pairs_again = [
        [tuple(await propose_candidates(2, Sampler(temperature=2.0, seed=seed))) for seed in "abcdefgh"]
        for _ in range(2)
    ]
    assert pairs == pairs_again
    assert len(set(pairs)) > 1
    assert all(len(set(pair)) == 2 for pair in pairs)


async def test_a_summary_holds_the_sentences_with_the_prediction() -> None:
    choices = format_lettered_list(["Rohrau", "Vienna"])
    text = await reply("conditional_summary", choices=choices, prediction="(b) Vienna")
    assert text == "Joseph Haydn: He died in Vienna in 1809. [DONE]"
    text = await reply("conditional_summary", choices=choices, prediction="(a) Rohrau")
    assert text.count("Rohrau") == 2
    assert "Vienna" not in text


@pytest.mark.parametrize("prediction", ["Oslo", "Leitha"])
async def test_a_summary_says_when_nothing_supports_the_prediction(prediction: str) -> None:
    """No passage names Oslo; Leitha stands only in a sentence that answers the question with Rohrau."""
    text = await reply("conditional_summary", choices=f"(a) {prediction}", prediction=f"(a) {prediction}")
    assert text == "The passages say nothing that supports this. [DONE]"
    assert await reply("validity", prediction=prediction, summary=text.removesuffix(" [DONE]")) == "False"


async def test_a_summary_has_three_sentences_at_most() -> None:
    six_sentences = " ".join(f"In {year}, Haydn was in Rohrau." for year in range(1800, 1806))
    passages = [Passage(id="m", title="", text=six_sentences)]
    text = await reply("conditional_summary", passages=passages, choices="(a) Rohrau", prediction="(a) Rohrau")
    assert text.count("Haydn was in Rohrau.") == 3
    four_passages = [
        Passage(id=str(year), title="", text=f"Joseph Haydn was born in Rohrau in {year}.")
        for year in range(1730, 1734)
    ]
    assert (await reply("generic_summary", passages=four_passages)).count("born in Rohrau") == 3


async def test_a_generic_summary_holds_sentences_that_answer_the_question() -> None:
    assert (await reply("generic_summary")).startswith("The composer Joseph Haydn was born in Rohrau")


async def test_a_prediction_is_valid_if_the_summary_answers_with_it() -> None:
    summary = "Joseph Haydn was born in Rohrau."
    assert await reply("validity", prediction="Rohrau", summary=summary) == "True"
    assert await reply("validity", prediction="Vienna", summary=summary) == "False"
    assert await reply("validity", prediction="Rohrau", summary="") == "False"


async def test_ranking_prefers_the_summary_that_answers() -> None:
    """The prompt calls the two summaries Passage 1 and Passage 2. Of equal ones, the first is preferred."""
    good, bad = "Joseph Haydn was born in Rohrau.", "Tea is a drink made from leaves."
    assert await reply("ranking", first=good, second=bad) == "Passage 1"
    assert await reply("ranking", first=bad, second=good) == "Passage 2"
    assert await reply("ranking", first=good, second=good) == "Passage 1"


async def test_a_question_with_choices_is_answered_with_one_of_them() -> None:
    assert await reply("answer_choices", choices="(a) Vienna (b) Rohrau") == "(b) Rohrau"
    assert await reply("answer_choices", choices="(a) Oslo (b) Berlin") == "(a) Oslo"  # neither is in the passages


@pytest.mark.parametrize(
    ("method", "settings", "calls"),
    [
        ("sure", {}, 7),  # for two candidates: 1 prompt to propose them, 2 summaries, 2 validities, 2 rankings
        ("sure", {"candidates": 3}, 13),
        ("sure", {"ranking": "lazy"}, 7),  # both candidates are valid here, so both are ranked
        ("sure", {"sure_parts": "ranking"}, 5),
        ("sure", {"sure_parts": "summaries"}, 4),
        ("mcq", {}, 2),
        ("sum_and_pred", {}, 2),
    ],
)
async def test_sure_and_its_baselines_answer_offline(method: str, settings: dict[str, Any], calls: int) -> None:
    result = await answer(QUESTION, method, Context(**settings), given=PASSAGES)
    assert (result["answer"], result["malformed"]) == ("Rohrau", {})
    assert sum(usage["calls"] for usage in result["usage"].values()) == calls
    assert [evidence["passage"] for evidence in result["evidence"]] == ["a", "b"]
