"""Servers of embeddings that take few texts in a request, or no long ones, or refuse one text."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import openai
import pytest
from langchain_core.embeddings import Embeddings
from openai_bodies import Response, make_embeddings, make_error
from openai_server import OpenAIServer
from quorum_command import Quorum

from quorum import CallError, Context, index
from quorum.models import embeddings
from quorum.models.embedding_batches import TextsRefused

TEXTS = [f"Gate {number} of Vell was painted by person {number}." for number in range(30)]
Rule = Callable[[list[str]], Response | None]  # the texts of a request -> its refusal


def set_rule(server: OpenAIServer, rule: Rule) -> list[int]:
    """Let the server refuse what the rule refuses. Returns the list of the numbers of texts in its requests."""
    counts = []

    def answer(body: dict[str, Any]) -> Any:
        counts.append(len(body["input"]))
        return rule(body["input"]) or make_embeddings(body)

    server.make_embeddings = answer
    return counts


def take_texts(count: int, refusal: Callable[[str], Response]) -> Rule:
    """Refuse requests of more texts."""
    return lambda texts: refusal(f"batch size {len(texts)} > maximum {count}") if len(texts) > count else None


def take_characters(count: int) -> Rule:
    """Refuse requests with a longer text."""
    return lambda texts: make_error(400, f"at most {count} tokens") if max(map(len, texts)) > count else None


REFUSALS: dict[str, Callable[[str], Response]] = {
    "413 in words": lambda message: Response(status=413, body={"error": message, "error_type": "Validation"}),
    "400": lambda message: make_error(400, message),
    "422 of a list": lambda message: Response(status=422, body=[{"error": {"code": 422, "message": message}}]),
    "400 that does not say it": lambda message: make_error(400, "InvalidParameter"),
    "429 of a large request": lambda message: make_error(429, "Request too large for e on tokens per min"),
}


@pytest.mark.parametrize("refusal", REFUSALS)
def test_a_refused_request_is_halved_and_the_size_that_worked_is_remembered(
    refusal: str, openai_server: OpenAIServer
) -> None:
    model = embeddings("openai:e")
    expected = model.embed_documents(TEXTS)
    counts = set_rule(openai_server, take_texts(10, REFUSALS[refusal]))
    assert model.embed_documents(TEXTS) == expected
    assert [count for count in counts if count != 1] == [30, 15, 8, 8, 8, 6]
    counts.clear()
    assert embeddings("openai:e").embed_documents(TEXTS) == expected  # another client of the same server
    assert counts == [8, 8, 8, 6]


def test_the_setting_limits_every_request(quorum: Quorum, openai_server: OpenAIServer, tmp_path: Path) -> None:
    file = tmp_path / "gates.jsonl"
    lines = [{"id": str(number), "title": "", "text": text} for number, text in enumerate(TEXTS)]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    counts = set_rule(openai_server, lambda texts: None)
    outcome = quorum("index", str(file), "--embeddings", "openai:e", "--embedding-batch", "12", "-c", "gates")
    assert (outcome.code, counts) == (0, [12, 12, 6])
    counts.clear()
    index(file, collection="gates2", context=Context(embeddings="openai:f", embedding_batch=20))
    assert counts == [20, 10]


def test_a_long_text_is_embedded_in_pieces(openai_server: OpenAIServer, caplog: pytest.LogCaptureFixture) -> None:
    model = embeddings("openai:e")
    expected = model.embed_documents(TEXTS)
    set_rule(openai_server, take_characters(300))
    key = "QX7" * 500  # one word, as in keys and minified code
    vectors = model.embed_documents([*TEXTS[:15], key, *TEXTS[15:]])
    assert [*vectors[:15], *vectors[16:]] == expected
    assert np.linalg.norm(vectors[15]) > 0
    assert np.linalg.norm(model.embed_query(key)) > 0
    assert [record.message for record in caplog.records if "in pieces" in record.message] == [
        "The embeddings 'openai:e' take no text of 1,500 characters (at most 300 tokens); such texts are embedded in "
        "pieces."
    ]


def flag_violence(texts: Sequence[str]) -> Response | None:
    flagged = any("violence" in text for text in texts)
    return make_error(403, "Your input was flagged for violence.") if flagged else None


def test_a_text_that_the_server_refuses_is_left_out_and_its_file_named(
    quorum: Quorum, openai_server: OpenAIServer, tmp_path: Path
) -> None:
    folder = tmp_path / "d"
    folder.mkdir()
    for number, text in enumerate([*TEXTS[:3], "A report on violence in Vell.", *TEXTS[3:6]]):
        (folder / f"{number}.txt").write_text(text)
    set_rule(openai_server, flag_violence)
    command = ("index", str(folder), "-c", "vell", "--embeddings", "openai:e")
    for _ in range(2):  # the second run tries it again
        outcome = quorum(*command)
        assert outcome.code == 0
        assert "6 passages in all" in outcome.out
        assert "3.txt: a passage is left out, because the embeddings refuse it: Your input was flagged" in outcome.err
    with pytest.raises(TextsRefused, match="flagged"):
        embeddings("openai:e").embed_documents([TEXTS[0], "violence"])
    openai_server.make_embeddings = make_embeddings
    assert "1 added, 6 unchanged; 7 passages in all" in quorum(*command).out


def test_a_changed_line_that_is_refused_leaves_the_other_lines(openai_server: OpenAIServer, tmp_path: Path) -> None:
    file, context = tmp_path / "lines.jsonl", Context(embeddings="openai:e", collection="lines")
    for text, passages in (("A calm day.", 2), ("A day of violence.", 1), ("A calm night.", 2)):
        lines = [{"id": "1", "title": "", "text": TEXTS[1]}, {"id": "2", "title": "", "text": text}]
        file.write_text("".join(json.dumps(line) + "\n" for line in lines))
        set_rule(openai_server, flag_violence)
        assert index(file, context=context).passages == passages


def test_a_wrong_model_is_told_after_two_requests(openai_server: OpenAIServer) -> None:
    counts = set_rule(openai_server, lambda texts: make_error(400, "There is no model e"))
    with pytest.raises(CallError, match="no model e"):
        embeddings("openai:e").embed_documents(TEXTS)
    assert counts == [30, 1]


def test_a_web_page_in_place_of_vectors_is_told_at_once(openai_server: OpenAIServer) -> None:
    counts = set_rule(openai_server, lambda texts: Response(body=b"<!DOCTYPE html><html>Welcome</html>"))
    with pytest.raises(CallError, match="a web page in place of vectors; check the base URL"):
        embeddings("openai:e").embed_documents(TEXTS)
    assert counts == [30]


def test_an_object_of_the_users_own_is_halved_too(openai_server: OpenAIServer, tmp_path: Path) -> None:
    class Own(Embeddings):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            with openai.OpenAI(base_url=openai_server.url, api_key="none", max_retries=0) as client:
                return [item.embedding for item in client.embeddings.create(model="e", input=texts).data]

        def embed_query(self, text: str) -> list[float]:
            return self.embed_documents([text])[0]

    (tmp_path / "d").mkdir()
    for number, text in enumerate(TEXTS):
        (tmp_path / f"d/{number}.txt").write_text(text)
    counts = set_rule(openai_server, take_texts(10, REFUSALS["400"]))
    assert index(tmp_path / "d", collection="own", context=Context(embeddings=Own())).passages == 30
    assert counts == [30, 15, 8, 8, 8, 6]
