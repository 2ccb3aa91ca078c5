"""The conversation of `quorum chat`: its exchanges, and the commands that begin with a slash."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from rich.text import Text

from quorum.cascades.composed_file import is_composed_file_name
from quorum.cli.phase_line import PhaseLine
from quorum.cli.show import format_headline, format_quote, format_result, make_stdout_console
from quorum.cli.systems import choose_method_with_systems
from quorum.core.bracketed_settings import split_brackets
from quorum.core.context import Context, parse_setting
from quorum.core.conversation import UNSURE_NOTE
from quorum.core.errors import SetupError
from quorum.core.files import expand_home
from quorum.core.text import format_count
from quorum.evaluation.shown.headline import list_sources, make_headline

if TYPE_CHECKING:
    from quorum.api.stream import Event
    from quorum.core.state import Result
    from quorum.evaluation.shown.support import ShownResult
    from quorum.graphs.catalogue import Method

COMMAND_HELP = """\
/method NAME      ask another method; NAME may have settings: concat[k=3]; without NAME: print the current one
/k N              passages per query
/set KEY=VALUE    any other setting
/sources          the passages behind the last answer, and its calls and tokens
/history          the conversation so far
/new              forget the conversation so far
/save FILE        write the conversation: Markdown, or JSON if the name ends in .json
/quit             end (also Ctrl-D)"""


@dataclass(frozen=True)
class Exchange:
    """The question as the user typed it, the method that answered it, and the result."""

    question: str
    method: str
    result: "ShownResult"

    @property
    def answer(self) -> str:
        return make_headline(self.result).text

    @property
    def shown_answer(self) -> str:
        """The answer as people see it, with a warning if it needs one."""
        return make_headline(self.result).shown_text

    @property
    def understood_as(self) -> str | None:
        """The question that the method answered, if it differs from the typed one; else None."""
        understood = self.result.get("question")
        return str(understood) if understood and understood != self.question else None


@dataclass
class Conversation:
    """The exchanges so far, and the settings of the next question.

    own_systems: the user's own question-answering systems as NAME=SPEC. A method that `quorum compose` wrote may ask
    them in its stages.
    saved_files: the files that this conversation wrote.
    """

    method: "Method"
    context: Context
    own_systems: Sequence[str] = ()
    exchanges: list[Exchange] = field(default_factory=list)
    saved_files: set[Path] = field(default_factory=set)
    is_over: bool = False

    def __post_init__(self) -> None:
        # The property `graph` raises `SetupError` if a composed method needs a system that the user did not name.
        self.graph = self.method.graph

    async def ask(self, question: str) -> None:
        """Answer a question, print the answer, and add the exchange to the conversation.

        Prints how a follow-up question was understood, and the answer as it arrives. Then come, if there are any, a
        note about the question, what was searched for the answer unknown, the sentence that supports the answer, and
        the answer's sources.
        """
        from quorum.api.stream import answer_and_report
        from quorum.evaluation.shown.support import add_supporting_statement_and_language_note

        history = [
            turn
            for earlier in self.exchanges
            for turn in (
                {"role": "user", "content": earlier.question},
                {"role": "assistant", "content": earlier.answer},
            )
        ]
        console, printer = make_stdout_console(), AnswerPrinter(question)
        try:
            result = await answer_and_report(question, self.graph, self.context, printer.print_event, history=history)
        finally:
            printer.line.clear()
        exchange = Exchange(
            question, self.method.name, await add_supporting_statement_and_language_note(question, result, self.context)
        )
        self.exchanges.append(exchange)
        headline = make_headline(exchange.result)
        if not printer.has_answer:
            console.print(format_headline(headline), crop=False)
            if headline.answer_text is not None:
                console.print(Text(headline.answer_text))
        else:  # the answer has been printed while it was written
            console.print("" if headline.is_sure else f"\n{UNSURE_NOTE}")
        for remark in (exchange.result.get("note"), exchange.result.get("search_note")):
            if remark:
                console.print(Text(remark, style="dim"))
        if headline.quote is not None:
            console.print(*format_quote(headline, colours=console.color_system is not None), sep="\n")
        if headline.badge == "none":
            console.print(Text(headline.badge_text, style="dim"))
        for source in name_sources(exchange.result):
            console.print(Text(f"  {source}", style="dim"))

    def run_command(self, line: str) -> None:
        """Run a line that begins with a slash. Raises `SetupError` for an unknown command or a bad argument."""
        name, _, argument = line.partition(" ")
        run = self.commands.get(name)
        if run is None:
            raise SetupError(f"There is no command {name}; the commands are: {', '.join(self.commands)}.")
        run(argument.strip())

    @property
    def commands(self) -> dict[str, Callable[[str], None]]:
        return {
            "/help": lambda _: print(COMMAND_HELP),
            "/method": self.choose_method,
            "/k": lambda text: self.change_setting("k", text),
            "/set": lambda text: self.change_setting(*split_setting(text)),
            "/sources": self.print_sources,
            "/history": self.print_history,
            "/new": lambda _: self.exchanges.clear(),
            "/save": self.save,
            "/quit": self.quit,
        }

    def choose_method(self, name: str) -> None:
        """If a name is given, ask that method from now on; settings in its brackets also hold for the methods after it,
        as those of /set do. In any case, print the current method.
        """
        from quorum.cli.ask import check_collection_exists

        if name:
            own_systems = self.own_systems if is_composed_file_name(split_brackets(name)[0]) else None
            method, context = choose_method_with_systems(name, own_systems, self.context)
            check_collection_exists(method.graph, context)
            self.method, self.graph, self.context = method, method.graph, context
            for setting in split_brackets(name)[1]:
                print(f"{setting} is {getattr(context, setting)}")
        print(f"{self.method.name}: {self.method.summary}")

    def change_setting(self, name: str, text: str) -> None:
        """Change a setting for the next questions."""
        self.context = replace(self.context, **{name: parse_setting(name, text)})
        print(f"{name} is {getattr(self.context, name)}")

    def print_sources(self, _: str) -> None:
        """Print the last result as `quorum ask` does."""
        if not self.exchanges:
            raise SetupError("Nothing was asked yet; ask a question first.")
        exchange, console = self.exchanges[-1], make_stdout_console()
        has_colours = console.color_system is not None
        console.print(format_result(exchange.result, exchange.method, colours=has_colours), crop=False)

    def print_history(self, _: str) -> None:
        """Print all questions and answers."""
        for exchange in self.exchanges:
            print(f"> {exchange.question}\n{exchange.shown_answer}")

    def quit(self, _: str) -> None:
        self.is_over = True

    def save(self, name: str) -> None:
        """Write the conversation to a file. A file that this conversation did not write is never replaced."""
        if not name:
            raise SetupError("/save needs a file; write for example: /save talk.md")
        path = expand_home(name)
        if path.exists() and path.resolve() not in self.saved_files:
            raise SetupError(f"{path} exists; give another name.")
        text = self.render_json() if path.suffix.lower() == ".json" else self.render_markdown()
        partial_file = path.with_name(f"{path.name}.part")
        try:
            partial_file.write_text(text, encoding="utf-8")
            partial_file.replace(path)
        except OSError as error:
            raise SetupError(f"{path} cannot be written ({error.strerror}); give another name.") from None
        self.saved_files.add(path.resolve())
        print(f"written to {path}")

    def render_json(self) -> str:
        """Every exchange with its whole result."""
        exchanges = [
            {
                "question": exchange.question,
                "method": exchange.method,
                "answer": exchange.answer,
                "result": exchange.result,
            }
            for exchange in self.exchanges
        ]
        return json.dumps({"exchanges": exchanges}, ensure_ascii=False, indent=2) + "\n"

    def render_markdown(self) -> str:
        """Questions as headings, answers with their sources below."""
        parts = []
        for exchange in self.exchanges:
            understood = [f"*Understood as: {exchange.understood_as}*"] if exchange.understood_as else []
            sources = name_sources(exchange.result)
            parts += [
                f"## {exchange.question}",
                *understood,
                exchange.shown_answer,
                *(["\n".join(sources)] if sources else []),
            ]
        return "\n\n".join(parts) + "\n"


@dataclass
class AnswerPrinter:
    """Prints the pieces of an answer as they arrive.

    The first piece waits for the second: an answer that comes in one piece is printed with the result, which says
    whether it needs a warning. question: as the user typed it. has_answer: whether a piece of the answer has been
    printed; first_piece: the piece that waits, or empty.
    """

    question: str
    has_answer: bool = False
    first_piece: str = ""
    line: PhaseLine = field(default_factory=PhaseLine)

    def print_event(self, event: "Event") -> None:
        """Print how a follow-up question was understood, and each piece of the answer; a terminal shows the phase until
        then.
        """
        from quorum.api.stream import AnswerText, NodeFinished

        # The node stand_alone rewrites a follow-up question so that it can be understood without the conversation. An
        # empty `inside` means that the node belongs to no subgraph.
        if isinstance(event, NodeFinished) and (event.node, event.inside) == ("stand_alone", ()):
            understood = event.update.get("question", self.question)
            if understood != self.question:
                self.line.clear()
                make_stdout_console().print(Text(f"({understood})", style="dim"))
        elif isinstance(event, AnswerText):
            if not self.has_answer and (not self.first_piece or event.replaces):
                self.first_piece = event.text
            elif event.text or event.replaces:
                self.line.clear()
                # A piece that replaces the earlier ones begins the answer anew, on a new line.
                text = f"\n{event.text}" if event.replaces else self.first_piece + event.text
                self.has_answer, self.first_piece = True, ""
                make_stdout_console().print(Text(text, style="bold"), end="", soft_wrap=True)
        if not self.has_answer:
            self.line.show(event)


def split_setting(text: str) -> tuple[str, str]:
    """Split 'k=10' into ('k', '10')."""
    name, equals, value = (part.strip() for part in text.partition("="))
    if not equals or not name:
        raise SetupError(f"/set {text!r} cannot be read; write for example: /set temperature=0.7")
    return name, value


def name_sources(result: "Result") -> list[str]:
    """A numbered line for each passage that was read, first those that support the answer; equal ones are listed once.

    The passages that an answer cites have the numbers of its marks.
    """
    sources, left_out = list_sources(result)
    cited = [f"{source.number}. {source.name}" for source in sources if source.number is not None]
    names = dict.fromkeys(source.name for source in sources if source.number is None)
    if cited:
        return [*cited, *(f"-  {name}" for name in names)]
    more = [f"and {format_count(left_out, 'more passage')}"] if left_out else []
    return [*(f"{number}. {name}" for number, name in enumerate(names, start=1)), *more]
