"""The embedded reader as a chat model: its replies, alone and many at once."""

import asyncio
import gc
import random
import threading
import weakref
from collections.abc import Callable, Iterator
from functools import partial
from string import Template
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage

from quorum.core.context import Context
from quorum.core.errors import SetupError
from quorum.core.state import Passage
from quorum.core.text import is_unknown
from quorum.graphs import answer
from quorum.models.call import call
from quorum.models.embedded import batching
from quorum.models.embedded.chat import EmbeddedReader
from quorum.models.embedded.encoder import get_encoder
from quorum.models.embedded.reading import Reading, Span
from quorum.models.embedded.replies import Draw
from quorum.models.embedded.responders import RESPONDERS
from quorum.nodes.ask import format_list
from quorum.parsing.answers import Parsed, parse_reasoned_answer, parse_short_answer
from quorum.parsing.candidates import parse_candidates
from quorum.parsing.choices import parse_choice
from quorum.parsing.labels import parse_long_answer, parse_turn
from quorum.parsing.passage_ids import parse_passage_ids
from quorum.parsing.preferences import parse_preference
from quorum.parsing.rankings import parse_ranking
from quorum.parsing.reasoning import parse_conclusion, parse_free_text, parse_topic, parse_yes_no_conclusion
from quorum.parsing.statements import parse_masked_statement, parse_missing_words, parse_noted_answer
from quorum.parsing.steps import parse_final_answer, parse_follow_up, parse_step
from quorum.parsing.summaries import parse_summary
from quorum.parsing.verdicts import parse_validity
from quorum.parsing.yes_no import parse_yes_no
from quorum.prompts import BUILT_IN, number_passages, render

BORN = "Where was Joseph Haydn born?"
PASSAGES = [
    Passage(id="a", title="Rohrau", text="The composer Joseph Haydn was born in Rohrau, a village on the Leitha."),
    Passage(id="b", title="Joseph Haydn", text="Joseph Haydn was born in Rohrau.\nHe died in Vienna in 1809."),
    Passage(id="c", title="Tea", text="Tea is a drink made from the leaves of a shrub. It came to Europe in 1610."),
]
PARSERS: dict[str, Callable[[str], Parsed[Any]]] = {
    "answer": parse_short_answer,
    "answer_candidates": parse_short_answer,
    "pruning": parse_reasoned_answer,
    "summary": parse_reasoned_answer,
    "answer_base": parse_short_answer,
    "answer_base_closed": parse_short_answer,
    "zero_shot_cot": parse_reasoned_answer,
    "rank_passages": lambda reply: parse_ranking(reply, reply.count("[")),
    "inference": parse_noted_answer,
    "mask_condition": parse_masked_statement,
    "recover_condition": parse_missing_words,
    "preference": parse_preference,
    "react": parse_step,
    "react_action": parse_step,
    "self_ask": parse_follow_up,
    "self_ask_answer": parse_short_answer,
    "self_ask_final": parse_final_answer,
    "direct": parse_short_answer,
    "direct_yes_no": parse_yes_no,
    "direct_from_memory": parse_short_answer,
    "direct_from_memory_yes_no": parse_yes_no,
    "reason": parse_conclusion,
    "reason_yes_no": parse_yes_no_conclusion,
    "reason_from_memory": parse_conclusion,
    "reason_from_memory_yes_no": parse_yes_no_conclusion,
    "extract_answer": parse_short_answer,
    "extract_answer_yes_no": parse_yes_no,
    "internal": parse_free_text,
    "topic": parse_topic,
    "judge": parse_free_text,
    "judge_yes_no": parse_free_text,
    "choose": partial(parse_passage_ids, count=3),
    "choose_yes_no": partial(parse_passage_ids, count=3),
    "judge_and_choose": partial(parse_passage_ids, count=3),
    "judge_and_choose_yes_no": partial(parse_passage_ids, count=3),
    "candidates": partial(parse_candidates, most=2),
    "conditional_summary": parse_summary,
    "generic_summary": parse_summary,
    "validity": parse_validity,
    "ranking": parse_preference,
    "answer_choices": partial(parse_choice, candidates=["Rohrau", "Vienna"]),
    "answer_summaries": parse_short_answer,
    "answer_summary": parse_short_answer,
    "answer_yes_no": parse_yes_no,
    "answer_candidates_yes_no": parse_yes_no,
    "answer_dialogue": parse_turn,
    "answer_candidates_dialogue": parse_turn,
    "answer_long": parse_long_answer,
    "answer_candidates_long": parse_long_answer,
}
# Prompts whose reply is an answer to the question, read from the passages.
ANSWERS = {
    *("answer", "answer_candidates", "pruning", "summary"),
    *("answer_base", "zero_shot_cot", "inference"),
    *("react", "react_action", "self_ask_answer", "self_ask_final"),
    *("direct", "reason"),
}
# What other variables hold than the question and the passages.
MORE: dict[str, str | list[str]] = {
    "candidates": ["Vienna", "Rohrau"],
    "examples": "",
    "notes": "",
    "count": "2",
    "form": "(a) answer (b) answer",
    "choices": "(a) Rohrau (b) Vienna",
    "prediction": "Rohrau",
    "summary": "Joseph Haydn was born in Rohrau.",
    "summaries": ["Joseph Haydn was born in Rohrau.", "Joseph Haydn died in Vienna."],
    "kind": "a name, a place, a date or a number",
    "step": "2",
    "steps": "",
    "topic": "composers",
    "judgement": "Passage 1 helps.",
    "reasoning": "Joseph Haydn was born in Rohrau. So the answer is Rohrau.",
    "thought": "Now the answer can be given.",
    "demonstrations": "",
    "answer": "Rohrau",
    "first": "Haydn was born in Rohrau.",
    "second": "Haydn died in Vienna.",
    "golds": ["Rohrau"],
    "statement": 'The answer to "Where was [MASK] born?" is Rohrau.',
}


