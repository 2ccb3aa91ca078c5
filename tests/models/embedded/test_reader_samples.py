"""Sampled replies of the embedded reader: which replies the temperature, top_p (the nucleus) and the seed allow."""

import asyncio
import random
from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st
from reader_fixtures import PASSAGES, forget_readings_before_each_test, make_message, reply

from quorum.core.context import Context
from quorum.models.call import call
from quorum.models.embedded.reading import Reading, Span
from quorum.models.embedded.replies import Sampler

__all__ = ["forget_readings_before_each_test"]  # a fixture that pytest applies to each test of this file


HARD_QUESTION = "In which place and year was Joseph Haydn, who died in Vienna, born?"


async def draw_samples(count: int = 30, question: str = HARD_QUESTION, **settings: Any) -> list[str]:
    """The replies to the prompt `answer` with the seeds 0 to count - 1."""
    replies = (reply("answer", question, PASSAGES, seed=seed, **settings) for seed in range(count))
    return [received_reply.text for received_reply in await asyncio.gather(*replies)]


async def test_the_seed_decides_the_reply_above_temperature_0_only() -> None:
    samples = await draw_samples(temperature=1.5)
    assert samples == await draw_samples(temperature=1.5)
    assert len(set(samples)) > 3
    assert len(set(await draw_samples(temperature=0))) == 1
    assert len(set(await draw_samples(temperature=1.5, top_p=0))) == 1
    assert len(set(await draw_samples(temperature=1.5, top_p=0.3))) < len(set(samples))


async def test_samples_of_one_call_differ_and_are_the_same_in_the_next_call() -> None:
    context = Context(temperature=1.5, seed=5)
    message = make_message("answer", HARD_QUESTION, PASSAGES)
    inputs = message.additional_kwargs["quorum"]["inputs"]
    first = [sample.text for sample in await call("answer", message.text, context=context, inputs=inputs, n=20)]
    again = [sample.text for sample in await call("answer", message.text, context=context, inputs=inputs, n=20)]
    assert first == again
    assert len(set(first)) > 3


@given(
    st.lists(st.tuples(st.floats(-60, 60), st.text(max_size=3)), min_size=1, max_size=6),
    st.floats(1e-9, 2),
    st.floats(0, 1),
    st.text(max_size=3),
)
def test_a_sample_is_one_of_the_choices_and_a_best_one_if_top_p_is_0(
    choices: list[tuple[float, str]], temperature: float, top_p: float, seed: str
) -> None:
    sampler = Sampler(temperature, top_p, seed)
    assert sampler.sample(choices, random.Random(seed)) == sampler.sample(choices, random.Random(seed))
    assert sampler.sample(choices, random.Random(seed)) in {text for _, text in choices}
    best_score = max(score for score, _ in choices)
    assert Sampler(temperature, 0.0).sample(choices, random.Random(seed)) in {
        text for score, text in choices if score == best_score
    }


@given(
    st.lists(st.floats(-30, 30), min_size=1, max_size=5),
    st.floats(0.02, 0.98),
    st.text(max_size=3),
)
def test_top_p_0_chooses_as_temperature_0_does(scores: list[float], threshold: float, seed: str) -> None:
    spans = [Span(str(n), 0, 0, 0, score) for n, score in enumerate(sorted(scores, reverse=True))]
    reading = Reading(spans, spans[0].score)
    assume(abs(reading.probability - threshold) > 1e-6)  # at the threshold, rounding would decide
    assert Sampler(1.0, 0.0, seed).choose(reading, threshold) == Sampler().choose(reading, threshold)
