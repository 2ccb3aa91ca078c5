"""The reader's replies to questions that compare two things, by rules on the passages' dates, numbers and words.

A span reader cannot compare. Where the rules of `quorum.algorithms` find a value for both things, their answer
takes the place of the reader's, at any temperature: the rules give one answer.
"""

from collections.abc import Callable

from quorum.algorithms.comparison_questions import answer_comparison
from quorum.algorithms.shared_traits import answer_about_both
from quorum.models.embedded.replies import Inputs, Responder, Sampler, remove_label_colons
from quorum.models.embedded.replies_blend import write_conclusion

RULE_THOUGHT = "The passages give a value for both."


def answer_by_rule(inputs: Inputs) -> str | None:
    """The option that the question asks for, or yes or no. None for other questions, and where a value is missing."""
    passages = [(passage["title"], passage["text"]) for passage in inputs.get("passages") or []]
    question = inputs["question"]
    return answer_comparison(question, passages) or answer_about_both(question, passages)


def prefer_rules(respond: Responder, write: Callable[[str], str]) -> Responder:
    """A responder that replies by rule where it can. write: writes the answer in the form that the prompt asks for."""

    async def reply(inputs: Inputs, sampler: Sampler) -> str:
        found = answer_by_rule(inputs)
        return await respond(inputs, sampler) if found is None else write(found)

    return reply


def write_verdict(answer: str) -> str:
    return answer.capitalize() if answer in ("yes", "no") else remove_label_colons(answer)


REPLY_FORMS: dict[str, Callable[[str], str]] = {
    "answer": remove_label_colons,
    "answer_base": remove_label_colons,
    "direct": remove_label_colons,
    "self_ask_answer": remove_label_colons,
    "self_ask_final": remove_label_colons,
    "answer_yes_no": write_verdict,
    "direct_yes_no": write_verdict,
    "reason": lambda answer: write_conclusion(RULE_THOUGHT, answer),
    "reason_yes_no": lambda answer: write_conclusion(RULE_THOUGHT, write_verdict(answer)),
    "zero_shot_cot": lambda answer: f"Rationale: {RULE_THOUGHT}\nAnswer: {remove_label_colons(answer)}",
}


def try_rules_first(responders: dict[str, Responder]) -> dict[str, Responder]:
    """The responders; those named in `REPLY_FORMS` try the rules first."""
    return {
        name: prefer_rules(one, REPLY_FORMS[name]) if name in REPLY_FORMS else one for name, one in responders.items()
    }
