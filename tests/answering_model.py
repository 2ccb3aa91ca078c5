"""A scripted model that answers every prompt of every method."""

from method_fixtures import PASSAGES

from quorum.models.scripted import ScriptedModel

# To these prompts the model replies with the answer alone.
ANSWER_PROMPTS = (
    *("answer", "answer_candidates", "answer_base", "answer_base_closed"),
    *("direct", "extract_answer", "internal", "topic"),
    *("conditional_summary", "generic_summary", "answer_choices", "answer_summary"),
)
# To these it replies with a line of reasoning and then the answer.
REASONING_PROMPTS = ("pruning", "summary", "zero_shot_cot", "inference", "reason", "judge")


def make_answering_model(reply: str = "1931") -> ScriptedModel:
    """A model that gives the same answer to every prompt, as `script_answers` says."""
    model = ScriptedModel()
    script_answers(model, reply)
    return model


def script_answers(model: ScriptedModel, reply: str = "1931") -> None:
    """Let the model give the same answer to every prompt.

    Asked which passages to keep, it keeps all that the question found, and none that another query found.
    """
    for name in ANSWER_PROMPTS:
        model.on(name, lambda _: reply)
    for name in REASONING_PROMPTS:
        model.on(name, lambda _: f"So it is.\nAnswer: {reply}")
    model.on("rank_passages", lambda _: "[1] > [2]")
    model.on("candidates", lambda _: f"(a) {reply} (b) {reply}0")
    model.on("validity", lambda _: "True").on("ranking", lambda _: "Passage 1")
    model.on("choose", lambda _: "none").on("choose: q", lambda _: "all")
    model.on("filter_sentences", lambda _: "\n".join(passage["text"] for passage in PASSAGES))
    model.on("self_ask", lambda _: "No.").on("self_ask_final", lambda _: reply)
    model.on("react", lambda sent: reply_to_react(sent[-1].text.rsplit("Question: ", 1)[1], reply))


def reply_to_react(question_and_steps: str, reply: str) -> str:
    """A ReAct reply: search for the question first; answer after an observation.

    question_and_steps: the end of the prompt, with the steps so far and their observations below the question.
    """
    question = question_and_steps.splitlines()[0]
    action = f"Finish[{reply}]" if "Observation" in question_and_steps else f"Search[{question}]"
    return f"So.\nAction: {action}"
