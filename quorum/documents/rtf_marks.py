"""Marks the structure of Rich Text (RTF) before striprtf reads its text, which keeps no tables, headings and notes.

RTF is a text of control words (`\\par`) and groups in braces (specification 1.9.1 of Microsoft). A group takes its
properties from the one around it, and what it changes ends with it.
"""

import re
from dataclasses import dataclass, replace

# Characters of Unicode's private area that stand for structure in the text that striprtf returns.
CELL_END, ROW_END, TABLE_LINE, PARAGRAPH_END = "\ue0f0", "\ue0f1", "\ue0f2", "\ue0f3"
JOINS_LEFT, JOINS_ABOVE = "\ue0fd", "\ue0fe"  # before CELL_END: the cell continues the one to its left, or above it
HEADING_ENDS = "\ue0f4\ue0f5\ue0f6\ue0f7\ue0f8\ue0f9\ue0fa\ue0fb\ue0fc"  # of level 1 to 9
MARKS = CELL_END + ROW_END + TABLE_LINE + PARAGRAPH_END + JOINS_LEFT + JOINS_ABOVE + HEADING_ENDS

TOKEN = re.compile(r"\\([a-zA-Z]{1,32})(-?\d{1,10})? ?|(\\'[0-9a-fA-F]{2}|\\[^a-zA-Z])|([{}])")
NON_ASCII = re.compile("[\x80-\U0010ffff]")
STYLE = re.compile(r"\{(?:\\\*)?\\s(\d{1,5})\b((?:[^{}]|\{[^{}]*\})*)\}")
OUTLINE_LEVEL = re.compile(r"\\outlinelevel(\d)")
HEADING_STYLE = re.compile(r"heading (\d)\s*;?\s*\Z", re.IGNORECASE)
DROPPED = ("pict", "objdata", "fldinst", "themedata", "datastore", "colorschememapping", "blipuid")  # no text to read
SET_APART = ("footnote", "shptxt")  # notes and text boxes follow the paragraph in which they stand
PARAGRAPH_ENDS = ("par", "sect", "page")
JOINS = {"clmrg": JOINS_LEFT, "clvmrg": JOINS_ABOVE}
TINY_LETTERS = 2  # half points: letters of at most one point are no letters to read
# Character sets of fonts for whose encodings Python has no name that striprtf knows -> the nearest that it has.
OTHER_CHARSETS = {78: 128, 79: 136, 80: 129, 81: 178, 82: 177, 85: 134, 86: 238, 87: 204, 88: 222, 89: 238}


@dataclass(frozen=True)
class State:
    """What a group's properties say of its text."""

    is_hidden: bool = False
    is_tiny: bool = False
    in_table: bool = False
    level: int = 0  # of a heading; 0: none
    depth: int = 0
    apart_from: int = 0  # the depth of the group that is set apart or dropped, 0 outside of one


