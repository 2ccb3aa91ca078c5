"""`quorum chat`: a conversation on the terminal."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from quorum.cli.completion import complete_method
from quorum.cli.options import Collection, Embeddings, K, Model, Retriever, Settings, Store, TitleKey, Where
from quorum.cli.systems import OwnSystems, choose_method_with_systems
from quorum.core.errors import QuorumError, SetupError

if TYPE_CHECKING:
    import asyncio

    from quorum.cli.conversation import Conversation

PROMPT = "> "


def chat(
    method: Annotated[
        str,
        typer.Option(
            "--method",
            metavar="NAME",
            help="Method (see: quorum methods), also with settings: concat[k=3].",
            autocompletion=complete_method,
        ),
    ] = "concat_pf",
    collection: Collection = None,
    model: Model = None,
    retriever: Retriever = None,
    k: K = None,
    store: Store = None,
    embeddings: Embeddings = None,
    title_key: TitleKey = None,
    where: Where = None,
    settings: Settings = None,
    own_systems: OwnSystems = None,
) -> None:
    """Ask one question after another; a follow-up ("How tall is it?") is understood. /help lists the commands."""
    import asyncio

    from quorum.cli.ask import check_collection_exists, create_sample_if_missing, get_collection_to_ask
    from quorum.cli.conversation import Conversation
    from quorum.cli.settings import check_named_settings, read_context

    context = read_context(
        settings,
        where=where or None,
        model=model,
        retriever=retriever,
        collection=collection,
        k=k,
        store=store,
        embeddings=embeddings,
        title_key=title_key,
    )
    chosen_method, context = choose_method_with_systems(method, own_systems, context)
    check_named_settings(context, chosen_method.graph)
    if isinstance(context.retriever, str):
        searched = f"the collection {get_collection_to_ask(context)}"
    else:
        searched = "your retriever"
    create_sample_if_missing(context)
    check_collection_exists(chosen_method.graph, context)
    conversation = Conversation(chosen_method, context, own_systems or ())
    if sys.stdin.isatty():
        typer.echo(f"{method} over {searched}. Ask, or type /help; Ctrl-D ends.")
    has_failed = False
    with asyncio.Runner() as runner:
        while (line := read_line()) is not None:
            has_failed |= not run_line(line, conversation, runner)
            if conversation.is_over:
                break
    if has_failed and not sys.stdin.isatty():
        raise typer.Exit(1)


def read_line() -> str | None:
    """The next line that is not empty; None at the end of the input. Ctrl-C clears the line."""
    while True:
        try:
            line = input(PROMPT if sys.stdin.isatty() else "").strip()
        except EOFError:
            return None
        except KeyboardInterrupt:
            typer.echo()
            continue
        if line:
            return line


def run_line(line: str, conversation: "Conversation", runner: "asyncio.Runner") -> bool:
    """Answer a question or run a command. Returns whether it succeeded; after a failure the chat goes on."""
    from quorum.cli.ask import replace_invalid_bytes
    from quorum.cli.interruptible import run_interruptible

    try:
        if line.startswith("/"):
            conversation.run_command(line)
        else:
            run_interruptible(conversation.ask(replace_invalid_bytes(line)), runner.run)
    except (SetupError, QuorumError) as error:
        typer.echo(f"quorum: {' '.join(str(error).split())}", err=True)
        return False
    except KeyboardInterrupt:
        typer.echo("stopped", err=True)
        return False
    return True
