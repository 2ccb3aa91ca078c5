"""`quorum ask`: one question, its answer and the evidence."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from quorum.cli.completion import complete_method
from quorum.cli.options import AsJson, Collection, Embeddings, K, Model, Retriever, Settings, Store, TitleKey, Where
from quorum.cli.systems import OwnSystems, choose_method_with_systems
from quorum.cli.withhold import (
    check_abstain_below,
    check_calibration_fits,
    print_withheld_answer,
    withhold_unsure_answer,
)
from quorum.core.errors import SetupError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from quorum.api.stream import Event
    from quorum.core.context import Context
    from quorum.core.state import Passage, Result
    from quorum.evaluation.shown.support import ShownResult
    from quorum.evaluation.shown.trace import Step, Tracer
    from quorum.graphs import Graph


def ask(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="QUESTION",
            help="What you want to know, with or without quotes; - or nothing: read it from standard input.",
            show_default=False,
        ),
    ] = None,
    method: Annotated[
        str,
        typer.Option(
            "--method",
            metavar="NAME",
            help="Method (see: quorum methods), also with settings: concat[k=3]; a cascade: 'concat>sure'; or a file "
            "of quorum compose.",
            autocompletion=complete_method,
        ),
    ] = "concat_pf",
    own_systems: OwnSystems = None,
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
    title_key: TitleKey = None,
    abstain_below: Annotated[
        float | None,
        typer.Option("--abstain-below", metavar="X", help='Answer "unknown" when the confidence is below X (0 to 1).'),
    ] = None,
    calibration: Annotated[
        Path | None,
        typer.Option(
            "--calibration", metavar="FILE", help="File of quorum calibrate; withhold answers below its threshold."
        ),
    ] = None,
    where: Where = None,
    settings: Settings = None,
    json: AsJson = False,
    trace: Annotated[
        bool, typer.Option("--trace", help="Print the run as a tree: nodes, prompts, replies, tokens, time.")
    ] = False,
    save_trace: Annotated[
        Path | None, typer.Option("--save-trace", metavar="FILE", help="Write the run to a file; see: quorum trace.")
    ] = None,
    stream: Annotated[
        bool, typer.Option("--stream", help="Print finished nodes, and the answer as it is written.")
    ] = False,
) -> None:
    """Answer a question from a collection (by default the store's only one) or from given passages."""
    from quorum.cli.interruptible import run_interruptible
    from quorum.cli.settings import check_named_settings, find_stated_collection, read_context

    question = read_question(words or ())
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
        calibration=None if calibration is None else str(calibration),
    )
    from quorum.evaluation.shown.support import add_supporting_statement_and_language_note
    from quorum.retrievers.passages import check_question

    given_passages = read_given_passages(passages, find_stated_collection(context, collection, settings))
    chosen_method, context = choose_method_with_systems(method, own_systems, context, given=given_passages is not None)
    method, graph = chosen_method.name, chosen_method.graph
    check_question(question)
    check_named_settings(context, graph)
    if abstain_below is not None:
        check_abstain_below(method, graph, context, abstain_below)
    if context.calibration is not None:
        check_calibration_fits(graph, context, abstain_below)
    write_trace = make_trace_writer(save_trace, method)
    streamed = StreamedRun() if stream else None
    tracer = make_tracer(streamed) if trace or stream or write_trace else None
    if given_passages is None:
        create_sample_if_missing(context)
        check_collection_exists(graph, context)
    is_trace_saved = True
    try:
        result = run_interruptible(answer_question(question, graph, context, given_passages, tracer, streamed))
    finally:
        if streamed is not None:
            streamed.finish()
        if tracer is not None and write_trace is not None:
            is_trace_saved = write_trace(tracer.root, question)
        if trace and tracer is not None:
            from quorum.cli.trace import print_trace

            print_trace(tracer.root, to_stderr=json)
    if abstain_below is not None:
        result = withhold_unsure_answer(result, method, abstain_below)
    if result.get("withheld") is not None:
        print_withheld_answer(result)
    shown_result = run_interruptible(
        add_supporting_statement_and_language_note(question, result, context, given_passages)
    )
    if note := shown_result.get("note"):
        typer.echo(f"quorum: {note}", err=True)
    print_result(shown_result, method, as_json=json, shows_scores=trace)
    if not is_trace_saved:
        raise typer.Exit(1)


def read_question(words: "Sequence[str]") -> str:
    """The question: the words of the command line, or standard input if they are none or a dash.

    Raises `SetupError` if there is no question.
    """
    question = " ".join(words) if words and list(words) != ["-"] else read_piped_text()
    if not question.strip():
        raise SetupError(
            "There is no question; write it after the command, as in: quorum ask Who designed the Eiffel Tower?"
        )
    return replace_invalid_bytes(question)


def read_piped_text() -> str:
    """What another program writes to standard input; "" if nothing does, or if a person would have to type it."""
    import sys

    if sys.stdin is None or sys.stdin.isatty():
        return ""
    try:
        return sys.stdin.read().strip()
    except (OSError, ValueError):  # it is closed
        return ""


def create_sample_if_missing(context: "Context") -> None:
    """Create the sample collection if it is missing and would be searched. This takes some seconds."""
    from quorum.retrievers.choose_collection import is_sample_asked, locate_collection

    if not isinstance(context.retriever, str) or not is_sample_asked(context):
        return
    from quorum.cli.progress import show_progress_bar

    with show_progress_bar() as progress:
        locate_collection(context, lambda done, total, path: progress("index the sample", done, total))


