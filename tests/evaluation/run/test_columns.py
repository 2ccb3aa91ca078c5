"""The columns (methods with their settings) of an evaluation: their names, and what its configuration says of each."""

import json
from pathlib import Path
from typing import Any

import pytest

from quorum.core.context import Context
from quorum.core.errors import SetupError
from quorum.evaluation.run.columns import Column, parse_columns
from quorum.evaluation.run.config import make_config
from quorum.evaluation.run.dataset import read_data


@pytest.fixture
def data_file(tmp_path: Path) -> Path:
    """A data file with one question, which brings its passage."""
    path = tmp_path / "data.jsonl"
    passages = [{"id": "a", "title": "", "text": "Ann is the first."}]
    record = {"id": "q", "question": "Who is the first?", "answers": ["Ann"], "passages": passages}
    path.write_text(json.dumps(record) + "\n", encoding="utf-8")
    return path


def test_columns_of_one_method_need_different_settings() -> None:
    with pytest.raises(SetupError, match=r"concat\[k=3\] is named twice"):
        parse_columns("concat[k=3],concat[k=3]", Context())


def test_settings_of_the_word_all_apply_to_every_method() -> None:
    columns = parse_columns("all[k=3;vote=staged],concat", Context())
    assert columns[0].name == "concat[k=3;vote=staged]"
    assert columns[-1] == Column("concat", "concat", {}, Context())
    assert {column.context.k for column in columns[:-1]} == {3}


def describe_method(data_file: Path, method: str, **settings: Any) -> dict[str, Any]:
    """The settings that config.json holds for a method that reads given passages. settings: fields of its context."""
    columns = parse_columns(method, Context(model="openai:test", attempts=1, **settings))
    methods_in_config = make_config(read_data(data_file, None), columns, {"passages": "given"}, {}, "exact_match")[
        "methods"
    ]
    return dict(next(iter(methods_in_config.values())))


def describe_filter(data_file: Path, context_filter: str | None) -> Any:
    """What config.json holds for the setting context_filter."""
    return describe_method(data_file, "filco", context_filter=context_filter)["context_filter"]


def test_the_configuration_for_given_passages_holds_the_embeddings_but_not_the_retriever(
    data_file: Path,
) -> None:
    for embeddings in ("openai:one", "openai:other"):
        assert describe_method(data_file, "replug", embeddings=embeddings)["embeddings"] == embeddings
    assert describe_method(data_file, "replug", retriever="bm25") == describe_method(
        data_file, "replug", retriever="chroma"
    )


def test_a_retrained_filter_is_another_configuration(data_file: Path, tmp_path: Path) -> None:
    folder = tmp_path / "filter"
    folder.mkdir()
    filters = (f"embedded:{folder}", f"transformers:{folder}", f"llm:transformers:{folder}")
    descriptions_by_training = []
    for weights in ("first", "second"):
        (folder / "sentences.json").write_text(weights)
        (folder / "config.json").write_text(weights)
        descriptions_by_training.append([describe_filter(data_file, context_filter) for context_filter in filters])
    assert all(before != after for before, after in zip(*descriptions_by_training, strict=True))


def test_the_configuration_names_the_filter(data_file: Path) -> None:
    """config.json names the filter by its model. If the setting names no model, or an unknown filter, config.json holds
    the setting itself.
    """
    assert describe_filter(data_file, "llm:openai:ft:own")["model"] == "ft:own"
    for context_filter in (None, "llm", "odd"):
        assert describe_filter(data_file, context_filter) == context_filter
