"""Every setting of every method. An argument wins over the environment (QUORUM_*), and the environment over a default.
The commands also read settings from files (quorum/core/settings/config_files.py), between the environment and the
default.

`Context` holds the settings; `make_context` makes one from texts such as those of --set; `get_context` gives a node the
settings of its run.
"""

# ruff: noqa: RUF009  `define` makes a dataclass field

import os
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from functools import cache, partial
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

from langchain_core.embeddings import Embeddings
from langchain_core.language_models import BaseChatModel
from langchain_core.retrievers import BaseRetriever
from langgraph.config import get_config
from langgraph.runtime import Runtime
from pydantic import ConfigDict, Field, InstanceOf, TypeAdapter, ValidationError
from pydantic.json_schema import SkipJsonSchema

from quorum.core.errors import SetupError
from quorum.core.text import AnswerMeasure
from quorum.core.where import parse_where

MAX_PASSAGES, MAX_STEPS, MAX_ROUNDS = 1000, 20, 10  # the largest k, max_steps and iterations
FEWEST_TO_RERANK = 20  # passages that a reranker chooses from, unless rerank_from is set
INDEX_SETTINGS = ("words", "context")  # of `quorum index` and `--index`; columns of a comparison are named by them
# Languages of which PyStemmer has a stemmer, for BM25; none: words as they stand.
Language = Literal[
    "english", "catalan", "danish", "dutch", "finnish", "french", "german", "greek", "hungarian", "italian",
    "norwegian", "portuguese", "romanian", "russian", "spanish", "swedish", "turkish", "none",
]  # fmt: skip
# The limit of supersteps for a graph with a loop and for each of its subgraphs, such as the listwise reranker.
MAX_SUPERSTEPS = MAX_PASSAGES + 10


def define(name: str, default: Any) -> Any:
    """A dataclass field whose default is the environment variable QUORUM_NAME, or `default` if that is not set."""
    return field(default_factory=lambda: read_environment(name, default))


def read_environment(name: str, default: Any) -> Any:
    """The value of QUORUM_NAME, checked; `default` if it is not set or empty."""
    text = os.environ.get(f"QUORUM_{name.upper()}")
    return default if text is None or text == "" else parse_setting(name, text)


def limit(default: Any = None, **bounds: Any) -> Any:
    """The default of a setting, which Studio's form shows, and its bounds; `check_setting` refuses values outside."""
    return Field(json_schema_extra={} if default is None else {"default": default}, **bounds)


