"""BlendFilter: golden traces by the scripted model, every setting, every route."""

import json
from typing import Any

import pytest
from blendfilter_fixtures import (
    EXTERNAL_REPLY,
    INTERNAL_REPLY,
    PASSAGES,
    QUESTION,
    REASONING_REPLY,
    join_ids,
    make_blend_model,
    run_blendfilter,
    trace_blendfilter,
)
from method_fixtures import make_runtime

from quorum.core.context import Context
from quorum.core.state import Passage, QueryPassages, State
from quorum.evaluation.shown.trace import Tracer
from quorum.graphs import answer
from quorum.models.scripted import ScriptedModel
from quorum.nodes.blend_queries import blend_queries
from quorum.nodes.merge_passages import collect_passages, merge_passages

# Without "So the answer is Unknown."
EXTERNAL_QUERY = f"SuperMansion has the voice of Jillian Bell.\n{QUESTION}"
INTERNAL_QUERY = f"{INTERNAL_REPLY}\n{QUESTION}"
ANSWER = {
    "answer": "Jillian Belk",
    "unknown": False,
    "rationale": "SuperMansion starred Jillian Bell. Jillian Bell played Jillian Belk.",
}
EVIDENCE: dict[str, Any] = {"evidence": [{"passage": "bell", "start": 55, "end": 67}]}
# For each query: "number of the query: ids that it retrieved -> ids that the filter kept".
PASSAGES_OF_QUERIES = ["0: mansion jones -> mansion", "1: mansion bell -> mansion bell", "2: bell office -> bell"]
RETRIEVED_IDS = ["mansion", "jones", "bell", "office"]


async def test_a_full_run_of_blendfilter() -> None:
    model = make_blend_model()
    assert await trace_blendfilter(model) == [
        ("begin", {}),
        ("retrieve", {"passages": "mansion jones"}),
        ("write_external_knowledge", {"external_knowledge": EXTERNAL_REPLY}),
        ("write_internal_knowledge", {"internal_knowledge": INTERNAL_REPLY}),
        ("name_topic", {"topic": "Television comedies"}),
        ("blend_queries", {"queries": [QUESTION, EXTERNAL_QUERY, INTERNAL_QUERY]}),
        *(("search_and_filter", {"passages_by_query": result}) for result in PASSAGES_OF_QUERIES),
        ("merge_passages", {"passages": "mansion bell", "retrieved": RETRIEVED_IDS}),
        ("reason", {"reasoning": REASONING_REPLY, "passages": "mansion bell"}),
        ("extract_answer", ANSWER),
        ("find_evidence", EVIDENCE),
    ]
    assert len(model.history) == 11


async def test_the_result_of_the_full_run() -> None:
    result = await run_blendfilter(make_blend_model())
    assert {name: result[name] for name in ANSWER | EVIDENCE} == ANSWER | EVIDENCE
    assert join_ids(result["passages"]) == "mansion bell"
    assert result["retrieved"] == RETRIEVED_IDS
    calls = " ".join(f"{name} {usage['calls']}" for name, usage in sorted(result["usage"].items()))
    assert calls == "choose 3 extract_answer 1 internal 1 judge 3 reason 2 topic 1"
    assert (result["malformed"], result["dropped"], result["confidence"]) == ({}, 0, None)
    assert json.loads(json.dumps(result)) == result


async def test_a_trace_shows_what_every_query_went_through() -> None:
    tracer = Tracer()
    context = Context(model=make_blend_model(), k=2)
    await answer(QUESTION, "blendfilter", context, given=PASSAGES, config={"callbacks": [tracer]})
    (graph,) = tracer.root.steps
    steps_of_queries = [[step.name for step in node.steps] for node in graph.steps if node.name == "search_and_filter"]
    assert sorted(steps_of_queries) == [
        ["filter_knowledge", "collect_passages"],
        ["retrieve", "filter_knowledge", "collect_passages"],
        ["retrieve", "filter_knowledge", "collect_passages"],
    ]
    turns = [
        step.name
        for node in graph.steps
        for inner in node.steps
        if inner.name == "filter_knowledge"
        for step in inner.steps
    ]
    assert turns == ["judge_passages", "choose_passages"] * 3


async def test_with_one_turn_judging_and_choosing_are_one_call() -> None:
    model = make_blend_model().on("judge_and_choose: q", "Passage 1 names the series.\nRelevant passages: 1")
    model.on("judge_and_choose: ex", "Relevant passages: 1, 2").on("judge_and_choose: in", "Relevant passages: 1")
    trace = await trace_blendfilter(model, filter_turns=1)
    assert [node for node, _ in trace] == [
        "begin",
        "retrieve",
        "write_external_knowledge",
        "write_internal_knowledge",
        "blend_queries",
        "search_and_filter",
        "search_and_filter",
        "search_and_filter",
        "merge_passages",
        "cot_answer",
        "find_evidence",
    ]
    assert [update["passages_by_query"] for node, update in trace if node == "search_and_filter"] == PASSAGES_OF_QUERIES
    assert trace[-2:] == [("cot_answer", {**ANSWER, "passages": "mansion bell"}), ("find_evidence", EVIDENCE)]
    assert len(model.history) == 6


