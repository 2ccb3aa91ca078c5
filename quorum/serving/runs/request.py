"""Reads the body of POST /v1/runs."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from quorum.core.bracketed_settings import split_brackets
from quorum.core.errors import SetupError
from quorum.core.files import INVISIBLE_CHARACTERS
from quorum.graphs.catalogue import DEFAULT_METHOD
from quorum.serving.chat_request import ChatRequest, make_field_refusal
from quorum.serving.conversation import Message, read_question
from quorum.serving.errors import Refusal

FIELDS = ("question", "methods", "collection", "model", "settings", "where", "follows")
MAX_METHODS = 30
LONGEST_TITLE = 200  # characters
RUN_ID = re.compile(r"[0-9]{8}-[0-9]{6}-[0-9a-f]{14}")


@dataclass(frozen=True)
class RunRequest:
    """A question to several methods. methods: with their settings, such as sure[k=3]; collection: empty for the
    server's own; settings: for all methods; follows: the id of the run that a follow-up question follows, or empty.
    """

    question: str
    methods: tuple[str, ...]
    collection: str
    settings: Mapping[str, Any]
    follows: str

    def make_chat(self, method: str) -> ChatRequest:
        """What a chat client would send to ask one of the methods."""
        name, own_settings = split_method(method)
        collection = own_settings.pop("collection", self.collection)
        return ChatRequest(
            model=f"{name}@{collection}" if collection else name,
            messages=(Message("user", self.question),),
            settings={**self.settings, **own_settings},
            is_streamed=True,
        )

    def to_json(self) -> dict[str, Any]:
        """The request in the form in which `read_request` reads it."""
        fields = {"question": self.question, "methods": list(self.methods), "settings": dict(self.settings)}
        optional = {"collection": self.collection, "follows": self.follows}
        return fields | {name: value for name, value in optional.items() if value}


def read_request(body: Any, default_method: str = DEFAULT_METHOD) -> RunRequest:
    """The request in a body. default_method: if it names none. Raises a `Refusal` that names the wrong field."""
    fields = body if isinstance(body, dict) else {}
    unknown_field = next((name for name in fields if name not in FIELDS), None)
    if unknown_field is not None:
        raise make_field_refusal(str(unknown_field)[:40], f"one of the fields {', '.join(FIELDS)}")
    question, methods, settings = fields.get("question"), fields.get("methods"), fields.get("settings")
    if not isinstance(question, str):
        raise make_field_refusal("question", "a text")
    methods = [default_method] if methods is None else methods
    if not isinstance(methods, list) or not all(isinstance(method, str) for method in methods):
        raise make_field_refusal(
            "methods", f'a list of methods, such as ["concat", "sure[k=3]"], at most {MAX_METHODS}'
        )
    methods = [" ".join(method.split()) for method in methods]
    if not 0 < len(methods) <= MAX_METHODS or len(set(methods)) < len(methods):
        raise make_field_refusal("methods", f"1 to {MAX_METHODS} methods, each named once")
    if not (settings is None or isinstance(settings, dict)):
        raise make_field_refusal("settings", "an object of settings")
    for name in ("collection", "model", "follows"):
        if not (fields.get(name) is None or isinstance(fields[name], str)):
            raise make_field_refusal(name, "a text")
    more_settings = {name: fields[name] for name in ("model", "where") if fields.get(name) not in (None, "")}
    follows = fields.get("follows") or ""
    if follows and not RUN_ID.fullmatch(follows):
        raise make_field_refusal("follows", "the id of an earlier run")
    try:
        question = read_question([Message("user", question)])
    except Refusal as refusal:
        refusal.param = "question"
        raise
    return RunRequest(
        question=question,
        methods=tuple(methods),
        collection=fields.get("collection") or "",
        settings={**{str(name): value for name, value in (settings or {}).items()}, **more_settings},
        follows=follows,
    )


def split_method(text: str) -> tuple[str, dict[str, str]]:
    """The name of a method and its own settings. Raises `Refusal`.

    The brackets of a cascade belong to its steps, and stay in its name.

    >>> split_method("sure[k=3; ranking=lazy]"), split_method("concat > sure[k=3]")
    (('sure', {'k': '3', 'ranking': 'lazy'}), ('concat > sure[k=3]', {}))
    """
    try:
        name, settings = split_brackets(text)
    except SetupError as error:
        raise Refusal(400, str(error), "invalid_value", param="methods") from None
    if settings.get("collection") == "":
        raise make_field_refusal("methods", f"a collection's name after collection=; {text[:40]!r} has none")
    return name, settings


def read_title(value: Any) -> str:
    """A title on one line, without invisible characters. Raises `Refusal`."""
    title = " ".join(INVISIBLE_CHARACTERS.sub(" ", value).split()) if isinstance(value, str) else ""
    if not 0 < len(title) <= LONGEST_TITLE:
        raise make_field_refusal("title", f"a text of 1 to {LONGEST_TITLE} characters")
    return title


def make_title(question: str) -> str:
    """The title of a run that nobody has named: the beginning of its question."""
    title = " ".join(INVISIBLE_CHARACTERS.sub(" ", question).split())
    return title if len(title) <= LONGEST_TITLE else title[: LONGEST_TITLE - 1] + "…"


def check_saved_request(head: Mapping[str, Any]) -> RunRequest:
    """The request that a run's file holds. Raises `SetupError` if this version cannot read it."""
    try:
        return read_request(head["request"])
    except (Refusal, KeyError):
        raise SetupError("The file of this run cannot be read; ask its question again.") from None