@dataclass(frozen=True, kw_only=True)
class Context:
    """The settings of one run. A number out of range or an unknown choice is a `SetupError`.

    >>> import quorum
    >>> quorum.Context(k=3, temperature=0.7).k
    3
    """

    __pydantic_config__ = ConfigDict(use_attribute_docstrings=True)  # Studio, the page and docs/settings.md show them

    model: Annotated[str | SkipJsonSchema[InstanceOf[BaseChatModel]], limit("embedded")] = define("model", "embedded")
    """Chat model: embedded, openai:NAME, or provider:NAME."""
    temperature: Annotated[float, limit(0.0, ge=0, le=2)] = define("temperature", 0.0)
    """Sampling temperature, from 0 to 2; at 0 the model gives the likeliest reply."""
    top_p: Annotated[float, limit(1.0, ge=0, le=1)] = define("top_p", 1.0)
    """Nucleus sampling: the likeliest tokens that have this probability together, from 0 to 1."""
    samples: Annotated[int, limit(1, ge=1, le=100)] = define("samples", 1)
    """Replies to each prompt that asks for an answer; the most frequent answer wins."""
    seed: Annotated[int, limit(0)] = define("seed", 0)
    """Seed of all sampling."""
    retriever: Annotated[str | SkipJsonSchema[InstanceOf[BaseRetriever]], limit("hybrid")] = define(
        "retriever", "hybrid"
    )
    """Retriever: hybrid, chroma, bm25 or colbert:MODEL."""
    collection: str | None = define("collection", None)
    """Collection in the store; empty: the store's only one, or the sample in a store that holds none."""
    store: Annotated[str, limit(".quorum")] = define("store", ".quorum")
    """Folder of the Chroma store, or http://host:port."""
    embeddings: Annotated[str | SkipJsonSchema[InstanceOf[Embeddings]], limit("embedded")] = define(
        "embeddings", "embedded"
    )
    """Embeddings: embedded, huggingface:MODEL or provider:NAME."""
    embedding_batch: Annotated[int | None, limit(ge=1, le=2048)] = define("embedding_batch", None)
    """Most texts in one request for embeddings; empty: as many as the server takes, which its refusals show."""
    title_key: str | None = define("title_key", None)
    """Another program's collection: the key of its metadata that holds a passage's title; empty: the first of title,
    name, heading, file_name and filename that it has, or the name of its source."""
    language: Annotated[Language, limit("english")] = define("language", "english")
    """BM25: the language of the documents and questions, whose stems it uses, and whose stop words where
    there are any (not for Catalan, Finnish, Greek, Hungarian, Romanian); none: whole words."""
    where: str | dict[str, Any] | list[Any] | None = define("where", None)
    """Which passages may be found, by their metadata: 'source=handbook.pdf', 'year>=2020 and team in HR, IT', or
    Chroma's form, {"year": {"$gte": 2020}}; of a list all must hold; empty: all passages."""
    k: Annotated[int, limit(5, ge=1, le=MAX_PASSAGES)] = define("k", 5)
    """Passages per query, from 1 to 1000."""
    documents: Annotated[Literal["found", "all"], limit("found")] = define("documents", "found")
    """full_documents, self_route: read the documents of the passages found, as far as they fit the model's window
    (found), or all documents of the collection (all).
    """
    retrieve: Annotated[bool, limit(True)] = define("retrieve", True)
    """direct, cot: answer from passages (true) or from the model's memory (false)."""
    reranker: (
        Literal["rationale", "question", "listwise", "summary", "reader"]
        | Annotated[str, Field(pattern=r"^(cross_encoder|api):\s*\S", examples=["cross_encoder:MODEL", "api:MODEL"])]
        | None
    ) = define("reranker", None)
    """Sort the passages again: by their similarity to the summary of the candidate that SuRe's steps choose
    (rationale), to the question (question) or to a summary of the passages (summary), as the model orders them
    (listwise), by how surely the embedded reader finds the answer in each (reader), or by the score that a model gives
    question and passage (cross_encoder:MODEL, or api:MODEL on a server); empty: keep the retriever's order.
    """
    rerank_from: Annotated[int | None, limit(ge=1, le=MAX_PASSAGES)] = define("rerank_from", None)
    """With a reranker: how many passages are found, of which it keeps the best k, from 1 to 1000; never fewer than k
    are found; empty: 4 k, and at least 20.
    """
    context_filter: str | None = define("context_filter", None)
    """Shorten the passages before they are read: embedded, llm, llm:MODEL or transformers:PATH."""
    filter_mode: Annotated[Literal["full", "psg", "filco", "silver"], limit("filco")] = define("filter_mode", "filco")
    """What a filter keeps: all text (full), the whole passages that it chooses (psg), the sentences that it chooses
    (filco), or the sentences that the gold answers need (silver).
    """
    silver_measure: Literal["strinc", "lexical", "cxmi"] | None = define("silver_measure", None)
    """filter_mode=silver: strinc, lexical or cxmi chooses the sentences; empty: the best for the answer type."""
    scorer: str | None = define("scorer", None)
    """Model that gives log-probabilities for the measure cxmi: transformers:PATH or completions:MODEL; empty: if
    silver_measure is empty as well, lexical is used where cxmi would be best.
    """
    verifier: str | SkipJsonSchema[InstanceOf[BaseChatModel]] | None = define("verifier", None)
    """sure: chat model for validity and ranking; empty: the chat model of the setting model."""
    candidates: Annotated[int, limit(2, ge=2, le=26)] = define("candidates", 2)
    """sure and similar methods: number of candidate answers."""
    ranking: Annotated[Literal["eager", "lazy"], limit("eager")] = define("ranking", "eager")
    """sure: rank without waiting for the validity checks (eager), or after them and only if ranking can still change
    the answer (lazy).
    """
    sure_parts: Annotated[Literal["summaries", "ranking", "validity+ranking"], limit("validity+ranking")] = define(
        "sure_parts", "validity+ranking"
    )
    """sure: answer from the summaries (summaries), or choose a candidate by ranking (ranking) or by validity and
    ranking (validity+ranking).
    """
    queries: Annotated[Literal["q+ex+in", "q+ex", "q+in", "ex+in", "q", "ex", "in"], limit("q+ex+in")] = define(
        "queries", "q+ex+in"
    )
    """blendfilter: its queries, joined by +: the question alone (q), the question with external knowledge (ex), the
    question with internal knowledge (in).
    """
    filter_turns: Annotated[int, limit(2, ge=1, le=2)] = define("filter_turns", 2)
    """blendfilter: use two calls (2) or one call (1) to judge the passages and choose among them, and the same number
    to reason and extract the answer.
    """
    filter_union: Annotated[bool, limit(False)] = define("filter_union", False)
    """blendfilter: merge the passages of all queries first, and filter once."""
    evaluator: Annotated[
        Literal["embedded", "llm"]
        | Annotated[str, Field(pattern=r"^cross_encoder:\s*\S", examples=["cross_encoder:MODEL"])],
        limit("embedded"),
    ] = define("evaluator", "embedded")
    """crag: what grades the passages: the embedded reader (embedded), the chat model, once for each passage (llm), or a
    model that scores question and passage (cross_encoder:MODEL).
    """
    crag_upper: float | None = define("crag_upper", None)
    """crag: the grade from which a passage is correct, so that nothing is searched again; empty: 1. A cross_encoder has
    a scale of its own, and needs a number.
    """
    crag_lower: float | None = define("crag_lower", None)
    """crag: if all grades are below it, the passages are incorrect and not read, unless nothing new is found; empty: -2
    for the embedded reader, 0 for llm.
    """
    second_retriever: str | None = define("second_retriever", None)
    """crag: retriever of the second search, such as one of a package for the web; empty: the setting retriever."""
    iterations: Annotated[int, limit(2, ge=1, le=MAX_ROUNDS)] = define("iterations", 2)
    """iter_retgen: rounds of retrieval and answer."""
    max_steps: Annotated[int, limit(5, ge=1, le=MAX_STEPS)] = define("max_steps", 5)
    """react, self_ask, agent: largest number of searches."""
    seed_search: Annotated[bool, limit(False)] = define("seed_search", False)
    """agent: search for the question itself before the model is asked, and show it what is found."""
    examples: str | None = define("examples", None)
    """File of demonstrations (question, answer, rationale, passages, steps); empty: the built-in ones."""
    answer_type: Annotated[Literal["auto", "short", "yes_no", "label", "dialogue", "long"], limit("auto")] = define(
        "answer_type", "auto"
    )
    """Kind of answer: as the question asks (auto: short, yes_no or long), or always short, yes_no, label, dialogue or
    long.
    """
    answer_measure: Annotated[AnswerMeasure, limit("exact_match")] = define("answer_measure", "exact_match")
    """How answers are compared, with accepted ones and in votes: exact_match ignores typography and tells 3.5 from 35;
    squad_exact_match is SQuAD's, for published numbers (quorum experiment always uses it).
    """
    speculative: Annotated[bool, limit(False)] = define("speculative", False)
    """concat_pf: ask about all passages together and about each one at the same time (faster, more tokens)."""
    vote: Annotated[Literal["all", "staged"], limit("all")] = define("vote", "all")
    """post_fusion, concat_pf: ask the model about every passage (all), or stop once the vote is decided (staged)."""
    shorten: Annotated[Literal["auto", "reader", "model", "off"], limit("auto")] = define("shorten", "auto")
    """How a short answer is read out of a wordy reply: by rules, then by the embedded reader, and by one more call
    where the reader is unsure (auto) or never (reader); by rules, then by one more call (model); not at all (off).
    """
    citations: Annotated[Literal["auto", "off"], limit("auto")] = define("citations", "auto")
    """In long answers and dialogue: ask for the numbers of the passages, such as [2], and find the sentence of the
    passage that each cites (auto), or not (off).
    """
    structured: Annotated[Literal["auto", "off"], limit("auto")] = define("structured", "auto")
    """Ask for short answers, labels, choices, verdicts and numbers as JSON where the model takes a schema (auto), or
    never (off).
    """
    context_window: Annotated[int | None, limit(ge=256)] = define("context_window", None)
    """Most tokens that a prompt may have; empty: as the model's profile says, or 8192 if it does not say."""
    timeout: Annotated[float, limit(60.0, gt=0)] = define("timeout", 60.0)
    """Time limit of one model call, in seconds."""
    attempts: Annotated[int, limit(8, ge=1)] = define("attempts", 8)
    """How many times a model call is tried at most."""
    concurrency: Annotated[int, limit(16, ge=1)] = define("concurrency", 16)
    """Most calls of each model at the same time in a process; where runs give different numbers, the smallest holds."""
    requests_per_minute: Annotated[int | None, limit(ge=1)] = define("requests_per_minute", None)
    """Limit on the calls per minute of each model in a process."""
    tokens_per_minute: Annotated[int | None, limit(ge=1)] = define("tokens_per_minute", None)
    """Limit on the tokens per minute of each model in a process."""
    calibration: str | None = define("calibration", None)
    """File that quorum calibrate wrote: answers that are not sure enough become unknown."""
    prompts: str | dict[str, str] | None = define("prompts", None)
    """Prompts of your own in place of the built-in ones: a folder of NAME.md files (in Python also a dict, name ->
    text).
    """
    journal: str | None = define("journal", None)
    """File that keeps model replies, 'off' for none; empty: journal.sqlite in the local store folder."""

    @classmethod
    def from_config(cls, folder: str | Path | None = None, **values: Any) -> "Context":
        """The settings as the commands read them: `values`, then the environment, the project's quorum.toml, the
        user's, and the defaults. `Context()` itself reads no file.

        folder: where the search for the project's file begins; by default the working directory. If the user's file
        names a server (openai_base_url), OPENAI_BASE_URL is set for this process, unless it is set already. Raises
        SetupError for a file that is wrong, which it names.

        >>> import pathlib, quorum
        >>> _ = pathlib.Path("quorum.toml").write_text("k = 8")
        >>> quorum.Context.from_config().k, quorum.Context.from_config(k=3).k, quorum.Context().k
        (8, 3, 5)
        """
        from quorum.core.settings.config_files import choose_from_files, read_config_files, use_address

        files = read_config_files(make_setting_checks(), None if folder is None else Path(folder))
        use_address(files)
        return cls(**{**choose_from_files(files), **values})

    def __post_init__(self) -> None:
        for part in fields(Context):  # a subclass may have further fields
            check_setting(part.name, getattr(self, part.name))
        parse_where(self.where)


