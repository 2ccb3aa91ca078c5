"""The token file: who may ask a server, and what. It holds the hash of each token, never a token.

    {"format": "quorum tokens 1", "tokens": [
      {"name": "alice", "hash": "5f0c…", "collections": ["handbook"], "where": "team=HR", "methods": ["concat_pf"],
       "limits": {"questions_per_minute": 20, "dollars_per_day": 5}}]}

All but name and hash may be left out, which means: all that the server serves, and the server's own limits.
"""

import math
import os
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from hashlib import sha256
from json import JSONDecodeError, dumps
from pathlib import Path
from secrets import token_hex
from typing import Any, NoReturn

from filelock import FileLock, Timeout

from quorum.core.errors import SetupError
from quorum.core.files import escape_name, expand_home, explain_os_error, read_regular
from quorum.core.json_text import parse_json
from quorum.core.private_files import FILE_MODE, make_private_folder, open_private_text
from quorum.core.where import Setting, is_empty, parse_where

FORMAT_NAME = "quorum tokens 1"
NAME_PATTERN = re.compile(r"[A-Za-z][\w.-]{0,63}", re.ASCII)
RESERVED_NAMES = ("local", "owner", "health")  # of other clients, in logs and metrics
HASH_PATTERN = re.compile(r"[0-9a-f]{64}")
FIELDS = ("name", "hash", "collections", "where", "methods", "limits")
LARGEST_FILE = 10_000_000  # bytes
LOCK_SECONDS = 10.0


@dataclass(frozen=True)
class Allowance:
    """Limits of a client; None: no limit of its own."""

    questions_per_minute: int | None = None
    dollars_per_day: float | None = None


@dataclass(frozen=True)
class NamedToken:
    """An entry of the token file. collections, methods: what may be asked; None for all that the server serves.

    where: a filter that every search of this client has, beside the server's and its own.
    """

    name: str
    hash: str = field(repr=False)
    collections: tuple[str, ...] | None = None
    where: Setting = None
    methods: tuple[str, ...] | None = None
    limits: Allowance = Allowance()

    def to_json(self) -> dict[str, Any]:
        """The entry as the file holds it."""
        numbers = {name: value for name, value in vars(self.limits).items() if value is not None}
        optional: dict[str, Any] = {"collections": self.collections, "where": self.where, "methods": self.methods}
        optional["limits"] = numbers or None
        return {"name": self.name, "hash": self.hash} | {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in optional.items()
            if value is not None
        }


def derive_cookie(token: str) -> str:
    """The value of the cookie of a visitor who has shown a token; the token cannot be derived from it."""
    return sha256(b"quorum page " + token.encode()).hexdigest()


def hash_cookie(cookie: str) -> str:
    """The hash in the token file of the token with this cookie: neither token nor cookie can be derived from it.

    A token is random and long, so that a quick hash keeps it.
    """
    return sha256(b"quorum token " + cookie.encode()).hexdigest()


def hash_token(token: str) -> str:
    """The hash of a token, as the token file holds it."""
    return hash_cookie(derive_cookie(token))


def read_named_tokens(path: Path) -> list[NamedToken]:
    """The entries of a token file. Raises `SetupError` for a file that is missing, unreadable or malformed."""
    try:
        content = parse_json(read_regular(path, LARGEST_FILE))
    except FileNotFoundError:
        raise SetupError(
            f"There is no token file {escape_name(path)}; make it with: quorum token add NAME "
            f"--tokens {escape_name(path)}"
        ) from None
    except OSError as error:
        raise explain_os_error(error, f"The token file {escape_name(path)}") from error
    except (JSONDecodeError, UnicodeDecodeError) as error:
        reason = f"{error.msg}, line {error.lineno}" if isinstance(error, JSONDecodeError) else "it is not UTF-8"
        refuse(path, f"it is no JSON ({reason})")
    if not isinstance(content, dict) or content.get("format") != FORMAT_NAME:
        refuse(path, f'it does not say {{"format": "{FORMAT_NAME}"}}')
    entries = content.get("tokens")
    if not isinstance(entries, list) or content.keys() - {"format", "tokens"}:
        refuse(path, 'beside its format it has one list, "tokens"')
    tokens = [read_entry(entry, number, path) for number, entry in enumerate(entries, start=1)]
    for key in ("name", "hash"):
        values = [getattr(token, key) for token in tokens]
        twice = next((token.name for token in tokens if values.count(getattr(token, key)) > 1), None)
        if twice is not None:
            refuse(path, f"the {key} of {twice!r} stands there twice")
    return tokens