def forget() -> None:
    """What was read before is read again."""
    batching.READINGS.clear()


@pytest.fixture(autouse=True)
def fresh() -> None:
    forget()


def message(prompt: str, question: str, passages: list[Passage], **more: Any) -> HumanMessage:
    """What the call layer sends: the prompt's text with its name and inputs."""
    wanted = Template(BUILT_IN[prompt]).get_identifiers()
    everything = {**MORE, **more, "question": question, "passages": passages}
    inputs: dict[str, Any] = {name: everything[name] for name in wanted}
    shown = {name: v if isinstance(v, str) else format_list(v) for name, v in inputs.items() if name != "passages"}
    text = render(prompt, **shown | ({"passages": number_passages(passages)} if "passages" in wanted else {})).text
    return HumanMessage(text, additional_kwargs={"quorum": {"prompt": prompt, "inputs": inputs, "sample": 0}})


async def reply(prompt: str, question: str = BORN, passages: list[Passage] = PASSAGES, **settings: Any) -> AIMessage:
    return await EmbeddedReader().ainvoke([message(prompt, question, passages)], **settings)


def parse_reply(prompt: str, text: str) -> tuple[str, bool]:
    """(answer, malformed) of a reply."""
    found: Parsed[Any] = PARSERS[prompt](text)
    return getattr(found.value, "answer", found.value), found.malformed


CHOICES = {"filter_sentences", "filter_passages"}  # what they say depends on the passages: test_filters.py
REFUSED = {"answer_label", "answer_candidates_label"}
JUDGED = {"correctness"}
REWRITTEN = {"stand_alone"}  # a question, not an answer: test_replies_follow_up.py
WRITTEN = {"question_single", "question_two", "question_unanswerable"}  # by chat models only


def test_every_prompt_is_served() -> None:
    """A variant of a prompt, NAME.VARIANT, is sent under the prompt's name."""
    never_asked = {"shorten"}  # its answers are short already
    assert {name for name in BUILT_IN if "." not in name} - never_asked == set(RESPONDERS)
    assert set(RESPONDERS) == set(PARSERS) | CHOICES | REFUSED | WRITTEN | REWRITTEN | JUDGED


@pytest.mark.parametrize("prompt", PARSERS)
async def test_every_reply_keeps_its_contract(prompt: str) -> None:
    text = (await reply(prompt)).text
    found, malformed = parse_reply(prompt, text)
    assert not malformed
    assert prompt not in ANSWERS or "Rohrau" in found
    unknown = (await reply(prompt, "Florbish grindle wumpus toofle?", PASSAGES[2:])).text
    found, malformed = parse_reply(prompt, unknown)
    assert not malformed
    assert prompt not in ANSWERS or is_unknown(found)


@pytest.mark.parametrize("prompt", PARSERS)
@pytest.mark.parametrize("passages", [[], [Passage(id="e", title="", text="")], [Passage(id="t", title="T", text=" ")]])
async def test_nothing_to_read_is_unknown(prompt: str, passages: list[Passage]) -> None:
    for question in (BORN, ""):
        for temperature in (0, 1):
            text = (await reply(prompt, question, passages, temperature=temperature)).text
            found, malformed = parse_reply(prompt, text)
            assert not malformed
            assert prompt not in ANSWERS or is_unknown(found)


PIECES = [*"ab 1.:{}\"'*-\n#", "Answer: ", "Question: ", "Passages:\n", "東", "🌕", "is in ", "Rohrau"]
ODD = st.lists(st.sampled_from(PIECES), max_size=30).map("".join)


