"""Long answers and turns of a conversation: they keep their Markdown, and cite the passages that they come from."""

from dataclasses import replace
from typing import Any, cast

import pytest
from method_fixtures import PASSAGES, QUESTION
from openai_server import OpenAIServer

from quorum import AnswerText, RunFinished, stream
from quorum.core.context import Context
from quorum.core.state import Citation, Passage, Result, State
from quorum.graphs import answer
from quorum.models.scripted import ScriptedModel
from quorum.nodes.abstain import Calibration, suppress_unsure_answer
from quorum.prompts import BUILT_IN

REPLY = """\
The **Lumen Tower** was finished in 1931 [1][3], after its builders struck in 1929 [4].

| mast | year |
| --- | --- |
| Iron Mast | painted in 1950 [2] |

```python
towers[1]
```"""
LINE = (
    "The **Lumen Tower** was finished in 1931, after its builders struck in 1929. | mast | year | "
    "| --- | --- | | Iron Mast | painted in 1950 | ```python towers[1]"
)
LONG = ("long", "dialogue")


def script_reply(reply: str = REPLY, answer_type: str = "long", passage_reply: str | None = None) -> ScriptedModel:
    """A model that gives this reply to prompts over several passages. passage_reply: its reply to those over one."""
    model = ScriptedModel()
    for number in range(1, 6):
        model.on(f"answer_{answer_type}: passage {number}", reply if passage_reply is None else passage_reply)
    return model.on(f"answer_{answer_type}", reply).on(f"answer_candidates_{answer_type}", reply)


def read_marks(result: Result, citation: Citation) -> list[str]:
    text = result["answer_text"] or ""
    return [text[start:end] for start, end in citation["at"]]


def read_cited_sentence(citation: Citation) -> str | None:
    text = next(passage["text"] for passage in PASSAGES if passage["id"] == citation["passage"])
    return None if citation["start"] is None else text[citation["start"] : citation["end"]]


@pytest.mark.parametrize("answer_type", LONG)
@pytest.mark.parametrize("method", ["concat", "concat_pf", "pf_concat", "filco"])
async def test_an_answer_keeps_its_markdown_and_cites_sentences_of_the_passages(method: str, answer_type: Any) -> None:
    context = Context(model=script_reply(answer_type=answer_type), answer_type=answer_type)
    result = await answer(QUESTION, method, replace(context, filter_mode="full"), given=PASSAGES)
    assert (result["answer_text"], result["answer"]) == (REPLY, LINE)
    citations = result["citations"] or []
    assert [
        (item["n"], item["passage"], read_marks(result, item), read_cited_sentence(item)) for item in citations
    ] == [
        (1, "p1", ["[1]"], "The Lumen Tower was finished in 1931."),
        (3, "p3", ["[3]"], "Work on the Lumen Tower ended in 1931, after a strike."),
        (4, "p4", ["[4]"], "Builders of the tower struck in 1929."),
        (2, "p2", ["[2]"], "The Iron Mast was painted in 1950."),
    ]


@pytest.mark.parametrize("answer_type", LONG)
async def test_the_answer_of_a_vote_cites_its_passage_by_the_number_that_it_has_in_the_result(answer_type: Any) -> None:
    model = ScriptedModel()
    for number in (1, 2):
        model.on(f"answer_{answer_type}: passage {number}", "Unknown")
    model.on(f"answer_{answer_type}: passage 3", "- The Lumen Tower ended in 1931 [1].\n- It fell [2], see [1, 7].")
    result = await answer(QUESTION, "post_fusion", Context(model=model, answer_type=answer_type), given=PASSAGES[:3])
    assert result["answer_text"] == "- The Lumen Tower ended in 1931 [3].\n- It fell, see [3]."
    assert {(item["n"], item["passage"]) for item in result["citations"] or []} == {(3, "p3")}
    assert result["malformed"][f"answer_{answer_type}"]["count"] == 1