class Marker:
    """Rewrites a text of RTF: its structure as MARKS, its hidden text and its pictures left out.

    is_html: whether the text is HTML that Outlook wrote into RTF; then the text that comes out is HTML. is_cut_off:
    whether the file ends within a group, after `mark`.
    """

    def __init__(self, rtf: str) -> None:
        self.rtf = escape_characters(rtf)
        self.levels = read_heading_styles(self.rtf)
        self.is_html = "\\fromhtml" in self.rtf[:2000]
        self.out: list[str] = []
        self.outer_outputs: list[tuple[list[str], str]] = []
        self.apart: list[str] = []
        self.state = State()
        self.is_cut_off = False
        self.joins: list[str] = []  # of each cell of a row: its joins
        self.next_join, self.cell_number = "", 0

    def mark(self) -> str:
        """The text, to be read by striprtf."""
        stack: list[State] = []
        position = 0
        while token := TOKEN.search(self.rtf, position):
            self.write(self.rtf[position : token.start()])
            position = token.end()
            word, number, symbol, brace = token.groups()
            if brace == "{":
                stack.append(self.state)
                self.state = replace(self.state, depth=self.state.depth + 1)
                self.out.append("{")
            elif brace:
                self.close_group(stack.pop() if stack else State())
            elif word == "bin":
                position += max(0, int(number or 0))
            elif word:
                self.add_word(word, int(number) if number else None, f"\\{word}{number or ''} ")
            elif symbol == "\\*":
                self.out.append("" if self.keeps_group(position) else symbol)
            else:
                self.write(symbol)
        self.write(self.rtf[position:])
        self.is_cut_off = bool(stack)
        while stack:  # the file was cut off
            self.close_group(stack.pop())
        return "".join(self.out)

    def write(self, text: str) -> None:
        """Add text, unless nobody sees it."""
        if not (self.state.is_hidden or self.state.is_tiny):
            self.out.append(text)

    def keeps_group(self, position: int) -> bool:
        """Whether a group that programs may leave out (`\\*`) is read: a note, or Outlook's HTML."""
        word = TOKEN.match(self.rtf, position)
        return word is not None and (word[1] in SET_APART or (self.is_html and word[1] == "htmltag"))

    def close_group(self, outer: State) -> None:
        if self.state.apart_from and self.state.apart_from != outer.apart_from and self.outer_outputs:
            text, kind = "".join(self.out), self.outer_outputs[-1][1]
            self.out = self.outer_outputs.pop()[0]
            if kind in SET_APART and not any(outer_kind in DROPPED for _, outer_kind in self.outer_outputs):
                self.apart.append(f"{{\\plain {text}{show(PARAGRAPH_END)}}}")
        if self.state.depth == 1:  # the end of the file's text
            self.out += [show(PARAGRAPH_END) if self.apart else "", *self.apart]
            self.apart = []
        self.state = outer
        self.out.append("}")

    def add_word(self, word: str, number: int | None, token: str) -> None:
        """A control word, as it stands or as a mark."""
        state = self.state
        if (word in DROPPED or word in SET_APART) and state.apart_from == state.depth:
            return  # its group is set apart already
        if word in DROPPED or word in SET_APART:
            self.outer_outputs.append((self.out, word))
            self.out = []
            self.state = replace(state, apart_from=state.depth, in_table=False, level=0)
        elif self.is_html:
            self.add_word_of_html(word, number, token)
        elif word == "pard":
            self.state = replace(state, in_table=False, level=0)
            self.out.append(token)
        elif word == "intbl":
            self.state = replace(state, in_table=True)
        elif word in ("s", "outlinelevel"):
            level = self.levels.get(number or 0, 0) if word == "s" else (number or 0) + 1
            self.state = replace(state, level=level if level <= len(HEADING_ENDS) else 0)
        elif word in PARAGRAPH_ENDS:
            self.end_paragraph(word)
        elif word in ("v", "deleted"):
            self.state = replace(state, is_hidden=number != 0)
        elif word == "fs":
            self.state = replace(state, is_tiny=number is not None and number <= TINY_LETTERS)
        elif word == "plain":
            self.state = replace(state, is_hidden=False, is_tiny=False)
            self.out.append(token)
        elif not self.add_word_of_table(word):
            self.add_other_word(word, number, token)

    def add_word_of_table(self, word: str) -> bool:
        """Whether a control word belongs to a table's rows and cells."""
        if word == "trowd":
            self.joins, self.next_join, self.cell_number = [], "", 0
        elif word in JOINS:
            self.next_join = JOINS[word]
        elif word == "cellx":
            self.joins.append(self.next_join)
            self.next_join = ""
        elif word == "cell":
            join = self.joins[self.cell_number] if self.cell_number < len(self.joins) else ""
            self.out.append((show(join) if join else "") + show(CELL_END))
            self.cell_number += 1
        elif word == "row":
            self.out.append(show(ROW_END))
            self.cell_number = 0
        else:
            return False
        return True

    def add_word_of_html(self, word: str, number: int | None, token: str) -> None:
        """A control word of Outlook's HTML, whose tags are in groups, and which marks what is there twice."""
        if word == "htmlrtf":
            self.state = replace(self.state, is_hidden=number != 0)
        elif word != "htmltag" and not self.state.is_hidden:
            self.add_other_word(word, number, token)

    def end_paragraph(self, word: str) -> None:
        level = self.state.level
        end = TABLE_LINE if self.state.in_table else HEADING_ENDS[level - 1] if level else PARAGRAPH_END
        self.out.append(show(end))
        if self.apart and not self.outer_outputs and not self.state.in_table:
            self.out += self.apart
            self.apart = []

    def add_other_word(self, word: str, number: int | None, token: str) -> None:
        """A control word that striprtf reads, without those on which it would fail."""
        if word == "nestcell":
            self.write("\\tab ")
        elif word == "u":
            if number is not None and abs(number) < 0x10000 and chr(number % 0x10000) not in MARKS:
                self.write(token)
        elif word == "fcharset":
            self.out.append(f"\\fcharset{OTHER_CHARSETS.get(number or 0, number or 0)} ")
        elif word not in ("uc", "pntext") or (word == "uc" and number is not None):
            self.out.append(token)


def show(mark: str) -> str:
    """A mark as RTF: in a group of its own, so that no character after it counts as its replacement."""
    return f"{{\\uc0\\u{ord(mark)} }}"


def escape_characters(rtf: str) -> str:
    """Bytes beyond ASCII as RTF writes them, so that they are read in their font's encoding."""
    return NON_ASCII.sub(lambda character: escape_character(ord(character[0])), rtf)


def escape_character(code: int) -> str:
    if code < 0x100:
        return f"\\'{code:02x}"
    units = chr(code).encode("utf-16-be", "surrogatepass")
    return "{\\uc0" + "".join(f"\\u{int.from_bytes(units[i : i + 2])} " for i in range(0, len(units), 2)) + "}"


def read_heading_styles(rtf: str) -> dict[int, int]:
    """The number of a paragraph style -> the level of its headings, from 1."""
    begin = rtf.find("{\\stylesheet")
    levels = {}
    for style in STYLE.finditer(rtf, begin, begin + 1_000_000) if begin >= 0 else ():
        outline, name = OUTLINE_LEVEL.search(style[2]), HEADING_STYLE.search(style[2])
        if name or outline:
            level = int(name[1]) if name else int(outline[1]) + 1 if outline else 0
            levels[int(style[1])] = level
        elif len(levels) > 10_000:
            break
    return levels
