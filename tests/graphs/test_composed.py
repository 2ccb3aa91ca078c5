"""A composed method is a cascade of whole methods. It is asked, drawn and compared like any other method."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from composed_fixtures import CONTEXT, GIVEN_PASSAGES, write_cascade
from openai_server import OpenAIServer, Request
from quorum_command import Quorum

from quorum.api.stream import AnswerText, stream
from quorum.cascades.cascade_cache import CASCADE_CACHES
from quorum.core.context import Context
from quorum.core.errors import SetupError
from quorum.evaluation.metrics.prices import Prices
from quorum.evaluation.run.columns import list_columns, parse_columns
from quorum.evaluation.run.options import Options
from quorum.graphs import answer, find_method
from quorum.graphs.composed import composed_graph
from quorum.prompts import get_version
from quorum.retrievers.index import index_passages
from quorum.retrievers.store import open_store

LONG_ANSWER = (
    "The tower is red. It has been red since the people of the coast built it of red stone, and they paint it again"
    " in every second year, so that ships can see it from afar."
)


@pytest.fixture
def cascade(tmp_path: Path, openai_server: OpenAIServer) -> str:
    """concat's answer if it is known; else concat_pf's if its confidence is at least 0.7; else base's."""
    return write_cascade(
        tmp_path,
        ("concat", {"test": "known"}, {}),
        ("concat_pf", {"test": "confidence", "at_least": 0.7}, {}),
        ("base", None, {}),
    )


async def test_the_first_stage_that_passes_its_test_answers(cascade: str, openai_server: OpenAIServer) -> None:
    openai_server.reply("red")
    result = await answer("Which colour?", cascade, CONTEXT, given=GIVEN_PASSAGES)
    assert (result["answer"], result["usage"]["answer"]["calls"]) == ("red", 1)
    assert len(openai_server.requests) == 1
    assert result["passages"] == GIVEN_PASSAGES


async def test_calls_of_an_earlier_stage_are_neither_made_nor_counted_again(
    cascade: str, openai_server: OpenAIServer
) -> None:
    def reply(request: Request) -> str:
        has_both_passages = "is red" in request.text and "is old" in request.text
        return "unknown" if has_both_passages else "red"

    openai_server.reply(reply)
    result = await answer("Which colour?", cascade, CONTEXT, given=GIVEN_PASSAGES)
    assert (result["answer"], result["confidence"]) == ("red", 1.0)
    # concat's call, which concat_pf uses again, and one call for each of the two passages
    assert result["usage"]["answer"]["calls"] == 3
    assert len(openai_server.requests) == 3
    assert len(result["votes"]) == 2
    concat_pf_result = await answer("Which colour?", "concat_pf", CONTEXT, given=GIVEN_PASSAGES)
    assert concat_pf_result["usage"]["answer"]["calls"] == 3


async def test_a_stream_shows_no_answer_that_a_stage_rejects(tmp_path: Path, openai_server: OpenAIServer) -> None:
    """A method shows a long answer while the model writes it; a cascade waits, because it may reject the answer."""
    confidence_test = {"test": "confidence", "at_least": 0.9}
    stages = (
        ("concat", confidence_test, {"answer_type": "long"}),
        ("concat", None, {"answer_type": "long", "k": 1}),
    )
    context = replace(CONTEXT, answer_type="long")
    openai_server.reply([LONG_ANSWER, "Nobody has ever said so."])
    run = stream("Which colour?", write_cascade(tmp_path, *stages), context, given=GIVEN_PASSAGES)
    assert [event.text async for event in run if isinstance(event, AnswerText)] == ["Nobody has ever said so."]


async def test_the_answer_of_the_last_stage_is_always_taken(cascade: str, openai_server: OpenAIServer) -> None:
    # Only the prompt of the last stage, base, asks for at most three words.
    openai_server.reply(lambda request: "blue" if "three words" in request.text else "unknown")
    result = await answer("Which colour?", cascade, CONTEXT, given=GIVEN_PASSAGES)
    assert result["answer"] == "blue"
    assert result["votes"] is None  # base has no votes, and those of concat_pf are gone
    assert not CASCADE_CACHES  # the run's cache is removed after the answer


