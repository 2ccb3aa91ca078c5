"""Makes links, pictures and HTML in a model's Markdown harmless, also while the text is still coming.

A client loads a picture as soon as it shows an answer, and thereby tells another server what the model was told to put
into the picture's address; a link may hide where it leads. So a backslash is put before the "(" of a link, the ":" of a
link's definition and the "<" of a tag. The reader then sees the whole address. Marks such as [1] and code stay as they
are. Text counts as code only where every client takes it for code: in a fence that is not indented, with no indented
one before it in the text, or between backticks on one line, in a paragraph without other backticks and outside tables.
"""

import re
from collections.abc import Iterator

FENCE = re.compile(r"(`{3,})[^`\r\n]*|(~{3,})[^\r\n]*")
INNER_FENCE = re.compile(r"[\s>*+\-\d.)]+(?:```|~~~)")  # indented, or in a list or quotation
LONGEST_CODE_SPAN = 1000  # characters that are held back until a code span ends
LINE_END = re.compile(r"[\r\n]")
NO_FENCE = (0, "")
PLAIN_TEXT = re.compile(r"[^\\`\]<\r\n]+")


def make_harmless(markdown: str) -> str:
    r"""A whole text, made harmless.

    >>> print(make_harmless("Since 1931 [1]. ![map](http://example.org/?q=secret) `a[0](b)` <b>"))
    Since 1931 [1]. ![map]\(http://example.org/?q=secret) `a[0](b)` \<b>
    """
    text = HarmlessText()
    return text.add(markdown) + text.end()


class HarmlessText:
    """A text that comes in pieces. Only what may become a link, a tag or code is held back until more has come."""

    def __init__(self) -> None:
        self.pending = ""  # held back
        self.line = ""  # what has been read of the line before `pending`
        self.fence = ""  # the characters that opened the block of code that is being read
        self.may_be_in_fence = False  # a fence before was indented, so the next may open a block of code or close one
        self.is_unsure = False  # a backtick in this paragraph has no partner on its line, so no span counts as code
        self.is_after_return = False
        self.is_whole = False

    def add(self, piece: str) -> str:
        """Read the next piece. Returns the text that can be shown now."""
        self.pending += piece
        return "".join(self.read())

    def end(self) -> str:
        """The rest, at the end of the text."""
        self.is_whole = True
        return "".join(self.read())

    def read(self) -> Iterator[str]:
        """Yield the parts of `pending` for which it is clear what they are."""
        while self.pending:
            part = (self.read_code if self.fence else self.read_markdown)()
            if part is None:
                return
            size, shown = part
            self.note_line(self.pending[:size])
            self.pending = self.pending[size:]
            yield shown

    def note_line(self, text: str) -> None:
        """Remember the line so far. An empty line ends a paragraph, a line like the opening one a block of code."""
        is_second_half, self.is_after_return = text == "\n" and self.is_after_return, text == "\r"
        if text not in ("\n", "\r"):
            self.line += text
            return
        if is_second_half:  # of one line end, not an empty line
            return
        stripped = self.line.strip(" \t")
        if self.fence:
            indent = len(self.line) - len(self.line.lstrip(" "))
            if indent < 4 and len(stripped) >= len(self.fence) and not stripped.strip(self.fence[0]):
                self.fence = ""
        elif INNER_FENCE.match(self.line):
            self.may_be_in_fence = True
        elif not self.may_be_in_fence and (match := FENCE.fullmatch(self.line)):
            self.fence = match[1] or match[2]
        if not stripped:
            self.is_unsure = False
        self.line = ""

    def read_code(self) -> tuple[int, str]:
        """(size, text) of the next part of a block of code, which is shown as it is."""
        end = LINE_END.search(self.pending)
        size = len(self.pending) if end is None else end.start() or 1
        return size, self.pending[:size]

    def read_markdown(self) -> tuple[int, str] | None:
        """(size, what is shown) of the next part; None if more must come first."""
        text = self.pending
        may_open_fence = not self.line and not self.may_be_in_fence and text[0] in "`~"
        if may_open_fence and (fence := self.read_fence()) != NO_FENCE:
            return fence
        if plain := PLAIN_TEXT.match(text):
            return plain.end(), plain[0]
        if text[0] == "`":
            return self.read_backticks()
        if text[0] in "\r\n":
            return 1, text[0]
        if len(text) == 1:
            return (1, text) if self.is_whole else None
        following = text[1]
        if text[0] == "\\":
            return (1, "\\") if following in "\r\n" else (2, text[:2])
        if text[0] == "]" and following in "(:":
            return 2, f"]\\{following}"
        if text[0] == "<" and (following.isalpha() or following in "/!?"):
            return 1, "\\<"
        return 1, text[0]

    def read_fence(self) -> tuple[int, str] | None:
        """(size, text) of a line that opens a block of code; None if more must come first;
        NO_FENCE if it opens none.
        """
        end = LINE_END.search(self.pending)
        line = self.pending if end is None else self.pending[: end.start()]
        if FENCE.fullmatch(line) and (end is not None or self.is_whole):
            return len(line), line
        may_become_fence = FENCE.fullmatch(line) or not line.strip(line[0])
        return None if end is None and not self.is_whole and may_become_fence else NO_FENCE

    def read_backticks(self) -> tuple[int, str] | None:
        """(size, text) of a span of code, or of backticks that open none; None if more must come first."""
        text = self.pending
        size = len(text) - len(text.lstrip("`"))
        end = LINE_END.search(text)
        line_end = len(text) if end is None else end.start()
        is_open = end is None and not self.is_whole
        if is_open and size == len(text):
            return None
        if not self.is_unsure:
            for run in re.finditer("`+", text[size:line_end]):
                if len(run[0]) == size:
                    stop = size + run.end()
                    if is_open and stop == len(text):
                        return None
                    if "|" not in text[:stop]:
                        return stop, text[:stop]
                    break
            else:
                if is_open and len(text) < LONGEST_CODE_SPAN:
                    return None
            self.is_unsure = True
        return size, text[:size]