@given(ODD, ODD, st.sampled_from(sorted(PARSERS)), st.floats(0, 2))
@settings(max_examples=25, deadline=None)
def test_replies_to_odd_passages_keep_their_contract(text: str, title: str, prompt: str, temperature: float) -> None:
    passages = [Passage(id="o", title=title, text=text), PASSAGES[2]]
    sent = message(prompt, "Where is a?", passages)
    got = EmbeddedReader().invoke([sent], temperature=temperature, seed=3).text
    assert not parse_reply(prompt, got)[1], got


async def test_quoted_slots_do_not_end_a_rationale() -> None:
    faq = "Question: Where was Joseph Haydn born? Answer: Joseph Haydn was born in Rohrau. Question: When did he die?"
    text = (await reply("summary", passages=[Passage(id="f", title="Haydn", text=faq)])).text
    found, malformed = parse_reply("summary", text)
    assert "Rohrau" in found
    assert not malformed


@pytest.mark.parametrize("prompt", PARSERS)
async def test_usage_counts_tokens(prompt: str) -> None:
    got = await reply(prompt)
    sent = message(prompt, BORN, PASSAGES)
    assert got.usage_metadata is not None
    assert got.usage_metadata["input_tokens"] == get_encoder().count(sent.text)
    assert got.usage_metadata["output_tokens"] == get_encoder().count(got.text)
    assert got.response_metadata["finish_reason"] == "stop"


async def test_evidence_is_verbatim() -> None:
    result = await answer(BORN, "post_fusion", Context(), given=PASSAGES)
    assert "Rohrau" in result["answer"]
    assert result["evidence"][0]["start"] is not None
    texts = {passage["id"]: passage["text"] for passage in PASSAGES}
    for found in result["evidence"]:
        if found["start"] is not None:
            assert texts[found["passage"]][found["start"] : found["end"]] == result["answer"]
    assert result["malformed"] == {}


@pytest.mark.parametrize(
    ("sent", "named"),
    [
        (HumanMessage("Hello!"), "free text"),
        (HumanMessage("x", additional_kwargs={"quorum": {"prompt": "sonnet", "inputs": {}}}), "the prompt 'sonnet'"),
    ],
)
async def test_unserved_prompts_are_refused(sent: HumanMessage, named: str) -> None:
    with pytest.raises(
        SetupError, match=f"cannot answer {named}: it serves the prompts answer, .* choose a chat model"
    ):
        await EmbeddedReader().ainvoke([sent])
    with pytest.raises(SetupError, match=named):
        EmbeddedReader().invoke([sent])


@pytest.mark.parametrize("prompt", sorted(REFUSED))
async def test_claims_are_refused(prompt: str) -> None:
    with pytest.raises(SetupError, match=r"cannot check claims .* for example --model openai:"):
        await reply(prompt)


@pytest.mark.parametrize("prompt", sorted(JUDGED))
async def test_judging_answers_is_refused(prompt: str) -> None:
    with pytest.raises(SetupError, match=r"cannot judge answers: it finds text.* for example --judge openai:"):
        await reply(prompt)


@pytest.mark.parametrize("prompt", sorted(WRITTEN))
async def test_writing_questions_is_refused(prompt: str) -> None:
    with pytest.raises(SetupError, match=r"cannot write questions: it finds text.* for example --model openai:"):
        await reply(prompt)


def test_synchronous_calls_work() -> None:
    assert "Rohrau" in EmbeddedReader().invoke([message("answer", BORN, PASSAGES)]).text


async def test_synchronous_inside_a_running_loop() -> None:
    assert "Rohrau" in EmbeddedReader().invoke([message("answer", BORN, PASSAGES)]).text


def test_a_closed_event_loop_is_released() -> None:
    async def once() -> weakref.ref[asyncio.AbstractEventLoop]:
        await reply("answer")
        return weakref.ref(asyncio.get_running_loop())

    loop = asyncio.run(once())
    gc.collect()
    assert loop() is None


HARD = "In which place and year was Joseph Haydn, who died in Vienna, born?"


async def samples(count: int = 30, question: str = HARD, **settings: Any) -> list[str]:
    made = (reply("answer", question, PASSAGES, seed=seed, **settings) for seed in range(count))
    return [got.text for got in await asyncio.gather(*made)]


async def test_temperature_draws_by_seed() -> None:
    hot = await samples(temperature=1.5)
    assert hot == await samples(temperature=1.5)
    assert len(set(hot)) > 3
    assert len(set(await samples(temperature=0))) == 1
    assert len(set(await samples(temperature=1.5, top_p=0))) == 1
    assert len(set(await samples(temperature=1.5, top_p=0.3))) < len(set(hot))


