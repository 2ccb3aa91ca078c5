"""The command that a report shows repeats the comparison: read again, it gives the same settings."""

import shlex
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from quorum.cli.settings import read_context
from quorum.core.context import Context
from quorum.evaluation.run.given_metrics import read_metrics
from quorum.evaluation.run.options import Options


def make_options(**values: Any) -> Options:
    return Options(**{"data": Path("q.jsonl"), "corpus": "docs", "methods": "concat", **values})


def read_option(command: str, option: str) -> list[str]:
    """The values that a command gives to an option."""
    words = shlex.split(command)
    return [value for word, value in pairwise(words) if word == option]


def test_the_settings_of_a_command_read_again_are_the_same() -> None:
    context = Context(
        temperature=0.1 + 0.2,
        retrieve=False,
        k=9,
        reranker="question",
        store="my store",
        embeddings="openai:text-embedding-3-small",
        where=["year>=2020", {"team": {"$in": ["HR", "IT"]}}],
        journal="off",
        seed=3,
    )
    command = make_options(context=context).describe_command()
    store, embeddings = read_option(command, "--store"), read_option(command, "--embeddings")
    where = read_option(command, "--where")
    assert (store, embeddings) == (["my store"], ["openai:text-embedding-3-small"])
    assert where == ["year>=2020", '{"team": {"$in": ["HR", "IT"]}}']
    settings = read_option(command, "--set")
    again = read_context(settings, where=where, store=store[0], embeddings=embeddings[0])
    assert make_options(context=again).describe_command() == command
    assert (again.temperature, again.retrieve, again.k, again.seed) == (pytest.approx(0.3), False, 9, 3)


def test_a_setting_of_the_environment_is_in_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUORUM_K", "8")
    assert "--set k=8" in make_options().describe_command()
    assert "k=8" not in make_options(k=["3", "9"]).describe_command()


def test_a_command_names_nothing_that_compare_refuses_and_no_secret() -> None:
    context = Context(
        collection="x", retriever="bm25", store="http://me:hunter22@db:8000", answer_type="label", journal=None
    )
    command = make_options(corpus="given", context=context).describe_command()
    assert command == "quorum compare given q.jsonl --methods concat --store http://db:8000"
    stated = make_options(corpus="given", context=context, task="label").describe_command()
    assert stated.endswith("--set answer_type=label")


def test_a_metric_is_named_where_a_module_has_it() -> None:
    place = "mine=quorum.evaluation.metrics.answers:em"
    metrics = {**read_metrics([place]), "own": lambda result, reference: 1.0}
    assert read_option(make_options(metrics=metrics).describe_command(), "--metric") == [place]