@cache
def get_validator(name: str) -> TypeAdapter[Any]:
    """The validator of one setting, made on first use."""
    return TypeAdapter(get_setting_types()[name])


@cache
def get_setting_schemas() -> dict[str, Mapping[str, Any]]:
    """The JSON schema of every setting, with its description and its default."""
    properties: dict[str, dict[str, Any]] = TypeAdapter(Context).json_schema()["properties"]
    return {
        name: schema | {"description": " ".join(schema.get("description", "").split())}
        for name, schema in properties.items()
    }


@cache
def get_setting_types() -> dict[str, Any]:
    """The annotated type of every setting."""
    return typing.get_type_hints(Context, include_extras=True)


def check_setting(name: str, value: Any) -> None:
    """Raise a `SetupError` if the value has the wrong type or is out of range.

    Numbers and flags may stand for each other: 1 for True, and True for 1. Other types are not converted.
    """
    try:
        get_validator(name).validate_python(value, strict=not isinstance(value, int))  # True and False are int, too
    except ValidationError:
        raise SetupError(f"Setting {name}={value!r} does not fit; give {describe_values(name)}.") from None


def make_setting_checks() -> dict[str, Callable[[Any], None]]:
    """{setting: a function that raises `SetupError` for a value in a file that does not fit}."""

    def check(name: str, value: Any) -> None:
        if isinstance(value, dict | list) and name != "where":
            raise SetupError(f"Setting {name} does not fit; give {describe_values(name)}.")
        check_setting(name, value)
        if name == "where":
            parse_where(value)

    return {part.name: partial(check, part.name) for part in fields(Context)}


