"""MyST's additions to Markdown: roles, directives, labels and definition lists, as Sphinx reads them."""

import re

from quorum.core.sentences import make_word_set

FENCE = re.compile(r"^( {0,3})(`{3,}|~{3,}|:{3,})[ \t]*(?:\{([\w:.+-]+)\})?[ \t]*(.*)$")
# {role}`text`, {role}`text <target>`, or :role: in place of {role}; group 1 is the text. Code in double
# marks is matched whole, without a group.
ROLE = re.compile(
    r"``(?:[^`\n]|`(?!`))+``|(?:(?<!`)\{[a-zA-Z][\w:.+-]*\}|(?<![\w`]):[a-zA-Z][\w:.+-]*:)`([^`<\n]*?)\s*(?:<[^`>\n]*>)?`(?!`)"
)
LABEL = re.compile(r"^ {0,3}\([\w .:/-]{1,80}\)=[ \t]*$")
OPTION = re.compile(r"^[ \t]*:[\w-]+:")
DEFINITION = re.compile(r"^ {0,3}:[ \t]+(?=\S)")
CODE_DIRECTIVES = make_word_set("code code-block sourcecode code-cell prompt doctest testcode literalinclude")
SILENT_DIRECTIVES = make_word_set("toctree contents include index raw meta image figure-md currentmodule module")


def simplify_myst(text: str) -> str:
    """Markdown with MyST's roles replaced by their text, its directives by their title and content, and its definition
    lists by lines "term: definition". Code in fences stays as it is.

    >>> simplify_myst("See {func}`~a.b`.")
    'See a.b.'
    """
    if not any(mark in text for mark in ("}`", "`{", ":::", ":`", "\n: ", ")=")):
        return text
    lines: list[str] = []
    fences: list[tuple[str, str]] = []  # of each open fence: its mark, and what is in it (see `classify`)
    for line in text.split("\n"):
        match = FENCE.match(line)
        inner = fences[-1][1] if fences else "text"
        if match and fences and closes(match, fences[-1][0]):
            fences.pop()
            lines.append(line if inner in ("code", "options") else "")
        elif match and inner == "text" and (match[3] or match[2][0] != ":"):
            kind = classify(match[3]) if match[2][0] != ":" or match[3] in SILENT_DIRECTIVES else "text"
            fences.append((match[2], kind))
            lines += open_fence(match, kind)
        elif inner == "text":
            add_line(lines, line, is_option=bool(fences) and bool(OPTION.match(line)))
        elif inner == "code" or (inner == "options" and not OPTION.match(line)):
            fences[-1] = (fences[-1][0], "code")
            lines.append(line)
    return "\n".join(lines)


def closes(match: re.Match[str], mark: str) -> bool:
    """Whether a fence closes the one with this mark."""
    return not match[3] and not match[4].strip() and match[2][0] == mark[0] and len(match[2]) >= len(mark)


def classify(directive: str | None) -> str:
    """What is in a fence: "code", "options" (until code begins), "silent" (left out) or "text"."""
    if not directive or directive in CODE_DIRECTIVES:
        return "options" if directive else "code"
    return "silent" if directive in SILENT_DIRECTIVES else "text"


def open_fence(match: re.Match[str], kind: str) -> list[str]:
    """What replaces the first line of a fence: the line without its directive, or the title of the directive."""
    if kind in ("code", "options"):
        return [f"{match[1]}{match[2]}{match[4]}"]
    return ["", ROLE.sub(replace_role, match[4]), ""] if kind == "text" and match[4] else [""]


def add_line(lines: list[str], line: str, *, is_option: bool) -> None:
    """Add a line of text: without labels and options of directives; a definition joins the term above it."""
    if LABEL.match(line) or is_option:
        lines.append("")
        return
    line = ROLE.sub(replace_role, line)
    term = next((place for place in (-1, -2) if len(lines) >= -place and lines[place].strip()), 0)
    if term and DEFINITION.match(line) and not lines[term].startswith((" ", "\t", "#", "|")):
        lines[term] += f": {DEFINITION.sub('', line)}"
        return
    lines.append(line)


def replace_role(match: re.Match[str]) -> str:
    return match[0] if match[1] is None else match[1].lstrip("~!")
