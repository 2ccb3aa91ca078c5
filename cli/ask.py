"""`quorum ask`: one question, its answer and the evidence."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli.options import AsJson, Collection, Embeddings, K, Model, Retriever, Settings, Store
from core.errors import SetupError

if TYPE_CHECKING:
    from cli.trace import Step, Tracer
    from core.context import Context
    from core.state import Passage, Result


def ask(
    question: Annotated[str, typer.Argument(metavar="QUESTION", help="What you want to know.", show_default=False)],
    method: Annotated[
        str, typer.Option("--method", metavar="NAME", help="Strategy; see: quorum methods.")
    ] = "concat_pf",
    collection: Collection = None,
    passages: Annotated[
        Path | None,
        typer.Option("--passages", metavar="FILE", help="Answer from these passages (JSON lines of id, title, text)."),
    ] = None,
    model: Model = None,
    retriever: Retriever = None,
    k: K = None,
    store: Store = None,
    embeddings: Embeddings = None,
    settings: Settings = None,
    json: AsJson = False,
    trace: Annotated[
        bool, typer.Option("--trace", help="Print the run as a tree: nodes, prompts, replies, tokens, time.")
    ] = False,
    stream: Annotated[bool, typer.Option("--stream", help="Tell of every node as it ends (on stderr).")] = False,
) -> None:
    """Answer a question from a collection (by default the sample) or from given passages."""
    import asyncio

    from cli.settings import made_context

    context = made_context(
        settings, model=model, retriever=retriever, collection=collection, k=k, store=store, embeddings=embeddings
    )
    given = given_passages(passages, collection)
    tracer = started_tracer(stream) if trace or stream else None
    if given is None:
        make_sample(context)
    try:
        result = asyncio.run(run(valid_text(question), method, context, given, tracer))
    finally:
        if trace and tracer is not None:
            print_trace(tracer.root, to_stderr=json)
    print_result(result, method, as_json=json)


def make_sample(context: "Context") -> None:
    """The sample collection, if the question goes there and it is not made yet; this takes some seconds once."""
    from retrievers.names import SAMPLE

    if context.collection != SAMPLE or not isinstance(context.retriever, str):
        return
    from cli.progress import progress_bar
    from retrievers.collections import ensure_sample

    with progress_bar() as progress:
        ensure_sample(context, lambda done, total, path: progress("index the sample", done, total))


async def run(
    question: str, method: str, context: "Context", given: "list[Passage] | None", tracer: "Tracer | None"
) -> "Result":
    from graphs import answer

    return await answer(question, method, context, given=given, config={"callbacks": [tracer]} if tracer else None)


def given_passages(file: Path | None, collection: str | None) -> "list[Passage] | None":
    """The passages of --passages; None when a collection is searched."""
    if file is None:
        return None
    from core.data import read_passages

    if collection is not None:
        raise SetupError(
            f"Both --passages {file} and --collection {collection} are given; name one place to answer from."
        )
    passages = read_passages(file)
    if not passages:
        raise SetupError(f"{file} holds no passages; expected JSON lines of id, title and text.")
    return passages


def valid_text(text: str) -> str:
    """The argument with bytes that are no UTF-8 replaced."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def started_tracer(stream: bool) -> "Tracer":
    from cli.show import stderr
    from cli.trace import Tracer, headline, told

    console = stderr()

    def tell(step: "Step") -> None:
        if step.kind == "node":
            console.print(headline(step).append("  " + ", ".join(told(step)), style="not bold"), soft_wrap=True)

    return Tracer(tell) if stream else Tracer()


def print_trace(root: "Step", *, to_stderr: bool) -> None:
    from cli.show import stderr, stdout
    from cli.trace import tree

    console = stderr() if to_stderr else stdout()
    for step in root.steps:
        console.print(tree(step))
    console.print()


def print_result(result: "Result", method: str, *, as_json: bool) -> None:
    if as_json:
        from json import dumps

        typer.echo(dumps(result, ensure_ascii=False, indent=2))
        return
    from cli.show import shown_result, stdout

    console = stdout()
    console.print(shown_result(result, method, colours=console.color_system is not None))
