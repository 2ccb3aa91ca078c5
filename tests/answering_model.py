"""A scripted model that gives the same answer to every prompt of every method."""

from langchain_core.messages import AIMessage, BaseMessage
from method_fixtures import PASSAGES

from quorum.models.scripted import ScriptedModel

# The model replies to these prompts with the answer alone.
ANSWER_PROMPTS = (
    *("answer", "answer_candidates", "answer_base", "answer_base_closed"),
    *("direct", "extract_answer", "internal", "topic", "hypothetical", "keywords"),
    *("conditional_summary", "generic_summary", "answer_choices", "answer_summary"),
)
# The model replies to these prompts with a line of reasoning and then the answer.
REASONING_PROMPTS = ("pruning", "summary", "zero_shot_cot", "inference", "reason", "judge")


def make_answering_model(answer: str = "1931") -> ScriptedModel:
    """Make a model that gives this answer to every prompt; `script_answers` describes its replies."""
    model = ScriptedModel()
    script_answers(model, answer)
    return model


def script_answers(model: ScriptedModel, answer: str = "1931") -> None:
    """Let the model give this answer to every prompt, in the form that the prompt asks for.

    If the prompt asks which passages to keep, the model keeps all passages that were retrieved with the question
    ("choose: q"), and none that were retrieved with another query. It prefers the first of two summaries, and finds
    every summary valid.
    """
    for name in ANSWER_PROMPTS:
        model.on(name, lambda _: answer)
    for name in REASONING_PROMPTS:
        model.on(name, lambda _: f"So it is.\nAnswer: {answer}")
    model.on("rank_passages", lambda _: "[1] > [2]")
    model.on("candidates", lambda _: f"(a) {answer} (b) {answer}0")
    model.on("grade", lambda _: "Yes")
    model.on("validity", lambda _: "True").on("ranking", lambda _: "Passage 1")
    model.on("choose", lambda _: "none").on("choose: q", lambda _: "all")
    model.on("filter_sentences", lambda _: "\n".join(passage["text"] for passage in PASSAGES))
    model.on("self_ask", lambda _: "No.").on("self_ask_final", lambda _: answer)
    model.on("agent", lambda sent: reply_to_agent(sent, answer))
    model.on("react", lambda sent: reply_to_react(sent[-1].text.rsplit("Question: ", 1)[1], answer))


def reply_to_agent(messages: list[BaseMessage], answer: str) -> str | AIMessage:
    """Search for the question; once there is a result, answer."""
    question = messages[1].text.rsplit("Question: ", 1)[1]
    if any(message.type == "tool" for message in messages):
        return f"So it is.\nAnswer: {answer}"
    return AIMessage("So.", tool_calls=[{"id": "c", "name": "search", "args": {"query": question}}])


def reply_to_react(question_and_steps: str, answer: str) -> str:
    """Make the next step of ReAct: a search for the question, or the answer once the steps contain an observation.

    question_and_steps: the end of the prompt: the question, and below it the steps so far with their observations.
    """
    question = question_and_steps.splitlines()[0]
    action = f"Finish[{answer}]" if "Observation" in question_and_steps else f"Search[{question}]"
    return f"So.\nAction: {action}"
