"""The node of selection-inference that reads one passage after the other and keeps notes."""

from langgraph.runtime import Runtime

from quorum.core.context import Context
from quorum.core.errors import TooLong
from quorum.core.state import State
from quorum.nodes.answer import make_answer
from quorum.nodes.answer_types import get_answer_converter, note_brief_answer_type
from quorum.nodes.ask import ask
from quorum.prompts.baselines import INFERENCE


async def infer(state: State, runtime: Runtime[Context]) -> State:
    """question, passages, notes, finished_rounds, answer -> answer, notes, rationale, finished_rounds, dropped.

    Reads one more passage (Creswell et al. 2022). A passage that does not fit the model's window leaves answer and
    notes unchanged, and is counted in dropped.
    """
    question, passages, notes = state["question"], state["passages"], state.get("notes")
    finished_rounds = state.get("finished_rounds", 0)
    convert_answer = get_answer_converter(INFERENCE, question, runtime)
    try:
        replies = await ask(
            INFERENCE,
            runtime,
            question=question,
            notes=notes or "",
            passages=passages[finished_rounds : finished_rounds + 1],
            call_subject=f"passage {finished_rounds + 1}",
        )
    except TooLong:  # skip this passage; the others may fit
        return {
            **make_answer(state["answer"], text=state.get("answer_text")),
            "finished_rounds": finished_rounds + 1,
            "dropped": 1,
        }
    inference = replies.values[0]
    # the parser returns the new notes as the rationale; a reply without notes keeps the earlier ones
    answer, notes = convert_answer(inference.answer), inference.rationale or notes
    return {
        **make_answer(answer, text=replies.texts[0]),
        **note_brief_answer_type(INFERENCE, question, runtime),
        "notes": notes,
        "rationale": notes,
        "finished_rounds": finished_rounds + 1,
        **replies.state_update,
    }
