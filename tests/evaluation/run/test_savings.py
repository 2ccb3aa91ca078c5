"""The model is asked once for equal passages, each of which still votes; the saved calls are counted."""

from hashlib import sha256
from pathlib import Path

import pytest
from method_fixtures import PASSAGES, QUESTION
from openai_server import OpenAIServer, Request

from benchmarks.harness import make_questions
from benchmarks.replies import recognise_prompt, write_reply
from benchmarks.savings import measure_savings
from quorum.core.context import Context
from quorum.core.state import Passage
from quorum.datasets.questions import write_questions
from quorum.evaluation.run.dataset import read_data
from quorum.graphs import answer


async def test_equal_passages_are_asked_once_and_vote_each(openai_server: OpenAIServer) -> None:
    openai_server.reply(lambda request: "1931" if PASSAGES[0]["text"] in request.text else "1950")
    first, second = PASSAGES[:2]
    copies = [Passage(id=f"again-{number}", title=first["title"], text=first["text"]) for number in range(2)]
    passages = [second, first, *copies]
    result = await answer(QUESTION, "post_fusion", Context(model="openai:test"), given=passages)
    assert len(openai_server.chats()) == 2
    assert [vote["answer"] for vote in result["votes"]] == ["1950", "1931", "1931", "1931"]
    # `usage` counts reused calls, too.
    assert (result["answer"], result["usage"]["answer"]["calls"]) == ("1931", 4)


@pytest.mark.long
async def test_savings_are_counted_and_change_no_answer(openai_server: OpenAIServer, tmp_path: Path) -> None:
    def reply(request: Request) -> str:
        name, variables = recognise_prompt(request.text)
        # `write_reply` chooses the reply by this number, which depends only on the request.
        draw = int(sha256(request.text.encode()).hexdigest()[:12], 16)
        return write_reply(
            name, variables, draw, share_unknown_from_several_passages=0.5, share_unknown_from_one_passage=0.3
        )

    openai_server.reply(reply)
    path = tmp_path / "questions.jsonl"
    questions = list(make_questions(count=4, k=5))
    for question in questions:
        first, second = question["passages"][:2]
        # The second passage gets the title and text of the first, but keeps its own id.
        question["passages"][1] = second | {"title": first["title"], "text": first["text"]}
    write_questions(path, questions)  # type: ignore[arg-type]
    context = Context(model="openai:test", journal=str(tmp_path / "journal.sqlite"))
    savings = await measure_savings(read_data(path), context, samples=2, at_once=2)
    assert all(row["same_answers"] == row["questions"] for row in savings.values())
    # Each list holds two totals over the 4 questions: one without the saving, then one with it.
    assert savings["equal passages asked once"]["calls"] == [20, 16]
    assert savings["lazy ranking"]["calls"][0] == 28  # the calls of the method sure, if its ranking is not lazy
    # concat_pf asks, in one round for each question, one prompt with all passages and one for each passage: 6 calls.
    assert savings["both rounds at once"]["rounds"][1] == 4
    assert savings["both rounds at once"]["calls"][1] == 4 * 6
    for name in ("staged votes", "equal calls asked once"):
        full_count, count_with_saving = savings[name]["calls"]
        assert count_with_saving < full_count
