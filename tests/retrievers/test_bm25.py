"""BM25: tokens, scores against the formula, and ranking of given passages."""

import math
from dataclasses import replace
from pathlib import Path

import bm25s
import pytest
from hypothesis import given
from hypothesis import strategies as st
from wordvectors import WordVectors

from quorum.core.context import Context, make_context
from quorum.core.errors import SetupError
from quorum.core.state import Passage
from quorum.retrievers import make_search_key, search
from quorum.retrievers.bm25 import K1, B, BM25Index, compute_scores, split_words, tokenize_query, tokenize_text
from quorum.retrievers.index import index_passages
from quorum.retrievers.passages import make_indexed_text

RIVER_PASSAGES = [
    Passage(id="a", title="Rhine", text="The Rhine flows through Basel and Cologne."),
    Passage(id="b", title="Danube", text="The Danube flows through Vienna and Budapest, and Vienna is large."),
    Passage(id="c", title="Volga", text="Ships cross Kazan."),
    Passage(id="d", title="", text="A tiger hunts deer."),
]


def test_tokens_are_folded_and_stemmed() -> None:
    assert tokenize_text("Bridges, bridge's BRIDGED") == ["bridg", "bridg", "s", "bridg"]
    assert tokenize_text("Zürich ﬁne") == tokenize_text("zurich fine")
    assert tokenize_text("1,595 C++ x_y") == ["1", "595", "c", "x", "y"]
    assert tokenize_text("naïve Москва हिन्दी") == ["naiv", "москва", "हिन्दी"]


def test_scripts_without_spaces_give_characters_and_bigrams() -> None:
    assert tokenize_text("東京都") == ["東", "京", "都", "東京", "京都"]
    assert tokenize_text("Python3は言語") == ["python3", "は", "言", "語", "は言", "言語"]
    assert set(tokenize_text("猫")) <= set(tokenize_text("私は猫が好き"))
    assert tokenize_text("がぎ") == ["が", "ぎ", "がぎ"]


def test_stop_words_are_removed_only_if_other_words_remain() -> None:
    assert tokenize_query("What is the capital of France?") == ["capit", "franc"]
    assert tokenize_query("Who was who?") == ["who", "was", "who"]


@pytest.mark.parametrize(
    ("language", "question", "tokens", "text"),
    [
        ("german", "Welches Haus hat eine Brücke?", ["haus", "bruck"], "Häuser, Brücken"),
        ("french", "Les chevaux de l’école", ["cheval", "ecol"], "cheval ÉCOLES"),
        ("turkish", "İstanbul", ["istanbul"], "istanbul"),
        ("russian", "за\u0301мок", ["замок"], "замок"),
        ("none", "Die Häuser in Zürich", ["die", "hauser", "in", "zurich"], "die hauser in zurich"),
    ],
)
def test_words_of_another_language_have_its_stems_and_stop_words(
    language: str, question: str, tokens: list[str], text: str
) -> None:
    assert tokenize_query(question, language) == tokens == tokenize_text(text, language)


async def test_the_setting_language_reaches_every_search_by_words(tmp_path: Path) -> None:
    passages = [
        Passage(id="a", title="", text="Der Wald steht hinter dem Dorf."),
        Passage(id="b", title="", text="Zwei Katzen schlafen im Stall."),
    ]
    index_passages(passages, collection="dorf", store=tmp_path, embeddings=WordVectors(16))
    german = Context(store=str(tmp_path), collection="dorf", retriever="bm25", language="german", k=1)
    question = "Welche Katze hat geschlafen?"
    for given_passages in (None, passages):
        (found,) = await search(question, german, given_passages)
        (unfound,) = await search(question, replace(german, language="english"), given_passages)
        assert (found["id"], unfound.get("score")) == ("b", 0)
    assert len(list((tmp_path / "bm25").iterdir())) == 2  # an index for each language
    assert make_search_key(question, german, None) != make_search_key(question, replace(german, language="none"), None)
    with pytest.raises(SetupError, match=r"language.*english, catalan"):
        make_context({"language": "klingon"})


