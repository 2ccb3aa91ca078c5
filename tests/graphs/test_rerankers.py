"""Rerankers of any method: the order they give, their calls, and the state keys that they leave alone."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from langchain_core.embeddings import Embeddings
from langgraph.checkpoint.memory import InMemorySaver
from method_fixtures import PASSAGES, QUESTION, make_runtime

from quorum.core.context import Context, count_passages_to_find
from quorum.core.errors import TooLong
from quorum.core.state import Passage, Result, State
from quorum.graphs import METHODS, answer
from quorum.graphs.parts.rerank_passages import rerank_passages
from quorum.graphs.parts.search_and_rerank import search_and_rerank
from quorum.models.scripted import ScriptedModel
from quorum.nodes.rank_passages import WINDOW, find_window_start, rank_window
from quorum.nodes.reorder_passages import reorder, summarize_passages, use_query_as_question
from quorum.nodes.score_pairs import keep_best, score_pairs
from quorum.retrievers.index import index_passages


class WordAxes(Embeddings):
    """Embeds a text as a vector with one number for each of five words: 1 if the text contains the word, else 0."""

    words = ("Mast", "Strikes", "several", "Towers", "Lumen")

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [[float(word in text) for word in self.words] for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]


def join_ids(passages: list[Passage]) -> str:
    return " ".join(passage["id"] for passage in passages)


async def run_reranker(model: ScriptedModel, **settings: Any) -> Result:
    """The result of `base`, whose prompt shows the passages in their new order."""
    model.on("answer_base", "1931")
    context = Context(model=model, **{"embeddings": WordAxes(), **settings})
    result = await answer(QUESTION, "base", context, given=PASSAGES)
    prompt = model.history[-1].text
    positions = [prompt.index(passage["text"]) for passage in result["passages"]]
    assert positions == sorted(positions)
    return result


async def test_without_a_reranker_the_order_is_that_of_retrieval() -> None:
    assert join_ids((await run_reranker(ScriptedModel()))["passages"]) == "p1 p2 p3 p4 p5"


async def test_reranking_by_the_question() -> None:
    model = ScriptedModel()
    result = await run_reranker(model, reranker="question")
    # By WordAxes only p1 and p3 share a word with the question (Lumen); p3 also holds Towers and is therefore less
    # similar than p1. Equally similar passages keep their order.
    assert join_ids(result["passages"]) == "p1 p3 p2 p4 p5"
    assert len(model.history) == 1


@pytest.mark.parametrize(
    ("k", "rerank_from", "kept"),
    [
        (2, None, "p1 p3"),  # of all five
        (2, 2, "p1 p2"),  # those that were found first
        (2, 3, "p1 p3"),
        (3, 1, "p1 p3 p2"),  # never fewer than k are found
    ],
)
async def test_a_reranker_keeps_the_best_k_of_rerank_from_passages(k: int, rerank_from: int | None, kept: str) -> None:
    result = await run_reranker(ScriptedModel(), reranker="question", k=k, rerank_from=rerank_from)
    assert join_ids(result["passages"]) == kept


async def test_one_passage_needs_no_order() -> None:
    model = ScriptedModel()
    assert join_ids((await run_reranker(model, reranker="listwise", k=1, rerank_from=1))["passages"]) == "p1"
    assert len(model.history) == 1


def test_a_search_finds_four_times_k_but_at_least_twenty_for_a_reranker() -> None:
    counts = [count_passages_to_find(Context(reranker="reader", k=k)) for k in (1, 5, 6, 1000)]
    assert counts == [20, 20, 24, 1000]
    assert count_passages_to_find(Context(k=6, rerank_from=50)) == 6


async def test_the_reader_brings_in_a_passage_that_the_search_ranks_low(tmp_path: Path) -> None:
    others = [
        Passage(id=f"o{n}", title="Lumen Tower", text=f"When was the Lumen Tower finished? {n}") for n in range(9)
    ]
    index_passages([*others, PASSAGES[0]], collection="towers", store=str(tmp_path))
    context = Context(store=str(tmp_path), collection="towers", retriever="bm25", k=2)
    assert "p1" not in join_ids((await answer(QUESTION, "concat", context))["passages"])
    result = await answer(QUESTION, "concat", replace(context, reranker="reader"))
    best, second = result["passages"]
    assert (best["id"], result["answer"], result["usage"]["rerank"]["calls"]) == ("p1", "1931", 1)
    assert best["score"] > second["score"]
    assert best["retriever_score"] <= second["retriever_score"]


async def test_reranking_by_a_summary() -> None:
    model = ScriptedModel().on("generic_summary", "Strikes stopped several. [DONE]")
    result = await run_reranker(model, reranker="summary")
    assert join_ids(result["passages"]) == "p4 p5 p1 p2 p3"
    assert (result["summaries"], result["rationale"]) == (None, None)
    assert set(result["usage"]) == {"generic_summary", "answer_base"}


def make_sure_model(*candidate_replies: str | Exception) -> ScriptedModel:
    """A model for SuRe: the second candidate is valid and preferred; the summary for the first candidate names the Iron
    Mast, that for the second names Strikes. candidate_replies: the replies to the prompt `candidates`, in order.
    """
    model = ScriptedModel().on("candidates", *candidate_replies)
    model.on("conditional_summary: candidate 1", "The Iron Mast. [DONE]")
    model.on("conditional_summary: candidate 2", "Strikes. [DONE]")
    model.on("validity: candidate 1", "False").on("validity: candidate 2", "True")
    model.on("ranking: candidates 1 and 2", "Passage 2").on("ranking: candidates 2 and 1", "Passage 1")
    return model


async def test_reranking_by_the_rationale() -> None:
    model = make_sure_model("(a) 1950 (b) 1929")
    result = await run_reranker(model, reranker="rationale")
    assert join_ids(result["passages"]) == "p4 p1 p2 p3 p5"
    for key in ("candidates", "summaries", "validity", "scores", "rationale", "confidence", "votes"):
        assert result[key] is None  # type: ignore[literal-required]
    assert result["evidence"] == [
        {"passage": "p1", "start": 32, "end": 36},
        {"passage": "p3", "start": 33, "end": 37},
        {"passage": "p5", "start": None, "end": None},
    ]
    assert {name: used["calls"] for name, used in result["usage"].items()} == {
        "candidates": 1,
        "conditional_summary": 2,
        "validity": 2,
        "ranking": 2,
        "answer_base": 1,
    }


@pytest.mark.parametrize("settings", [{"ranking": "lazy"}, {"sure_parts": "summaries"}, {"sure_parts": "ranking"}])
async def test_the_rationale_reranker_ignores_the_settings_of_sure(settings: dict[str, Any]) -> None:
    result = await run_reranker(make_sure_model("(a) 1950 (b) 1929"), reranker="rationale", **settings)
    assert join_ids(result["passages"]) == "p4 p1 p2 p3 p5"
    assert (result["usage"]["validity"]["calls"], result["usage"]["ranking"]["calls"]) == (2, 2)


async def test_a_single_candidate_is_summarized_and_not_judged() -> None:
    result = await run_reranker(make_sure_model("(a) 1950"), reranker="rationale")
    assert join_ids(result["passages"]) == "p2 p1 p3 p4 p5"
    assert set(result["usage"]) == {"candidates", "conditional_summary", "answer_base"}


async def test_no_candidate_leaves_the_order_as_it_was() -> None:
    result = await run_reranker(ScriptedModel().on("candidates", ""), reranker="rationale")
    assert join_ids(result["passages"]) == "p1 p2 p3 p4 p5"
    assert set(result["usage"]) == {"candidates", "answer_base"}
    assert list(result["malformed"]) == ["candidates"]


async def test_passages_that_a_prompt_cannot_show_are_not_lost() -> None:
    # After each TooLong the prompt is sent again without its last passage.
    model = ScriptedModel().on("generic_summary", TooLong("no"), "Strikes. [DONE]")
    result = await run_reranker(model, reranker="summary")
    assert (join_ids(result["passages"]), result["dropped"]) == ("p4 p1 p2 p3 p5", 1)
    result = await run_reranker(
        make_sure_model(TooLong("no"), TooLong("no"), "(a) 1950 (b) 1929"), reranker="rationale"
    )
    assert (join_ids(result["passages"]), result["dropped"]) == ("p4 p1 p2 p3 p5", 2)


# --- listwise


def make_passages(count: int) -> list[Passage]:
    return [Passage(id=str(n), title="", text=f"text {n}") for n in range(count)]


@pytest.mark.parametrize(
    ("count", "starts"),
    [(2, [0]), (5, [0]), (6, [1, 0]), (8, [3, 0]), (9, [4, 1, 0]), (10, [5, 2, 0]), (20, [15, 12, 9, 6, 3, 0])],
)
async def test_windows_go_from_the_end_to_the_front(count: int, starts: list[int]) -> None:
    model = ScriptedModel().on("rank_passages", lambda _: "1 > 2")
    passages = make_passages(count)
    context = Context(model=model.on("answer_base", "x"), reranker="listwise", k=count)
    result = await answer(QUESTION, "base", context, given=passages)
    assert result["passages"] == passages
    sent_prompts = [sent for sent in model.history if sent.prompt_name == "rank_passages"]
    assert [sent.call_subject for sent in sent_prompts] == [f"window {turn}" for turn in range(1, len(starts) + 1)]
    for sent, start in zip(sent_prompts, starts, strict=True):
        window = [n for n in range(count) if f"] text {n}\n" in sent.text]
        assert window == list(range(start, min(start + WINDOW, count)))


async def test_the_best_passage_of_all_rises_to_the_front() -> None:
    def rank_by_number(messages: list[Any]) -> str:
        """Rank the largest number first."""
        listing = messages[-1].text.split("Passages:")[1].split("Question:")[0].split("text ")[1:]
        numbers = [int(part.split()[0]) for part in listing]
        order = sorted(range(len(numbers)), key=lambda index: -numbers[index])
        return " > ".join(f"[{index + 1}]" for index in order)

    model = ScriptedModel().on("rank_passages", rank_by_number).on("answer_base", "x")
    context = Context(model=model, reranker="listwise", k=14)
    result = await answer(QUESTION, "base", context, given=make_passages(14))
    ids = [int(passage["id"]) for passage in result["passages"]]
    assert ids[:2] == [13, 12]  # the best two passages of each window are in the next window, too
    assert sorted(ids) == list(range(14))


async def test_unreadable_rankings_are_counted_and_lose_no_passage() -> None:
    model = ScriptedModel().on("rank_passages: window 1", "[9] > [2] > [2]").on("rank_passages: window 2", "I cannot.")
    context = Context(model=model.on("answer_base", "x"), reranker="listwise", k=6)
    result = await answer(QUESTION, "base", context, given=make_passages(6))
    assert join_ids(result["passages"]) == "0 2 1 3 4 5"
    assert result["malformed"]["rank_passages"]["count"] == 2


async def test_a_window_that_no_prompt_can_hold_stays_as_it_is() -> None:
    state = State(question=QUESTION, passages=PASSAGES, finished_rounds=0)
    update = await rank_window(state, make_runtime(ScriptedModel().on("rank_passages", *[TooLong("no")] * 5)))
    assert update == {"passages": PASSAGES, "finished_rounds": 1, "dropped": 5}


async def test_passages_that_do_not_fit_follow_those_that_were_ranked() -> None:
    model = ScriptedModel().on("rank_passages", TooLong("no"), "[4] > [3] > [2] > [1]")
    update = await rank_window(State(question=QUESTION, passages=PASSAGES, finished_rounds=0), make_runtime(model))
    assert (join_ids(update["passages"]), update["dropped"], update["malformed"]) == ("p4 p3 p2 p1 p5", 1, {})


def test_windows_overlap_by_at_least_two_and_reach_the_front() -> None:
    for count in range(1, 60):
        starts = [0] if count <= WINDOW else []
        while not starts or starts[-1]:
            starts.append(find_window_start(count, len(starts)))
        assert starts[-1] == 0
        assert all(start - next_start <= 3 for start, next_start in pairwise(starts))


# --- as part of retrieval


async def test_each_reranking_node_returns_its_update() -> None:
    assert await use_query_as_question({"question": "q"}) == {"question": "q"}
    assert await use_query_as_question({"question": "q", "query": "other"}) == {"question": "other"}
    state = State(question="Mast", passages=PASSAGES[:3])
    assert join_ids((await reorder(state, make_runtime(embeddings=WordAxes())))["passages"]) == "p2 p1 p3"
    state = State(question="Mast", rationale="Lumen", passages=PASSAGES[:3])
    assert join_ids((await reorder(state, make_runtime(embeddings=WordAxes())))["passages"]) == "p1 p3 p2"
    update = await summarize_passages(state, make_runtime(ScriptedModel().on("generic_summary", "Sum. [DONE]")))
    assert (update["rationale"], "passages" in update, "summaries" in update) == ("Sum.", False, False)
    assert join_ids((await keep_best(state, make_runtime(k=2)))["passages"]) == "p1 p2"
    state = State(question=QUESTION, passages=PASSAGES[:2][::-1])
    update = await score_pairs(state, make_runtime(reranker="reader"))
    assert (join_ids(update["passages"]), list(update["usage"])) == ("p1 p2", ["rerank"])
    assert "retriever_score" not in update["passages"][0]  # given passages have no score


async def test_passages_of_another_query_are_reranked_by_that_query() -> None:
    state: Any = {"question": QUESTION, "query": "Strikes", "given_passages": PASSAGES}
    result = await search_and_rerank.ainvoke(state, context=Context(embeddings=WordAxes(), reranker="question"))
    assert result["passages"][0]["id"] == "p4"
    model = ScriptedModel().on("rank_passages", "[1] > [2]")
    await search_and_rerank.ainvoke(state, context=Context(model=model, reranker="listwise"))
    assert "Question: Strikes\n" in model.history[0].text


async def test_reranking_keeps_the_retrieval_scores_and_returns_only_passages() -> None:
    scored_passages = [Passage(**{**passage, "score": 5.0 - n}) for n, passage in enumerate(PASSAGES)]
    state: Any = {"question": QUESTION, "passages": scored_passages}
    result = await rerank_passages.ainvoke(state, context=Context(embeddings=WordAxes(), reranker="question"))
    assert set(result) <= {"passages", "usage", "malformed", "wordy_answers", "temperature_refused", "dropped"}
    assert {p["id"]: p["score"] for p in result["passages"]} == {p["id"]: p["score"] for p in scored_passages}


@pytest.mark.parametrize("reranker", ["question", "rationale", "summary", "listwise", "reader"])
async def test_the_embedded_model_serves_every_reranker(reranker: str) -> None:
    context = Context(reranker=reranker)  # type: ignore[arg-type]
    result = await answer(QUESTION, "post_fusion", context, given=PASSAGES[::-1])
    assert {result["passages"][0]["id"], result["passages"][1]["id"]} == {"p1", "p3"}
    assert (result["answer"], result["malformed"], result["dropped"]) == ("1931", {}, 0)
    assert len(result["votes"]) == 5


@pytest.mark.parametrize("reranker", ["rationale", "listwise"])
async def test_two_questions_on_one_thread_do_not_mix(reranker: str) -> None:
    graph = METHODS["base"].graph.builder.compile(checkpointer=InMemorySaver())
    thread: Any = {"configurable": {"thread_id": "1"}}

    async def ask(passages: list[Passage], config: Any = None) -> Any:
        model = make_sure_model("(a) 1950 (b) 1929").on("rank_passages", "2 > 1 > 3 > 4 > 5").on("answer_base", "1931")
        context = Context(model=model, embeddings=WordAxes(), reranker=reranker)  # type: ignore[arg-type]
        inputs: Any = {"question": QUESTION, "given": passages}
        return await (graph if config else METHODS["base"].graph).ainvoke(inputs, config, context=context)

    result_without_thread = await ask(PASSAGES[:3])
    await ask(PASSAGES, thread)
    assert await ask(PASSAGES[:3], thread) == result_without_thread