def describe_values(name: str) -> str:
    """The values that fit a setting, in words.

    >>> describe_values("k"), describe_values("timeout"), describe_values("ranking")
    ('a whole number from 1 to 1000', 'a number above 0', 'one of: eager, lazy')
    """
    schema = get_validator(name).json_schema()
    return ", or ".join(describe_type(item) for item in reversed(schema.get("anyOf", [schema])))


def describe_type(schema: Mapping[str, Any]) -> str:
    """The values that a JSON schema of one type allows, in words."""
    if "enum" in schema:
        return f"one of: {', '.join(schema['enum'])}"
    if "examples" in schema:
        return " or ".join(schema["examples"])
    type_words = {
        "array": "a list",
        "integer": "a whole number",
        "number": "a number",
        "boolean": "true or false",
        "null": "none",
    }
    least, most, above = (schema.get(bound) for bound in ("minimum", "maximum", "exclusiveMinimum"))
    bounds = f" above {above}" if above is not None else ""
    if least is not None:
        bounds = f" from {least} on" if most is None else f" from {least} to {most}"
    return type_words.get(schema.get("type", ""), "a text" if schema.get("type") == "string" else "a mapping") + bounds


def is_optional(name: str) -> bool:
    """Whether a setting may be None."""
    type_ = get_setting_types()[name]
    return type(None) in get_args(get_args(type_)[0] if get_origin(type_) is Annotated else type_)


