"""What `quorum doctor` checks. Each check gives findings, and never raises for what it finds."""

import platform
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path
from typing import Any, Literal

from quorum.core.context import Context
from quorum.core.errors import QuorumError
from quorum.core.text import format_count

DISTRIBUTION = "quorum-rag"
OLDEST_PYTHON = (3, 11)
SHOWN_PACKAGES = ("langgraph", "langchain-core", "langchain-openai", "chromadb", "onnxruntime", "langsmith")
LEAST_SPACE = 500_000_000  # bytes free on the store's disk
CALL_TEXT = "Reply with one word: yes."
EMBEDDED_READER = "embedded, the small reader that ships with Quorum and needs neither a network nor a key,"
IN_PROCESS = ("embedded", "scripted", "transformers")  # providers of models that run in this process
State = Literal["ok", "note", "fault"]


@dataclass(frozen=True)
class Finding:
    """What one check found. state: sound (ok), worth knowing (note) or wrong (fault); advice: what to do."""

    state: State
    subject: str
    text: str
    advice: str = ""


def check_place(settings: Sequence[str] | None, options: dict[str, Any]) -> tuple[Context | None, list[Finding]]:
    """(the settings, the findings of everything but the model). The settings are None if they cannot be read.

    A mistake on the command line raises `SetupError`; one in a file or in the environment is a finding.
    """
    from quorum.cli.settings import read_context, read_options

    read_options(settings, options)  # a mistake on the command line
    findings = [check_python(), *check_packages()]
    try:
        context = read_context(settings, **options)
    except QuorumError as error:
        return None, [*findings, Finding("fault", "settings", str(error), "correct this, and run quorum doctor again")]
    return context, [*findings, describe_settings(), *check_store(context)]


def check_python() -> Finding:
    """The version of Python, and the platform."""
    text = f"{platform.python_version()} on {platform.system()} {platform.machine()}, {sys.executable}"
    if sys.version_info < OLDEST_PYTHON:
        return Finding("fault", "python", text, "install Python 3.11 or later")
    return Finding("ok", "python", text)


def check_packages() -> Iterator[Finding]:
    """The versions of the packages that Quorum needs, against those that it was tried with."""
    from packaging.requirements import Requirement

    try:
        requirements = [Requirement(text) for text in metadata.requires(DISTRIBUTION) or ()]
        own_version = metadata.version(DISTRIBUTION)
    except metadata.PackageNotFoundError:
        yield Finding("note", "packages", "Quorum runs from a folder, without being installed, so none is checked")
        return
    needed = [requirement for requirement in requirements if "extra" not in str(requirement.marker or "")]
    versions = {requirement.name: find_version(requirement.name) for requirement in needed}
    shown = ", ".join(f"{name} {versions[name]}" for name in SHOWN_PACKAGES if versions.get(name))
    wrong = [item for item in needed if not is_within(item, versions[item.name])]
    if not wrong:
        yield Finding("ok", "packages", f"quorum {own_version}; {shown}; all {len(needed)} within the tried versions")
    for item in wrong:
        text = f"{item.name} is {versions[item.name] or 'missing'}, outside the tried versions ({item.specifier})"
        yield Finding("fault", "packages", text, f"pip install '{item.name}{item.specifier}'")
    yield from check_extras(requirements)


def check_extras(requirements: Sequence[Any]) -> Iterator[Finding]:
    """Packages of the extras that are installed in a version that was not tried."""
    for item in requirements:
        version = find_version(item.name)
        if "extra" in str(item.marker or "") and version is not None and not is_within(item, version):
            text = f"{item.name} {version} is outside the tried versions ({item.specifier}); an extra uses it"
            yield Finding("note", "packages", text, f"pip install '{item.name}{item.specifier}'")


def find_version(name: str) -> str | None:
    """The installed version of a package; None if it is missing."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def is_within(requirement: Any, version: str | None) -> bool:
    return version is not None and requirement.specifier.contains(version, prereleases=True)


def describe_settings() -> Finding:
    """Where the settings come from."""
    from quorum.core.settings.setting_sources import list_settings, read_files

    rows = [row for row in list_settings(read_files(), {}) if row.source != "default"]
    sources = ", ".join(dict.fromkeys(row.source for row in rows))
    text = f"{format_count(len(rows), 'setting')} from {sources}" if rows else "all by default"
    return Finding("ok", "settings", f"{text}; quorum config shows them")


def check_store(context: Context) -> Iterator[Finding]:
    """Whether the store can be read, its collections are whole, and the settings' collection and embeddings fit."""
    from quorum.retrievers.store import open_store

    is_remote = "://" in context.store
    try:
        store = open_store(context.store)
        names = store.list_collections()
        findings = [finding for name in names for finding in check_collection(store, name)]
    except (QuorumError, OSError) as error:
        yield Finding(
            "fault", "store", str(error), "" if is_remote else "quorum serve and ask need a store they can read"
        )
        return
    place = context.store if is_remote else str(Path(context.store).absolute())
    if not names:
        advice = "quorum index PATH -c NAME reads your documents; until then the sample that ships with Quorum is asked"
        yield Finding("note", "store", f"{place} holds no collection yet", advice)
    else:
        passages = sum(store.count_passages(name) for name in names)
        text = f"{place}: {format_count(len(names), 'collection')}, {format_count(passages, 'passage')}"
        yield Finding("ok", "store", text)
    yield from findings
    yield from check_choice(context, names)
    if not is_remote:
        yield from check_space(Path(context.store))


