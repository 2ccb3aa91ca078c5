"""Whole methods, streams, tools and log-probabilities with a language model that is mostly wrong and seldom brief."""

import re
from dataclasses import replace
from typing import Any

import pytest
from langchain_core.callbacks import AsyncCallbackHandler
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.outputs import LLMResult
from langchain_openai import ChatOpenAI
from llm_fixtures import PASSAGES, QUESTION

from quorum import AnswerText, Context, NodeFinished, RunFinished, SetupError, answer, as_tool, stream
from quorum.core.state import Result
from quorum.models.logprobs_completions import CompletionsScorer

REFUSAL = re.compile(
    r"\b(unknown|not (mentioned|stated|given|provided|known)|no information|(cannot|can't) (answer|say))\b", re.I
)


class ReplyRecorder(AsyncCallbackHandler):
    """Records the text of every reply."""

    def __init__(self) -> None:
        self.replies: list[str] = []

    async def on_llm_end(self, response: LLMResult, **arguments: Any) -> None:
        self.replies.append(response.generations[0][0].text)


@pytest.mark.parametrize("method", ["concat", "cot", "post_fusion", "sure", "react", "agent", "self_ask"])
async def test_a_method_comes_to_its_end(method: str, context: Context) -> None:
    recorder = ReplyRecorder()
    context = replace(context, max_steps=2)
    result = await answer(QUESTION, method, context, given=PASSAGES, config={"callbacks": [recorder]})
    print(method, result["answer"], recorder.replies)
    assert isinstance(result["answer"], str)
    assert result["unknown"] == (result["answer"] == "unknown")
    assert sum(usage["calls"] for usage in result["usage"].values()) == len(recorder.replies) > 0
    assert all(counted["count"] <= result["usage"][prompt]["calls"] for prompt, counted in result["malformed"].items())


async def test_a_long_answer_is_streamed(context: Context) -> None:
    context = replace(context, answer_type="long")
    events = [event async for event in stream(QUESTION, "concat", context, given=PASSAGES)]
    last, pieces = events[-1], [event for event in events if isinstance(event, AnswerText)]
    assert isinstance(last, RunFinished)
    shown = ""
    for piece in pieces:
        shown = piece.text if piece.replaces else shown + piece.text
    print(pieces, last.result["answer"])
    assert shown == last.result["answer"]
    assert len(pieces) > 1 or last.result["unknown"]
    nodes = [event.node for event in events if isinstance(event, NodeFinished)]
    assert nodes == ["begin", "search", "retrieve", "concat_answer", "find_evidence"]


async def test_a_refusal_in_the_words_of_the_model_is_unknown(context: Context) -> None:
    """The model refuses nothing by itself, so that it is asked for the words of a refusal."""
    prompt = "Repeat this sentence, and write nothing else: The passages do not mention it."
    text = f"$passages\n\nQuestion: $question\n\n{prompt}"
    for method in ("concat", "post_fusion"):
        recorder = ReplyRecorder()
        settings = replace(context, prompts={"answer": text}, structured="off")  # with a schema it cannot refuse
        result = await answer(QUESTION, method, settings, given=PASSAGES, config={"callbacks": [recorder]})
        print(method, recorder.replies, result["answer"])
        refusals = ["not mention" in reply for reply in recorder.replies]
        assert any(refusals)
        assert result["unknown"] == all(refusals)
        assert result["unknown"] == (result["answer"] == "unknown")


QUESTIONS_WITHOUT_ANSWER = [
    "What is the telephone number of the museum of Vell?",
    "How many people live in Vell?",
    "Who painted the ceiling of the harbour office of Vell?",
    "What does a ticket for the museum of Vell cost?",
]


@pytest.mark.parametrize("question", QUESTIONS_WITHOUT_ANSWER)
async def test_a_refusal_is_unknown(question: str, context: Context) -> None:
    recorder = ReplyRecorder()
    result: Result = await answer(question, "concat", context, given=PASSAGES, config={"callbacks": [recorder]})
    print(question, recorder.replies, result["answer"])
    assert result["unknown"] or not REFUSAL.search(recorder.replies[0])


async def test_an_agent_may_call_a_method_as_its_tool(context: Context, model_url: str) -> None:
    """The model's chat template has no place for tools, so that it may ignore them."""
    tool = as_tool("concat", context, description="Answers questions about the port of Vell.")
    model = ChatOpenAI(model="local", base_url=model_url, api_key="none", temperature=0, timeout=600, max_retries=0)  # type: ignore[arg-type]
    message = await model.bind_tools([tool]).ainvoke([HumanMessage(QUESTION)])
    results = [await tool.ainvoke(tool_call) for tool_call in message.tool_calls]
    assert all(isinstance(result, ToolMessage) for result in results)
    assert results or str(message.content).strip()


async def test_log_probabilities_of_a_given_text_are_refused_in_a_sentence(context: Context) -> None:
    """llama.cpp gives the log-probabilities of new tokens only."""
    with pytest.raises(SetupError, match="does not echo the log-probabilities of the prompt"):
        await CompletionsScorer("local", context).log_probabilities([(QUESTION, "Ada Korn")])
