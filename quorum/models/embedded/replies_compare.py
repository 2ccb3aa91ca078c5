"""The reader's replies to questions that compare two things, by rules on the passages' dates, numbers and words.

A span reader cannot compare. If the rules of `quorum.algorithms` find a value for both things, their answer replaces
the reader's. The temperature has no effect on it.
"""

from collections.abc import Callable

from quorum.algorithms.comparison_questions import answer_comparison
from quorum.algorithms.shared_traits import answer_about_both
from quorum.models.embedded.replies import Inputs, Responder, Sampler, remove_label_colons
from quorum.models.embedded.replies_blend import write_conclusion

RULE_THOUGHT = "The passages give a value for both."


def answer_by_rule(inputs: Inputs) -> str | None:
    """The option that wins, or "yes" or "no".

    None if the question does not compare two things, if the passages lack a value that it needs, or if it asks which
    of the two values is greater or smaller and they are equal.
    """
    passages = [(passage["title"], passage["text"]) for passage in inputs.get("passages") or []]
    question = inputs["question"]
    return answer_comparison(question, passages) or answer_about_both(question, passages)


def prefer_rules(respond: Responder, write_reply: Callable[[str], str]) -> Responder:
    """A responder that replies by rule if a rule finds an answer, else calls `respond`.

    write_reply: writes the rule's answer in the form that the prompt asks for.
    """

    async def reply(inputs: Inputs, sampler: Sampler) -> str:
        rule_answer = answer_by_rule(inputs)
        return await respond(inputs, sampler) if rule_answer is None else write_reply(rule_answer)

    return reply


def write_verdict(answer: str) -> str:
    """The reply to a yes/no prompt: "Yes" or "No", or the option that a rule has chosen."""
    return answer.capitalize() if answer in ("yes", "no") else remove_label_colons(answer)


def write_reasoned_answer(answer: str) -> str:
    """The reply to a prompt for a rationale and an answer."""
    return f"Rationale: {RULE_THOUGHT}\nAnswer: {remove_label_colons(answer)}"


def write_rule_conclusion(answer: str) -> str:
    """The reply to a prompt for a chain of thought."""
    return write_conclusion(RULE_THOUGHT, answer)


def write_verdict_conclusion(answer: str) -> str:
    """The reply to a prompt for a chain of thought that ends in yes or no."""
    return write_conclusion(RULE_THOUGHT, write_verdict(answer))
