"""Reads a command's context from its options, --set, the environment and the files of settings."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import typer

from quorum.core.context import Context, make_context, parse_setting
from quorum.core.errors import SetupError

if TYPE_CHECKING:
    from quorum.core.settings.config_files import ConfigFile

# Settings that say to whom questions and documents are sent.
RECIPIENT_SETTINGS = (
    "model",
    "verifier",
    "scorer",
    "context_filter",
    "embeddings",
    "store",
    "retriever",
    "second_retriever",
    "reranker",
    "evaluator",
)


def read_context(settings: Sequence[str] | None, **options: Any) -> Context:
    """The context from the options and the key=value texts of --set; the environment, the project's file, the user's
    file and the defaults give the rest, in this order.

    Raises `SetupError` for a text without a key or "=", for a setting that is given twice in --set, or both in --set
    and as an option, and for a file that is wrong.
    """
    from quorum.core.settings.config_files import choose_from_files, use_address
    from quorum.core.settings.setting_sources import read_files

    texts = read_settings(settings, options)
    given = {name: value for name, value in options.items() if value is not None}
    files = read_files()
    use_address(files)
    from_files = {
        name: value for name, value in choose_from_files(files).items() if name not in texts and name not in given
    }
    tell_recipients(files, from_files)
    context = make_context(texts, **from_files, **given)
    check_key_of_openai(context)
    return context


def check_named_settings(context: Context, graph: Any = None) -> None:
    """Raise `SetupError` for a model, embeddings or a retriever that does not exist or cannot be used. Called before
    the sample is indexed, which takes some seconds. graph: of the method that will be asked, if one is chosen already.
    """
    from quorum.cli.interruptible import run_interruptible
    from quorum.nodes.ask_stage import list_step_contexts
    from quorum.retrievers.check_settings import check_settings

    for step_context in list_step_contexts(getattr(graph, "cascade", None), context):
        run_interruptible(check_settings(step_context))


def check_key_of_openai(context: Context) -> None:
    """Raise `SetupError`, before anything is read or indexed, for an OPENAI_API_KEY that no header can hold, if a
    setting needs it.
    """
    specs = (context.model, context.verifier, context.embeddings, context.scorer, context.context_filter)
    if any(isinstance(spec, str) and "openai:" in spec for spec in specs):
        from quorum.models.model_spec import read_key

        read_key("OPENAI_API_KEY")


def read_settings(settings: Sequence[str] | None, options: dict[str, Any]) -> dict[str, str]:
    """The texts of --set by setting; see `read_context`."""
    chosen_settings: dict[str, str] = {}
    for item in settings or ():
        key, equals, value = (part.strip() for part in item.partition("="))
        if not equals or not key:
            raise SetupError(
                f"--set {item!r} cannot be read; write --set key=value, for example --set temperature=0.7."
            )
        if key in chosen_settings:
            raise SetupError(f"--set {key} is given twice ({chosen_settings[key]!r} and {value!r}); give it once.")
        if options.get(key) is not None:
            raise SetupError(f"Both --{key} {options[key]} and --set {key}={value} are given; give one of them.")
        chosen_settings[key] = value
    return chosen_settings


def read_options(settings: Sequence[str] | None, options: dict[str, Any]) -> dict[str, Any]:
    """The values of the command line by setting, checked."""
    texts = read_settings(settings, options)
    given = {name: value for name, value in options.items() if value is not None}
    context = make_context(texts, **given)
    return {**{name: getattr(context, name) for name in given}, **{n: parse_setting(n, t) for n, t in texts.items()}}


def tell_recipients(files: "Sequence[ConfigFile]", from_files: Mapping[str, Any]) -> None:
    """Say on stderr, once per process, to whom a project's file sends questions and documents: the file may have come
    with a folder that somebody else wrote. from_files: the settings that the files decide.
    """
    for file in files:
        told = [
            f"{name}={file.values[name]}"
            for name in RECIPIENT_SETTINGS
            if name in file.values and name in from_files and is_recipient(str(file.values[name]))
        ]
        line = f"quorum: {', '.join(told)} (from {file.path}; quorum config shows all settings)"
        if file.kind == "project" and told and line not in TOLD_LINES:
            TOLD_LINES.add(line)
            typer.echo(line, err=True)


TOLD_LINES: set[str] = set()


def is_recipient(value: str) -> bool:
    """Whether a value names a server or a provider, and not something on this machine."""
    return "://" in value or (
        ":" in value and not value.startswith(("transformers:", "huggingface:", "colbert:", "embedded", "llm:embedded"))
    )


def is_stated(name: str, settings: Sequence[str] | None) -> bool:
    """Whether the key=value texts of --set contain the setting with this name, even with its default value."""
    return name in list_stated_settings(settings)


def find_stated_task(context: Context, settings: Sequence[str] | None) -> str | None:
    """The answer type that --set states, as the task of all questions; None if it states none, or "auto": each question
    then has the task that the data give it.
    """
    is_task = is_stated("answer_type", settings) and context.answer_type != "auto"
    return context.answer_type if is_task else None


def find_stated_collection(context: Context, collection: str | None, settings: Sequence[str] | None) -> str | None:
    """The collection that the command line names: with --collection, or with --set; None if it names none. The
    environment and files of settings name one for questions without passages only.
    """
    return context.collection if collection is not None or is_stated("collection", settings) else None


def list_stated_settings(settings: Sequence[str] | None) -> frozenset[str]:
    """The names of the settings that the key=value texts of --set contain, even with their default values."""
    return frozenset(item.partition("=")[0].strip() for item in settings or ())