def read_entry(entry: Any, number: int, path: Path) -> NamedToken:
    """One entry. Raises `SetupError`; a word that is no field is refused, because it could be a misspelt limit."""
    fields = entry if isinstance(entry, dict) else {}
    name, hash_ = fields.get("name"), fields.get("hash")
    place = f"its entry {number}"
    if not isinstance(name, str) or not is_name(name):
        refuse(path, f'{place} needs a "name": a letter, then up to 63 letters, digits, "_", "." or "-"')
    place = f"the entry of {name!r}"
    unknown = next((key for key in fields if key not in FIELDS), None)
    if unknown is not None:
        refuse(path, f"{place} has the unknown field {str(unknown)[:40]!r}; the fields are: {', '.join(FIELDS)}")
    if not isinstance(hash_, str) or not HASH_PATTERN.fullmatch(hash_):
        refuse(path, f'{place} needs a "hash", as quorum token add writes it')
    try:
        parse_where(fields.get("where"))
    except SetupError as error:
        refuse(path, f"of {place}: {str(error).removesuffix('.')}")
    return NamedToken(
        name,
        hash_,
        read_names(fields.get("collections"), "collections", place, path),
        None if is_empty(fields.get("where")) else fields["where"],
        read_names(fields.get("methods"), "methods", place, path),
        read_limits(fields.get("limits"), place, path),
    )


def is_name(text: str) -> bool:
    """Whether a token may have this name."""
    return bool(NAME_PATTERN.fullmatch(text)) and text not in RESERVED_NAMES


def read_names(value: Any, field_name: str, place: str, path: Path) -> tuple[str, ...] | None:
    if value is None:
        return None
    if not isinstance(value, list) or not all(isinstance(item, str) and item for item in value):
        refuse(path, f'{place} needs a list of names as "{field_name}"')
    return tuple(value)


def read_limits(value: Any, place: str, path: Path) -> Allowance:
    fields = {} if value is None else value
    names = ("questions_per_minute", "dollars_per_day")
    if not isinstance(fields, dict) or fields.keys() - set(names):
        refuse(path, f'{place} needs an object with {" and ".join(names)} as "limits"')
    questions, dollars = (fields.get(name) for name in names)
    if questions is not None and (type(questions) is not int or questions < 1):
        refuse(path, f'{place} needs a whole number of at least 1 as "questions_per_minute"')
    if dollars is not None and (type(dollars) not in (int, float) or not (math.isfinite(dollars) and dollars >= 0)):
        refuse(path, f'{place} needs a number of at least 0 as "dollars_per_day"')
    return Allowance(questions, None if dollars is None else float(dollars))


def refuse(path: Path, reason: str) -> NoReturn:
    raise SetupError(
        f"The token file {escape_name(path)} does not fit: {reason}; mend it, or make a new one with: quorum token add"
    )


def find_open_mode(path: Path) -> str | None:
    """The mode of a file that others on this machine may read or change, such as "644"; None if they may not."""
    with suppress(OSError):
        mode = stat.S_IMODE(os.stat(path).st_mode)
        if os.name == "posix" and mode & 0o077:
            return f"{mode:o}"
    return None


@contextmanager
def change_token_file(path: Path) -> Iterator[list[NamedToken]]:
    """The entries of a token file, none if there is no file; what the block leaves in the list is written.

    Others who change the file wait. A server that reads it sees the old file or the new one, never half of one. Raises
    `SetupError`, also for a file that another program keeps locked.
    """
    path = expand_home(path)
    try:
        make_private_folder(path.parent)
        with FileLock(f"{path}.lock", timeout=LOCK_SECONDS, mode=FILE_MODE):
            tokens = read_named_tokens(path) if path.exists() else []
            yield tokens
            write_named_tokens(path, tokens)
    except Timeout:
        raise SetupError(f"Another program is changing the token file {escape_name(path)}; try again.") from None
    except OSError as error:
        raise explain_os_error(error, f"The token file {escape_name(path)}") from None


def write_named_tokens(path: Path, tokens: Sequence[NamedToken]) -> None:
    """Write a token file in one step, readable by its owner only. Raises OSError."""
    target = Path(os.path.realpath(path))  # a link stays a link
    part = target.with_name(f".{target.name}.{token_hex(4)}.part")
    content: Mapping[str, Any] = {"format": FORMAT_NAME, "tokens": [token.to_json() for token in tokens]}
    try:
        with open_private_text(part, "x") as file:
            file.write(dumps(content, ensure_ascii=False, indent=1) + "\n")
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, target)
    finally:
        part.unlink(missing_ok=True)
