"""A cascade that a user writes, such as `concat>post_fusion`: the next method is asked if the answer is unknown."""

import json
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from composed_fixtures import CONTEXT, GIVEN_PASSAGES, write_cascade
from method_fixtures import PASSAGES, QUESTION, script_passage_answers
from openai_server import OpenAIServer
from quorum_command import Quorum

from quorum.api.stream import MethodFinished, NodeFinished, stream
from quorum.cascades.cascade_cache import CASCADE_CACHES
from quorum.core.context import Context
from quorum.core.errors import SetupError
from quorum.evaluation.compare.call_bounds import compute_call_bounds
from quorum.evaluation.run.columns import list_columns, parse_columns
from quorum.evaluation.run.options import Options
from quorum.graphs import answer, answer_sync, find_method
from quorum.graphs.conversation import graph as conversation_graph
from quorum.models.scripted import ScriptedModel
from quorum.nodes.ask_method import ChatContext

OUTCOMES = [
    ("1931", []),
    *(("unknown", list(replies)) for replies in product(["1931", "1950", "unknown"], repeat=2)),
    ("It cannot be told from these passages.", ["1931", "unknown"]),
]


def script(first_reply: str, passage_replies: list[str]) -> ScriptedModel:
    """A model that gives the first reply to the prompt over all passages, and the others to those over one each."""
    return script_passage_answers(*passage_replies).on("answer", first_reply)


@pytest.mark.parametrize(("first_reply", "passage_replies"), OUTCOMES)
async def test_concat_then_post_fusion_is_concat_pf(first_reply: str, passage_replies: list[str]) -> None:
    """Equal in the whole result: answer, votes, passages, evidence, calls and tokens."""
    models = [script(first_reply, passage_replies) for _ in range(2)]
    cascade, concat_pf = [
        await answer(QUESTION, method, Context(model=model, k=2), given=PASSAGES)
        for method, model in zip(("concat>post_fusion", "concat_pf"), models, strict=True)
    ]
    assert cascade == concat_pf
    assert [sent.text for sent in models[0].history] == [sent.text for sent in models[1].history]
    assert not CASCADE_CACHES


@pytest.mark.parametrize("settings", [{"k": 1}, {"samples": 2, "temperature": 0.5}, {"vote": "staged", "k": 4}])
async def test_the_two_are_equal_under_other_settings(settings: dict[str, Any]) -> None:
    def reply(sent: Any) -> str:
        return "1931" if sent[-1].text.count("\n[") < 2 and "1931" in sent[-1].text else "unknown"

    results = [
        await answer(QUESTION, method, Context(model=ScriptedModel().on("answer", reply), **settings), given=PASSAGES)
        for method in ("concat>post_fusion", "concat_pf")
    ]
    assert results[0] == results[1]


@pytest.mark.parametrize(
    "text", ["concat>post_fusion", " concat > post_fusion", "concat then post_fusion", "concat-then-post_fusion"]
)
def test_a_cascade_may_be_written_in_three_ways(text: str) -> None:
    method = find_method(text)
    assert (method.name, method.calls, method.depth) == ("concat>post_fusion", "n + [unknown] k*n", "1 or 2")
    assert method.summary == "concat; if its answer is unknown, post_fusion."
    drawing = method.draw()
    assert all(edge in drawing for edge in ("begin --> concat;", "known&nbsp; .-> abstain;", ".-> post_fusion;"))
    assert find_method(text).graph is method.graph


def test_three_steps_with_settings_of_their_own() -> None:
    model = ScriptedModel().on("answer", "unknown", "unknown").on("answer_base", "1931")
    result = answer_sync(QUESTION, "concat[k=1]>concat[k=3]>base", Context(model=model, k=2), given=PASSAGES)
    assert (result["answer"], len(result["passages"])) == ("1931", 2)
    assert [sent.text.count("\n[") for sent in model.history] == [1, 3, 2]
    assert compute_call_bounds(parse_columns("concat>post_fusion[k=3]>sure", Context(k=9))[0]) == (1, 1 + 3 + 7)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("concat>nothing", "no method 'nothing'"),
        ("concat>all", "no method 'all'"),
        ("concat>base>sure>mcq", "has 4 steps; give at most 3"),
        ("concat>concat", "asks concat twice, and the second time gives what the first gave"),
        ("concat[k=3]>concat[k=03]", "twice"),
        ("base>concat", "prompts of base offer no answer 'unknown'.*put it last"),
        ("no_retrieval>concat", r"such as direct\[retrieve=false\]"),
        ("concat>", "has an empty step"),
        ("concat>>sure", "has an empty step"),
        ("concat[k=3>sure", r"has the step 'concat\[k=3' that cannot be read"),
        ("concat[k]>sure", "Setting 'k' cannot be read"),
        ("concat[k=0]>sure", "Setting k=0 does not fit"),
        ("concat[kk=3]>sure", "no setting 'kk'"),
        ("concat[collection=a]>sure", "sets collection, which all steps of a cascade share"),
        ("concat>x.json", "no method 'x.json'"),
    ],
)
def test_a_cascade_that_cannot_be_asked_is_refused_in_one_sentence(text: str, message: str) -> None:
    model = ScriptedModel()
    with pytest.raises(SetupError, match=message):
        answer_sync(QUESTION, text, Context(model=model), given=PASSAGES)
    assert not model.history
    with pytest.raises(SetupError):
        parse_columns(f"base,{text}", Context())


