"""The method iter_retgen: a golden trace (the nodes of a run and their updates), the next query, and the router.

In the golden trace, passages are written as their ids ("jan work"), and a step as "query -> ids of its passages:
answer". The query None stands for the question itself.
"""

from method_fixtures import make_runtime
from stepwise_fixtures import QUESTION, make_step, trace_stepwise_method

from quorum.core.state import State
from quorum.models.scripted import ScriptedModel
from quorum.nodes.iter_retgen import next_query
from quorum.nodes.routes import (
    continue_rounds,
)


async def test_iter_retgen_searches_again_with_its_reasoning() -> None:
    model = ScriptedModel().on(
        "reason",
        "SuperMansion starred Jillian Bell. So the answer is Jillian Bell.",
        "Jillian Bell was Jillian Belk. So the answer is Jillian Belk.",
    )
    query = f"SuperMansion starred Jillian Bell. Jillian Bell {QUESTION}"
    assert await trace_stepwise_method("iter_retgen", model) == [
        ("begin", {}),
        ("retrieve", {"passages": "jan work"}),
        (
            "cot_answer",
            {
                "answer": "Jillian Bell",
                "unknown": False,
                "rationale": "SuperMansion starred Jillian Bell.",
                "passages": "jan work",
            },
        ),
        ("next_query", {"query": query, "steps": ["None -> jan work: Jillian Bell"]}),
        ("retrieve", {"passages": "mansion bell"}),
        (
            "cot_answer",
            {
                "answer": "Jillian Belk",
                "unknown": False,
                "rationale": "Jillian Bell was Jillian Belk.",
                "passages": "mansion bell",
            },
        ),
        ("find_evidence", {"evidence": ["bell"]}),
    ]
    assert "Jan Hooks" not in model.history[1].text  # the second prompt shows no passage of the first search


async def test_an_unknown_answer_is_not_added_to_the_next_query() -> None:
    without_rationale = State(question=QUESTION, rationale=None, answer="unknown", passages=[], steps=[])
    assert (await next_query(without_rationale))["query"] is None
    with_rationale = State(question=QUESTION, rationale="It is not told.", answer="unknown", passages=[], steps=[])
    assert (await next_query(with_rationale))["query"] == f"It is not told. {QUESTION}"


def test_routes_of_iter_retgen() -> None:
    assert continue_rounds(State(steps=[]), make_runtime(iterations=1)) == "last round"
    assert continue_rounds(State(steps=[]), make_runtime()) == "rounds left"  # the default is iterations=2
    assert continue_rounds(State(steps=[make_step()]), make_runtime()) == "last round"
