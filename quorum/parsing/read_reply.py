"""Reads a model's reply to a prompt. `REPLY_PARSERS` is the table of all prompts and their parsers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from quorum.core.errors import SetupError
from quorum.core.state import Passage
from quorum.core.thinking import remove_thinking
from quorum.parsing.answers import Parsed, parse_reasoned_answer, parse_short_answer
from quorum.parsing.candidates import parse_candidates
from quorum.parsing.choices import parse_choice
from quorum.parsing.correctness import parse_correctness
from quorum.parsing.kept_sentences import parse_copied_sentences
from quorum.parsing.labels import parse_label
from quorum.parsing.long_answers import parse_long_answer, parse_turn
from quorum.parsing.passage_ids import parse_passage_ids
from quorum.parsing.preferences import parse_preference
from quorum.parsing.rankings import parse_ranking
from quorum.parsing.reasoning import parse_conclusion, parse_free_text, parse_topic, parse_yes_no_conclusion
from quorum.parsing.stand_alone import parse_stand_alone_question
from quorum.parsing.statements import parse_answer_with_notes, parse_masked_statement, parse_missing_words
from quorum.parsing.steps import parse_final_answer, parse_self_ask_step, parse_step
from quorum.parsing.summaries import parse_long_summary, parse_summary
from quorum.parsing.verdicts import parse_validity
from quorum.parsing.written_questions import parse_written_question
from quorum.parsing.yes_no import parse_yes_no

ARGUMENT_DESCRIPTIONS = {
    "question": "the question that was asked",
    "candidates": "the texts among which the reply chooses",
    "count": "how many passages the prompt showed, or how many candidates it asked for",
}


@dataclass(frozen=True)
class ReplyParser:
    """The parser of the replies to a prompt, and the arguments that it takes.

    argument_names: argument (see `ARGUMENT_DESCRIPTIONS`) -> the parser's parameter for it. required_arguments: the
    arguments without which the parser cannot work.
    """

    parse: Callable[..., Parsed[Any]]
    argument_names: Mapping[str, str] = field(default_factory=dict)
    required_arguments: frozenset[str] = frozenset()


def make_reply_parser(parse: Callable[..., Parsed[Any]], *required_arguments: str) -> ReplyParser:
    """A `ReplyParser` for a function that takes the question and the required arguments."""
    return ReplyParser(
        parse, {"question": "question", **{name: name for name in required_arguments}}, frozenset(required_arguments)
    )


def parse_copied_texts(reply: str, passages: Sequence[str]) -> Parsed[list[str]]:
    """The passages' sentences that a reply copies, as texts in reading order."""
    shown = [Passage(id=str(rank), title="", text=text) for rank, text in enumerate(passages)]
    copied_sentences = parse_copied_sentences(reply, shown)
    return Parsed([piece.text for piece in copied_sentences.value], copied_sentences.malformed)


def parse_masked_statement_for_candidate(reply: str, answers: Sequence[str] = ()) -> Parsed[Any]:
    """The masked statement of a reply. answers: the candidate answer as a list of one, or an empty list; the hidden
    words must not be this answer.
    """
    return parse_masked_statement(reply, next(iter(answers), ""))


SHORT_ANSWER, REASONED_ANSWER, YES_NO, FREE_TEXT = (
    make_reply_parser(parse_short_answer),
    make_reply_parser(parse_reasoned_answer),
    make_reply_parser(parse_yes_no),
    make_reply_parser(parse_free_text),
)
CONCLUSION, YES_NO_CONCLUSION = make_reply_parser(parse_conclusion), make_reply_parser(parse_yes_no_conclusion)
CHOSEN_PASSAGES = ReplyParser(parse_passage_ids, {"count": "count"}, frozenset({"count"}))
SUMMARY, QUESTION, PREFERENCE = (
    ReplyParser(parse_summary),
    ReplyParser(parse_written_question),
    ReplyParser(parse_preference),
)
ACTION, SELF_ASK_STEP = ReplyParser(parse_step), ReplyParser(parse_self_ask_step)
PARSER_OF_ANSWER_TYPE = {
    "yes_no": YES_NO,
    "label": make_reply_parser(parse_label),
    "dialogue": make_reply_parser(parse_turn),
    "long": make_reply_parser(parse_long_answer),
}

