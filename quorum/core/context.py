"""Context: every knob of every method, decided in one place (argument > environment QUORUM_* > default)."""

# ruff: noqa: RUF009  `knob` makes a dataclass field

import os
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Annotated, Any, Literal, get_args, get_origin

from langchain_core.embeddings import Embeddings
from langchain_core.language_models import BaseChatModel
from langchain_core.retrievers import BaseRetriever
from langgraph.runtime import Runtime
from pydantic import Field, InstanceOf, TypeAdapter, ValidationError
from pydantic.json_schema import SkipJsonSchema

from quorum.core.errors import SetupError

MOST_PASSAGES, MOST_STEPS, MOST_ROUNDS = 1000, 20, 10  # what k, max_steps and iterations may be
MOST_SUPERSTEPS = MOST_PASSAGES + 10  # in a graph with a loop, and in each graph inside it: a listwise reranker, too


def knob(name: str, default: Any) -> Any:
    """A field whose default is the environment's QUORUM_NAME, else `default`."""
    return field(default_factory=lambda: from_environment(name, default))


def from_environment(name: str, default: Any) -> Any:
    given = os.environ.get(f"QUORUM_{name.upper()}")
    return default if given is None or given == "" else parse_value(name, given)


def about(text: str, default: Any = None, **bounds: Any) -> Any:
    """What Studio's form shows for a knob."""
    extra = {} if default is None else {"default": default}
    return Field(description=text, json_schema_extra=extra, **bounds)


@dataclass(frozen=True, kw_only=True)
class Context:
    """Settings of one run. Numbers outside their range and unknown choices are a `SetupError`."""

    model: Annotated[
        str | SkipJsonSchema[InstanceOf[BaseChatModel]],
        about("Chat model: embedded, openai:NAME, or provider:NAME", "embedded"),
    ] = knob("model", "embedded")
    temperature: Annotated[float, about("Sampling temperature", 0.0, ge=0, le=2)] = knob("temperature", 0.0)
    top_p: Annotated[float, about("Nucleus sampling", 1.0, ge=0, le=1)] = knob("top_p", 1.0)
    samples: Annotated[int, about("Outputs per prompt", 1, ge=1, le=100)] = knob("samples", 1)
    seed: Annotated[int, about("Seed of all sampling", 0)] = knob("seed", 0)
    retriever: Annotated[
        str | SkipJsonSchema[InstanceOf[BaseRetriever]],
        about("Retriever: hybrid, chroma, bm25 or colbert:MODEL", "hybrid"),
    ] = knob("retriever", "hybrid")
    collection: Annotated[str, about("Collection in the store", "sample")] = knob("collection", "sample")
    store: Annotated[str, about("Folder of the Chroma store, or http://host:port", ".quorum")] = knob(
        "store", ".quorum"
    )
    embeddings: Annotated[
        str | SkipJsonSchema[InstanceOf[Embeddings]],
        about("Embeddings: embedded, huggingface:MODEL or provider:NAME", "embedded"),
    ] = knob("embeddings", "embedded")
    k: Annotated[int, about("Passages per query", 5, ge=1, le=MOST_PASSAGES)] = knob("k", 5)
    retrieve: Annotated[bool, about("direct, cot: with passages, or from memory", True)] = knob("retrieve", True)
    reranker: Annotated[
        Literal["rationale", "question", "listwise", "summary"] | None,
        about("Order the passages anew: by SuRe's rationale, the question's embedding, the model's list, a summary"),
    ] = knob("reranker", None)
    context_filter: Annotated[
        str | None,
        about("Shorten the passages before they are read: embedded, llm, llm:MODEL or transformers:PATH"),
    ] = knob("context_filter", None)
    filter_mode: Annotated[
        Literal["full", "psg", "filco", "silver"],
        about("filco: all text, whole passages, sentences, or the sentences that gold answers choose", "filco"),
    ] = knob("filter_mode", "filco")
    verifier: Annotated[
        str | SkipJsonSchema[InstanceOf[BaseChatModel]] | None,
        about("sure: chat model for validity and ranking; empty: the model"),
    ] = knob("verifier", None)
    candidates: Annotated[int, about("sure and relatives: candidate answers", 2, ge=2, le=26)] = knob("candidates", 2)
    ranking: Annotated[
        Literal["eager", "lazy"],
        about("sure: rank at once, or only when ranking can change the answer", "eager"),
    ] = knob("ranking", "eager")
    sure_parts: Annotated[
        Literal["summaries", "ranking", "validity+ranking"],
        about("sure: answer from the summaries, or choose by ranking, or by validity and ranking", "validity+ranking"),
    ] = knob("sure_parts", "validity+ranking")
    queries: Annotated[
        Literal["q+ex+in", "q+ex", "q+in", "ex+in", "q", "ex", "in"],
        about("blendfilter: queries by question, external and internal knowledge", "q+ex+in"),
    ] = knob("queries", "q+ex+in")
    filter_turns: Annotated[int, about("blendfilter: judge and choose in two calls, or in one", 2, ge=1, le=2)] = knob(
        "filter_turns", 2
    )
    filter_union: Annotated[bool, about("blendfilter: unite the passages first, filter once", False)] = knob(
        "filter_union", False
    )
    iterations: Annotated[int, about("iter_retgen: rounds of retrieval and answer", 2, ge=1, le=MOST_ROUNDS)] = knob(
        "iterations", 2
    )
    max_steps: Annotated[int, about("react, self_ask: searches at most", 5, ge=1, le=MOST_STEPS)] = knob("max_steps", 5)
    examples: Annotated[
        str | None,
        about("File of demonstrations (question, answer, rationale, passages, steps); empty: built in"),
    ] = knob("examples", None)
    answer_type: Annotated[
        Literal["short", "yes_no", "label", "dialogue", "long"], about("What is asked for", "short")
    ] = knob("answer_type", "short")
    speculative: Annotated[bool, about("concat_pf: both rounds at once (faster, more tokens)", False)] = knob(
        "speculative", False
    )
    vote: Annotated[
        Literal["all", "staged"], about("post_fusion: ask all passages, or stop once the vote is decided", "all")
    ] = knob("vote", "all")
    context_window: Annotated[
        int | None, about("Tokens a prompt may have; empty: the model's profile, else 8192", ge=256)
    ] = knob("context_window", None)
    timeout: Annotated[float, about("Seconds for one model call", 60.0, gt=0)] = knob("timeout", 60.0)
    attempts: Annotated[int, about("Tries of one model call", 8, ge=1)] = knob("attempts", 8)
    concurrency: Annotated[int, about("Model calls at once", 16, ge=1)] = knob("concurrency", 16)
    requests_per_minute: Annotated[int | None, about("Limit on calls", ge=1)] = knob("requests_per_minute", None)
    tokens_per_minute: Annotated[int | None, about("Limit on tokens", ge=1)] = knob("tokens_per_minute", None)
    prompts: Annotated[
        str | dict[str, str] | None, about("Prompt overrides: a folder of NAME.md files, or name -> text")
    ] = knob("prompts", None)
    journal: Annotated[
        str | None,
        about("File that keeps model replies, 'off' for none; empty: journal.sqlite in the local store folder"),
    ] = knob("journal", None)

    def __post_init__(self) -> None:
        for part in fields(self):
            check(part.name, getattr(self, part.name))