async def test_a_number_beyond_the_passages_stays_as_text_and_counts_as_malformed() -> None:
    reply = "The Lumen Tower was finished in 1931 [1][6]."
    result = await answer(QUESTION, "concat", Context(model=script_reply(reply), answer_type="long"), given=PASSAGES)
    assert (result["answer_text"], result["answer"]) == (reply, "The Lumen Tower was finished in 1931.")
    assert [item["n"] for item in result["citations"] or []] == [1]
    assert result["malformed"]["answer_long"]["count"] == 1
    six_passages = [*PASSAGES, Passage(id="p6", title="", text="It was finished in 1931.")]
    result = await answer(
        QUESTION, "concat", Context(model=script_reply(reply), answer_type="long", k=6), given=six_passages
    )
    assert [item["n"] for item in result["citations"] or []] == [1, 6]
    assert result["malformed"] == {}


@pytest.mark.parametrize("method", ["concat", "post_fusion"])
@pytest.mark.parametrize("answer_type", LONG)
async def test_a_passage_that_the_model_goes_on_with_is_no_part_of_the_answer(method: str, answer_type: Any) -> None:
    text = "The Lumen Tower was finished in 1931 [1]."
    model = script_reply(
        f"{text}\n\n[3] Vell Harbour\nThe harbour was dug in 1850 [1].", answer_type, text + "\n[2] Vell"
    )
    result = await answer(QUESTION, method, Context(model=model, answer_type=answer_type), given=PASSAGES[:2])
    assert (result["answer_text"] or "").startswith("The Lumen Tower was finished in 1931 [")
    assert "Vell" not in (result["answer_text"] or "") + result["answer"]
    assert result["malformed"][f"answer_{answer_type}"]["count"] == len(model.history)


async def test_a_list_of_the_sources_stays_in_the_answer() -> None:
    reply = "It was finished in 1931 [1].\n\nSources:\n[1] Lumen Tower\n[2] Iron Mast\n[5] says more."
    result = await answer(
        QUESTION, "concat", Context(model=script_reply(reply), answer_type="long"), given=PASSAGES[:3]
    )
    assert result["answer_text"] == reply


async def test_a_streamed_answer_is_replaced_by_what_stays_of_it(openai_server: OpenAIServer) -> None:
    openai_server.reply("It was finished in 1931 [1].\n\n[3] Vell Harbour\nThe harbour of Vell.")
    context = Context(model="openai:test", answer_type="long")
    shown = ""
    async for event in stream(QUESTION, "concat", context, given=PASSAGES[:2]):
        if isinstance(event, AnswerText):
            shown = event.text if event.replaces else shown + event.text
        elif isinstance(event, RunFinished):
            assert shown == event.result["answer_text"] == "It was finished in 1931 [1]."


@pytest.mark.parametrize(
    "statement",
    [
        "The Lumen Tower was sold to a bank in 1877",
        "The Lumen Tower was finished in 1913",  # all words, and another number
        "The Lumen Tower was not finished in 1931",  # all words, and the opposite
        "The Velm Tower was finished in 1931",  # all words, and another name
    ],
)
async def test_a_sentence_that_the_passage_does_not_support_has_no_place_in_it(statement: str) -> None:
    context = Context(model=script_reply(f"{statement} [1]."), answer_type="long")
    result = await answer(QUESTION, "concat", context, given=PASSAGES)
    at = [[len(statement) + 1, len(statement) + 4]]
    assert result["citations"] == [Citation(n=1, at=at, passage="p1", start=None, end=None)]


async def test_a_sentence_in_other_words_has_its_place_in_the_passage() -> None:
    passage = Passage(
        id="p1", title="Lumen Tower", text="It is a tower of steel. Construction was completed in 1931. It is closed."
    )
    context = Context(model=script_reply("The builders finished it in 1931 [1]."), answer_type="long")
    (citation,) = (await answer(QUESTION, "concat", context, given=[passage]))["citations"] or []
    assert passage["text"][citation["start"] : citation["end"]] == "Construction was completed in 1931."


async def test_two_sentences_that_one_sentence_supports_share_a_citation() -> None:
    reply = "The Lumen Tower was finished in 1931 [1]. It was the Lumen Tower that was finished in 1931. [1]"
    result = await answer(QUESTION, "concat", Context(model=script_reply(reply), answer_type="long"), given=PASSAGES)
    assert [(item["n"], len(item["at"])) for item in result["citations"] or []] == [(1, 2)]


