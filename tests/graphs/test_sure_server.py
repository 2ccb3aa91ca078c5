"""SuRe with a loopback OpenAI server: rounds of calls, prompts that begin alike, verifier, examples, variants of
prompts.
"""

import json
import re
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from method_fixtures import PASSAGES, QUESTION
from openai_server import LONGEST_WAIT, OpenAIServer, Request

from quorum.core.context import Context
from quorum.core.errors import SetupError
from quorum.core.lettered_lists import format_lettered_list
from quorum.core.state import Result
from quorum.graphs import answer
from quorum.prompts import BUILT_IN

YEARS = ["1931", "1950", "1929", "1911"]
CUE_OF_PROMPT = {  # prompt -> its last words, which are the same in every request
    "candidates": "Answers:",
    "conditional_summary": "Paragraph:",
    "validity": "True or False.\nAnswer:",
    "ranking": "and nothing else.\nAnswer:",
}


def get_prompt_name(request: Request) -> str:
    """The name of the prompt that the request fills."""
    return next(name for name, cue in CUE_OF_PROMPT.items() if request.text.endswith(cue))


def reply_for_first_candidate(request: Request) -> str:
    """Reply to any prompt of SuRe so that the first candidate wins, whichever summary a ranking prompt shows first."""
    if get_prompt_name(request) == "candidates":
        count = request.text.count(" answer (") + 1  # the prompt shows the form "(a) answer (b) answer"
        return format_lettered_list(YEARS[:count])
    if get_prompt_name(request) == "conditional_summary":
        prediction = request.text.rsplit("Prediction: ", 1)[1]
        return f"It was {prediction.split()[1]}. [DONE]"
    if get_prompt_name(request) == "validity":
        return str("Prediction: 1931" in request.text)
    return "Passage 2" if "Passage 2:\nIt was 1931" in request.text else "Passage 1"


async def ask(model: str = "openai:test", **settings: Any) -> Result:
    return await answer(QUESTION, "sure", Context(model=model, k=3, **settings), given=PASSAGES)


class ReplyInRounds:
    """Replies only when all calls of a round have arrived; if fewer arrive within a minute, the calls fail."""

    def __init__(self, *sizes: int) -> None:
        self.barriers = [threading.Barrier(size) for size in sizes]
        self.lock, self.arrived_counts = threading.Lock(), Counter[int]()

    def __call__(self, request: Request) -> str:
        with self.lock:
            round_number = next(
                n for n, barrier in enumerate(self.barriers) if self.arrived_counts[n] < barrier.parties
            )
            self.arrived_counts[round_number] += 1
        self.barriers[round_number].wait(LONGEST_WAIT)
        return reply_for_first_candidate(request)


@pytest.mark.parametrize(
    ("settings", "round_sizes"),
    [
        ({}, (1, 2, 4)),
        ({"candidates": 3}, (1, 3, 9)),
        ({"candidates": 4}, (1, 4, 16)),
        ({"ranking": "lazy"}, (1, 2, 2)),
        ({"ranking": "lazy", "candidates": 4}, (1, 4, 4, 6)),
        ({"sure_parts": "ranking"}, (1, 2, 2)),
    ],
)
async def test_calls_come_in_rounds(
    openai_server: OpenAIServer, settings: dict[str, Any], round_sizes: tuple[int, ...]
) -> None:
    """Two candidates take 7 calls in 3 rounds, four candidates take 21 calls in 3 rounds. With lazy ranking, two
    candidates take 5 calls if no ranking can change the choice. If only one of four candidates is valid, lazy ranking
    compares this candidate with each of the other three, in both orders: 6 calls in a fourth round.
    """
    openai_server.reply(ReplyInRounds(*round_sizes))
    result = await ask(**settings)
    assert (result["answer"], result["malformed"]) == ("1931", {})
    assert len(openai_server.chats()) == sum(round_sizes)
    assert openai_server.most_open_requests == max(round_sizes)
    assert sum(usage["calls"] for usage in result["usage"].values()) == sum(round_sizes)


async def test_candidates_and_summaries_share_passages_and_question(openai_server: OpenAIServer) -> None:
    openai_server.reply(reply_for_first_candidate)
    await ask(candidates=3)
    texts = [
        request.text
        for request in openai_server.chats()
        if get_prompt_name(request) in ("candidates", "conditional_summary")
    ]
    common = texts[0][: texts[0].index(QUESTION) + len(QUESTION)]
    assert len(texts) == 4
    assert [text.encode().startswith(common.encode()) for text in texts] == [True] * 4
    assert all(passage["text"] in common for passage in PASSAGES[:3])
    summaries = texts[1:]
    unvaried_parts = [text[: text.rindex("Prediction: ")] for text in summaries]
    assert len(set(unvaried_parts)) == 1  # what varies between the summaries comes last
    assert all("Choices: (a) 1931 (b) 1950 (c) 1929\n" in text for text in unvaried_parts)