async def test_an_answer_type_that_a_later_step_lacks_is_refused_before_the_first_call() -> None:
    model = ScriptedModel()
    with pytest.raises(SetupError, match="does not serve answer_type='long'"):
        await answer(QUESTION, "concat>react", Context(model=model, answer_type="long"), given=PASSAGES)
    assert not model.history
    model.on("answer_long", "In 1931.")
    result = await answer(QUESTION, "concat>sure", Context(model=model, answer_type="long"), given=PASSAGES)
    assert (result["answer"], len(model.history)) == ("In 1931.", 1)


async def test_a_stream_shows_the_steps(openai_server: OpenAIServer) -> None:
    openai_server.reply(["unknown", "red", "red"])
    events = [event async for event in stream("Which?", "concat>post_fusion", CONTEXT, given=GIVEN_PASSAGES)]
    outer_nodes = [event.node for event in events if isinstance(event, NodeFinished) and not event.inside]
    assert outer_nodes == ["begin", "concat", "post_fusion", "abstain"]
    assert next(event.result["answer"] for event in events if isinstance(event, MethodFinished)) == "red"


async def test_a_cascade_that_is_a_stage_shares_calls_with_the_stages_before(
    tmp_path: Path, openai_server: OpenAIServer
) -> None:
    """`quorum compose` may choose it as a stage: its first call is that of the stage before, and its vote is new."""
    file = write_cascade(tmp_path, ("concat", {"test": "known"}, {}), ("concat>post_fusion", None, {}))
    openai_server.reply(["unknown", "red", "red"])
    result = await answer("Which colour?", file, CONTEXT, given=GIVEN_PASSAGES)
    assert (result["answer"], result["usage"]["answer"]["calls"], len(openai_server.requests)) == ("red", 3, 3)
    assert not CASCADE_CACHES


async def test_a_vote_in_a_later_step_certifies_nothing() -> None:
    """One replaced passage may let the first step answer."""
    model = script_passage_answers("1931", "1931", "1931", "1931").on("answer", "unknown")
    result = await answer(QUESTION, "concat>post_fusion", Context(model=model, k=4), given=PASSAGES)
    assert (result["certified"], result["confidence"]) == (None, 1.0)


def test_columns_are_named_as_the_steps_are_written() -> None:
    columns = parse_columns("concat, concat > sure[k=3;ranking=lazy],base[k=2],concat then base", Context(k=4))
    assert [column.name for column in columns] == [
        *("concat", "concat>sure[k=3;ranking=lazy]", "base[k=2]", "concat>base"),
    ]
    crossed = list_columns(Options(data=Path(), methods="concat[k=3]>base", context=Context(), k=["1", "2"]))
    assert [(column.name, column.context.k) for column in crossed] == [
        ("concat[k=3]>base[k=1]", 1),
        ("concat[k=3]>base[k=2]", 2),
    ]
    [column] = parse_columns("concat[collection=a]>base[collection=a]", Context())
    assert (column.context.collection, column.settings) == ("a", {"collection": "a"})


def test_each_step_has_the_price_of_its_model() -> None:
    [column] = parse_columns("concat[model=openai:small]>concat[model=openai:large]", Context())
    assert {context.model for context in column.list_sending_contexts("answer")} == {"openai:small", "openai:large"}


def test_a_cascade_is_evaluated_compared_and_composed(
    quorum: Quorum, tmp_path: Path, openai_server: OpenAIServer
) -> None:
    records = [
        {"id": f"q{n}", "question": f"Which colour has number {n}?", "answers": ["red"], "passages": GIVEN_PASSAGES}
        for n in range(12)
    ]
    data = tmp_path / "data.jsonl"
    data.write_text("".join(json.dumps(record) + "\n" for record in records))
    openai_server.reply(lambda request: "unknown" if "is red" in request.text and "is old" in request.text else "red")
    command = (
        "compare", "given", str(data), "--methods", "concat>post_fusion,concat_pf,concat",
        "--models", "openai:test", "--k", "2", "--out", str(tmp_path / "out"), "--set", "journal=off",
    )  # fmt: skip
    run = quorum(*command)
    assert run.code == 0, run.err
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    figures = [
        {key: summary[name][key] for key in ("em", "calls", "input_tokens", "output_tokens")}
        for name in ("concat>post_fusion", "concat_pf")
    ]
    assert figures[0] == figures[1]
    assert figures[0]["calls"] == 3
    run = quorum("compose", str(tmp_path / "out"), "--lose-at-most", "0.5")
    assert run.code == 0, run.err
    composed = json.loads((tmp_path / "out" / "composed.json").read_text())
    assert {stage["method"] for stage in composed["stages"]} <= {"concat>post_fusion", "concat_pf", "concat"}


def test_commands_and_conversations_ask_a_cascade(quorum: Quorum, tmp_path: Path, openai_server: OpenAIServer) -> None:
    passages = tmp_path / "passages.jsonl"
    passages.write_text("".join(json.dumps(passage) + "\n" for passage in GIVEN_PASSAGES))
    openai_server.reply(lambda request: "red" if "three words" in request.text else "unknown")
    options = ("--passages", str(passages), "--model", "openai:test", "--set", "journal=off")
    run = quorum("ask", "Which colour?", "--method", "direct[retrieve=false] then base", *options, "--json")
    assert (run.code, json.loads(run.out)["answer"]) == (0, "red")
    run = quorum("ask", "Which colour?", "--method", "base>concat", *options)
    assert (run.code, run.err.count("\n")) == (2, 1)
    run = quorum("methods", "concat>base")
    assert "n + [unknown] n" in run.out
    context = ChatContext(model="openai:test", method="concat>base", journal="off")
    state: Any = {"messages": [{"role": "user", "content": "Which colour?"}], "given": GIVEN_PASSAGES}
    assert conversation_graph.invoke(state, context=context)["answer"] == "red"
