"""Makes safe paths of the names of uploaded files, which are untrusted."""

import re

LONGEST_NAME = 120  # characters
MAX_NAME_BYTES = 180  # file systems allow 255, and a number may be added
MAX_FOLDERS = 20  # folders above a file; of more, the lowest are kept
BIDI_CONTROLS = r"\u200e\u200f\u202a-\u202e\u2066-\u2069"
UNSAFE_CHARACTERS = re.compile(rf"[\x00-\x1f\x7f<>:\"|?*{BIDI_CONTROLS}\ud800-\udfff]")


def clean_name(name: str) -> str:
    """The file name in a path of any operating system, without the characters that a file name should not have."""
    cleaned_name = UNSAFE_CHARACTERS.sub("", re.split(r"[/\\]", name)[-1]).strip().lstrip(".")
    if len(cleaned_name) > LONGEST_NAME or len(cleaned_name.encode()) > MAX_NAME_BYTES:
        stem, dot, suffix = cleaned_name.rpartition(".")
        cleaned_name = (
            shorten_name(stem, LONGEST_NAME - 12) + dot + shorten_name(suffix, 11)
            if dot
            else shorten_name(cleaned_name, LONGEST_NAME)
        )
    return cleaned_name or "document"


def shorten_name(name: str, longest: int) -> str:
    """The first `longest` characters of a name, or fewer if they have too many bytes."""
    byte_limit = longest * MAX_NAME_BYTES // LONGEST_NAME
    return name[:longest].encode()[:byte_limit].decode(errors="ignore")


def clean_path(path: str) -> str:
    r"""A path below a folder, of the parts of a path of any operating system.

    >>> clean_path("..\\hr/./.leave: 2026.md"), clean_path("C:\\docs\\a.txt"), clean_path("/"), clean_path("a//b")
    ('hr/leave 2026.md', 'C/docs/a.txt', 'document', 'a/b')
    """
    parts = [clean_name(part) for part in re.split(r"[/\\]", path) if part.strip() not in ("", ".", "..")]
    return "/".join(parts[-MAX_FOLDERS - 1 :]) or "document"


def make_unique(name: str, names_in_use: dict[str, int]) -> str:
    """The name, with a number if it is in use, in any letter case; it is in use from now on.

    names_in_use: {name in lower case: the last number that a file of this name got}.

    >>> used = {}
    >>> make_unique("a.txt", used), make_unique("A.txt", used), make_unique("a.txt", used)
    ('a.txt', 'A (2).txt', 'a (3).txt')
    """
    folder, slash, last = name.rpartition("/")
    stem, dot, suffix = last.partition(".")
    unique_name, number = name, names_in_use.get(name.lower(), 1)
    while unique_name.lower() in names_in_use:
        number += 1
        unique_name = f"{folder}{slash}{stem} ({number}){dot}{suffix}"
    names_in_use[name.lower()] = number
    names_in_use.setdefault(unique_name.lower(), 1)
    return unique_name
