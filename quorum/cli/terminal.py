"""What leaves to a terminal: texts of documents, models and servers must not control it.

A terminal takes ESC and other control characters for orders: they can write to the clipboard (OSC 52), rename the
window, hide or rewrite what stands on the screen. So everything that a command prints passes through one of two
places: the standard streams (`escape_streams`), or a console of rich (`make_console`), which adds its own colours after
the text has been escaped.
"""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO, cast

if TYPE_CHECKING:
    from rich.console import Console

# All control characters but tab and line feed: C0, DEL and C1. A carriage return before a line feed is left, too.
CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]|\r(?!\n)")


def escape_controls(text: str) -> str:
    r"""The text with its control characters written as \uXXXX, which is valid in JSON, too.

    >>> print(escape_controls("\x1b]52;c;aGk=\x07 red"))
    \u001b]52;c;aGk=\u0007 red
    """
    return CONTROL.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


class EscapingStream:
    """A text stream that escapes the control characters of what is written to it. raw: the stream below it."""

    def __init__(self, raw: TextIO) -> None:
        self.raw = raw

    def write(self, text: str) -> int:
        self.raw.write(escape_controls(text))
        return len(text)

    def writelines(self, lines: list[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.raw, name)


@contextmanager
def escape_streams() -> Iterator[None]:
    """While the `with` block runs, the standard output and the standard error escape control characters."""
    streams = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (cast("TextIO", EscapingStream(stream)) for stream in streams)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = streams


def make_console(stream: TextIO, width: int | None = None) -> "Console":
    """A console that escapes the control characters of what it prints, but not its own colours."""
    from rich.console import Console, ConsoleOptions, ConsoleRenderable, RenderableType, RenderHook, RenderResult
    from rich.segment import Segment

    class Escaped:
        """What a renderable prints, with escaped control characters."""

        def __init__(self, renderable: RenderableType) -> None:
            self.renderable = renderable

        def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
            for segment in console.render(self.renderable, options):
                if segment.control:  # the console's own, such as moving the cursor of a progress bar
                    yield segment
                else:
                    yield Segment(escape_controls(segment.text), segment.style)

    class EscapeAll(RenderHook):
        def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
            return [Escaped(renderable) for renderable in renderables]

    raw = stream.raw if isinstance(stream, EscapingStream) else stream
    console = Console(file=raw, width=width, markup=False, emoji=False, highlight=False)
    console.push_render_hook(EscapeAll())
    return console
