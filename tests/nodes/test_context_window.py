"""Prompts that do not fit into the model's context window."""

import pytest
from method_fixtures import PASSAGES, QUESTION, STATE, make_runtime

from quorum.core.errors import CallError, TooLong
from quorum.core.state import Passage, State
from quorum.models.scripted import ScriptedModel
from quorum.models.token_estimate import estimate_tokens
from quorum.nodes.answer import concat_answer, passage_answer
from quorum.nodes.fit_window import fit_into_window
from quorum.prompts import RenderedPrompt, format_passages, render_prompt


async def test_the_lowest_ranked_passages_are_dropped_whole_to_fit_the_window() -> None:
    long_passages = [Passage(id=str(i), title="", text=f"{i} " + "word " * 100) for i in range(5)]
    model = ScriptedModel().on("answer", "1931")
    update = await concat_answer(
        {"question": QUESTION, "passages": long_passages}, make_runtime(model, context_window=670)
    )
    assert [passage["id"] for passage in update["passages"]] == ["0", "1"]
    assert update["dropped"] == 3
    assert long_passages[1]["text"].strip() in model.history[0].text
    assert "[3]" not in model.history[0].text


async def test_after_an_unknown_answer_the_state_keeps_all_passages_for_the_next_prompts() -> None:
    long_passages = [Passage(id=str(i), title="", text="word " * 100) for i in range(5)]
    model = ScriptedModel().on("answer", "unknown")
    update = await concat_answer(
        {"question": QUESTION, "passages": long_passages}, make_runtime(model, context_window=670)
    )
    assert (len(update["passages"]), update["dropped"]) == (5, 3)


async def test_a_prompt_that_the_server_finds_too_long_is_sent_again_without_its_last_passage() -> None:
    model = ScriptedModel().on("answer", TooLong("no"), TooLong("no"), "1931")
    update = await concat_answer(STATE, make_runtime(model))
    assert (update["answer"], update["dropped"], update["passages"]) == ("1931", 2, PASSAGES[:1])
    assert update["usage"]["answer"]["calls"] == 1


async def test_a_passage_that_does_not_fit_alone_is_an_error() -> None:
    state = State(question=QUESTION, passages=[Passage(id="tome", title="", text="word " * 9000)])
    with pytest.raises(CallError, match=r"'answer' does not fit .* with passage 'tome' alone .* window has 8192"):
        await concat_answer(state, make_runtime())


async def test_in_a_vote_a_passage_that_does_not_fit_alone_is_dropped_and_votes_unknown() -> None:
    state = State(question=QUESTION, rank=2, passages=[Passage(id="tome", title="", text="word " * 9000)])
    update = await passage_answer(state, make_runtime(samples=2))
    assert (update["dropped"], [vote["unknown"] for vote in update["votes"]]) == (1, [True, True])
    assert {vote["rank"] for vote in update["votes"]} == {2}


async def test_the_models_profile_gives_the_size_of_its_context_window() -> None:
    model = ScriptedModel(profile={"max_input_tokens": 670}).on("answer", "1931")
    long_passages = [Passage(id=str(i), title="", text="word " * 100) for i in range(5)]
    assert (await concat_answer({"question": QUESTION, "passages": long_passages}, make_runtime(model)))["dropped"] == 3


@pytest.mark.parametrize("window", [1, 100, 670, 1200, 100_000])
@pytest.mark.parametrize("count", [0, 1, 2, 7])
async def test_as_many_passages_are_shown_as_fit(window: int, count: int) -> None:
    """As if one passage after another were dropped, of different lengths."""
    passages = [Passage(id=str(n), title="", text=f"{n} " + "word " * (37 * n % 50)) for n in range(count)]
    fitting = [n for n in range(count + 1) if estimate_tokens(write_prompt(passages[:n]).text) <= window]
    shown, prompt = fit_into_window(write_prompt, passages, window)
    assert len(shown) == max(fitting[-1] if fitting else 0, min(1, count))
    assert prompt == write_prompt(shown)


async def test_thousands_of_passages_are_cut_down_in_few_steps() -> None:
    passages = [Passage(id=str(n), title="", text="word " * 100) for n in range(5000)]
    counts: list[int] = []

    def write(shown: list[Passage]) -> RenderedPrompt:
        counts.append(len(shown))
        return write_prompt(shown)

    shown, _ = fit_into_window(write, passages, 8192)
    assert len(shown) == 46
    assert len(counts) < 10
    assert max(counts) < 100  # no prompt with all of them is written
    assert len(fit_into_window(write, passages, 1_000_000)[0]) == 5000


async def test_a_window_that_is_only_assumed_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    class UnknownWindow(ScriptedModel):
        pass

    passages = [Passage(id=str(n), title="", text="word " * 2000) for n in range(4)]
    model = UnknownWindow().on("answer", "1931", "1931")
    for _ in range(2):
        update = await concat_answer({"question": QUESTION, "passages": passages}, make_runtime(model))
    assert update["dropped"] == 2
    [warning] = [record.getMessage() for record in caplog.records]
    assert warning == (
        "UnknownWindow: nothing says how many tokens this model reads, so passages beyond 8,192 tokens are left out; "
        "set context_window to the size of its window."
    )
    model = UnknownWindow(profile={"max_input_tokens": 7000}).on("answer", "1931")
    await concat_answer({"question": QUESTION, "passages": passages}, make_runtime(model))
    assert len(caplog.records) == 1


def write_prompt(shown: list[Passage]) -> RenderedPrompt:
    return render_prompt("answer", passages=format_passages(shown), question=QUESTION)
