"""The replies of `benchmarks.server`.

The server recognises each prompt by its fixed text and replies in the form that the prompt asks for. Replies are
functions of the message and a number drawn from it, so that runs are reproducible.
"""

import re
from collections.abc import Callable

from quorum.prompts import BUILT_IN

REFUSAL = "I'm sorry, but I can't help with that."
GARBAGE = 'Hm, well:\n\n{"": ]\n\nthis or that, perhaps\nor rather the other\n\nWho knows?'
VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")


def make_pattern(template: str) -> tuple[str, str, int, re.Pattern[str]]:
    """A template's fixed head and tail, the length of its fixed text, and a pattern that matches its prompts."""
    pieces, variables = VARIABLE.split(template)[::3], [m[1] or m[2] for m in VARIABLE.finditer(template)]
    body = "".join(
        (f"(?P={name})" if name in variables[:place] else f"(?P<{name}>{'.*' if name == 'passages' else '.*?'})")
        + re.escape(pieces[place + 1])
        for place, name in enumerate(variables)  # passages contain blank lines: match as much as possible
    )
    return pieces[0], pieces[-1], sum(map(len, pieces)), re.compile(re.escape(pieces[0]) + body + r"\Z", re.DOTALL)


TEMPLATES = sorted(
    ((name, *make_pattern(text)) for name, text in BUILT_IN.items()), key=lambda template: template[3], reverse=True
)


def recognise_prompt(text: str) -> tuple[str, dict[str, str]]:
    """The name of the prompt that made a message, without its variant, and the values of the prompt's variables.

    The key '' holds the fixed text at the head of the prompt. An unknown message gives ("", {}).
    """
    for name, head, tail, _, pattern in TEMPLATES:
        if text.startswith(head) and text.endswith(tail) and (match := pattern.match(text)):
            return name.partition(".")[0], {"": head, **match.groupdict()}
    return "", {}


def choose_fact(draw: int) -> str:
    """One of four short answers."""
    return f"Fact {draw % 4 + 1}"


def find_numbers(variables: dict[str, str]) -> list[int]:
    return [int(number) for number in re.findall(r"^\[(\d+)\] ", variables.get("passages", ""), re.MULTILINE)]


def get_first_words(variables: dict[str, str], words: int = 60) -> str:
    """The passages' first words, without numbers."""
    return " ".join(re.sub(r"\[\d+\] ", "", variables.get("passages", "")).split()[:words]) or "Nothing is known."


def get_first_choice(choices: str) -> str:
    return re.split(r"\s\([b-z]\) ", choices)[0].removeprefix("(a) ")


def write_action(variables: dict[str, str], draw: int) -> str:
    """ReAct: one search, then the end."""
    step = variables["step"]
    if "Observation" in variables["passages"]:
        return f"The observation tells.\nAction {step}: Finish[{choose_fact(draw)}]"
    return f"It has to be looked up.\nAction {step}: Search[{variables['question']}]"


def write_follow_up(variables: dict[str, str], draw: int) -> str:
    """Self-ask: one follow-up question, then the answer."""
    if "Intermediate answer" in variables["steps"]:
        return f"So the final answer is: {choose_fact(draw)}"
    return f"Yes.\nFollow up: {variables['question']}"


def write_judgement(variables: dict[str, str]) -> str:
    return "\n".join(f"Passage {n} bears on the question." for n in find_numbers(variables))


def choose_numbers(variables: dict[str, str], draw: int) -> str:
    return ", ".join(str(n) for n in find_numbers(variables) if (draw >> n) % 3) or "1"


REPLIES: dict[str, Callable[[dict[str, str], int], str]] = {
    "candidates": lambda variables, draw: f"(a) {choose_fact(draw)} (b) {choose_fact(draw + 1)}",
    "conditional_summary": lambda variables, draw: f"{variables['prediction']}: {get_first_words(variables)} [DONE]",
    "generic_summary": lambda variables, draw: f"{get_first_words(variables)} [DONE]",
    "validity": lambda variables, draw: "True" if draw % 3 else "False",
    "ranking": lambda variables, draw: f"Passage {draw % 2 + 1}",
    "preference": lambda variables, draw: f"Summary {draw % 2 + 1}",
    "answer_choices": lambda variables, draw: f"(a) {get_first_choice(variables['choices'])}",
    "judge": lambda variables, draw: write_judgement(variables),
    "judge_yes_no": lambda variables, draw: write_judgement(variables),
    "choose": choose_numbers,
    "choose_yes_no": choose_numbers,
    "judge_and_choose": lambda variables, draw: (
        f"{write_judgement(variables)}\nRelevant passages: {choose_numbers(variables, draw)}"
    ),
    "judge_and_choose_yes_no": lambda variables, draw: (
        f"{write_judgement(variables)}\nRelevant passages: {choose_numbers(variables, draw)}"
    ),
    "topic": lambda variables, draw: "buildings and their builders",
    "internal": lambda variables, draw: f"{variables['question']} It is held that it was {choose_fact(draw)}.",
    "react": write_action,
    "react_action": lambda variables, draw: f"Finish[{choose_fact(draw)}]",
    "self_ask": write_follow_up,
    "self_ask_final": lambda variables, draw: choose_fact(draw),
    "rank_passages": lambda variables, draw: " > ".join(f"[{n}]" for n in reversed(find_numbers(variables))),
    "inference": lambda variables, draw: f"Notes: {get_first_words(variables, 20)}\nAnswer: {choose_fact(draw)}",
    "mask_condition": lambda variables, draw: f"{variables['answer']} is what [MASK] asks for.\nHidden: the question",
    "recover_condition": lambda variables, draw: "the question" if draw % 2 else "the answer",
    "filter_sentences": lambda variables, draw: get_first_words(variables, 200).split(". ")[0] + ".",
    "filter_passages": choose_numbers,
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
    """The reply to a prompt. `share_unknown_from_*`: shares of "Unknown" among the replies to the prompt `answer`."""
    if name == "answer":
        has_several_passages = len(find_numbers(variables)) > 1
        share = share_unknown_from_several_passages if has_several_passages else share_unknown_from_one_passage
        return "Unknown" if (draw // 4) % 1000 < share * 1000 else choose_fact(draw)
    return REPLIES[name](variables, draw) if name in REPLIES else choose_fact(draw)
