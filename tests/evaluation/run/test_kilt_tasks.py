"""KILT's tasks are scored as KILT does: claims have two labels, F1 measures long answers, and a passage of a gold
article counts as gold.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from openai_server import OpenAIServer

from quorum.core.context import Context
from quorum.evaluation.run.evaluate import evaluate
from quorum.evaluation.run.options import Options

PASSAGES = [{"id": "90", "title": "Vell", "text": "The tower of Vell is of 1412."}]


async def evaluate_line(
    folder: Path, file_name: str, line: dict[str, Any], context: Context | None = None
) -> tuple[Any, Any]:
    """The scores and the only row of one question or claim, over a corpus of one passage.

    file_name: the name of the data set's file. line: the file's only line, a question or claim in KILT's form, or a
    claim in FEVER's own form.
    """
    data, corpus = folder / file_name, folder / "corpus.jsonl"
    data.write_text(json.dumps(line) + "\n", encoding="utf-8")
    corpus.write_text("".join(json.dumps(item) + "\n" for item in PASSAGES), encoding="utf-8")
    context = context or Context(model="openai:test", attempts=1, retriever="bm25", store=str(folder / "store"))
    options = Options(data=data, methods="concat", context=context, corpus=str(corpus), out=folder / "out")
    scores = await evaluate(options)
    (row,) = map(json.loads, (folder / "out/results.jsonl").read_text().splitlines())
    return scores, row


async def test_the_prompt_for_a_claim_of_kilt_offers_two_labels(tmp_path: Path, openai_server: OpenAIServer) -> None:
    openai_server.reply("REFUTES")
    provenance = [{"wikipedia_id": "77", "title": "Vell", "start_paragraph_id": 2}]
    claim = {"id": "f", "input": "Vell has no tower.", "output": [{"answer": "REFUTES", "provenance": provenance}]}
    _, row = await evaluate_line(tmp_path, "fever.jsonl", claim)
    prompt = openai_server.chats()[-1].text
    assert "REFUTES" in prompt
    assert "NOT ENOUGH INFO" not in prompt
    # the passage counts as gold, because it has the title of the gold article
    assert (row["accuracy"], row["recall"], row["precision"]) == (1, 1, 1)
    # for claims, supported: whether any final passage is gold; answer_on_top: whether the first one is
    assert (row["supported"], row["answer_on_top"]) == (True, True)


async def test_other_claims_are_offered_three_labels_and_a_users_prompt_is_not_changed(
    tmp_path: Path, openai_server: OpenAIServer
) -> None:
    openai_server.reply("REFUTES")
    claim = {"id": 1, "claim": "Vell has no tower.", "label": "NOT ENOUGH INFO", "evidence": []}
    await evaluate_line(tmp_path, "fever.jsonl", claim)
    assert "NOT ENOUGH INFO" in openai_server.chats()[-1].text
    context_with_own_prompt = Context(
        model="openai:test", attempts=1, prompts={"answer_label": "$passages $question mine"}
    )
    (tmp_path / "own").mkdir()
    kilt_claim = {"id": "f", "input": "Vell has no tower.", "output": [{"answer": "REFUTES"}]}
    await evaluate_line(tmp_path / "own", "fever.jsonl", kilt_claim, context_with_own_prompt)
    assert openai_server.chats()[-1].text.endswith("mine")


@pytest.mark.parametrize(
    ("labels", "offers_two_labels"), [("SR" * 10, True), ("SR" * 10 + "N", False), ("S" * 20, False), ("SR", False)]
)
async def test_prompts_offer_two_labels_if_twenty_claims_have_only_these_two(
    labels: str, offers_two_labels: bool, tmp_path: Path, openai_server: OpenAIServer
) -> None:
    openai_server.reply("SUPPORTS")
    names = {"S": "SUPPORTS", "R": "REFUTES", "N": "NOT ENOUGH INFO"}
    lines = [
        {"id": str(n), "question": f"Claim {n}.", "answers": [names[label]], "passages": PASSAGES}
        for n, label in enumerate(labels)
    ]
    data = tmp_path / "claims.jsonl"
    data.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    context = Context(model="openai:test", attempts=1)
    await evaluate(Options(data=data, limit=1, methods="concat", context=context, out=tmp_path / "out"))
    # limit=1 asks only one claim, but all claims of the file decide how many labels there are
    assert ("NOT ENOUGH INFO" not in openai_server.chats()[-1].text) == offers_two_labels


async def test_long_answers_are_measured_by_f1_if_the_data_have_no_short_answers(
    tmp_path: Path, openai_server: OpenAIServer
) -> None:
    openai_server.reply("The tower of Vell is of 1412.")
    question = {"id": "e", "input": "Why is it old?", "output": [{"answer": "It is of 1412."}]}
    scores, row = await evaluate_line(tmp_path, "eli5-dev-kilt.jsonl", question)
    assert (row["task"], scores.measures) == ("long", ("f1", "rouge_l"))
    assert 0 < row["f1"] < 1