async def test_filter_union_merges_the_passages_of_the_queries_and_then_filters_once() -> None:
    model = make_blend_model().on("judge", "Passages 1 and 3 help.").on("choose", "1, 3")
    trace = await trace_blendfilter(model, filter_union=True)
    assert [update["passages_by_query"] for node, update in trace if node == "search_and_filter"] == [
        "0: mansion jones -> mansion jones",
        "1: mansion bell -> mansion bell",
        "2: bell office -> bell office",
    ]
    assert trace[-5:] == [
        ("merge_passages", {"passages": "mansion jones bell office", "retrieved": RETRIEVED_IDS}),
        ("filter_union", {"passages": "mansion bell", "retrieved": RETRIEVED_IDS}),
        ("reason", {"reasoning": REASONING_REPLY, "passages": "mansion bell"}),
        ("extract_answer", ANSWER),
        ("find_evidence", EVIDENCE),
    ]
    assert len(model.history) == 7
    assert "[3] Jillian Bell\n" in next(call.text for call in model.history if call.name == "judge")


async def test_filter_union_with_one_turn_judges_and_chooses_in_one_call() -> None:
    model = make_blend_model().on("judge_and_choose", "Relevant passages: 1, 3")
    result = await run_blendfilter(model, filter_union=True, filter_turns=1)
    assert (result["answer"], join_ids(result["passages"])) == ("Jillian Belk", "mansion bell")
    assert [call.name for call in model.history][-2:] == ["judge_and_choose", "reason"]


CALLS_AND_PASSAGES_OF_QUERIES = {  # the setting `queries` -> the number of calls, the ids of the kept passages
    "q+ex+in": (11, "mansion bell"),
    "q+ex": (8, "mansion bell"),
    "q+in": (8, "mansion bell"),
    "ex+in": (9, "mansion bell"),
    "q": (5, "mansion"),
    "ex": (6, "mansion bell"),
    "in": (6, "bell"),
}


@pytest.mark.parametrize("queries", CALLS_AND_PASSAGES_OF_QUERIES)
async def test_any_subset_of_the_queries(queries: str) -> None:
    model = make_blend_model()
    result = await run_blendfilter(model, queries=queries)
    calls, passages = CALLS_AND_PASSAGES_OF_QUERIES[queries]
    assert (len(model.history), join_ids(result["passages"])) == (calls, passages)
    assert result["answer"] == "Jillian Belk"
    call_names = {call.name for call in model.history}
    assert {f"judge: {name}" for name in queries.split("+")} == {
        name for name in call_names if name.startswith("judge")
    }
    assert ("reason: external" in call_names, "internal" in call_names) == ("ex" in queries, "in" in queries)
    trace = await trace_blendfilter(make_blend_model(), queries=queries)
    assert ("retrieve" in [node for node, _ in trace]) == (queries != "in")


def make_yes_no_model() -> ScriptedModel:
    """A model with the replies of a run on a yes/no question. Of the two passages of each query it keeps the second."""
    model = (
        ScriptedModel().on("reason_yes_no: external", "It has. So the answer is Yes.").on("internal", INTERNAL_REPLY)
    )
    for query in ("q", "ex", "in"):
        model.on(f"judge_yes_no: {query}", "Passage 2 helps.").on(f"choose_yes_no: {query}", "2")
    return model.on("reason_yes_no", "Jillian Bell is in it. So the answer is yes.").on("extract_answer_yes_no", "Yes.")


async def test_a_yes_no_run_has_no_topic_and_its_prompts_allow_choosing_none() -> None:
    model = make_yes_no_model()
    result = await run_blendfilter(model, "Is Jillian Bell in SuperMansion?", answer_type="yes_no")
    assert (result["answer"], result["unknown"], result["evidence"]) == ("yes", False, [])
    assert len(model.history) == 10
    assert all("write none" in call.text for call in model.history if call.prompt_name.startswith("choose"))
    assert not any("topic" in call.text.lower() for call in model.history)


async def test_if_the_filters_keep_no_passage_the_answer_is_generated_without_passages() -> None:
    model = make_blend_model({"choose: q": "none", "choose: ex": "None of them.", "choose: in": "[]"})
    result = await run_blendfilter(model)
    assert (result["answer"], result["passages"], result["retrieved"]) == ("Jillian Belk", [], RETRIEVED_IDS)
    reasoning_prompt = next(call.text for call in model.history if call.name == "reason")
    assert (
        reasoning_prompt.rsplit("Passages:", 1)[1]
        == f"\n<passages>\n(none)\n</passages>\n\nQuestion: {QUESTION}\nRationale:"
    )


