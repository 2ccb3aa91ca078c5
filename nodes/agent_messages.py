"""The messages of the method agent, made from its turns."""

import re
from collections.abc import Collection, Mapping, Sequence

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from quorum.core.state import Passage, ToolUse, Turn
from quorum.nodes.agent_calls import OPEN_DOCUMENT, SEARCH, is_carried_out, is_seed, list_calls
from quorum.prompts.escape import escape
from quorum.prompts.passages import format_passage, mark_passages

TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")  # what servers take
NumberedPassage = tuple[int, Passage]


def make_messages(instructions: str, question: str, turns: Sequence[Turn], shown: Collection[int]) -> list[BaseMessage]:
    """What is sent: the instructions, the question, and each turn with the results of its calls. shown: the numbers of
    the passages for which the window has room.
    """
    messages: list[BaseMessage] = [SystemMessage(instructions), HumanMessage(write_question(question, turns, shown))]
    results = write_results(turns, shown)
    for turn in turns:
        if is_seed(turn):
            continue
        tool_calls = [
            {"id": call["id"], "name": get_sendable_name(call), "args": call["arguments"]} for call in turn["calls"]
        ]
        messages.append(AIMessage(turn["text"], tool_calls=tool_calls))
        messages += [ToolMessage(results[call["id"]], tool_call_id=call["id"]) for call in turn["calls"]]
    return messages


def get_sendable_name(call: ToolUse) -> str:
    """The tool's name as the model wrote it, if servers take it; else the name of the search tool."""
    return call["tool"] if TOOL_NAME.fullmatch(call["tool"]) else SEARCH


def write_question(question: str, turns: Sequence[Turn], shown: Collection[int]) -> str:
    """The question, after the passages of the search for it, if there was one."""
    seeds = [write_results(turns, shown)[call["id"]] for turn in turns if is_seed(turn) for call in turn["calls"]]
    return "\n\n".join([*seeds, f"Question: {escape(question)}"])


def write_results(turns: Sequence[Turn], shown: Collection[int]) -> dict[str, str]:
    """The result of each call, by its id."""
    calls = list_calls(turns)
    call_by_id, first_calls = {call["id"]: call for call in calls}, find_first_calls(calls)
    return {call["id"]: write_result(call, call_by_id, first_calls, shown) for call in calls}


def find_first_calls(calls: Sequence[ToolUse]) -> dict[int, str]:
    """{number of a passage: the id of the first call that found it and for whose result the window had room}."""
    first_calls: dict[int, str] = {}
    for call in calls:
        for number in list_seen_numbers(call):
            first_calls.setdefault(number, call["id"])
    return first_calls


def list_seen_numbers(call: ToolUse) -> list[int]:
    """The numbers of a call's passages without those that were left out of the prompt after it."""
    return [number for number in call["numbers"] if number not in call["left_out"]]


def write_result(
    call: ToolUse, call_by_id: Mapping[str, ToolUse], first_calls: Mapping[int, str], shown: Collection[int]
) -> str:
    """What the model reads as the result of a call: its passages, each with its text where it was found first."""
    if call["note"] is not None:
        return call["note"]
    if call["repeats"] is not None:
        return write_reference(call_by_id[call["repeats"]])
    if not call["numbers"]:
        return "No passage found."
    lines = []
    for number, passage in zip(call["numbers"], call["passages"], strict=True):
        if number not in shown or number in call["left_out"]:
            lines.append(f"[{number}] (left out: there is no room for it)")
        elif first_calls.get(number) == call["id"]:
            lines.append(format_passage(number, passage))
        else:
            lines.append(f"[{number}] (shown above)")
    return mark_passages("\n\n".join(lines))


def write_reference(earlier_call: ToolUse) -> str:
    """The result of a call that repeats an earlier one."""
    done = "Already searched" if earlier_call["tool"] == SEARCH else "Already opened"
    if not earlier_call["numbers"]:
        return f"{done}; no passage was found."
    if numbers := list_seen_numbers(earlier_call):
        return f"{done}; see {name_numbers(numbers)}."
    return f"{done}; there was no room for what it found: {name_numbers(earlier_call['numbers'])}."