def check_collection(store: Any, name: str) -> Iterator[Finding]:
    """Whether a collection is whole."""
    info = store.fetch_info(name)
    if store.has_damaged_vectors(name):
        text = f"{name}: a crash damaged its vectors"
        yield Finding("fault", "collection", text, f"index any document into it: quorum index PATH -c {name}")
    elif info.is_being_changed:
        text = f"{name}: indexing was stopped before its end, or goes on"
        yield Finding("note", "collection", text, "run the same quorum index command again, which continues it")


def check_choice(context: Context, names: Sequence[str]) -> Iterator[Finding]:
    """Whether the collection that would be asked exists and was made with the embeddings of the settings."""
    from quorum.models import get_embedding_name
    from quorum.retrievers.choose_collection import locate_collection
    from quorum.retrievers.collection_names import get_located_collection
    from quorum.retrievers.store import open_store

    if not names or not isinstance(context.retriever, str):
        return
    try:
        located = locate_collection(context)
        name = get_located_collection(located)
        open_store(located.store).check_embedding(name, get_embedding_name(context.embeddings))
    except QuorumError as error:
        is_choice = context.collection is None and len(names) > 1
        yield Finding("note" if is_choice else "fault", "collection", str(error))
        return
    yield Finding("ok", "collection", f"{name} is asked")


def check_space(folder: Path) -> Iterator[Finding]:
    """Whether the store's disk has room."""
    present = next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())
    free = shutil.disk_usage(present).free
    if free < LEAST_SPACE:
        yield Finding("note", "disk", f"{free / 1e6:,.0f} MB free where the store lies", "make room before you index")


def is_call_needed(context: Context) -> bool:
    """Whether a check of the model sends a request to a server, which may cost money."""
    return isinstance(context.model, str) and context.model.partition(":")[0] not in IN_PROCESS


def describe_cost(context: Context) -> str:
    """What the one call costs: 'One call to The model ... : about 8 tokens in and a few out, about $0.00001.'"""
    from quorum.evaluation.metrics.prices import Prices
    from quorum.models.token_estimate import estimate_tokens

    tokens = estimate_tokens(CALL_TEXT)
    price = Prices().find_price(context.model)
    cost = "no price is known" if price is None else f"about ${price.compute_cost(tokens, 10):.6f}"
    return (
        f"one call to {context.model}: about {tokens} tokens in and a few out (more if the model thinks first), {cost}."
    )


def check_model_once(context: Context, *, may_call: bool, is_refused: bool) -> list[Finding]:
    """Whether the model can be used and, if a call is allowed, answers."""
    from quorum.cli.interruptible import run_interruptible
    from quorum.models.chat import chat_model

    subject = EMBEDDED_READER if context.model == "embedded" else str(context.model)
    try:
        if is_call_needed(context):
            chat_model(context.model, context)
            if not may_call:
                advice = "" if is_refused else "quorum doctor --yes calls it"
                return [Finding("note", "model", f"{subject} can be set up; it was not called", advice)]
        seconds, text = run_interruptible(ask_once(context))
    except QuorumError as error:
        return [
            Finding("fault", "model", str(error), "quorum config shows the address and where the settings are from")
        ]
    return [Finding("ok", "model", f"{subject} answers in {seconds:.1f} s ({text!r})")]


async def ask_once(context: Context) -> tuple[float, str]:
    """(seconds, reply) of one call that is tried once. The embedded reader reads an answer out of a passage."""
    from quorum.models.call import call

    lone = replace(context, attempts=1, journal="off", calibration=None)
    if context.model == "embedded":
        from time import perf_counter

        from quorum.graphs import answer

        started_at = perf_counter()
        passage: Any = {"id": "1", "title": "Vell", "text": "Ada Korn built the lighthouse of Vell."}
        result = await answer("Who built the lighthouse of Vell?", "concat", lone, given=[passage])
        return perf_counter() - started_at, result["answer"]
    [reply] = await call("doctor", CALL_TEXT, context=lone)
    return reply.seconds, " ".join(reply.text.split())[:40]
