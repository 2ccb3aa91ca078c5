"""TF-IDF, the similarity of embeddings, and the weights of votes."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.embeddings import Embeddings
from method_fixtures import PASSAGES, QUESTION, make_runtime, make_votes
from openai_server import OpenAIServer

from quorum.algorithms.tfidf import compute_cosines
from quorum.algorithms.votes import count_votes
from quorum.core.errors import CallError
from quorum.core.state import State
from quorum.nodes.weigh_votes import compute_softmax, set_weights, weigh_by_meaning, weigh_by_words
from quorum.retrievers.similarity import compute_cosine, compute_similarities


def test_cosines_by_hand() -> None:
    # Of the query and the two texts, 2 contain a, 2 contain b, and 1 contains c. A word that n of the 3 contain has the
    # weight ln(4 / (1 + n)) + 1.
    common, rare = math.log(4 / 3) + 1, math.log(4 / 2) + 1
    cosine_of_first = (common * common) / (math.hypot(common, common) * math.hypot(common, rare))
    cosine_of_second = common / math.hypot(common, common)
    assert compute_cosines("a b", ["a c", "b"]) == pytest.approx([cosine_of_first, cosine_of_second])


def test_cosines_ignore_case_punctuation_and_order_but_not_repetition() -> None:
    assert compute_cosines("The Lumen Tower?", ["tower, lumen, THE!"]) == pytest.approx([1.0])
    once, twice = compute_cosines("tower", ["tower mast", "tower tower mast"])
    assert once < twice


@pytest.mark.parametrize(("query", "texts"), [("", ["a"]), ("a", [""]), ("a", ["b"]), ("?!", ["?!"])])
def test_texts_without_a_common_word_have_cosine_zero(query: str, texts: list[str]) -> None:
    assert compute_cosines(query, texts) == [0.0]


TEXT = st.lists(st.sampled_from(["tower", "mast", "1931", "the", "Ärger", "東京"]), max_size=6).map(" ".join)


@given(TEXT, st.lists(TEXT, max_size=5))
def test_cosines_lie_between_zero_and_one(query: str, texts: list[str]) -> None:
    cosines = compute_cosines(query, texts)
    assert len(cosines) == len(texts)
    assert all(0 <= value <= 1 for value in cosines)
    assert all(value == pytest.approx(1.0) for value, text in zip(cosines, texts, strict=True) if text == query != "")


def test_softmax_gives_the_expected_weights() -> None:
    assert compute_softmax([0.1, 0.0], 0.1) == pytest.approx([math.e / (1 + math.e), 1 / (1 + math.e)])
    assert compute_softmax([1000.0, -1000.0], 0.1) == [1.0, 0.0]
    assert compute_softmax([], 0.1) == []


def list_weights(update: State) -> list[float]:
    votes: Any = update["votes"]  # an object of LangGraph's class Overwrite, which holds the votes
    return [vote["weight"] for vote in votes.value]


async def test_votes_are_weighed_by_common_words() -> None:
    state = State(question=QUESTION, passages=PASSAGES, votes=make_votes("a", "b", "c", "?", "d"))
    weights = list_weights(await weigh_by_words(state))
    assert weights[0] == max(weights)
    assert weights[4] == 0.0  # the fifth passage shares no word with the question
    assert state["votes"][0].get("weight") is None  # the node does not change the votes of the state in place


async def test_votes_are_weighed_by_embeddings() -> None:
    state = State(question=QUESTION, passages=PASSAGES, votes=make_votes("a", "b", "c", "d", "?"))
    weights = list_weights(await weigh_by_meaning(state, make_runtime()))
    assert math.fsum(weights) == pytest.approx(1.0)
    assert sorted(weights, reverse=True)[:2] == [weights[0], weights[2]]  # passages 1 and 3 are about the Lumen Tower


def test_known_votes_that_all_weigh_zero_get_equal_weights() -> None:
    votes = make_votes("Rome", "Paris", "Paris", "?")
    weighted_votes: Any = set_weights(votes, [0.0, 0.0, 0.0, 0.9])["votes"]  # 0.9: the weight of the unknown vote
    assert count_votes(weighted_votes.value).answer == "Paris"


def test_known_votes_keep_their_weights_if_one_is_not_zero() -> None:
    votes = make_votes("Rome", "Paris", "Paris", "?")
    weighted_votes: Any = set_weights(votes, [0.0, 0.0, 0.1, 0.9])["votes"]
    assert count_votes(weighted_votes.value).answer == "Paris"
    weighted_votes = set_weights(votes, [0.2, 0.0, 0.1, 0.9])["votes"]
    assert count_votes(weighted_votes.value).answer == "Rome"


def test_a_tie_of_weights_goes_to_the_highest_ranked_passage() -> None:
    weighted_votes: Any = set_weights(make_votes("Rome", "Paris"), [0.5, 0.5])["votes"]
    assert count_votes(weighted_votes.value).answer == "Rome"


class WordAxes(Embeddings):
    """Embeds a text as numbers, one for each of three words: 1 if the text contains the word, else 0. A last number is
    1 if the text has none of them.

    For example, the embeddings of two texts that contain only "Lumen" of these words have cosine 1.
    """

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        counts = [[float(word in text) for word in ("Lumen", "Mast", "Strikes")] for text in texts]
        return [[*one, float(not any(one))] for one in counts]

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]


async def test_similarities_are_cosines_of_title_and_text() -> None:
    assert await compute_similarities(QUESTION, PASSAGES, WordAxes()) == [1.0, 0.0, 1.0, 0.0, 0.0]
    assert await compute_similarities("nothing", PASSAGES[:2], WordAxes()) == [0.0, 0.0]
    assert await compute_similarities(QUESTION, [], WordAxes()) == []
    assert compute_cosine([3.0, 0.0], [1.0, 1.0]) == pytest.approx(0.5**0.5)


async def test_an_embeddings_server_gives_the_similarities(openai_server: OpenAIServer) -> None:
    similarities = await compute_similarities(QUESTION, PASSAGES[:2], "openai:embedder")
    assert all(-1 <= value <= 1 for value in similarities)
    assert {request.path for request in openai_server.requests} == {"/v1/embeddings"}


async def test_a_server_that_fails_is_a_call_error(
    openai_server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", openai_server.url + "/nothing")
    state = State(question=QUESTION, passages=PASSAGES, votes=make_votes("a"))
    with pytest.raises(CallError, match="There is nothing at"):
        await weigh_by_meaning(state, make_runtime(embeddings="openai:embedder"))
