"""`blendfilter`, `direct` and `cot` with the embedded model: it reads passages, and without them replies "unknown"."""

from functools import partial
from typing import Any

import pytest
from blendfilter_fixtures import PASSAGES, join_ids
from hypothesis import assume, given
from hypothesis import strategies as st
from reader_fixtures import write_offline

from quorum.core.context import Context
from quorum.core.state import Passage
from quorum.graphs import answer
from quorum.models.embedded.replies import Sampler
from quorum.models.embedded.replies_blend import STATED_CONCLUSION
from quorum.parsing.answers import parse_short_answer
from quorum.parsing.passage_ids import parse_passage_ids
from quorum.parsing.reasoning import parse_conclusion, parse_free_text, parse_yes_no_conclusion
from quorum.parsing.yes_no import parse_yes_no

BIRTH_QUESTION = "Where was Joseph Haydn born?"
HAYDN = [
    Passage(id="tea", title="Tea", text="Tea is a drink made from the leaves of a shrub. It came to Europe in 1610."),
    Passage(id="haydn", title="Joseph Haydn", text="Joseph Haydn was born in Rohrau.\nHe died in Vienna in 1809."),
    Passage(id="kiln", title="Kiln", text="A kiln is an oven in which pots are fired."),
]


async def reply(prompt: str, **inputs: Any) -> str:
    return await write_offline(prompt, {"question": BIRTH_QUESTION, "passages": HAYDN, **inputs}, Sampler())


async def test_the_passages_judged_relevant_are_the_passages_chosen() -> None:
    judgement = await reply("judge", topic="composers")
    assert judgement.splitlines()[1].startswith("Passage 2: relevant. Joseph Haydn was born in Rohrau.")
    assert (
        parse_passage_ids(judgement, 3).value
        == parse_passage_ids(await reply("choose", topic="", judgement=judgement), 3).value
    )
    assert parse_passage_ids(await reply("judge_and_choose"), 3).value == [2]


async def test_the_embedded_reader_has_no_memorised_answers() -> None:
    assert await reply("internal") == "Unknown"
    assert await reply("direct_from_memory", demonstrations="") == "Unknown"
    assert (await reply("reason_from_memory", demonstrations="")).endswith("So the answer is Unknown.")


async def test_the_topic_is_words_of_the_question() -> None:
    assert await reply("topic") == "Joseph Haydn born"
    assert await reply("topic", question="Who is it?") == "Who is it"
    assert await reply("topic", question="?") == "anything"


async def test_extract_answer_takes_the_answer_that_the_reasoning_states() -> None:
    assert await reply("extract_answer", reasoning="He lived. So the answer is St. Pölten.") == "St. Pölten"
    assert await reply("extract_answer_yes_no", reasoning="He lived. So the answer is no.") == "No"
    assert parse_yes_no(await reply("extract_answer_yes_no", reasoning="He lived there.")).malformed is False
    assert await reply("extract_answer", reasoning="") == "Unknown"


async def test_blendfilter_answers_through_its_whole_graph() -> None:
    result = await answer(BIRTH_QUESTION, "blendfilter", Context(k=3), given=HAYDN)
    assert result["retrieved"] == ["tea", "haydn", "kiln"]
    assert (result["answer"], join_ids(result["passages"])) == ("Rohrau", "haydn")
    assert (result["malformed"], result["dropped"]) == ({}, 0)
    # Knowledge from passages, knowledge from memory, topic; judge and choose for each of 3 queries; reason, extract.
    assert sum(usage["calls"] for usage in result["usage"].values()) == 11


@pytest.mark.parametrize("method", ["blendfilter", "direct", "cot"])
async def test_a_yes_no_question_gets_yes_no_or_unknown(method: str) -> None:
    context = Context(answer_type="yes_no", k=3)
    result = await answer("Was Joseph Haydn born in Rohrau?", method, context, given=HAYDN)
    assert result["answer"] in ("yes", "no", "unknown")
    assert result["malformed"] == {}


async def test_answers_from_memory_are_unknown() -> None:
    for method in ("direct", "cot"):
        for answer_type in ("short", "yes_no"):
            result = await answer(BIRTH_QUESTION, method, Context(retrieve=False, answer_type=answer_type))
            assert (result["unknown"], result["passages"], result["malformed"]) == (True, [], {})


async def test_passages_that_do_not_help_are_all_filtered_out() -> None:
    result = await answer("What is the boiling point of tungsten?", "blendfilter", Context(k=6), given=PASSAGES)
    assert (result["unknown"], result["passages"], len(result["retrieved"] or [])) == (True, [], 6)


PARSERS = {
    "direct": parse_short_answer,
    "reason": parse_conclusion,
    "reason_yes_no": parse_yes_no_conclusion,
    "extract_answer": parse_short_answer,
    "extract_answer_yes_no": parse_yes_no,
    "topic": parse_short_answer,
    "judge": parse_free_text,
    "choose": partial(parse_passage_ids, count=2),
    "judge_and_choose": partial(parse_passage_ids, count=2),
}
TEXT_PIECES = [
    *"ab 1.:{}\"'*-\n[]",
    "Answer: ",
    "Question: ",
    "So the answer is ",
    "relevant passages: ",
    "none",
    "東",
    "Rohrau",
]
ODD_TEXTS = st.lists(st.sampled_from(TEXT_PIECES), max_size=30).map("".join)


@given(ODD_TEXTS, ODD_TEXTS, st.sampled_from(sorted(PARSERS)), st.sampled_from([0.0, 1.0]))
async def test_replies_to_odd_texts_are_never_malformed(text: str, title: str, prompt: str, temperature: float) -> None:
    stated_conclusion = STATED_CONCLUSION.match(text)
    # The model copies a stated conclusion without its full stop: skip texts whose conclusion is no answer, such as ".".
    assume(
        not stated_conclusion or not parse_short_answer(stated_conclusion["answer"].strip().removesuffix(".")).malformed
    )
    passages = [Passage(id="o", title=title, text=text), HAYDN[0]]
    inputs = {"question": "Where is a?", "passages": passages, "reasoning": text, "judgement": text, "topic": title}
    reply_text = await write_offline(prompt, inputs, Sampler(temperature, seed=text))
    assert not PARSERS[prompt](reply_text).malformed, reply_text