def name_numbers(numbers: Sequence[int]) -> str:
    """Passages, as a prompt names them: "[1], [2]"."""
    return ", ".join(f"[{number}]" for number in numbers)


def order_passages(turns: Sequence[Turn]) -> list[NumberedPassage]:
    """Every passage once, with its number, where it was found first: the best rank first and, of equal ranks, the
    newest search. The last of them are left out if the window has no room, and a call is never without its result.
    """
    calls = list_calls(turns)
    first_calls = find_first_calls(calls)
    positions = [
        (rank, -search, number, passage)
        for search, call in enumerate(calls)
        for rank, (number, passage) in enumerate(zip(call["numbers"], call["passages"], strict=True))
        if first_calls.get(number) == call["id"]
    ]
    return [(number, passage) for _, _, number, passage in sorted(positions, key=lambda position: position[:2])]


def number_passages(turns: Sequence[Turn], found: Mapping[str, Sequence[Passage]]) -> list[Turn]:
    """The turns, whose last one gets the passages that its calls found. found: {id of a call: its passages}.

    Passages are numbered over the whole run, from 1. One that was found before keeps its number, unless its text is
    another: a context filter shortens a passage for each query.
    """
    *earlier_turns, last = turns
    numbers = {
        get_key(passage): number
        for call in list_calls(earlier_turns)
        for number, passage in zip(call["numbers"], call["passages"], strict=True)
    }
    next_number = max(numbers.values(), default=0) + 1
    calls = []
    for call in last["calls"]:
        passages = list({passage["id"]: passage for passage in found.get(call["id"], ())}.values())
        for passage in passages:
            if get_key(passage) not in numbers:
                numbers[get_key(passage)], next_number = next_number, next_number + 1
        calls.append({**call, "passages": passages, "numbers": [numbers[get_key(passage)] for passage in passages]})
    return [*earlier_turns, Turn(text=last["text"], calls=calls)]  # type: ignore[typeddict-item]


def get_key(passage: Passage) -> tuple[str, str]:
    """What makes a passage the same as another: its id and its text."""
    return passage["id"], passage["text"]


def mark_unshown_passages(turns: Sequence[Turn], shown: Collection[int]) -> list[Turn]:
    """The turns; the calls of the last one note as left out the passages that no prompt has shown. shown: the numbers
    of those that the prompt after it shows.
    """
    if not turns:
        return []
    *earlier_turns, last = turns
    seen = {number for call in list_calls(earlier_turns) for number in list_seen_numbers(call)}.union(shown)
    calls = [
        {**call, "left_out": [number for number in call["numbers"] if number not in seen]} for call in last["calls"]
    ]
    return [*earlier_turns, Turn(text=last["text"], calls=calls)]  # type: ignore[typeddict-item]


def describe_call(call: ToolUse) -> str | None:
    """What a call that was carried out asked for, as a step's query; None for a search for the question itself."""
    if call["tool"] == OPEN_DOCUMENT:
        return f"{OPEN_DOCUMENT} [{call['arguments']['passage']}]"
    return None if call["id"] == "seed" else " ".join(str(call["arguments"]["query"]).split())


def list_turn_steps(turn: Turn) -> list[tuple[str, str | None, list[Passage]]]:
    """(thought, query, passages) of each call of a turn that was carried out. The text beside the calls is the thought
    of the first. Passages that were left out are not among them.
    """
    calls = [call for call in turn["calls"] if is_carried_out(call)]
    return [
        (turn["text"] if n == 0 else "", describe_call(call), list_seen_passages(call)) for n, call in enumerate(calls)
    ]


def list_seen_passages(call: ToolUse) -> list[Passage]:
    """A call's passages without those that were left out of the prompt after it."""
    pairs = zip(call["numbers"], call["passages"], strict=True)
    return [passage for number, passage in pairs if number not in call["left_out"]]