def test_scores_follow_the_formula() -> None:
    """Lucene's BM25: the sum over the query's terms of idf tf / (tf + k1 (1 - b + b |d| / avg)), where idf is
    ln(1 + (N - n + 0.5) / (n + 0.5)). n of the N texts have the term; text d has it tf times and holds |d| words.
    """
    corpus = [tokenize_text(make_indexed_text(passage)) for passage in RIVER_PASSAGES]
    average = sum(map(len, corpus)) / len(corpus)

    def score(words: list[str], query: list[str]) -> float:
        total = 0.0
        for term in query:
            n, tf = sum(term in text_words for text_words in corpus), words.count(term)
            idf = math.log(1 + (len(corpus) - n + 0.5) / (n + 0.5))
            total += idf * tf / (tf + K1 * (1 - B + B * len(words) / average))
        return total

    question = "Which river flows through Vienna?"
    known_terms = [term for term in tokenize_query(question) if any(term in words for words in corpus)]
    expected_scores = [score(words, known_terms) for words in corpus]
    assert BM25Index(RIVER_PASSAGES).score_passages(question).tolist() == pytest.approx(expected_scores, rel=1e-5)


WORDS_OF_TEXTS = st.lists(
    st.sampled_from(["the", "Rivers", "run", "naïve", "x_y", "1,595", "東京都", "हिन्दी", "–", "Ökologie", "İ"])
)


@given(st.lists(st.one_of(st.text(), WORDS_OF_TEXTS.map(" ".join)), max_size=8))
def test_the_scores_are_those_of_bm25s_for_our_tokens(texts: list[str]) -> None:
    """Each word is numbered, and each distinct word stemmed, only once; bm25s gives the tokens themselves the same
    scores.
    """
    corpus = [tokenize_text(text) for text in texts]
    scores = compute_scores(texts)
    if scores is None:
        assert not any(corpus)
        return
    reference = bm25s.BM25(method="lucene", k1=K1, b=B, backend="numpy")
    reference.index(corpus, show_progress=False, create_empty_token=False)
    assert set(scores.vocab_dict) == set(reference.vocab_dict)
    index = BM25Index([Passage(id="", title="", text=text) for text in texts])
    for word in reference.vocab_dict:
        expected = reference.get_scores_from_ids(reference.get_tokens_ids([word]))
        assert scores.get_scores_from_ids(scores.get_tokens_ids([word])).tolist() == expected.tolist(), word
        if tokenize_query(word) == [word]:
            assert index.score_passages(word).tolist() == expected.tolist()


@given(st.one_of(st.text(), WORDS_OF_TEXTS.map(" ".join)))
def test_words_are_split_alike_beside_a_text_of_another_script(text: str) -> None:
    """`split_words` has three ways: for ASCII texts, for other scripts with spaces, and for scripts without spaces.

    They agree: with a Japanese character after it, any text takes the third way, and gives the same words.
    """
    assert split_words(f"{text} 東") == [*split_words(text), "東"]


async def test_given_passages_are_ranked_by_bm25_and_those_without_a_match_follow_in_order() -> None:
    passages = await search("What flows through Vienna?", Context(k=4), given=RIVER_PASSAGES)
    assert [passage["id"] for passage in passages] == ["b", "a", "c", "d"]
    assert passages[0]["score"] > passages[1]["score"] > passages[2]["score"] == passages[3]["score"] == 0
    assert [p["id"] for p in await search("xylophone", Context(k=3), given=RIVER_PASSAGES)] == ["a", "b", "c"]


async def test_ties_keep_the_given_order() -> None:
    copies = [Passage(id=str(i), title="", text="The bridge is long.") for i in range(30)]
    assert [p["id"] for p in await search("bridge", Context(k=30), given=copies)] == [str(i) for i in range(30)]
    assert [p["id"] for p in await search("bridge", Context(k=5), given=copies[::-1])] == ["29", "28", "27", "26", "25"]


async def test_given_passages_without_a_match_keep_their_order() -> None:
    assert await search("anything", Context(), given=[]) == []
    assert await search("?!", Context(k=2), given=RIVER_PASSAGES) == [p | {"score": 0.0} for p in RIVER_PASSAGES[:2]]
    wordless_passages = [Passage(id="x", title="", text="...")]
    assert [p["id"] for p in await search("word", Context(), given=wordless_passages)] == ["x"]


async def test_an_empty_question_with_given_passages_is_a_setup_error() -> None:
    with pytest.raises(SetupError, match="question is empty"):
        await search("  \n", Context(), given=RIVER_PASSAGES)


async def test_given_passages_in_japanese_are_ranked() -> None:
    passages = [
        Passage(id="dog", title="", text="犬は庭で遊ぶ。"),
        Passage(id="cat", title="", text="猫は屋根で眠る。"),
    ]
    assert (await search("猫はどこで眠る？", Context(k=1), given=passages))[0]["id"] == "cat"
