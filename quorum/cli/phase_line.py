"""Shows on a terminal what a method does now: "searching", "reading 3 of 5", "try 2 of 8". Elsewhere nothing."""

from typing import TYPE_CHECKING

from rich.text import Text

from quorum.cli.show import make_stderr_console

if TYPE_CHECKING:
    from rich.console import Console

    from quorum.api.events import Event

BACK_AND_CLEAR = "\r\x1b[K"


class PhaseLine:
    """A line on stderr, which is written over again and again, and gone in the end."""

    def __init__(self, console: "Console | None" = None) -> None:
        self.console = console or make_stderr_console()
        self.text = ""

    def show(self, event: "Event") -> None:
        """Show what the method does after an event; pieces of the answer take the line away."""
        from quorum.api.stream import AnswerText, NodeFinished, NodeStarted, Retrying

        if isinstance(event, NodeStarted | NodeFinished):
            self.write(event.phase)
        elif isinstance(event, Retrying):
            self.write(event.text)
        elif isinstance(event, AnswerText):
            self.clear()

    def write(self, text: str) -> None:
        if self.console.is_terminal and text != self.text:
            self.clear()
            self.text = text
            width = max(1, self.console.width - 1)
            self.console.print(Text(f"{text} ..."[:width], style="dim"), end="", soft_wrap=True)

    def clear(self) -> None:
        """Take the line away."""
        if self.text:
            self.console.file.write(BACK_AND_CLEAR)
            self.console.file.flush()
        self.text = ""
