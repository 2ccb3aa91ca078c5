"""The columns (methods with their settings) of an evaluation: their names, and what its configuration says of each."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from quorum.core.context import Context
from quorum.core.errors import SetupError
from quorum.evaluation.run.columns import Column, parse_columns
from quorum.evaluation.run.config import make_config
from quorum.evaluation.run.dataset import read_data


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """One question with its passage."""
    path = tmp_path / "data.jsonl"
    passages = [{"id": "a", "title": "", "text": "Ann is the first."}]
    record = {"id": "q", "question": "Who is the first?", "answers": ["Ann"], "passages": passages}
    path.write_text(json.dumps(record) + "\n", encoding="utf-8")
    return path


def test_columns_of_one_method_need_different_settings() -> None:
    with pytest.raises(SetupError, match=r"concat\[k=3\] is named twice"):
        parse_columns("concat[k=3],concat[k=3]", Context())


def test_the_choice_of_all_methods_takes_settings() -> None:
    columns = parse_columns("all[k=3;vote=staged],concat", Context())
    assert [column.name for column in columns][:1] == ["concat[k=3;vote=staged]"]
    assert columns[-1] == Column("concat", "concat", {}, replace(Context()))
    assert {column.context.k for column in columns[:-1]} == {3}


def read_settings(data: Path, methods: str, **options: Any) -> dict[str, Any]:
    """The settings of the only method as config.json holds them, over given passages."""
    columns = parse_columns(methods, Context(model="openai:test", attempts=1, **options))
    methods_in_config = make_config(read_data(data, None), columns, {"passages": "given"}, {})["methods"]
    return dict(next(iter(methods_in_config.values())))


def test_the_configuration_for_given_passages_holds_the_embeddings_but_not_the_retriever(data: Path) -> None:
    settings, other_settings = (read_settings(data, "replug", embeddings=f"openai:{name}") for name in ("one", "other"))
    assert (settings["embeddings"], other_settings["embeddings"]) == ("openai:one", "openai:other")
    assert read_settings(data, "replug", retriever="bm25") == read_settings(data, "replug", retriever="chroma")


def test_a_retrained_filter_is_another_configuration(data: Path, tmp_path: Path) -> None:
    folder_path = tmp_path / "filter"
    folder_path.mkdir()
    described_filters = []
    for text in ("first", "second"):
        (folder_path / "sentences.json").write_text(text)
        (folder_path / "config.json").write_text(text)
        kinds = (f"embedded:{folder_path}", f"transformers:{folder_path}", f"llm:transformers:{folder_path}")
        described_filters.append(
            [read_settings(data, "filco", context_filter=kind)["context_filter"] for kind in kinds]
        )
    assert all(before != after for before, after in zip(*described_filters, strict=True))
    assert read_settings(data, "filco", context_filter="llm:openai:ft:own")["context_filter"]["model"] == "ft:own"
    assert [read_settings(data, "filco", context_filter=kind)["context_filter"] for kind in (None, "llm", "odd")] == [
        *(None, "llm", "odd")
    ]
