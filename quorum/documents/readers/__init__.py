"""One reader for each type of file, found by the end of the file's name.

A reader is a module of this folder with `read(data: bytes, name: str) -> Document`. It is imported when the first file
of its type is read. `add_reader` adds a reader in this process; installed packages can bring readers (docs/plugins.md).
"""

from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from quorum.core import plugins
from quorum.core.errors import SetupError
from quorum.documents.advice import refuse_type
from quorum.documents.document import Document, Unreadable

Reader = Callable[[bytes, str], Document]

SUFFIXES_OF_MODULE = {
    "plain_text": (".txt", ".text", ".log"),
    "markdown": (".md", ".markdown", ".mdown", ".mkd"),
    "restructured_text": (".rst", ".rest"),
    "web_page": (".html", ".htm", ".xhtml"),
    "pdf": (".pdf",),
    "word": (".docx", ".docm"),
    "open_document": (".odt", ".ods", ".odp"),
    "rich_text": (".rtf",),
    "slides": (".pptx", ".pptm"),
    "sheets": (".xlsx", ".xlsm"),
    "delimited_text": (".csv", ".tsv", ".tab"),
    "ebook": (".epub",),
    "mail": (".eml",),
    "outlook": (".msg",),
    "json_file": (".json",),
    "notebook": (".ipynb",),
    "source_code": (
        *(".py", ".pyi", ".js", ".mjs", ".cjs", ".jsx", ".ts", ".tsx", ".java", ".kt", ".kts", ".scala", ".go", ".rs"),
        *(".c", ".h", ".cc", ".cpp", ".cxx", ".hpp", ".hh", ".cs", ".rb", ".php", ".swift", ".m", ".r", ".jl", ".lua"),
        *(".pl", ".sh", ".bash", ".zsh", ".ps1", ".bat", ".sql", ".yaml", ".yml", ".toml", ".ini", ".cfg", ".conf"),
        *(".properties", ".proto", ".graphql", ".tf", ".vue", ".svelte", ".css", ".scss", ".ex", ".exs", ".erl", ".hs"),
        *(".clj", ".dart", ".nix", ".tex", ".xml"),
    ),
}
TEXT_READERS = ("plain_text", "markdown", "restructured_text", "delimited_text", "json_file", "source_code")
# {suffix: reader}. Our readers are names of modules of this folder; those of `add_reader` are functions.
READERS: dict[str, str | Reader] = {
    suffix: module for module, suffixes in SUFFIXES_OF_MODULE.items() for suffix in suffixes
}


def add_reader(suffix: str, reader: Reader) -> None:
    """Use `reader` for files whose names end in `suffix` (".abc"), in this process.

    A reader is chosen by what follows the last dot of a file's name, so ".abc.gz" raises `SetupError`.
    """
    if not has_one_dot_at_beginning(suffix):
        raise SetupError(
            f"A reader's suffix must begin with a dot and have no other dot, but {suffix!r} was given; give for "
            "example '.abc'."
        )
    READERS[suffix.lower()] = reader


def has_one_dot_at_beginning(suffix: str) -> bool:
    """Whether a file's name can have this suffix (`Path.suffix`).

    >>> has_one_dot_at_beginning(".abc"), has_one_dot_at_beginning(".abc.gz"), has_one_dot_at_beginning("abc")
    (True, False, False)
    """
    return len(suffix) > 1 and Path(f"name{suffix}").suffix == suffix


def list_readers() -> dict[str, str | Reader]:
    """The end of a file's name -> its reader. Our readers come first, then those of installed packages."""
    return plugins.add_plugins(plugins.READER_GROUP, READERS, check_reader)


def check_reader(name: str, value: object) -> str | Reader:
    """Check a reader of an installed package: `name` must be a suffix such as ".abc", under which the package registers
    the reader, and `value` a function of a file's bytes and its name. Returns `value`.
    """
    if not has_one_dot_at_beginning(name) or name != name.lower():
        raise TypeError(
            f"a reader's suffix must be in lower case, begin with a dot and have no other dot, such as .abc, but it is "
            f"{name!r}"
        )
    if not callable(value):
        raise TypeError(f"expected a function of a file's bytes and its name, found {value!r}")
    return value


def find_reader(suffix: str) -> str | Reader | None:
    """The reader for names that end in `suffix`. Installed packages are searched only if we have no such reader."""
    return READERS.get(suffix) or list_readers().get(suffix)


def has_reader(path: Path) -> bool:
    """Whether there is a reader for files of this name."""
    return bool(path.suffix) and find_reader(path.suffix.lower()) is not None


def is_text_file(path: Path) -> bool:
    """Whether a file is read as the text that it is, without unpacking: its passages take many times its size."""
    return find_reader(path.suffix.lower()) in TEXT_READERS if path.suffix else False


def load_reader(path: Path) -> Reader:
    """The reader for a file, by its name. Raises `Unreadable` if there is none."""
    kind = path.suffix.lower()
    reader_entry = find_reader(kind) if kind else None
    if reader_entry is None:
        raise Unreadable(refuse_type(kind))
    if isinstance(reader_entry, str):
        read: Reader = import_module(f"{__name__}.{reader_entry}").read
        return read
    return reader_entry
