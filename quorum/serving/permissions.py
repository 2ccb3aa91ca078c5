"""Defines what a client may choose: a method, a collection, settings. The server decides everything else."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from quorum.cascades.written_cascade import is_written_cascade, split_steps
from quorum.core.context import Context, parse_setting
from quorum.core.errors import SetupError
from quorum.core.files import escape_name
from quorum.core.where import conjoin, make_right, parse_where
from quorum.graphs.catalogue import DEFAULT_METHOD, Method, list_methods
from quorum.graphs.written import make_written_method
from quorum.serving.client import Client
from quorum.serving.errors import Refusal
from quorum.serving.named_tokens import NamedToken
from quorum.serving.served_methods import ServedCascade

ALLOWED_SETTINGS = (
    "temperature",
    "top_p",
    "samples",
    "seed",
    "k",
    "where",
    "documents",
    "retrieve",
    "rerank_from",
    "filter_mode",
    "candidates",
    "ranking",
    "sure_parts",
    "queries",
    "filter_turns",
    "filter_union",
    "crag_upper",
    "crag_lower",
    "iterations",
    "max_steps",
    "seed_search",
    "answer_type",
    "speculative",
    "vote",
)  # none of them names a file, an address or code
LARGEST_VALUES = {
    "k": 50,
    "rerank_from": 200,
    "samples": 10,
    "candidates": 10,
}  # or the server's own setting, if that is higher
ALLOWED_CHOICES = {
    "retriever": ("hybrid", "chroma", "bm25"),
    "second_retriever": ("none", "hybrid", "chroma", "bm25"),
    "evaluator": ("embedded", "llm"),
    "context_filter": ("embedded", "llm"),
    "reranker": ("none", "reader", "question", "listwise", "summary", "rationale"),
}
MODEL_SETTINGS = ("model", "verifier")
AT_SIGN = re.compile(r"@(?![^\[\]]*\])")  # between method and collection, not inside the brackets of a cascade's step


@dataclass(frozen=True)
class ServedModel:
    """A method over a collection, which clients see as a model. id: METHOD or METHOD@COLLECTION."""

    id: str
    method: str
    collection: str


@dataclass(frozen=True)
class Permissions:
    """What clients may choose besides the server's own collection and model: all of them, or one (see `of`).

    server_context: the server's settings; collections: their names, or None for every collection of the store;
    models: chat models as in --model, for example openai:gpt-4o-mini; cascades: by the name that clients use.
    token_collections, token_methods: of these, what one client's token allows; None for all.
    """

    server_context: Context
    collections: tuple[str, ...] | None = ()
    models: tuple[str, ...] = ()
    cascades: Mapping[str, ServedCascade] = field(default_factory=dict)
    token_collections: tuple[str, ...] | None = None
    token_methods: tuple[str, ...] | None = None

    def of(self, client: Client) -> "Permissions":
        """What one client may choose. Its token narrows what the server serves, and never widens it: the filter of the
        token is part of the server's filter, which no request can take away.

        Whoever handles a request asks for this anew, and passes it on; nothing keeps it between requests.
        """
        token = client.token
        if token is None:
            return self
        context = replace(self.server_context, where=conjoin(self.server_context.where, make_right(token.where)))
        return replace(self, server_context=context, token_collections=token.collections, token_methods=token.methods)

    def list_methods(self) -> dict[str, Method]:
        """The methods that clients may choose, by name: Quorum's own, those of installed packages, cascades."""
        methods = list_methods() | {name: cascade.method for name, cascade in self.cascades.items()}
        if self.token_methods is None:
            return methods
        return {name: method for name, method in methods.items() if name in self.token_methods}

    @property
    def default_method(self) -> str:
        """The method of a request that names none."""
        methods = self.list_methods()
        return DEFAULT_METHOD if DEFAULT_METHOD in methods else next(iter(methods), DEFAULT_METHOD)

    def find_method(self, name: str) -> Method | None:
        """The method of that name that clients may choose: one of the list, or a cascade of listed methods that the
        client writes, such as "concat>post_fusion"; None if there is none.

        Raises `SetupError` for a cascade that cannot be asked, or whose brackets set what a client may not choose.
        """
        methods = self.list_methods()
        if name in methods or not is_written_cascade(name):
            return methods.get(name)
        for step in split_steps(name):
            if self.token_methods is not None and step.method not in methods:
                return None
            for setting, value in step.settings.items():
                self.read_setting(setting, value)
        return make_written_method(name)

    def find_cascade(self, method: str) -> ServedCascade | None:
        """The cascade of that name: from a file, or written by a client, whose name `find_method` has accepted; None if
        it names a single method.
        """
        if method in self.cascades or method in list_methods() or not is_written_cascade(method):
            return self.cascades.get(method)
        written_method = make_written_method(method)
        return ServedCascade(written_method, written_method.graph)

    def get_method_or_graph(self, method: str) -> Any:
        """What `quorum.answer` takes as the method: a name, or the graph of a cascade."""
        cascade = self.find_cascade(method)
        return method if cascade is None else cascade.graph

    def list_collections(self) -> list[str]:
        """The collections that a client may query, the server's own first. Async callers run it in a thread."""
        from quorum.retrievers.collections import list_collections

        others = list_collections(self.server_context.store) if self.collections is None else self.collections
        own_collection = self.find_servers_collection()
        names = dict.fromkeys([*([own_collection] if own_collection else []), *others])
        return [name for name in names if self.token_collections is None or name in self.token_collections]

    def find_own_collection(self) -> str | None:
        """The collection of a request that names none: the server's own, or the only one that the client's token
        allows; None if there are several. This may read the store, so async callers run it in a thread.
        """
        own_collection = self.find_servers_collection()
        if self.token_collections is None or own_collection in self.token_collections:
            return own_collection
        names = self.list_collections()
        return names[0] if len(names) == 1 else None

    def find_servers_collection(self) -> str | None:
        """The collection that the server's owner named, else the store's only one, as it is now; None if the store
        holds several. This may read the store, so async callers run it in a thread.
        """
        from quorum.retrievers.choose_collection import list_choices
        from quorum.retrievers.collection_names import SAMPLE

        if self.server_context.collection:
            return self.server_context.collection
        if not isinstance(self.server_context.retriever, str):
            return SAMPLE  # a name only: the retriever searches elsewhere
        names = list_choices(self.server_context.store)
        return names[0] if len(names) == 1 else None

    def find_model(self, id_: Any) -> ServedModel:
        """The model with this id. Raises `Refusal` (404) if there is no such model for clients.

        The refusal is the same whether the collection is forbidden or missing. This reads the store, so async callers
        run it in a thread.
        """
        name, collection = [*AT_SIGN.split(str(id_), maxsplit=1), ""][:2]
        try:
            found_method = self.find_method(name)
        except SetupError as error:
            raise Refusal(400, str(error), "invalid_method", param="model") from None
        if found_method is not None:
            method = found_method.name
            if collection and collection in self.list_collections():
                return ServedModel(str(id_), method, collection)
            if not collection:
                return ServedModel(str(id_), method, self.get_own_collection())
        raise Refusal(
            404,
            f"There is no model {str(id_)[:100]!r}; GET /v1/models lists the models{self.give_example()}.",
            "model_not_found",
            param="model",
        )

    def give_example(self) -> str:
        """A model that the client may ask; empty if there is none. This reads the store."""
        names = self.list_collections()
        return f", for example {self.default_method}@{names[0]}" if names and self.list_methods() else ""

    def get_own_collection(self) -> str:
        """The server's own collection. Raises `Refusal` (400) if it has none, because its store holds several."""
        own_collection = self.find_own_collection()
        if own_collection is not None:
            return own_collection
        if names := self.list_collections():
            remedy = f"write METHOD@COLLECTION, for example {self.default_method}@{names[0]}"
            raise Refusal(
                400, f"This server has several collections; {remedy}.", "collection_not_chosen", param="model"
            )
        message = (
            "Your token allows no collection of this server; ask whoever runs it."
            if self.token_collections is not None
            else "This server has several collections; ask whoever runs the server to name one: --collection NAME."
        )
        raise Refusal(400, message, "collection_not_chosen", param="model")

    def check_names(self, tokens: Sequence[NamedToken], file: str) -> None:
        """Raise `SetupError` for a token that allows a collection or a method that this server does not serve.

        Only the server's owner sees the message. This reads the store.
        """
        served = {"collections": self.list_collections(), "methods": [*self.list_methods()]}
        for kind, names in served.items():
            for token in tokens:
                unknown = next((name for name in getattr(token, kind) or () if name not in names), None)
                if unknown is not None:
                    advice = " (--collections NAMES serves more)" if kind == "collections" else ""
                    raise SetupError(
                        f"The token file {escape_name(file)} names {unknown!r} among the {kind} of {token.name!r}, "
                        f"which this server does not serve; it serves: {', '.join(names) or 'none'}{advice}."
                    )

    def make_context(self, served_model: ServedModel, client_settings: Mapping[str, Any]) -> Context:
        """The server's settings, overridden by a client's. Raises `Refusal` for a forbidden or invalid setting."""
        try:
            values = {name: self.read_setting(name, value) for name, value in client_settings.items()}
            # A client can narrow what the server lets it find, but not widen it.
            values["where"] = conjoin(self.server_context.where, values.get("where"))
            return replace(self.server_context, collection=served_model.collection, **values)
        except SetupError as error:
            raise Refusal(400, str(error), "invalid_setting", param="quorum") from None

    def read_setting(self, name: str, value: Any) -> Any:
        """The value of one setting from a client. Raises `SetupError` if the setting or the value is not allowed."""
        if name == "where":
            parse_where(value)
            return value
        if not (value is None or isinstance(value, str | int | float)):
            raise SetupError(f"Setting {name[:40]!r} is not a text, a number, true or false; give one of these.")
        if name in MODEL_SETTINGS:
            return self.read_model(name, value)
        if name in ALLOWED_CHOICES:
            if value is None and "none" in ALLOWED_CHOICES[name]:
                return None
            if value not in (*ALLOWED_CHOICES[name], getattr(self.server_context, name)):
                raise SetupError(
                    f"Setting {name}={str(value)[:100]!r} is not allowed on this server; choose one of: "
                    f"{', '.join(ALLOWED_CHOICES[name])}."
                )
            return None if value == "none" else value
        if name == "collection":
            raise SetupError(
                "A collection is chosen with the method, not among the settings; name METHOD@COLLECTION as the model, "
                "or METHOD[collection=NAME] in a run."
            )
        if name not in ALLOWED_SETTINGS:
            known_names = ", ".join((*ALLOWED_SETTINGS, *ALLOWED_CHOICES, *MODEL_SETTINGS))
            raise SetupError(f"A client may not choose the setting {name[:40]!r}; it may choose: {known_names}.")
        setting = parse_setting(name, format_setting(value))
        if name in LARGEST_VALUES and setting is not None and setting > self.get_largest_value(name):
            raise SetupError(
                f"Setting {name}={setting} is too large; a client may give {self.get_largest_value(name)} at most."
            )
        return setting

    def get_largest_value(self, name: str) -> int:
        """The largest value of a setting in LARGEST_VALUES that a client may give."""
        server_value: int | None = getattr(self.server_context, name)
        return max(LARGEST_VALUES[name], server_value or 0)

    def read_model(self, name: str, value: Any) -> str | None:
        """The chat model that a client chose. Raises `SetupError` unless it is the server's own or one of `models`."""
        server_model = self.server_context.model if isinstance(self.server_context.model, str) else None
        if value not in (*self.models, server_model, getattr(self.server_context, name)):
            raise SetupError(
                f"Setting {name}={str(value)[:100]!r} is not allowed on this server; leave it out, or ask whoever runs "
                "the server to allow this model (quorum serve --allow-models)."
            )
        return None if value is None else str(value)


def format_setting(value: str | int | float | None) -> str:
    """A JSON value in the notation of --set."""
    if value is None or isinstance(value, bool):
        return "none" if value is None else str(value).lower()
    return str(value).removesuffix(".0") if isinstance(value, float) else str(value)