def adapter(name: str) -> TypeAdapter[Any]:
    """The validator of one knob."""
    if name not in ADAPTERS:
        ADAPTERS[name] = TypeAdapter(typing.get_type_hints(Context, include_extras=True)[name])
    return ADAPTERS[name]


ADAPTERS: dict[str, TypeAdapter[Any]] = {}


def check(name: str, value: Any) -> None:
    try:
        adapter(name).validate_python(value, strict=not isinstance(value, int))
    except ValidationError as error:
        raise SetupError(
            f"Setting {name}={value!r} does not fit: {reason(error)}. {choices_of(name)}".strip()
        ) from None


def reason(error: ValidationError) -> str:
    return "; ".join(dict.fromkeys(item["msg"][0].lower() + item["msg"][1:] for item in error.errors()))


def choices_of(name: str) -> str:
    """'Choose one of all, staged.' for a knob with choices."""
    hint = typing.get_type_hints(Context)[name]
    choices = next((part for part in (hint, *get_args(hint)) if get_origin(part) is Literal), None)
    return f"Choose one of: {', '.join(map(str, get_args(choices)))}." if choices else ""


def parse_value(name: str, text: str) -> Any:
    """The typed value of `text` for knob `name`, as written in --set and in the environment."""
    known = {part.name for part in fields(Context)}
    if name not in known:
        raise SetupError(f"There is no setting {name!r}; the settings are: {', '.join(sorted(known))}.")
    hint = typing.get_type_hints(Context)[name]
    if text.lower() in ("none", "") and type(None) in get_args(hint):
        return None
    convert: Callable[[str], Any] = next(
        (kind for kind in (bool, int, float) if hint is kind or kind in get_args(hint)), str
    )
    if convert is bool:
        convert = to_bool
    try:
        value = convert(text)
    except ValueError:
        raise SetupError(f"Setting {name}={text!r} does not fit: expected {hint_name(hint)}.") from None
    check(name, value)
    return value


def to_bool(text: str) -> bool:
    words = {"true": True, "yes": True, "1": True, "on": True, "false": False, "no": False, "0": False, "off": False}
    if text.lower() not in words:
        raise ValueError(text)
    return words[text.lower()]


def hint_name(hint: Any) -> str:
    kinds = [part for part in (get_args(hint) or (hint,)) if part is not type(None)]
    return {"bool": "true or false", "int": "a whole number", "float": "a number"}.get(kinds[0].__name__, "text")


def context_from(settings: Mapping[str, str], **given: Any) -> Context:
    """A context from key=value texts (as in --set) and typed values; None among `given` means not given."""
    typed = {name: parse_value(name, text) for name, text in settings.items()}
    return Context(**{name: value for name, value in given.items() if value is not None} | typed)


def settings(runtime: Runtime[Context]) -> Context:
    """The run's context; a graph may be invoked without one."""
    return runtime.context or Context()


def filter_of(context: Context) -> str:
    """The context's filter; none chosen: the embedded one beside the embedded model, else the chat model itself."""
    return context.context_filter or ("embedded" if context.model == "embedded" else "llm")


def writing_filter(context: Context) -> str | BaseChatModel | None:
    """The chat model that writes what the context's filter keeps; null where the filter is one that scores."""
    kind, _, name = filter_of(context).partition(":")
    if kind == "llm":
        return name or context.model
    return f"{kind}:{name}" if kind == "transformers" and name else None