@pytest.mark.parametrize("name", ["conditional_summary", "generic_summary"])
def test_all_prompts_over_the_same_passages_begin_alike(name: str) -> None:
    begin = BUILT_IN["candidates"].partition("${examples}")[0]
    assert BUILT_IN[name].startswith(f"{begin}Question: $question\n")


@pytest.mark.parametrize("name", ["answer_choices", "answer_summaries"])
def test_the_ablations_ask_as_the_base_prompt_does(name: str) -> None:
    """The ablations only add choices or summaries to the base prompt (SuRe, listing 12)."""
    base, ablation = BUILT_IN["answer_base"].replace("${examples}", ""), BUILT_IN[name]
    assert "Answer the question in at most three words, and write nothing but the answer.\n\n" in base
    _, task, question = base.partition("Answer the question in at most three words")
    assert f"{task}{question.removesuffix('Answer:')}" in ablation
    assert ablation.endswith("\nAnswer:")


async def test_validity_and_ranking_prompts_show_no_passages_and_a_validity_prompt_one_candidate(
    openai_server: OpenAIServer,
) -> None:
    openai_server.reply(reply_for_first_candidate)
    await ask()
    for request in openai_server.chats():
        if get_prompt_name(request) in ("validity", "ranking"):
            assert not any(passage["text"] in request.text for passage in PASSAGES)
        if get_prompt_name(request) == "validity":
            assert ("1931" in request.text) != ("1950" in request.text)
        if get_prompt_name(request) == "ranking":
            assert re.findall(r"Passage (\d):\nIt was (\d+)\.", request.text) in (
                [[("1", "1931"), ("2", "1950")], [("1", "1950"), ("2", "1931")]]
            )
            assert "Prediction" not in request.text


async def test_the_verifier_judges_and_the_model_does_the_rest(openai_server: OpenAIServer) -> None:
    openai_server.reply(reply_for_first_candidate)
    result = await ask("openai:large", verifier="openai:small")
    models = {(get_prompt_name(request), request.body["model"]) for request in openai_server.chats()}
    assert models == {
        *(("candidates", "large"), ("conditional_summary", "large")),
        *(("validity", "small"), ("ranking", "small")),
    }
    calls = {name: usage["calls"] for name, usage in result["usage"].items()}
    assert calls == {"candidates": 1, "conditional_summary": 2, "validity": 2, "ranking": 2}


@pytest.mark.parametrize("variant", ["candidates", "candidates.paper"])
async def test_only_the_candidate_prompt_shows_the_examples(
    openai_server: OpenAIServer, tmp_path: Path, variant: str
) -> None:
    pairs = [{"question": f"Q{n}?", "answer": f"A{n}"} for n in range(2)]
    (tmp_path / "shots.jsonl").write_text("\n".join(map(json.dumps, pairs)), encoding="utf-8")
    openai_server.reply(reply_for_first_candidate)
    await ask(examples=str(tmp_path / "shots.jsonl"), prompts={"candidates": BUILT_IN[variant]})
    prompts_with_examples = [
        get_prompt_name(request) for request in openai_server.chats() if "Question: Q0?" in request.text
    ]
    assert prompts_with_examples == ["candidates"]
    text = openai_server.chats()[0].text
    assert f"\n\nQuestion: Q0?\nAnswer: A0\n\nQuestion: Q1?\nAnswer: A1\n\nQuestion: {QUESTION}\n" in text
    assert text.index(PASSAGES[2]["text"]) < text.index("Q0?")


async def test_a_variant_of_the_candidate_prompt_has_the_papers_order_of_variables(openai_server: OpenAIServer) -> None:
    openai_server.reply(reply_for_first_candidate)
    result = await ask(prompts={"candidates": BUILT_IN["candidates.paper"]})
    text = openai_server.chats()[0].text
    assert text.index("2 different answers") < text.index("(a) answer (b) answer") < text.index("[1] ")
    assert text.endswith(f"Question: {QUESTION}\nAnswers:")
    assert (result["answer"], result["usage"]["candidates"]["calls"]) == ("1931", 1)


async def test_a_missing_file_of_examples_is_refused() -> None:
    with pytest.raises(SetupError, match="nowhere"):
        await ask(examples="nowhere.jsonl")