async def test_a_stage_with_the_test_same_is_accepted_if_an_earlier_stage_gave_the_same_answer(
    tmp_path: Path, openai_server: OpenAIServer
) -> None:
    file = write_cascade(
        tmp_path,
        ("base", {"test": "confidence", "at_least": 0.5}, {}),  # base has no confidence: never accepted
        ("concat", {"test": "same"}, {}),
        ("post_fusion", None, {}),
    )
    openai_server.reply("The red")
    result = await answer("Which colour?", file, CONTEXT, given=GIVEN_PASSAGES)
    assert (result["usage"]["answer"]["calls"], result["votes"]) == (1, None)
    # Only base asks for at most three words; so the answers of base and concat differ, and post_fusion is asked.
    openai_server.reply(lambda request: "red" if "three words" in request.text else "blue")
    second_result = await answer("Which colour?", file, CONTEXT, given=GIVEN_PASSAGES)
    assert second_result["usage"]["answer"]["calls"] == 3  # one of concat, two of post_fusion
    assert len(second_result["votes"]) == 2


async def test_a_certified_vote_is_accepted(tmp_path: Path, openai_server: OpenAIServer) -> None:
    file = write_cascade(tmp_path, ("post_fusion", {"test": "certified"}, {"k": 4}), ("base", None, {}))
    # Four passages, because two equal votes are too few: one replaced passage would make a tie.
    more_passages = [
        {**passage, "id": passage["id"] * 2, "text": f"Now: {passage['text']}"} for passage in GIVEN_PASSAGES
    ]
    passages = [*GIVEN_PASSAGES, *more_passages]
    openai_server.reply("red")
    result = await answer("Which colour?", file, CONTEXT, given=passages)
    assert (result["certified"], set(result["usage"])) == (1, {"answer"})
    openai_server.reply(lambda request: "red" if "is red" in request.text else "old")
    assert set((await answer("Which colour?", file, CONTEXT, given=passages))["usage"]) == {"answer", "answer_base"}