def parse_setting(name: str, text: str) -> Any:
    """The value of a setting from its text in --set or in the environment, converted to its type and checked.

    >>> parse_setting("k", "3")
    3
    """
    setting_names = {part.name for part in fields(Context)}
    if name not in setting_names:
        if name in INDEX_SETTINGS:
            raise SetupError(
                f"{name}={text} is a setting of an index, not of a method; name its collection: --collection NAME, or "
                "concat[collection=NAME]."
            )
        raise SetupError(f"There is no setting {name!r}; the settings are: {', '.join(sorted(setting_names))}.")
    if text.lower() in ("none", "") and is_optional(name):
        return None
    try:
        return get_validator(name).validate_python(text)
    except ValidationError:
        raise SetupError(f"Setting {name}={text} does not fit; give {describe_values(name)}.") from None


def make_context(settings: Mapping[str, str], **values: Any) -> Context:
    """A context from settings as texts, such as those of --set, and from typed values.

    If both give a setting, the text wins. A value of None counts as not given.
    """
    parsed_settings = {name: parse_setting(name, text) for name, text in settings.items()}
    return Context(**{name: value for name, value in values.items() if value is not None} | parsed_settings)


def get_context(runtime: Runtime[Context]) -> Context:
    """The settings of a node's run: its context, or what `adopt_context` finds if that is no `Context`."""
    return runtime.context if isinstance(runtime.context, Context) else adopt_context(runtime.context)


def adopt_context(context: Any = None) -> Context:
    """The settings of a run without a `Context` of its own.

    context: None, a mapping of settings, or what a graph around this one has as its context. Its entries or attributes
    with the names of settings are the settings. What it does not give comes from `configurable` of the run's config,
    else it is the default. Other names belong to the graph around, and say nothing here. Raises SetupError for a value
    that does not fit.
    """
    names = [setting.name for setting in fields(Context)]
    values = {name: value for name, value in read_configurable().items() if name in names}
    if isinstance(context, Mapping):
        values |= {name: context[name] for name in names if name in context}
    elif context is not None:
        values |= {name: getattr(context, name) for name in names if hasattr(context, name)}
    try:
        return Context(**values)
    except SetupError as error:
        raise SetupError(
            f"{error} The value comes from the context of the graph around this one, or from config['configurable']; "
            "in a node of your own, call this graph with a context of its own, context=quorum.Context(...)."
        ) from None


def read_configurable() -> Mapping[str, Any]:
    """The entry `configurable` of the config of the run that executes this code; empty outside a run."""
    try:
        return get_config().get("configurable") or {}
    except RuntimeError:
        return {}


def count_passages_to_find(context: Context) -> int:
    """How many passages a search finds: k, or more for a reranker to choose k from.

    >>> count_passages_to_find(Context(k=3)), count_passages_to_find(Context(k=3, reranker="reader"))
    (3, 20)
    """
    if context.reranker is None:
        return context.k
    return max(context.k, context.rerank_from or min(MAX_PASSAGES, max(4 * context.k, FEWEST_TO_RERANK)))


def get_filter_spec(context: Context) -> str:
    """The context filter as the setting context_filter names it, such as "embedded" or "llm:MODEL".

    If the user chose none, it is "embedded" for the embedded model, and "llm", the chat model itself, for any other.
    """
    return context.context_filter or ("embedded" if context.model == "embedded" else "llm")


def get_filter_model(context: Context) -> str | BaseChatModel | None:
    """The chat model that copies out the sentences to keep; None for a filter that scores sentences instead."""
    kind, _, name = get_filter_spec(context).partition(":")
    if kind == "llm":
        return name or context.model
    return f"{kind}:{name}" if kind == "transformers" and name else None
