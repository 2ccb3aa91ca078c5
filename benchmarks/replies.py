"""The replies of `benchmarks.server`.

The server recognises each prompt by its fixed text and replies in the form that the prompt asks for. So that runs are
reproducible, a reply depends only on the message, on the shares of "Unknown" (see `write_reply`), and on `draw`, a
number that the server computes from the message, the request's seed and its own seed.
"""

import re
from collections.abc import Callable
from typing import NamedTuple

from quorum.prompts import BUILT_IN

REFUSAL = "I'm sorry, but I can't help with that."
GARBAGE = 'Hm, well:\n\n{"": ]\n\nthis or that, perhaps\nor rather the other\n\nWho knows?'
VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")


class PromptTemplate(NamedTuple):
    """A prompt of Quorum before its variables are filled in.

    head, tail: its fixed text before the first and after the last variable; fixed_length: the number of characters
    outside the variables; pattern: matches the messages that the template makes, with a group for each variable.
    """

    name: str
    head: str
    tail: str
    fixed_length: int
    pattern: re.Pattern[str]


def read_template(name: str, text: str) -> PromptTemplate:
    pieces, variables = VARIABLE.split(text)[::3], [m[1] or m[2] for m in VARIABLE.finditer(text)]
    # Passages contain blank lines, so their group matches as much as possible.
    body = "".join(
        (
            f"(?P={variable})"
            if variable in variables[:place]
            else f"(?P<{variable}>{'.*' if variable == 'passages' else '.*?'})"
        )
        + re.escape(pieces[place + 1])
        for place, variable in enumerate(variables)
    )
    pattern = re.compile(re.escape(pieces[0]) + body + r"\Z", re.DOTALL)
    return PromptTemplate(name, pieces[0], pieces[-1], sum(map(len, pieces)), pattern)


TEMPLATES = sorted(  # the templates with the most fixed text, which are the most specific, are tried first
    (read_template(name, text) for name, text in BUILT_IN.items()),
    key=lambda template: template.fixed_length,
    reverse=True,
)


def recognise_prompt(text: str) -> tuple[str, dict[str, str]]:
    """The name of the prompt that made a message, and the values of the prompt's variables.

    A variant of a prompt, such as candidates.paper, gives the name of the prompt, "candidates". The key '' holds
    the fixed text at the head of the prompt. An unknown message gives ("", {}).
    """
    for template in TEMPLATES:
        may_match = text.startswith(template.head) and text.endswith(template.tail)  # quicker than the pattern
        if may_match and (match := template.pattern.match(text)):
            return template.name.partition(".")[0], {"": template.head, **match.groupdict()}
    return "", {}


def choose_fact(draw: int) -> str:
    """One of four short answers."""
    return f"Fact {draw % 4 + 1}"


def find_passage_numbers(variables: dict[str, str]) -> list[int]:
    """The numbers of the passages in a prompt, where each passage begins with its number, such as "[1] "."""
    return [int(number) for number in re.findall(r"^\[(\d+)\] ", variables.get("passages", ""), re.MULTILINE)]


def get_first_words(variables: dict[str, str], count: int = 60) -> str:
    """The first `count` words of the passages, without the passages' numbers."""
    return " ".join(re.sub(r"\[\d+\] ", "", variables.get("passages", "")).split()[:count]) or "Nothing is known."


def get_first_choice(choices: str) -> str:
    """The first of choices that are written as "(a) Paris (b) Lyon"."""
    return re.split(r"\s\([b-z]\) ", choices)[0].removeprefix("(a) ")


def write_action(variables: dict[str, str], draw: int) -> str:
    """For ReAct: in the first step a search, then the answer."""
    step = variables["step"]
    if "Observation" in variables["passages"]:
        return f"The observation tells.\nAction {step}: Finish[{choose_fact(draw)}]"
    return f"It has to be looked up.\nAction {step}: Search[{variables['question']}]"


def write_follow_up(variables: dict[str, str], draw: int) -> str:
    """For self-ask: first a follow-up question, then the answer."""
    if "Intermediate answer" in variables["steps"]:
        return f"So the final answer is: {choose_fact(draw)}"
    return f"Yes.\nFollow up: {variables['question']}"


