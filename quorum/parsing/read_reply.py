"""What a reply to a prompt says, by the prompt's name: one table of the prompts and their parsers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from quorum.core.errors import SetupError
from quorum.core.state import Passage
from quorum.core.thinking import remove_thinking
from quorum.parsing.answers import Parsed, reasoned_answer, short_answer
from quorum.parsing.candidates import candidate_answers
from quorum.parsing.choices import chosen_candidate
from quorum.parsing.correctness import correctness_verdict
from quorum.parsing.kept_sentences import copied_sentences
from quorum.parsing.labels import label_answer, long_answer, turn_answer
from quorum.parsing.passage_ids import passage_ids
from quorum.parsing.preferences import preferred_passage
from quorum.parsing.rankings import ranking
from quorum.parsing.reasoning import concluded, concluded_yes_no, free_text, topic_of
from quorum.parsing.statements import masked_statement, missing_words, noted_answer
from quorum.parsing.steps import final_answer, next_follow_up, step_action
from quorum.parsing.summaries import summary_text
from quorum.parsing.verdicts import validity_verdict
from quorum.parsing.written_questions import written_question
from quorum.parsing.yes_no import yes_no_answer

EXTRAS = {
    "question": "the question that was asked",
    "candidates": "the texts among which the reply chooses",
    "count": "how many passages or candidates the prompt asked about",
}


@dataclass(frozen=True)
class Contract:
    """How the replies to a prompt are read. extras: the parser's parameter for each extra that it takes; needed: the
    extras without which nothing can be read.
    """

    parse: Callable[..., Parsed[Any]]
    extras: Mapping[str, str] = field(default_factory=dict)
    needed: frozenset[str] = frozenset()


def takes(parse: Callable[..., Parsed[Any]], *needed: str, **renamed: str) -> Contract:
    """A parser that takes the needed extras, and the question where it helps."""
    return Contract(parse, {"question": "question", **{name: name for name in needed}, **renamed}, frozenset(needed))


def copied_texts(reply: str, passages: Sequence[str]) -> Parsed[list[str]]:
    """The sentences of the passages that a reply copies, as texts in reading order."""
    shown = [Passage(id=str(rank), title="", text=text) for rank, text in enumerate(passages)]
    found = copied_sentences(reply, shown)
    return Parsed([piece.text for piece in found.value], found.malformed)


def hidden_words(reply: str, answers: Sequence[str] = ()) -> Parsed[Any]:
    """A masked statement. answers: the candidate that it must not hide, if it is known."""
    return masked_statement(reply, next(iter(answers), ""))


SHORT, REASONED, YES_NO, FREE = takes(short_answer), takes(reasoned_answer), takes(yes_no_answer), takes(free_text)
CONCLUDED, CONCLUDED_YES_NO = takes(concluded), takes(concluded_yes_no)
CHOSEN = Contract(passage_ids, {"count": "count"}, frozenset({"count"}))
SUMMARY, QUESTION, PREFERENCE = Contract(summary_text), Contract(written_question), Contract(preferred_passage)
ACTION, FOLLOW_UP = Contract(step_action), Contract(next_follow_up)
BY_TYPE = {
    "yes_no": YES_NO,
    "label": takes(label_answer),
    "dialogue": takes(turn_answer),
    "long": takes(long_answer),
}

CONTRACTS: dict[str, Contract] = {
    "answer": SHORT,
    "answer_base": SHORT,
    "answer_base_closed": SHORT,
    "answer_candidates": SHORT,
    "answer_choices": takes(chosen_candidate, "candidates"),
    "answer_summaries": SHORT,
    "answer_summary": SHORT,
    **{f"answer_{kind}": contract for kind, contract in BY_TYPE.items()},
    **{f"answer_candidates_{kind}": contract for kind, contract in BY_TYPE.items()},
    "candidates": Contract(candidate_answers, {"count": "most"}, frozenset({"count"})),
    "choose": CHOSEN,
    "choose_yes_no": CHOSEN,
    "conditional_summary": SUMMARY,
    "correctness": Contract(correctness_verdict),
    "direct": SHORT,
    "direct_from_memory": SHORT,
    "direct_from_memory_yes_no": YES_NO,
    "direct_yes_no": YES_NO,
    "extract_answer": SHORT,
    "extract_answer_yes_no": YES_NO,
    "filter_passages": CHOSEN,
    "filter_sentences": Contract(copied_texts, {"candidates": "passages"}, frozenset({"candidates"})),
    "generic_summary": SUMMARY,
    "inference": takes(noted_answer),
    "internal": FREE,
    "judge": FREE,
    "judge_and_choose": CHOSEN,
    "judge_and_choose_yes_no": CHOSEN,
    "judge_yes_no": FREE,
    "mask_condition": Contract(hidden_words, {"candidates": "answers"}),
    "preference": PREFERENCE,
    "pruning": REASONED,
    "question_single": QUESTION,
    "question_two": QUESTION,
    "question_unanswerable": QUESTION,
    "rank_passages": Contract(ranking, {"count": "count"}, frozenset({"count"})),
    "ranking": PREFERENCE,
    "react": ACTION,
    "react_action": ACTION,
    "reason": CONCLUDED,
    "reason_from_memory": CONCLUDED,
    "reason_from_memory_yes_no": CONCLUDED_YES_NO,
    "reason_yes_no": CONCLUDED_YES_NO,
    "recover_condition": Contract(missing_words),
    "self_ask": FOLLOW_UP,
    "self_ask_answer": SHORT,
    "self_ask_final": takes(final_answer),
    "shorten": SHORT,
    "summary": REASONED,
    "topic": takes(topic_of, "question"),
    "validity": Contract(validity_verdict),
    "zero_shot_cot": REASONED,
}


def contract_of(prompt: str) -> Contract:
    """The contract of a prompt, or of the prompt that NAME.VARIANT is a text for."""
    name = prompt.partition(".")[0]
    if name not in CONTRACTS:
        raise SetupError(f"There is no prompt {prompt!r}; the prompts are: {', '.join(sorted(CONTRACTS))}.")
    return CONTRACTS[name]


def read_reply(
    prompt: str,
    reply: str,
    *,
    question: str | None = None,
    candidates: Sequence[str] | None = None,
    count: int | None = None,
) -> Parsed[Any]:
    """Read a model's raw reply to one of Quorum's prompts, as the methods read it.

    prompt: the prompt's name, such as "answer" (`quorum/prompts` holds them). question: the one that was asked; it
    helps to end the reply where a model invents a next question. candidates: the texts among which the reply chooses,
    for "answer_choices" the choices, for "filter_sentences" the passages. count: how many passages were shown or
    candidates asked for. A prompt ignores the extras that its replies do not need. A `<think>` part is removed first.

    Returns an object with `value` and `malformed`; a malformed reply broke the prompt's contract, and `value` is then
    a default. By prompt, `value` is

    - a text: answers of every type, summaries, "judge", "internal", "topic"; "unknown" where the reply says so;
    - `.answer` and `.rationale`: "pruning", "summary", "zero_shot_cot", "inference", "reason" and its relatives;
    - a bool: "validity", "correctness"; 0, 1 or None (a tie): "ranking", "preference";
    - `.thought`, `.query`, `.answer`: "react"; `.question`, `.answer`: "self_ask", "self_ask_final";
    - a list: "candidates" (texts), "filter_sentences" (sentences), "choose" and "filter_passages" (passage numbers from
      1), "rank_passages" (places from 0, all of them);
    - `.question` and `.answers`, or None: the prompts that write questions; {"statement", "condition"}, or None:
      "mask_condition".

    Raises SetupError for an unknown prompt, and for an extra that the prompt needs and that is missing.

    >>> import quorum
    >>> quorum.read_reply("answer", "Answer: Paris.").value
    'Paris'
    >>> quorum.read_reply("rank_passages", "[2] > [3] > [1]", count=3).value
    [1, 2, 0]
    >>> quorum.read_reply("validity", "Hard to say.").malformed
    True
    """
    contract = contract_of(prompt)
    given = {"question": question, "candidates": candidates, "count": count}
    missing = next((name for name in EXTRAS if name in contract.needed and given[name] is None), None)
    if missing is not None:
        raise SetupError(f"Replies to the prompt {prompt!r} are read with {missing}=, {EXTRAS[missing]}; give it.")
    extras = {parameter: given[name] for name, parameter in contract.extras.items() if given[name] is not None}
    return contract.parse(remove_thinking(reply), **extras)