async def test_a_choice_that_cannot_be_read_keeps_all_passages_of_its_query() -> None:
    result = await run_blendfilter(make_blend_model({"choose: q": "It depends."}))
    assert join_ids(result["passages"]) == "mansion jones bell"
    assert result["malformed"] == {"choose": {"count": 1, "replies": ["It depends."]}}


@pytest.mark.parametrize("refusal", ["Unknown", "I do not know.", "", "Unknown. I do not know."])
async def test_internal_knowledge_that_says_unknown_adds_nothing_to_the_query(refusal: str) -> None:
    trace = await trace_blendfilter(make_blend_model({"internal": refusal}))
    queries = next(update["queries"] for node, update in trace if node == "blend_queries")
    assert queries == [QUESTION, EXTERNAL_QUERY, QUESTION]
    passages_of_queries = [update["passages_by_query"] for node, update in trace if node == "search_and_filter"]
    assert passages_of_queries == [
        "0: mansion jones -> mansion",
        "1: mansion bell -> mansion bell",
        "2: mansion jones -> mansion",
    ]


async def test_external_knowledge_that_says_unknown_adds_nothing_to_the_query() -> None:
    state = State(question="Who?", external_knowledge="I do not know.", internal_knowledge="Somebody.")
    assert await blend_queries(state, make_runtime()) == {"queries": ["Who?", "Who?", "Somebody.\nWho?"]}


async def test_generated_text_comes_before_the_question() -> None:
    state = State(
        question="Who?", external_knowledge="Somebody. So the answer is Unknown.", internal_knowledge="Somebody else."
    )
    update = await blend_queries(state, make_runtime())
    assert update == {
        "queries": ["Who?", "Somebody.\nWho?", "Somebody else.\nWho?"],
    }
    assert await blend_queries(state, make_runtime(queries="in")) == {"queries": ["Somebody else.\nWho?"]}


def make_passage(id_: str, text: str = "") -> Passage:
    return Passage(id=id_, title="", text=text)


async def test_the_union_keeps_the_order_of_the_queries_and_each_passage_once() -> None:
    a, b, c, a_again = (
        make_passage("a", "first"),
        make_passage("b"),
        make_passage("c"),
        make_passage("a", "second"),
    )
    passages_by_query = [
        QueryPassages(rank=2, retrieved=["c", "a"], passages=[c, a_again]),
        QueryPassages(rank=0, retrieved=["a", "x"], passages=[a]),
        QueryPassages(rank=1, retrieved=["b", "x"], passages=[b]),
    ]
    assert await merge_passages(State(passages_by_query=passages_by_query)) == {
        "passages": [a, b, c],
        "retrieved": ["a", "x", "b", "c"],
    }
    assert await merge_passages(State(passages_by_query=[])) == {"passages": [], "retrieved": []}


async def test_the_collected_ids_are_those_from_before_the_filter_if_a_filter_has_run() -> None:
    state = State(rank=1, passages=[make_passage("a")])
    assert await collect_passages(state) == {
        "passages_by_query": [QueryPassages(rank=1, retrieved=["a"], passages=[make_passage("a")])]
    }
    update = await collect_passages(State(rank=1, passages=[], retrieved=["a", "b"]))
    assert update == {"passages_by_query": [QueryPassages(rank=1, retrieved=["a", "b"], passages=[])]}


async def test_a_small_window_drops_the_last_passages_from_judging_and_choosing() -> None:
    long_passages = [Passage(id=str(n), title="", text=f"Passage {n}. " + "word " * 300) for n in range(4)]
    model = ScriptedModel().on("judge", "All help.").on("choose", "all")
    context = Context(model=model, k=4, queries="q", context_window=1400, filter_union=True)
    model.on("topic", "Words").on("reason", "So the answer is word.").on("extract_answer", "word")
    result = await answer("Which word?", "blendfilter", context, given=long_passages)
    assert result["retrieved"] == ["0", "1", "2", "3"]
    assert len(result["passages"]) < 4
    assert result["dropped"] > 0
    assert result["malformed"] == {}


async def test_knowledge_that_says_unknown_is_no_part_of_a_query() -> None:
    """Its other sentences are, so that the search still knows what was found."""
    unknown = "The film has several writers. So the answer is Unknown."
    state = State(
        question=QUESTION, external_knowledge=unknown, internal_knowledge="I do not know. So the answer is Unknown."
    )
    queries = (await blend_queries(state, make_runtime()))["queries"]
    assert queries == [QUESTION, f"The film has several writers.\n{QUESTION}", QUESTION]