def check_collection_exists(graph: "Graph", context: "Context") -> None:
    """Raise `SetupError`, before the first call, if the context names a collection that does not exist and that the
    method would search.
    """
    from quorum.graphs.choose_method import reads_passages
    from quorum.retrievers.choose_collection import find_present_revision

    if context.collection and isinstance(context.retriever, str) and reads_passages(graph):
        find_present_revision(context)


def get_collection_to_ask(context: "Context") -> str:
    """The name of the collection that the context asks. Raises `SetupError` if the store holds several."""
    from quorum.retrievers.choose_collection import choose_only_collection

    return context.collection or choose_only_collection(context.store)


async def answer_question(
    question: str,
    graph: "Graph",
    context: "Context",
    passages: "list[Passage] | None",
    tracer: "Tracer | None",
    streamed: "StreamedRun | None" = None,
) -> "Result":
    """Ask the method with this graph, and return its result. streamed: prints the run on stderr while it goes on; else
    a terminal shows what the method does.
    """
    from quorum.api.stream import answer_and_report
    from quorum.cli.phase_line import PhaseLine

    config: Any = {"callbacks": [tracer]} if tracer else None
    line = PhaseLine()
    on_event = line.show if streamed is None else streamed.print_event
    try:
        return await answer_and_report(question, graph, context, on_event, given=passages, config=config)
    finally:
        line.clear()


class StreamedRun:
    """Prints a run on stderr while it goes on: every finished node on a line, and the answer as it is written.

    A node's line waits for its event, because a tracer hears of a node before the last pieces of a text arrive.
    """

    def __init__(self) -> None:
        from quorum.cli.show import make_stderr_console

        self.console = make_stderr_console()
        self.waiting_steps: list[Step] = []
        self.is_in_text = False  # the last piece of the answer did not end its line

    def add_step(self, step: "Step") -> None:
        """A step that has finished; only nodes are printed."""
        if step.kind == "node":
            self.waiting_steps.append(step)

    def print_event(self, event: "Event") -> None:
        """Print a piece of the answer, or the nodes up to the one that has finished."""
        from quorum.api.stream import AnswerText, NodeFinished

        if isinstance(event, AnswerText):
            typer.echo(f"\n{event.text}" if event.replaces else event.text, nl=False, err=True)
            self.is_in_text = not event.text.endswith("\n")
        elif isinstance(event, NodeFinished):
            names = [step.name for step in self.waiting_steps]
            if event.node in names:
                self.print_steps(names.index(event.node) + 1)

    def finish(self) -> None:
        """Print what waits, and end the line."""
        self.print_steps(len(self.waiting_steps))
        self.end_line()

    def print_steps(self, count: int) -> None:
        """Print the first `count` of the steps that wait."""
        from quorum.cli.trace import format_step

        for step in self.waiting_steps[:count]:
            self.end_line()
            line = format_step(step).append("  " + ", ".join(step.changes), style="not bold")
            self.console.print(line, soft_wrap=True)
        del self.waiting_steps[:count]

    def end_line(self) -> None:
        """End the line of the answer's last piece, if it is not ended."""
        if self.is_in_text:
            typer.echo(err=True)
        self.is_in_text = False


def read_given_passages(file: Path | None, collection: str | None) -> "list[Passage] | None":
    """The passages in the file of --passages; None without that option, when a collection is searched."""
    if file is None:
        return None
    from quorum.datasets.records import read_passages

    if collection is not None:
        raise SetupError(f"Both --passages {file} and --collection {collection} are given; give one of them.")
    passages = read_passages(file)
    if not passages:
        raise SetupError(f"{file} holds no passages; expected JSON lines of id, title and text.")
    return passages


def replace_invalid_bytes(text: str) -> str:
    """A text from the command line; its bytes that are not UTF-8 are replaced."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def make_tracer(streamed: StreamedRun | None) -> "Tracer":
    """A tracer of the run; with `streamed`, that prints every finished node."""
    from quorum.evaluation.shown.trace import Tracer

    return Tracer() if streamed is None else Tracer(streamed.add_step)


def make_trace_writer(file: Path | None, method: str) -> "Callable[[Step, str], bool] | None":
    """A function that writes the run to the file of --save-trace and returns whether this succeeded.

    Returns None if no file is given. Raises `SetupError`, before the run, if the file cannot be written.
    """
    if file is None:
        return None
    from quorum.cli.saved_trace import check_writable, save_trace

    check_writable(file)
    return lambda root, question: save_trace(file, root, question, method)


def print_result(result: "ShownResult", method: str, *, as_json: bool, shows_scores: bool = False) -> None:
    """Print the result as text or as JSON. In JSON, a passage from a file also has its place and a link."""
    if as_json:
        from json import dumps

        from quorum.documents.places import describe_place, make_file_link

        passages = [
            {**passage, "where": describe_place(passage), "link": make_file_link(passage) or None}
            if describe_place(passage)
            else passage
            for passage in result.get("passages") or []
        ]
        typer.echo(dumps({**result, "passages": passages}, ensure_ascii=False, indent=2))
        return
    from quorum.cli.show import format_result, make_stdout_console

    console = make_stdout_console()
    has_colours = console.color_system is not None
    console.print(format_result(result, method, colours=has_colours, shows_scores=shows_scores), crop=False)
