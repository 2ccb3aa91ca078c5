"""Writes formulas as one line of text: MathML (web pages, EPUB) and Office's own form (docx)."""

from collections.abc import Callable
from typing import Any

OFFICE = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
TEX = ("application/x-tex", "application/tex", "latex", "tex")


def format_mathml(element: Any) -> str:
    """A formula in MathML: its TeX if the page has it, else its symbols with "^", "_" and "/".

    >>> from lxml import etree
    >>> format_mathml(etree.fromstring("<math><msup><mi>h</mi><mn>1.5</mn></msup><mo>=</mo><mn>2</mn></math>"))
    'h^1.5=2'
    """
    for annotation in element.iter("{*}annotation"):
        if (annotation.get("encoding") or "").lower() in TEX and (annotation.text or "").strip():
            return " ".join((annotation.text or "").split())
    return str(element.get("alttext") or "").strip() or " ".join(write_mathml(element).split())


def write_mathml(element: Any) -> str:
    name = get_name(element)
    if name in ("annotation", "annotation-xml"):
        return ""
    parts = [write_mathml(child) for child in element if isinstance(child.tag, str)]
    if write := MATHML.get(name):
        return write(parts)
    return "".join(part for part in [(element.text or "").strip(), *parts] if part)


def format_office_formula(element: Any) -> str:
    """A formula of an Office file (`m:oMath`)."""
    return " ".join(write_office(element).split())


def write_office(element: Any) -> str:
    """The text of an element; its parts stand in elements named for what they are, such as the numerator `m:num`."""
    name = get_name(element)
    if name == "t":
        return element.text or ""
    if name.endswith("Pr"):  # properties
        return ""
    parts = {get_name(child): write_office(child) for child in element if isinstance(child.tag, str)}
    base, up, down = parts.get("e", ""), parts.get("sup", ""), parts.get("sub", "")
    if name == "f":
        return write_fraction([parts.get("num", ""), parts.get("den", "")])
    if name in ("sSup", "sSub", "sSubSup", "sPre"):
        return write_scripts(base, down, up)
    if name == "nary":
        sign = element.find(f"{OFFICE}naryPr/{OFFICE}chr")
        return f"{write_scripts('∫' if sign is None else sign.get(f'{OFFICE}val', '∫'), down, up)} {base}"
    if name == "rad":
        return write_root(base, parts.get("deg", ""))
    inner = "".join(write_office(child) for child in element if isinstance(child.tag, str))
    if name == "d":
        return f"({', '.join(write_office(child) for child in element if get_name(child) == 'e')})"
    if name == "mr":
        return f"{inner}; "
    return f"{inner} " if name == "e" and get_name(element.getparent()) == "mr" else inner


def get_name(element: Any) -> str:
    return str(element.tag).rpartition("}")[2]


def bracket(text: str) -> str:
    """A part of a formula, in brackets if it has more than one symbol or number."""
    return text if text.replace(".", "").isalnum() or len(text) < 2 else f"({text})"


def write_scripts(base: str, down: str, up: str) -> str:
    return base + (f"_{bracket(down)}" if down else "") + (f"^{bracket(up)}" if up else "")


def write_fraction(parts: list[str]) -> str:
    return f"{bracket(parts[0])}/{bracket(parts[1])}" if len(parts) == 2 else "".join(parts)


def write_root(base: str, degree: str = "") -> str:
    return f"√({base})" if not degree else f"({base})^(1/{degree})"


def take(parts: list[str], place: int) -> str:
    return parts[place] if place < len(parts) else ""


MATHML: dict[str, Callable[[list[str]], str]] = {
    "mfrac": write_fraction,
    "msup": lambda parts: write_scripts(take(parts, 0), "", take(parts, 1)),
    "mover": lambda parts: write_scripts(take(parts, 0), "", take(parts, 1)),
    "msub": lambda parts: write_scripts(take(parts, 0), take(parts, 1), ""),
    "munder": lambda parts: write_scripts(take(parts, 0), take(parts, 1), ""),
    "msubsup": lambda parts: write_scripts(take(parts, 0), take(parts, 1), take(parts, 2)),
    "munderover": lambda parts: write_scripts(take(parts, 0), take(parts, 1), take(parts, 2)),
    "msqrt": lambda parts: write_root("".join(parts)),
    "mroot": lambda parts: write_root(take(parts, 0), take(parts, 1)),
    "mtr": lambda parts: f"{' '.join(parts)}; ",
}