async def test_sures_long_answer_cites_and_its_summaries_have_no_marks() -> None:
    summary = "The Lumen Tower was finished in 1931 [1], after a strike [3]."
    model = ScriptedModel().on("candidates", "(a) 1931").on("conditional_summary_long", f"{summary} [DONE]")
    result = await answer(QUESTION, "sure", Context(model=model, answer_type="long"), given=PASSAGES)
    assert result["answer_text"] == summary
    assert result["answer"] == "The Lumen Tower was finished in 1931, after a strike."
    assert result["summaries"] == [result["answer"]]
    assert [item["n"] for item in result["citations"] or []] == [1, 3]


@pytest.mark.parametrize("method", ["concat", "post_fusion", "sure"])
async def test_the_embedded_reader_cites_every_sentence_that_it_takes(method: str) -> None:
    result = await answer(QUESTION, method, Context(answer_type="long"), given=PASSAGES)
    citations = result["citations"] or []
    assert citations
    assert result["malformed"] == {}
    assert all((read_cited_sentence(item) or "?").rstrip(".") in (result["answer_text"] or "") for item in citations)
    assert "[" not in result["answer"]


async def test_the_numbers_that_a_passage_brings_are_not_taken_for_citations() -> None:
    wiki_passage = Passage(id="w", title="Lumen Tower", text="The Lumen Tower was finished in 1931.[7]")
    result = await answer(QUESTION, "concat", Context(answer_type="long"), given=[PASSAGES[1], wiki_passage])
    assert "The Lumen Tower was finished in 1931 [2]." in (result["answer_text"] or "")
    assert result["malformed"] == {}


@pytest.mark.parametrize("answer_type", LONG)
async def test_without_citations_the_prompts_ask_for_none_and_the_answer_shows_none(answer_type: Any) -> None:
    model = script_reply(answer_type=answer_type)
    context = Context(model=model, answer_type=answer_type, citations="off")
    result = await answer(QUESTION, "concat", context, given=PASSAGES)
    prompt = BUILT_IN[f"answer_{answer_type}.uncited"]
    assert model.history[0].text.startswith(prompt.partition("$")[0])
    assert "square brackets" not in model.history[0].text
    assert (result["answer"], result["citations"]) == (LINE, [])
    assert "finished in 1931, after its builders struck in 1929.\n\n| mast" in (result["answer_text"] or "")
    cited_model = script_reply(answer_type=answer_type)
    await answer(QUESTION, "concat", replace(context, model=cited_model, citations="auto"), given=PASSAGES)
    assert "square brackets" in cited_model.history[0].text


async def test_a_prompt_of_the_users_own_wins_over_both_wordings() -> None:
    for citations in ("auto", "off"):
        model = script_reply()
        prompts = {"answer_long": "Tell me.\n$passages\n$question"}
        context = Context(model=model, answer_type="long", citations=cast(Any, citations), prompts=prompts)
        await answer(QUESTION, "concat", context, given=PASSAGES)
        assert model.history[0].text.startswith("Tell me.\n[1] Lumen Tower")


async def test_short_answers_have_no_citations() -> None:
    model = ScriptedModel().on("answer", "1931")
    result = await answer(QUESTION, "concat", Context(model=model), given=PASSAGES)
    assert result["citations"] is None


async def test_an_answer_that_is_withheld_cites_nothing() -> None:
    context = Context(model=script_reply(), answer_type="long")
    result = await answer(QUESTION, "concat", context, given=PASSAGES)
    withheld_result = suppress_unsure_answer(cast(State, result), Calibration("file", "concat", 0.5, {}))
    assert (withheld_result["unknown"], withheld_result["citations"]) == (True, None)


@pytest.mark.parametrize("citations", ["auto", "off"])
@pytest.mark.parametrize("method", ["concat", "post_fusion", "sure"])
async def test_a_streamed_answer_is_the_answer_that_is_not_streamed(method: str, citations: Any) -> None:
    context = Context(answer_type="long", citations=citations)
    events = [event async for event in stream(QUESTION, method, context, given=PASSAGES)]
    whole_result = await answer(QUESTION, method, context, given=PASSAGES)
    pieces = [event for event in events if isinstance(event, AnswerText)]
    assert "".join(piece.text for piece in pieces) == whole_result["answer_text"]
    assert not any(piece.replaces for piece in pieces)
    assert ("[" in (whole_result["answer_text"] or "")) is (citations == "auto")
    assert isinstance(events[-1], RunFinished)
    assert events[-1].result["citations"] == whole_result["citations"]
