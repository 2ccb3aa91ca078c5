"""A scripted model that answers every prompt of every method."""

from tower import PASSAGES

from quorum.models.scripted import ScriptedModel

SAID = (  # prompts that want the answer alone
    *("answer", "answer_candidates", "answer_base", "answer_base_closed"),
    *("direct", "extract_answer", "internal", "topic"),
    *("conditional_summary", "generic_summary", "answer_choices", "answer_summary"),
)
REASONED = ("pruning", "summary", "zero_shot_cot", "inference", "reason", "judge")  # and with reasoning before it


def knower(reply: str = "1931", model: ScriptedModel | None = None) -> ScriptedModel:
    """A model that always gives the same answer, to every prompt, and keeps what the question itself found."""
    model = model or ScriptedModel()
    for name in SAID:
        model.on(name, lambda _: reply)
    for name in REASONED:
        model.on(name, lambda _: f"So it is.\nAnswer: {reply}")
    model.on("rank_passages", lambda _: "[1] > [2]")
    model.on("candidates", lambda _: f"(a) {reply} (b) {reply}0")
    model.on("validity", lambda _: "True").on("ranking", lambda _: "Passage 1")
    model.on("choose", lambda _: "none").on("choose: q", lambda _: "all")
    model.on("filter_sentences", lambda _: "\n".join(passage["text"] for passage in PASSAGES))
    model.on("self_ask", lambda _: "No.").on("self_ask_final", lambda _: reply)
    model.on("react", lambda sent: look_up(sent[-1].text.rsplit("Question: ", 1)[1], reply))
    return model


def look_up(asked: str, reply: str) -> str:
    """A thought: the question is searched for, and then it is answered."""
    action = f"Finish[{reply}]" if "Observation" in asked else f"Search[{asked.splitlines()[0]}]"
    return f"So.\nAction: {action}"