async def test_samples_of_one_call_differ_and_repeat() -> None:
    context = Context(temperature=1.5, seed=5)
    sent = message("answer", HARD, PASSAGES)
    inputs = sent.additional_kwargs["quorum"]["inputs"]
    first = [got.text for got in await call("answer", sent.text, context=context, inputs=inputs, n=20)]
    again = [got.text for got in await call("answer", sent.text, context=context, inputs=inputs, n=20)]
    assert first == again
    assert len(set(first)) > 3


@given(
    st.lists(st.tuples(st.floats(-60, 60), st.text(max_size=3)), min_size=1, max_size=6),
    st.floats(1e-9, 2),
    st.floats(0, 1),
    st.text(max_size=3),
)
def test_a_draw_is_one_of_the_choices(choices: list[tuple[float, str]], heat: float, top_p: float, seed: str) -> None:
    draw = Draw(heat, top_p, seed)
    assert draw.sample(choices, random.Random(seed)) == draw.sample(choices, random.Random(seed))
    assert draw.sample(choices, random.Random(seed)) in {text for _, text in choices}
    best = max(score for score, _ in choices)
    assert Draw(heat, 0.0).sample(choices, random.Random(seed)) in {text for score, text in choices if score == best}


@given(
    st.lists(st.floats(-30, 30), min_size=1, max_size=5),
    st.floats(0.02, 0.98),
    st.text(max_size=3),
)
def test_a_narrow_nucleus_chooses_as_temperature_0_does(scores: list[float], threshold: float, seed: str) -> None:
    spans = [Span(str(n), 0, 0, 0, score) for n, score in enumerate(sorted(scores, reverse=True))]
    reading = Reading(spans, spans[0].score)
    assume(abs(reading.probability - threshold) > 1e-6)
    assert Draw(1.0, 0.0, seed).choose(reading, threshold) == Draw().choose(reading, threshold)


def make_messages(count: int) -> list[HumanMessage]:
    asked = [BORN, "When did he die?", "What is tea made from?", "When did tea come to Europe?", "Who?"]
    return [
        message(["answer", "summary", "pruning"][n % 3], asked[n % 5], PASSAGES[n % 2 : 1 + n % 3] or PASSAGES)
        for n in range(count)
    ]


async def test_fifty_at_once_reply_as_one_by_one() -> None:
    model, sent = EmbeddedReader(), make_messages(50)
    together = await asyncio.gather(*(model.ainvoke([one]) for one in sent))
    forget()
    alone = [(await model.ainvoke([one])).text for one in sent[:30]]  # the rest repeats them
    assert [got.text for got in together] == [alone[n % 30] for n in range(50)]


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    """Until it is set, the reader's worker is busy with something else."""
    opened = threading.Event()
    batching.WORKER.submit(opened.wait)
    yield opened
    opened.set()


async def turns(count: int = 50) -> int:
    """Let the event loop go round."""
    for _ in range(count):
        await asyncio.sleep(0)
    return count


async def test_the_event_loop_goes_on_while_it_reads(gate: threading.Event) -> None:
    reading = asyncio.create_task(batching.read_passages(BORN, PASSAGES))
    assert await turns() == 50
    assert not reading.done()
    gate.set()
    assert "Rohrau" in (await reading).reading.spans[0].text


async def test_a_cancelled_read_does_not_affect_other_reads(gate: threading.Event) -> None:
    waiting = [asyncio.create_task(batching.read_passages(BORN, [passage])) for passage in PASSAGES[:2]]
    await turns()  # both are with the worker
    late = [asyncio.create_task(batching.read_passages(BORN, PASSAGES)) for _ in range(2)]
    await turns()  # these wait for their turn
    waiting[0].cancel()
    late[0].cancel()
    gate.set()
    assert "Rohrau" in (await waiting[1]).reading.spans[0].text
    assert "Rohrau" in (await late[1]).reading.spans[0].text
    for task in (waiting[0], late[0]):
        with pytest.raises(asyncio.CancelledError):
            await task


async def test_an_unreadable_passage_does_not_affect_other_reads() -> None:
    broken: Any = {"id": "x", "title": ""}
    good, bad = await asyncio.gather(
        batching.read_passages(BORN, PASSAGES), batching.read_passages(BORN, [broken]), return_exceptions=True
    )
    assert isinstance(bad, KeyError)
    assert isinstance(good, batching.JobResult)
    assert "Rohrau" in good.reading.spans[0].text


async def test_concurrent_reads_do_not_change_a_reading() -> None:
    alone = await batching.read_passages(BORN, PASSAGES)
    forget()
    readings = await asyncio.gather(
        *(batching.read_passages(q, PASSAGES) for q in ("Who died?", BORN, "What is tea?", BORN))
    )
    assert readings[1].reading == readings[3].reading == alone.reading
