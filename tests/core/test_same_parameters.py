"""Functions that pass their parameters on have the signature of the function that takes them."""

import inspect

import pytest

import quorum
from quorum import graphs


@pytest.mark.parametrize("function", [graphs.answer_sync, quorum.answer, quorum.answer_sync, quorum.stream])
def test_all_ways_to_ask_have_the_parameters_of_the_graphs_answer(function: object) -> None:
    parameters = inspect.signature(graphs.answer).parameters
    assert inspect.signature(function).parameters == parameters  # type: ignore[arg-type]
    assert {"given", "gold_answers", "history", "config"} < parameters.keys()


@pytest.mark.parametrize("name", ["evaluate", "compare"])
def test_both_sides_of_an_evaluation_have_the_same_parameters(name: str) -> None:
    sync_side, async_side = getattr(quorum, name), getattr(quorum, f"{name}_async")
    assert inspect.signature(sync_side).parameters == inspect.signature(async_side).parameters


def test_an_unknown_parameter_is_refused_at_the_call() -> None:
    for function in (quorum.answer_sync, quorum.stream):
        with pytest.raises(TypeError, match="unexpected keyword argument 'givn'"):
            function("Who?", givn=[])  # type: ignore[call-arg]
