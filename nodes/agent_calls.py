"""The calls of tools that a model makes in the method agent: the tools, what is wrong with a call, and which calls are
carried out.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from quorum.core.state import Passage, ToolUse, Turn
from quorum.models.tools import ToolCall

SEARCH, OPEN_DOCUMENT = "search", "open_document"
MOST_CALLS_PER_TURN = 4
MOST_FAULTY_TURNS = 3  # in a row; then the model must answer
LIMIT_REACHED = "Search limit reached. Answer now, in the form asked for."
TOO_MANY_AT_ONCE = f"Only {MOST_CALLS_PER_TURN} calls are carried out at a time."
FAULT = "This call cannot be carried out: "  # begins the note on a malformed call


def make_tool(name: str, description: str, argument: str, type_: str, meaning: str) -> dict[str, Any]:
    """A tool with one argument, in the form of the OpenAI protocol."""
    schema = {
        "type": "object",
        "properties": {argument: {"type": type_, "description": meaning}},
        "required": [argument],
        "additionalProperties": False,
    }
    function = {"name": name, "description": description, "parameters": schema, "strict": True}
    return {"type": "function", "function": function}


TOOLS = (
    make_tool(
        SEARCH,
        "Find the passages of the collection that fit a query best.",
        *("query", "string", "A short question about one thing, or words of the passage that is wanted."),
    ),
    make_tool(
        OPEN_DOCUMENT,
        "Read what stands before and after a passage in its document.",
        *("passage", "integer", "The number of a passage that was shown."),
    ),
)


def plan_calls(calls: Sequence[ToolCall], turns: Sequence[Turn], max_steps: int) -> list[ToolUse]:
    """The calls of a new turn. One with a note or with `repeats` is not carried out.

    Each call costs a step, also one that is malformed or repeats another, so that the method always ends; only those
    beyond a limit cost none.
    """
    earlier_calls = list_calls(turns)
    steps = count_steps(turns)
    planned: list[ToolUse] = []
    for number, call in enumerate(calls):
        use = ToolUse(
            id=f"call{len(earlier_calls) + number + 1:05d}",  # nine letters and digits, which every server takes
            tool=call.name,
            arguments=read_arguments(call),
            note=None,
            repeats=None,
            numbers=[],
            passages=[],
            left_out=[],
        )
        if steps >= max_steps:
            use["note"] = LIMIT_REACHED
        elif number >= MOST_CALLS_PER_TURN:
            use["note"] = TOO_MANY_AT_ONCE
        else:
            steps += 1
            use["note"] = find_fault(call, use["arguments"], earlier_calls)
            use["repeats"] = find_equal_call(use, [*earlier_calls, *planned])
        planned.append(use)
    return planned


def read_arguments(call: ToolCall) -> dict[str, Any]:
    """The arguments of a call. A passage's number may be written as text: "3" or "[3]"."""
    arguments = dict(call.arguments or {})
    number = arguments.get("passage")
    text = str(number).strip(" []") if isinstance(number, str | float) else ""
    if text.removesuffix(".0").isdecimal():
        arguments["passage"] = int(text.removesuffix(".0"))
    return arguments


def find_fault(call: ToolCall, arguments: Mapping[str, Any], earlier_calls: Sequence[ToolUse]) -> str | None:
    """What is wrong with a call, for the model; None if nothing is."""
    if call.name not in (SEARCH, OPEN_DOCUMENT):
        return f"{FAULT}there is no tool {call.name[:100]!r}; the tools are {SEARCH} and {OPEN_DOCUMENT}."
    if call.arguments is None:
        return f"{FAULT}its arguments are no JSON object."
    if call.name == SEARCH:
        query = arguments.get("query")
        return None if isinstance(query, str) and query.strip() else f"{FAULT}it has no query; give one as text."
    number = arguments.get("passage")
    if type(number) is int and find_passage(number, earlier_calls) is not None:
        return None
    return f"{FAULT}there is no passage {number!r:.100}; give the number of a passage that was shown."


def find_passage(number: int, calls: Sequence[ToolUse]) -> Passage | None:
    """The passage with this number; None if none has it."""
    numbered = (pair for call in calls for pair in zip(call["numbers"], call["passages"], strict=True))
    return next((passage for found, passage in numbered if found == number), None)


def find_equal_call(use: ToolUse, earlier_calls: Sequence[ToolUse]) -> str | None:
    """The id of the first earlier call that was carried out for the same; None if there is none."""
    if use["note"] is not None:
        return None
    wanted = get_purpose(use)
    return next((call["id"] for call in earlier_calls if is_carried_out(call) and get_purpose(call) == wanted), None)


def get_purpose(use: ToolUse) -> tuple[str, str]:
    """What a call asks for; equal for queries that differ only in case, white space and the mark at their end."""
    purpose = use["arguments"].get("query" if use["tool"] == SEARCH else "passage")
    return use["tool"], " ".join(str(purpose).casefold().split()).rstrip(" .?!")


def is_carried_out(use: ToolUse) -> bool:
    """Whether the call searches or opens a document."""
    return use["note"] is None and use["repeats"] is None


def is_faulty(use: ToolUse) -> bool:
    """Whether the call is malformed."""
    return (use["note"] or "").startswith(FAULT)


def list_calls(turns: Sequence[Turn]) -> list[ToolUse]:
    """The calls of all turns."""
    return [call for turn in turns for call in turn["calls"]]


def count_steps(turns: Sequence[Turn]) -> int:
    """How many calls cost a step. The search before the first turn costs none."""
    return sum(
        call["note"] not in (LIMIT_REACHED, TOO_MANY_AT_ONCE) for turn in iterate_asked(turns) for call in turn["calls"]
    )


def iterate_asked(turns: Sequence[Turn]) -> Iterator[Turn]:
    """The turns without the search that was made before the model was asked."""
    return (turn for turn in turns if not is_seed(turn))


def make_seed_turn(question: str) -> Turn:
    """The search for the question itself, which is made before the model is asked (the setting seed_search)."""
    use = ToolUse(
        id="seed",
        tool=SEARCH,
        arguments={"query": question},
        note=None,
        repeats=None,
        numbers=[],
        passages=[],
        left_out=[],
    )
    return Turn(text="", calls=[use])


def is_seed(turn: Turn) -> bool:
    """Whether the turn is that of `make_seed_turn`."""
    return [call["id"] for call in turn["calls"]] == ["seed"]


def may_call(turns: Sequence[Turn], max_steps: int) -> bool:
    """Whether the model may call tools in its next turn: steps are left, and its last turns were not all malformed."""
    last_turns = [*iterate_asked(turns)][-MOST_FAULTY_TURNS:]
    are_faulty = [all(map(is_faulty, turn["calls"])) for turn in last_turns]
    return count_steps(turns) < max_steps and not (len(are_faulty) == MOST_FAULTY_TURNS and all(are_faulty))