async def test_the_same_search_runs_once(
    tmp_path: Path, openai_server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    from langchain_core.callbacks import CallbackManagerForRetrieverRun
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever

    searches: list[str] = []

    class CountingRetriever(BaseRetriever):
        def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
            searches.append(query)
            return [Document("The tower is red.", id="a", metadata={"id": "a", "title": "A", "score": 1.0})]

    file = write_cascade(tmp_path, ("concat", {"test": "known"}, {}), ("base", None, {}))
    openai_server.reply("unknown")
    context = Context(model="openai:test", k=2, journal="off", retriever=CountingRetriever())
    result = await answer("Which colour?", file, context)
    assert searches == ["Which colour?"]
    assert len(openai_server.requests) == 2
    assert [passage["id"] for passage in result["passages"]] == ["a"]
    await answer("Which colour?", file, context)
    assert len(searches) == 2  # the next question searches again


async def test_a_stage_has_the_settings_that_it_was_measured_with(tmp_path: Path, openai_server: OpenAIServer) -> None:
    file = write_cascade(tmp_path, ("concat", None, {"k": 1}))
    openai_server.reply("red")
    result = await answer("Which colour?", file, Context(model="openai:test", journal="off"), given=GIVEN_PASSAGES)
    assert [passage["id"] for passage in result["passages"]] == ["a"]


@pytest.mark.parametrize(
    ("context", "message"),
    [
        ({"k": 3}, "The stage 'concat' of .* was measured with k=2, but k is 3 now"),
        ({"model": "openai:other"}, "with model=openai:test, but model is openai:other now"),
        ({"temperature": 0.5}, "with temperature=0.0, but temperature is 0.5 now"),
    ],
)
async def test_a_setting_that_differs_is_refused_in_one_sentence(
    cascade: str, openai_server: OpenAIServer, context: dict[str, Any], message: str
) -> None:
    with pytest.raises(SetupError, match=message):
        await answer("Which colour?", cascade, Context(journal="off", **context), given=GIVEN_PASSAGES)
    assert not openai_server.requests


async def test_a_silver_filter_keeps_the_measure_and_the_scorer_that_it_was_measured_with(
    tmp_path: Path, openai_server: OpenAIServer
) -> None:
    """A file holds silver_measure and scorer only if they were set when its stages were measured."""
    openai_server.reply("red")

    async def answer_with(file: str, **settings: Any) -> str:
        context = replace(CONTEXT, **settings)
        return (await answer("Which colour?", file, context, given=GIVEN_PASSAGES, gold_answers=["red"]))["answer"]

    silver = {"filter_mode": "silver"}
    file = write_cascade(tmp_path, ("concat", None, silver))
    assert await answer_with(file) == "red"
    for name, value in (("silver_measure", "lexical"), ("scorer", "completions:test")):
        with pytest.raises(SetupError, match=f"was measured with {name}=None, but {name} is {value} now"):
            await answer_with(file, **{name: value})
    stage_with_measure = ("base", None, {**silver, "silver_measure": "lexical"})
    file = write_cascade(tmp_path, ("concat", {"test": "known"}, silver), stage_with_measure)
    # silver_measure may be set, because the second stage was measured with it. The first stage runs without it.
    assert await answer_with(file, silver_measure="lexical") == "red"
    file = write_cascade(tmp_path, ("concat", None, {}))
    assert await answer_with(file, silver_measure="lexical") == "red"  # a stage without a silver filter ignores it


async def test_a_prompt_that_has_changed_is_refused_in_one_sentence(cascade: str, openai_server: OpenAIServer) -> None:
    content = json.loads(Path(cascade).read_text())
    content["stages"][0]["prompts"] = {"answer": get_version("answer")}
    Path(cascade).write_text(json.dumps(content))
    openai_server.reply("red")
    assert (await answer("Which colour?", cascade, CONTEXT, given=GIVEN_PASSAGES))["answer"] == "red"
    content["stages"][0]["prompts"] = {"answer": "0000000000"}
    Path(cascade).write_text(json.dumps(content))
    with pytest.raises(SetupError, match="with prompt answer=0000000000, but prompt answer is"):
        await answer("Which colour?", cascade, CONTEXT, given=GIVEN_PASSAGES)


def test_the_drawing_shows_stages_and_tests(cascade: str) -> None:
    diagram = find_method(cascade).graph.get_graph().draw_mermaid()
    for line in ("begin --> concat;", "known&nbsp; .-> abstain;", "else&nbsp; .-> concat_pf;", "base --> abstain;"):
        assert line in diagram
    assert "confidence 0.7 or more" in diagram
    inner_nodes = find_method(cascade).graph.get_graph(xray=True).nodes
    assert "concat_pf:passage_answer" in inner_nodes


def test_one_method_twice_has_two_nodes(tmp_path: Path) -> None:
    file = write_cascade(tmp_path, ("concat", {"test": "known"}, {"k": 1}), ("concat", None, {}))
    assert {"concat", "concat_2"} <= set(composed_graph(file).nodes)


def test_a_cascade_works_without_a_running_loop_and_in_a_stream(cascade: str, openai_server: OpenAIServer) -> None:
    openai_server.reply("red")
    graph, question = composed_graph(cascade), {"question": "Which colour?", "given": GIVEN_PASSAGES}
    assert graph.invoke(question, context=CONTEXT)["answer"] == "red"
    steps = [name for step in graph.stream(question, context=CONTEXT, stream_mode="updates") for name in step]
    assert steps == ["begin", "concat", "abstain"]


def test_two_questions_on_one_thread_do_not_mix(cascade: str, openai_server: OpenAIServer) -> None:
    from langgraph.checkpoint.memory import InMemorySaver

    openai_server.reply(lambda request: "unknown" if "Which colour" in request.text else "old")
    graph = composed_graph(cascade)
    graph.checkpointer = InMemorySaver()
    config = {"configurable": {"thread_id": "1"}}
    first = graph.invoke({"question": "Which colour?", "given": GIVEN_PASSAGES}, config, context=CONTEXT)
    second = graph.invoke({"question": "What is it?", "given": GIVEN_PASSAGES}, config, context=CONTEXT)
    assert (first["unknown"], second["answer"], second["usage"]["answer"]["calls"]) == (True, "old", 1)


def test_the_column_of_a_cascade_is_named_by_its_content(cascade: str) -> None:
    column = parse_columns(f"concat,{cascade}", CONTEXT)[1]
    assert column.name.startswith("composed-")
    Path(cascade).write_text(Path(cascade).read_text() + "\n")
    assert parse_columns(cascade, CONTEXT)[0].name != column.name


@pytest.mark.parametrize("text", ["", "{}", '{"kind": "quorum composed", "stages": []}', "[1]"])
def test_a_file_without_a_cascade_is_refused_in_one_sentence(quorum: Quorum, tmp_path: Path, text: str) -> None:
    file = tmp_path / "x.json"
    file.write_text(text)
    run = quorum("ask", "Which colour?", "--method", str(file))
    assert (run.code, run.err.count("\n")) == (2, 1)
    assert "holds no composed method" in run.err
    run = quorum("methods", str(tmp_path / "none.json"), "--diagram")
    assert "cannot be read (No such file or directory)" in run.err


def test_a_cascade_is_compared_like_any_method(quorum: Quorum, cascade: str, openai_server: OpenAIServer) -> None:
    folder = Path(cascade).parent
    data = folder / "data.jsonl"
    records = [
        {"id": f"q{n}", "question": f"Which colour has number {n}?", "answers": ["red"], "passages": GIVEN_PASSAGES}
        for n in range(6)
    ]
    data.write_text("".join(json.dumps(record) + "\n" for record in records))
    openai_server.reply("red")
    run = quorum(
        "compare", "given", str(data), "--methods", f"base,{cascade}", "--models", "openai:test", "--k", "2",
        "--out", str(folder / "out"), "--set", "journal=off",
    )  # fmt: skip
    assert run.code == 0, run.err
    summary = json.loads((folder / "out" / "summary.json").read_text())
    name = next(name for name in summary if name.startswith("composed-"))
    assert (summary[name]["em"], summary[name]["calls"]) == (1.0, 1.0)


async def test_a_changed_collection_is_refused_in_one_sentence(tmp_path: Path, openai_server: OpenAIServer) -> None:
    def index(*passages: dict[str, str]) -> str:
        index_passages(passages, collection="towers", store=tmp_path / "store", embeddings="embedded", source="test")
        return open_store(tmp_path / "store").fetch_info("towers").revision

    revision = index(*GIVEN_PASSAGES)
    file = Path(write_cascade(tmp_path, ("concat", None, {})))
    cascade_fields = json.loads(file.read_text()) | {"collection": {"name": "towers", "revision": revision}}
    file.write_text(json.dumps(cascade_fields))
    context = replace(CONTEXT, collection="towers", store=str(tmp_path / "store"))
    openai_server.reply("red")
    assert (await answer("Which colour?", str(file), context))["answer"] == "red"
    assert index(GIVEN_PASSAGES[0], {"id": "c", "title": "C", "text": "The tower is blue."}) != revision
    with pytest.raises(SetupError, match=r"collection 'towers', and its passages have changed since; compare and"):
        await answer("Which colour?", str(file), context)
    assert (await answer("Which colour?", str(file), context, given=GIVEN_PASSAGES))["answer"] == "red"


def test_the_column_of_a_cascade_has_the_model_that_its_first_stage_was_measured_with(tmp_path: Path) -> None:
    model = {"provider": "openai", "model": "measured"}
    file = write_cascade(tmp_path, ("concat", {"test": "known"}, {"model": model}), ("direct", None, {"model": model}))
    [column] = list_columns(Options(data=tmp_path, methods=file))
    assert column.context.model == "openai:measured"
    [column] = list_columns(Options(data=tmp_path, methods=file, models=["openai:chosen"]))
    assert column.context.model == "openai:chosen"
    columns = list_columns(Options(data=tmp_path, methods=f"{file}[seed=1]", k=["1", "2"]))
    assert [(column.context.model, column.context.seed, column.context.k) for column in columns] == [
        ("openai:measured", 1, 1),
        ("openai:measured", 1, 2),
    ]


def test_every_stage_is_priced_by_its_own_model(tmp_path: Path) -> None:
    cheap_model, dear_model = ({"provider": "openai", "model": name} for name in ("gpt-4o-mini", "gpt-4o"))
    file = write_cascade(
        tmp_path,
        ("concat", {"test": "known"}, {"model": cheap_model}),
        ("direct", None, {"model": dear_model}),
    )
    cascade_fields = json.loads(Path(file).read_text())
    for stage, prompt in zip(cascade_fields["stages"], ("answer", "direct"), strict=True):
        stage["prompts"] = {prompt: get_version(prompt)}
    Path(file).write_text(json.dumps(cascade_fields))
    [column] = parse_columns(file, Context(model="embedded"))
    prices = [column.find_price(prompt) for prompt in ("answer", "direct", "other")]
    assert prices == [
        Prices().find_price("openai:gpt-4o-mini"),
        Prices().find_price("openai:gpt-4o"),
        Prices().find_price("openai:gpt-4o"),  # no stage names the prompt "other": the highest price of all stages
    ]
    usage = {"calls": 1, "input_tokens": 1_000_000, "output_tokens": 0, "cached_tokens": 0}
    total = column.compute_cost({"answer": usage, "direct": usage})  # type: ignore[dict-item]
    assert prices[0] is not None
    assert prices[1] is not None
    assert total == prices[0].input + prices[1].input
