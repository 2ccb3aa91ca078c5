"""What an agent is told when a tool fails: in the names of the tools and their arguments, not of commands."""

import re
from collections.abc import Sequence
from typing import Any

from quorum.serving.errors import Refusal
from quorum.serving.permissions import Permissions

NO_METHOD = "There is no method {!r} here; the tool `methods` lists the names."
NO_COLLECTION = "There is no collection {!r} here; the tool `collections` lists the names."
SEVERAL = "There are several collections; choose one by the argument `collection` (the tool `collections` lists them)."
WORDS = (
    (r"choose one with --collection NAME\b[^;.]*", "choose one by the argument `collection`"),
    (r"GET /v1/(?:models|methods) lists (?:them|the models)", "the tool `methods` lists them"),
    (r"GET /v1/collections lists them", "the tool `collections` lists them"),
    (
        r"A collection is chosen with the method, not among the settings;[^;.]*",
        "Give `collection` as an argument of its own, not in `settings`",
    ),
    (r"--set (\w+)(?:=\S+)?", r"`\1` in the argument `settings`"),
    (r"--where\b(?: \S+)?", "the argument `where`"),
    (r"(?<!\S)(?:-k|--k)\b", "the argument `k`"),
    (r"Setting (\w+)=", r"\1="),
)
COMMAND = re.compile(r"(?<![\w-])--[a-z][\w-]*|\bquorum [a-z]+\b|\b(?:QUORUM|OPENAI|ANTHROPIC)_[A-Z_]+\b")
ASK_THE_OWNER = "whoever runs the server can mend this"


def describe_for_agents(refusal: Refusal) -> str:
    """A refusal's message. What an agent can choose has the name of its argument; advice that only whoever runs the
    server could follow, such as an option of a command, becomes the hint to ask them.

    >>> describe_for_agents(Refusal(400, "Setting k='few' does not fit; give a number, for example --set k=5."))
    "k='few' does not fit; give a number, for example `k` in the argument `settings`."
    >>> describe_for_agents(Refusal(400, "The index is damaged; make it anew: quorum index PATH --collection notes"))
    'The index is damaged; whoever runs the server can mend this.'
    """
    message = refusal.message
    for pattern, words in WORDS:
        message = re.sub(pattern, words, message)
    clauses = [ASK_THE_OWNER if COMMAND.search(clause) else clause for clause in message.split("; ")]
    message = "; ".join(dict.fromkeys(clauses))
    message = message[:1].upper() + message[1:] if message.startswith(ASK_THE_OWNER) else message
    return message if message.endswith((".", "?", "!")) else f"{message}."


def describe_arguments(tool: str, errors: Sequence[Any]) -> str:
    """Which argument of a tool is missing or does not fit. errors: as pydantic lists them.

    >>> describe_arguments("ask", [{"loc": ("question",), "type": "missing", "msg": "Field required"}])
    'ask needs the argument question.'
    >>> describe_arguments("search", [{"loc": ("k",), "type": "less_than_equal", "msg": "Input should be at most 50"}])
    'The argument k of search does not fit: Input should be at most 50.'
    """
    sentences = []
    for error in errors:
        name = str(next(iter(error["loc"]), "arguments"))
        is_missing = error["type"] == "missing"
        sentences.append(
            f"{tool} needs the argument {name}."
            if is_missing
            else f"The argument {name} of {tool} does not fit: {error['msg']}."
        )
    return " ".join(dict.fromkeys(sentences))


def find_asked_collection(permissions: Permissions, name: str | None) -> str:
    """The collection for the argument `collection`. Raises `Refusal` in the words of the tools.

    It reads the store, so async callers run it in a thread.
    """
    names = permissions.list_collections()
    if name is None:
        own = permissions.find_own_collection()
        if own is None and names:
            raise Refusal(400, SEVERAL, "collection_not_chosen", param="collection")
        return own or permissions.get_own_collection()
    if name not in names:
        raise Refusal(404, NO_COLLECTION.format(name[:100]), "collection_not_found", param="collection")
    return name


def find_asked_model(permissions: Permissions, method: str, collection: str | None) -> str:
    """The id of the model for the arguments `method` and `collection`. Raises `Refusal` in the words of the tools.

    It reads the store, so async callers run it in a thread.
    """
    found_collection = find_asked_collection(permissions, collection)
    try:
        return permissions.find_model(f"{method}@{found_collection}").id
    except Refusal as refusal:
        if refusal.code == "model_not_found":
            refusal.message = NO_METHOD.format(method[:100])
        raise
