"""A filter's reply copies the sentences that help; each copy is matched with a sentence of the passages. The embedded
filter keeps the sentences that help.
"""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import HumanMessage

from quorum.algorithms.copied_sentences import match_copies
from quorum.algorithms.filco_measures import shorten_passages, split_pieces
from quorum.core.context import Context
from quorum.core.errors import SetupError
from quorum.core.state import Passage
from quorum.graphs import answer
from quorum.models.context_filters import get_context_filter
from quorum.models.embedded import FOLDER
from quorum.models.embedded.chat import EmbeddedReader
from quorum.models.embedded.replies_filter import get_last_turn
from quorum.parsing.kept_sentences import parse_chosen_passages, parse_copied_sentences
from quorum.prompts import format_passages, render_prompt

TOWER = Passage(
    id="t",
    title="Lumen Tower",
    text="The Lumen Tower was finished in 1931. It is tall. Its architect, “Ann” Lee, didn't see it: she died in 1930.",
)
MAST = Passage(id="m", title="Iron Mast", text="The Iron Mast was painted in 1950.\nHe died. It is tall.")
BOTH_PASSAGES = [TOWER, MAST]
FINISHED_SENTENCE, TALL_SENTENCE, ARCHITECT_SENTENCE = (piece.text for piece in split_pieces([TOWER]))
PAINTED_SENTENCE, DIED_SENTENCE, _ = (piece.text for piece in split_pieces([MAST]))

COPIED_SENTENCES: list[tuple[str, list[str]]] = [  # (reply, the sentences that it copies)
    (FINISHED_SENTENCE, [FINISHED_SENTENCE]),
    ("the  LUMEN tower was finished in 1931", [FINISHED_SENTENCE]),
    (f"{FINISHED_SENTENCE}\n{PAINTED_SENTENCE}", [FINISHED_SENTENCE, PAINTED_SENTENCE]),
    (f"{PAINTED_SENTENCE}\n\n{FINISHED_SENTENCE}\n{PAINTED_SENTENCE}", [FINISHED_SENTENCE, PAINTED_SENTENCE]),
    (f"{FINISHED_SENTENCE} {TALL_SENTENCE}", [FINISHED_SENTENCE, TALL_SENTENCE]),
    (f"- {FINISHED_SENTENCE}\n- {TALL_SENTENCE}", [FINISHED_SENTENCE, TALL_SENTENCE]),
    (f"* {FINISHED_SENTENCE}", [FINISHED_SENTENCE]),
    (f"1. {FINISHED_SENTENCE}\n2. {PAINTED_SENTENCE}", [FINISHED_SENTENCE, PAINTED_SENTENCE]),
    (f"(1) {FINISHED_SENTENCE}", [FINISHED_SENTENCE]),
    (f"[2] {PAINTED_SENTENCE}", [PAINTED_SENTENCE]),
    (f"[1]\n{FINISHED_SENTENCE}\n[2]\n{PAINTED_SENTENCE}", [FINISHED_SENTENCE, PAINTED_SENTENCE]),
    (f"Passage 1: {FINISHED_SENTENCE}", [FINISHED_SENTENCE]),
    (f"**{FINISHED_SENTENCE}**", [FINISHED_SENTENCE]),
    (f'"{FINISHED_SENTENCE}"', [FINISHED_SENTENCE]),
    (f"“{FINISHED_SENTENCE}”", [FINISHED_SENTENCE]),
    (f"> {FINISHED_SENTENCE}", [FINISHED_SENTENCE]),
    (f"```\n{FINISHED_SENTENCE}\n```", [FINISHED_SENTENCE]),
    (f'["{FINISHED_SENTENCE}", "{PAINTED_SENTENCE}"]', [FINISHED_SENTENCE, PAINTED_SENTENCE]),
    (f'```json\n["{FINISHED_SENTENCE}"]\n```', [FINISHED_SENTENCE]),
    ('Its architect, "Ann" Lee, didn’t see it: she died in 1930.', [ARCHITECT_SENTENCE]),
    ("Its architect, 'Ann' Lee, didn't see it - she died in 1930", [ARCHITECT_SENTENCE]),
    ("Its architect, Ann Lee ... died in 1930.", [ARCHITECT_SENTENCE]),
    ("Its architect, Ann Lee, […] she died in 1930.", [ARCHITECT_SENTENCE]),
    ("The Lumen Tower was finished…", [FINISHED_SENTENCE]),
    ("Lumen Tower was finished in", [FINISHED_SENTENCE]),
    (f"Lumen Tower\n{FINISHED_SENTENCE}", [FINISHED_SENTENCE]),
    (f"Lumen Tower: {FINISHED_SENTENCE}", [FINISHED_SENTENCE]),
    (f"[1] Lumen Tower\n{FINISHED_SENTENCE}", [FINISHED_SENTENCE]),
    (f"Here are the sentences that help:\n\n{FINISHED_SENTENCE}", [FINISHED_SENTENCE]),
    ("He died.", [DIED_SENTENCE]),
    ("It is tall.", [TALL_SENTENCE]),
    ("Passage 2 says that the Iron Mast was painted in 1950, and no more.", [PAINTED_SENTENCE]),
    (f"Sentences that help: {FINISHED_SENTENCE}", [FINISHED_SENTENCE]),
    ("The Iron Mast was painted\nin 1950.", [PAINTED_SENTENCE]),
]