REPLY_PARSERS: dict[str, ReplyParser] = {
    "answer": SHORT_ANSWER,
    "answer_base": SHORT_ANSWER,
    "answer_base_closed": SHORT_ANSWER,
    "answer_candidates": SHORT_ANSWER,
    "answer_choices": make_reply_parser(parse_choice, "candidates"),
    "answer_summaries": SHORT_ANSWER,
    "answer_summary": SHORT_ANSWER,
    **{f"answer_{answer_type}": parser for answer_type, parser in PARSER_OF_ANSWER_TYPE.items()},
    **{f"answer_candidates_{answer_type}": parser for answer_type, parser in PARSER_OF_ANSWER_TYPE.items()},
    "candidates": ReplyParser(parse_candidates, {"count": "limit"}, frozenset({"count"})),
    "choose": CHOSEN_PASSAGES,
    "choose_yes_no": CHOSEN_PASSAGES,
    "conditional_summary": SUMMARY,
    "conditional_summary_long": ReplyParser(parse_long_summary),
    "correctness": ReplyParser(parse_correctness),
    "direct": SHORT_ANSWER,
    "direct_from_memory": SHORT_ANSWER,
    "direct_from_memory_yes_no": YES_NO,
    "direct_yes_no": YES_NO,
    "extract_answer": SHORT_ANSWER,
    "extract_answer_yes_no": YES_NO,
    "filter_passages": CHOSEN_PASSAGES,
    "filter_sentences": ReplyParser(parse_copied_texts, {"candidates": "passages"}, frozenset({"candidates"})),
    "generic_summary": SUMMARY,
    # The prompt shows one more passage; the reply holds the updated notes and an answer.
    "inference": make_reply_parser(parse_answer_with_notes),
    # A passage that the model writes from its memory.
    "internal": FREE_TEXT,
    "judge": FREE_TEXT,
    "judge_and_choose": CHOSEN_PASSAGES,
    "judge_and_choose_yes_no": CHOSEN_PASSAGES,
    "judge_yes_no": FREE_TEXT,
    "mask_condition": ReplyParser(parse_masked_statement_for_candidate, {"candidates": "answers"}),
    "preference": PREFERENCE,
    # An answer; the rationale before it rules out passages.
    "pruning": REASONED_ANSWER,
    "question_single": QUESTION,
    "question_two": QUESTION,
    "question_unanswerable": QUESTION,
    "rank_passages": ReplyParser(parse_ranking, {"count": "count"}, frozenset({"count"})),
    # Which of two passages is better.
    "ranking": PREFERENCE,
    "react": ACTION,
    "react_action": ACTION,
    "reason": CONCLUSION,
    "reason_from_memory": CONCLUSION,
    "reason_from_memory_yes_no": YES_NO_CONCLUSION,
    "reason_yes_no": YES_NO_CONCLUSION,
    "recover_condition": ReplyParser(parse_missing_words),
    "self_ask": SELF_ASK_STEP,
    "self_ask_answer": SHORT_ANSWER,
    "self_ask_final": make_reply_parser(parse_final_answer),
    "shorten": SHORT_ANSWER,
    "stand_alone": make_reply_parser(parse_stand_alone_question),
    # An answer; the rationale before it summarises the passages.
    "summary": REASONED_ANSWER,
    "topic": make_reply_parser(parse_topic, "question"),
    "validity": ReplyParser(parse_validity),
    "zero_shot_cot": REASONED_ANSWER,
}


def get_reply_parser(prompt: str) -> ReplyParser:
    """The parser of the replies to a prompt. A variant, NAME.VARIANT, has the parser of NAME."""
    name = prompt.partition(".")[0]
    if name not in REPLY_PARSERS:
        raise SetupError(f"There is no prompt {prompt!r}; the prompts are: {', '.join(sorted(REPLY_PARSERS))}.")
    return REPLY_PARSERS[name]


def read_reply(
    prompt: str,
    reply: str,
    *,
    question: str | None = None,
    candidates: Sequence[str] | None = None,
    count: int | None = None,
) -> Parsed[Any]:
    """Read a model's raw reply to one of Quorum's prompts, as the methods read it.

    prompt: the prompt's name, such as "answer"; `quorum prompts` lists them. question: the question that was asked.
    Some models go on after the answer with a question of their own; the parser cuts that part off, and needs this
    argument to tell the two questions apart. candidates: the texts among which the reply chooses; for "answer_choices"
    the choices, for "filter_sentences" the passages. For "mask_condition" it is a list of one: the proposed answer. The
    model writes a statement with this answer in it and masks some words, which must not be the answer. count: how many
    passages were shown, or how many candidates were asked for. Arguments that a prompt's replies do not need are
    ignored. A `<think>` part is removed first.

    Returns an object with `value` and `malformed`. A malformed reply does not have the form that the prompt asks for;
    its `value` is a default. The type of `value` depends on the prompt:

    - a text: answers of every type, "generic_summary", "conditional_summary" and its variant, "judge", "internal",
      "topic", "stand_alone", "recover_condition" (the hidden words). If the reply says that it cannot answer,
      a yes/no, long or dialogue answer is "unknown", a label is "NOT ENOUGH INFO", and a short answer keeps the reply's
      own words, which `quorum.is_unknown` recognises;
    - `.answer` and `.rationale`: "pruning", "summary", "zero_shot_cot", "inference" (the rationale: the model's notes
      on the passages read so far), "reason" and its variants;
    - a bool: "validity", "correctness";
    - 0 (the first is better), 1 (the second is better) or None (a tie): of two passages in "ranking", of two summaries
      in "preference";
    - `.thought`, `.query`, `.answer`: "react", "react_action"; `.question`, `.answer`: "self_ask", "self_ask_final";
    - a list: "candidates" (texts), "filter_sentences" (sentences), "choose", "judge_and_choose" and "filter_passages"
      (passage numbers from 1), "rank_passages" (all passages, best first, as indexes from 0);
    - `.question` and `.answers`, or None: the prompts that write questions;
    - a dict with the keys "statement" and "hidden_words", or None: "mask_condition".

    Raises SetupError for an unknown prompt, and for an argument that the prompt needs and that is missing.

    >>> import quorum
    >>> quorum.read_reply("answer", "Answer: Paris.").value
    'Paris'
    >>> quorum.read_reply("rank_passages", "[2] > [3] > [1]", count=3).value
    [1, 2, 0]
    >>> quorum.read_reply("validity", "Hard to say.").malformed
    True
    """
    parser = get_reply_parser(prompt)
    all_arguments = {"question": question, "candidates": candidates, "count": count}
    missing = next(
        (name for name in ARGUMENT_DESCRIPTIONS if name in parser.required_arguments and all_arguments[name] is None),
        None,
    )
    if missing is not None:
        raise SetupError(
            f"To read a reply to the prompt {prompt!r}, give {missing}= ({ARGUMENT_DESCRIPTIONS[missing]})."
        )
    parser_arguments = {
        parameter: all_arguments[name]
        for name, parameter in parser.argument_names.items()
        if all_arguments[name] is not None
    }
    return parser.parse(remove_thinking(reply), **parser_arguments)