def write_judgement(variables: dict[str, str]) -> str:
    return "\n".join(f"Passage {n} bears on the question." for n in find_passage_numbers(variables))


def choose_passage_numbers(variables: dict[str, str], draw: int) -> str:
    return ", ".join(str(n) for n in find_passage_numbers(variables) if (draw >> n) % 3) or "1"


# By prompt name, (the prompt's variables, draw) -> the reply. Prompts that are missing here get a short answer.
REPLIES: dict[str, Callable[[dict[str, str], int], str]] = {
    "candidates": lambda variables, draw: f"(a) {choose_fact(draw)} (b) {choose_fact(draw + 1)}",
    **dict.fromkeys(
        ("conditional_summary", "conditional_summary_long"),
        lambda variables, draw: f"{variables['prediction']}: {get_first_words(variables)} [DONE]",
    ),
    "generic_summary": lambda variables, draw: f"{get_first_words(variables)} [DONE]",
    "validity": lambda variables, draw: "True" if draw % 3 else "False",
    "ranking": lambda variables, draw: f"Passage {draw % 2 + 1}",
    "preference": lambda variables, draw: f"Summary {draw % 2 + 1}",
    "answer_choices": lambda variables, draw: f"(a) {get_first_choice(variables['choices'])}",
    "judge": lambda variables, draw: write_judgement(variables),
    "judge_yes_no": lambda variables, draw: write_judgement(variables),
    "choose": choose_passage_numbers,
    "choose_yes_no": choose_passage_numbers,
    "judge_and_choose": lambda variables, draw: (
        f"{write_judgement(variables)}\nRelevant passages: {choose_passage_numbers(variables, draw)}"
    ),
    "judge_and_choose_yes_no": lambda variables, draw: (
        f"{write_judgement(variables)}\nRelevant passages: {choose_passage_numbers(variables, draw)}"
    ),
    "topic": lambda variables, draw: "buildings and their builders",
    "internal": lambda variables, draw: f"{variables['question']} It is held that it was {choose_fact(draw)}.",
    "react": write_action,
    "react_action": lambda variables, draw: f"Finish[{choose_fact(draw)}]",
    "self_ask": write_follow_up,
    "self_ask_final": lambda variables, draw: choose_fact(draw),
    "rank_passages": lambda variables, draw: " > ".join(f"[{n}]" for n in reversed(find_passage_numbers(variables))),
    "inference": lambda variables, draw: f"Notes: {get_first_words(variables, 20)}\nAnswer: {choose_fact(draw)}",
    "mask_condition": lambda variables, draw: f"{variables['answer']} is what [MASK] asks for.\nHidden: the question",
    "recover_condition": lambda variables, draw: "the question" if draw % 2 else "the answer",
    "filter_sentences": lambda variables, draw: get_first_words(variables, 200).split(". ")[0] + ".",
    "filter_passages": choose_passage_numbers,
    "reason": lambda variables, draw: f"The passages speak of it. So the answer is {choose_fact(draw)}.",
    "reason_from_memory": lambda variables, draw: f"It is known. So the answer is {choose_fact(draw)}.",
    **dict.fromkeys(
        ("pruning", "summary", "zero_shot_cot"),
        lambda variables, draw: f"Passage 1 tells of it.\nAnswer: {choose_fact(draw)}",
    ),
}


def write_reply(
    name: str,
    variables: dict[str, str],
    draw: int,
    share_unknown_from_several_passages: float = 0.0,
    share_unknown_from_one_passage: float = 0.0,
) -> str:
    """The reply to a prompt.

    share_unknown_from_several_passages: the share of "Unknown" among the replies to the prompt `answer` with several
    passages; share_unknown_from_one_passage: the same for the prompt `answer` with one passage or none.
    """
    if name == "answer":
        has_several_passages = len(find_passage_numbers(variables)) > 1
        share = share_unknown_from_several_passages if has_several_passages else share_unknown_from_one_passage
        return "Unknown" if (draw // 4) % 1000 < share * 1000 else choose_fact(draw)
    return REPLIES[name](variables, draw) if name in REPLIES else choose_fact(draw)