@pytest.mark.parametrize(("reply", "sentences"), COPIED_SENTENCES)
def test_copies_are_found(reply: str, sentences: list[str]) -> None:
    assert [piece.text for piece in parse_copied_sentences(reply, BOTH_PASSAGES).value] == sentences


# "1931" and "Lumen Tower was" stand in a passage, but a part of a sentence is a copy only if it has four words or more.
INVENTED_SENTENCES = [
    "1931",
    "Answer: 1931",
    "The Lumen Tower was finished in 1932.",
    "When he died in 1931 the tower fell.",
    "It is not so tall.",
    "Lumen Tower was",
]


@pytest.mark.parametrize("reply", INVENTED_SENTENCES)
def test_sentences_that_no_passage_contains_are_dropped(reply: str) -> None:
    assert parse_copied_sentences(reply, BOTH_PASSAGES).value == []
    assert parse_copied_sentences(reply, BOTH_PASSAGES).malformed
    mixed_reply = parse_copied_sentences(f"{FINISHED_SENTENCE}\n{reply}", BOTH_PASSAGES)
    assert ([piece.text for piece in mixed_reply.value], mixed_reply.malformed) == ([FINISHED_SENTENCE], True)


@pytest.mark.parametrize(
    "reply",
    [
        *("None", "none.", "**None**", '"None"', "NONE", "[]", "N/A", "Nothing", "No sentence helps."),
        *("None of the passages are relevant.", "No relevant sentences.", "```\nNone\n```"),
        *("The passages do not mention it.", "There is not enough information in the passages."),
    ],
)
def test_a_reply_that_says_none_keeps_no_sentence(reply: str) -> None:
    parsed_reply = parse_copied_sentences(reply, BOTH_PASSAGES)
    assert (parsed_reply.value, parsed_reply.malformed) == ([], False)


def test_an_empty_reply_is_malformed() -> None:
    for reply in ("", " \n"):
        parsed_reply = parse_copied_sentences(reply, BOTH_PASSAGES)
        assert (parsed_reply.value, parsed_reply.malformed) == ([], True)


@pytest.mark.parametrize(
    ("reply", "passage_ids", "malformed"),
    [("2", ["m"], False), ("1, 2", ["t", "m"], False), ("None", [], False), ("Hm.", ["t", "m"], True)],
)
def test_the_numbers_of_chosen_passages_are_read(reply: str, passage_ids: list[str], malformed: bool) -> None:
    parsed_reply = parse_chosen_passages(reply, BOTH_PASSAGES)
    assert (
        [passage["id"] for passage in shorten_passages(BOTH_PASSAGES, parsed_reply.value)],
        parsed_reply.malformed,
    ) == (
        passage_ids,
        malformed,
    )


WORDS = st.sampled_from(
    ["red", "tower", "In", "1931", "'s", "—", "of", "東京", "No", "é", "...", "“", "-", "U.S.", "a"]
)
SENTENCE = st.lists(WORDS, min_size=1, max_size=9).map(lambda words: " ".join([*words, "end."]))
PASSAGE = st.lists(SENTENCE, min_size=1, max_size=4).map(lambda parts: Passage(id="x", title="T", text=" ".join(parts)))


@given(st.lists(PASSAGE, min_size=1, max_size=3), st.data())
def test_any_copied_sentence_is_found(passages: list[Passage], data: st.DataObject) -> None:
    """A sentence also counts as found if another sentence with the same words was found."""
    all_pieces = split_pieces(passages)
    chosen_pieces = data.draw(st.lists(st.sampled_from(all_pieces), min_size=1, unique=True))
    copies = match_copies("\n".join(" ".join(piece.text.split()) for piece in chosen_pieces), passages)
    assert copies.unmatched == []

    def join_words(text: str) -> str:
        return " ".join(re.findall(r"\w+", text.lower()))

    copied_words = {join_words(piece.text) for piece in copies.pieces}
    assert copied_words >= {join_words(piece.text) for piece in chosen_pieces if re.search(r"\w", piece.text)}


@given(st.text(max_size=200), st.lists(PASSAGE, max_size=3))
def test_any_reply_is_read(reply: str, passages: list[Passage]) -> None:
    all_pieces = split_pieces(passages)
    parsed_reply = parse_copied_sentences(reply, passages)
    assert all(piece in all_pieces for piece in parsed_reply.value)
    assert parsed_reply.value == sorted(set(parsed_reply.value), key=lambda piece: (piece.rank, piece.start))


def test_a_long_reply_is_read_in_time() -> None:
    long_passage = Passage(
        id="l", title="", text=" ".join(f"Sentence number {n} of the very long text." for n in range(300))
    )
    sentences = [piece.text for piece in split_pieces([long_passage])]
    parsed_reply = parse_copied_sentences("\n".join([*sentences, *["x"] * 300]), [long_passage])
    assert (len(parsed_reply.value), parsed_reply.malformed) == (300, True)


def test_a_conversation_is_filtered_for_its_last_turn() -> None:
    talk = "User: I like bridges.\nAssistant: So do I: all of them.\nUser: Which is the oldest?"
    assert get_last_turn(talk) == "Which is the oldest?"
    for question in ("Which is the oldest?", "Note: which is the oldest?", ""):
        assert get_last_turn(question) == question


def test_unknown_filters_are_refused() -> None:
    for spec in ("bert", ""):
        with pytest.raises(SetupError, match="names no filter; choose embedded, llm"):
            get_context_filter(spec)


def test_the_embedded_filter_is_made_once() -> None:
    assert get_context_filter("embedded") is get_context_filter("embedded")


async def test_an_embedded_filter_is_loaded_from_a_folder(tmp_path: Path) -> None:
    with pytest.raises(
        SetupError, match=r"There is no sentence filter in .*; give the folder that quorum filter train"
    ):
        await answer(BIRTH_QUESTION, "filco", Context(context_filter=f"embedded:{tmp_path}"), given=HAYDN_PASSAGES)
    shutil.copy(FOLDER / "sentences.onnx", tmp_path)
    content = json.loads((FOLDER / "sentences.json").read_text(encoding="utf-8"))
    # no probability reaches 1.1, so this filter keeps nothing
    (tmp_path / "sentences.json").write_text(json.dumps(content | {"threshold": 1.1}), encoding="utf-8")
    filtered_result = await answer(
        BIRTH_QUESTION, "filco", Context(context_filter=f"embedded:{tmp_path}"), given=HAYDN_PASSAGES
    )
    assert (filtered_result["passages"], filtered_result["unknown"]) == ([], True)


BIRTH_QUESTION = "Where was Joseph Haydn born?"
HAYDN_PASSAGES = [
    Passage(id="a", title="Rohrau", text="The composer Joseph Haydn was born in Rohrau. Rohrau lies on the Leitha."),
    Passage(id="c", title="Tea", text="Tea is a drink made from the leaves of a shrub. It came to Europe in 1610."),
]


async def test_the_embedded_filter_keeps_what_helps() -> None:
    result = await answer(BIRTH_QUESTION, "filco", Context(), given=HAYDN_PASSAGES)
    assert result["passages"][0]["text"].startswith("The composer Joseph Haydn was born in Rohrau.")
    assert [passage["id"] for passage in result["passages"]] == ["a"]
    assert "Rohrau" in result["answer"]
    assert result["retrieved"] == ["a", "c"]
    assert result["usage"]["filter_sentences"]["calls"] == 1
    assert result["usage"]["filter_sentences"]["input_tokens"] > 20
    # the mode psg keeps whole passages
    psg_result = await answer(BIRTH_QUESTION, "filco", Context(filter_mode="psg"), given=HAYDN_PASSAGES)
    assert [passage["text"] for passage in psg_result["passages"]] == [HAYDN_PASSAGES[0]["text"]]


async def test_the_embedded_filter_may_keep_nothing() -> None:
    result = await answer("Florbish grindle wumpus toofle?", "filco", Context(), given=HAYDN_PASSAGES[1:])
    assert (result["passages"], result["unknown"], result["retrieved"]) == ([], True, ["c"])


async def test_the_embedded_filter_keeps_the_same_when_asked_directly_or_by_a_prompt() -> None:
    without_prompt = await answer(BIRTH_QUESTION, "filco", Context(context_filter="embedded"), given=HAYDN_PASSAGES)
    # "llm" sends the filter's prompt to the method's model, which is the embedded reader by default.
    with_prompt = await answer(BIRTH_QUESTION, "filco", Context(context_filter="llm"), given=HAYDN_PASSAGES)
    assert with_prompt["passages"] == without_prompt["passages"]
    assert with_prompt["malformed"] == {}


def render_message(prompt: str, question: str, passages: list[Passage]) -> HumanMessage:
    """The message with a prompt's text, and with the prompt's name and inputs, which the embedded reader uses."""
    text = render_prompt(prompt, question=question, passages=format_passages(passages)).text
    inputs: dict[str, Any] = {"question": question, "passages": passages}
    return HumanMessage(text, additional_kwargs={"quorum": {"prompt": prompt, "inputs": inputs, "sample": 0}})


ODD_PARTS = [*"ab 1.:{}\"'*-\n#", "Answer: ", "None", "東", "。", "is in ", "Rohrau", ". Haydn was born in Rohrau. "]
ODD_TEXTS = st.lists(st.sampled_from(ODD_PARTS), max_size=30).map("".join)


@given(ODD_TEXTS, ODD_TEXTS)
@settings(max_examples=15, deadline=None)
def test_replies_of_the_embedded_filter_are_never_malformed(text: str, title: str) -> None:
    passages = [Passage(id="o", title=title, text=text), HAYDN_PASSAGES[1]]
    for prompt, parse in (("filter_sentences", parse_copied_sentences), ("filter_passages", parse_chosen_passages)):
        reply = EmbeddedReader().invoke([render_message(prompt, BIRTH_QUESTION, passages)]).text
        assert not parse(reply, passages).malformed, reply
