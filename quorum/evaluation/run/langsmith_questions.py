"""Questions of a LangSmith data set, `langsmith:NAME` in place of a file.

One version of the data set is read into a file of its own, whose lines are its examples. So all that follows works as
with any other file, and the same version gives the same questions, also without LangSmith.
"""

import json
import logging
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

import langsmith
from langsmith.utils import LangSmithNotFoundError

from quorum.core.errors import SetupError
from quorum.core.private_files import make_private_folder, open_private_text
from quorum.core.store_folder import find_own_folder
from quorum.evaluation.run.config_file import FOLDER_KEY
from quorum.models.langsmith_access import LANGSMITH_ERRORS, check_account, describe_error, silence_langsmith

LOG = logging.getLogger("quorum")
PREFIX = "langsmith:"
LATEST = "latest"
FOLDER = "langsmith"  # in the folder of the store
MOST_NAMES = 20  # how many data sets a message names
ORIGIN_FILE = "origin.json"


@dataclass(frozen=True)
class Origin:
    """Where the questions come from: the data set's name and id in LangSmith, and the time of the version that was
    read, ISO 8601 in UTC.
    """

    name: str
    id: str
    version: str


def is_langsmith(data: str | Path) -> bool:
    """Whether the questions are those of a LangSmith data set.

    >>> is_langsmith("langsmith:handbook"), is_langsmith("handbook.jsonl")
    (True, False)
    """
    return str(data).startswith(PREFIX)


def split_spec(data: str | Path) -> tuple[str, str | None]:
    """(name, version) of "langsmith:NAME" or "langsmith:NAME@VERSION"; a version is a tag, or a time in ISO 8601.

    >>> split_spec("langsmith:handbook@latest"), split_spec("langsmith:a@b.example")
    (('handbook', 'latest'), ('a', 'b.example'))
    """
    name, at, version = str(data).removeprefix(PREFIX).rpartition("@")
    if not at or not name or not version.strip():
        name, version = str(data).removeprefix(PREFIX), ""
    if not name.strip():
        raise SetupError(f"{str(data)!r} names no data set; write langsmith:NAME, the name of a data set of LangSmith.")
    return name.strip(), version.strip() or None


def find_question_file(data: Path, store: str, folder: Path | None = None) -> Path:
    """The file of the questions: `data` itself, or one that holds the data set of LangSmith which it names. Blocks.

    store: the file lies in the folder of this store. folder: that of the results, if one is named; if it holds results
    of the same data set, and `data` names no version, they go on with the questions of their version.

    Raises `SetupError` if there is no account, no such data set or version, or if LangSmith does not answer.
    """
    if not is_langsmith(data):
        return data
    name, version = split_spec(data)
    kept_folder = find_own_folder(store) / FOLDER
    recorded = None if folder is None or version is not None else read_recorded(folder)
    if recorded is not None and recorded.name == name:
        LOG.warning("%s", describe_continued(recorded, folder))
        version = recorded.version
        if (path := find_path(kept_folder, recorded)).is_file():
            return path
    check_account(f"{PREFIX}{name}", "or give a file of questions")
    with open_langsmith(name) as client:
        return read_version(client, name, version, kept_folder)


def describe_continued(origin: Origin, folder: Path | None) -> str:
    """A sentence that says which questions results go on with."""
    return (
        f"{folder} goes on with the questions of {PREFIX}{origin.name}@{origin.version}; to begin with the present "
        f"ones, give {PREFIX}{origin.name}@{LATEST} and another folder."
    )


def read_recorded(folder: Path) -> Origin | None:
    """The origin that the config.json of a folder of results records; None without one."""
    try:
        return Origin(**json.loads((folder / "config.json").read_text(encoding="utf-8"))["data"]["langsmith"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def read_origin(path: Path) -> Origin | None:
    """The origin of a file that `find_question_file` has written; None for any other."""
    if path.parent.parent.name != FOLDER:
        return None
    try:
        return Origin(**json.loads(path.with_name(ORIGIN_FILE).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def find_unfinished(data: Path, config: Mapping[str, Any], folder: Path) -> Path | None:
    """The folder of an unfinished run that differs from `config` only in the version of the data set; None if there is
    none, if `data` names a version, or if the run of `config` has begun already. It is to be continued first.

    folder: where results of `config` go.
    """
    if not is_langsmith(data) or split_spec(data)[1] is not None or folder.exists():
        return None
    for other in sorted(folder.parent.glob(f"{folder.name.rpartition('-')[0]}-*")):
        recorded = read_recorded(other)
        if recorded is None or (other / "summary.json").exists():
            continue
        written = json.loads((other / "config.json").read_text(encoding="utf-8"))
        if drop_version(written) == drop_version(json.loads(json.dumps(config))):
            return other
    return None


def drop_version(config: Mapping[str, Any]) -> dict[str, Any]:
    """A configuration without what differs between two versions of a data set."""
    data = {key: value for key, value in config["data"].items() if key not in ("sha256", "skipped", "langsmith")}
    name = (config["data"].get("langsmith") or {}).get("name")
    return {**config, "data": data | {"langsmith": name}, FOLDER_KEY: None}


def find_path(folder: Path, origin: Origin) -> Path:
    """The file of a version: its name is that of the data set, because results are named after it."""
    slug = re.sub(r"[^\w-]+", "-", origin.name).strip("-") or "questions"
    digest = sha256(f"{origin.id} {origin.version}".encode()).hexdigest()[:12]
    return folder / f"{slug}-{digest}" / f"{slug}.jsonl"


@contextmanager
def open_langsmith(name: str) -> Iterator[langsmith.Client]:
    """A client that is closed at the end of the block; in it, an error of LangSmith is a `SetupError`."""
    try:
        with silence_langsmith(), closing(langsmith.Client(auto_batch_tracing=False)) as client:
            yield client
    except LANGSMITH_ERRORS as error:
        raise SetupError(
            f"The data set {name!r} of LangSmith cannot be read ({describe_error(error)}); check LANGSMITH_API_KEY and "
            "LANGSMITH_ENDPOINT, or give a file of questions."
        ) from None


def read_version(client: langsmith.Client, name: str, version: str | None, folder: Path) -> Path:
    """Read a version of a data set into its file; None: the latest."""
    try:
        dataset = client.read_dataset(dataset_name=name)
    except LangSmithNotFoundError:
        raise make_unknown_error(client, name) from None
    moment = parse_time(version)
    try:
        if moment is None:
            found = client.read_dataset_version(dataset_id=dataset.id, tag=version or LATEST)
        else:
            found = client.read_dataset_version(dataset_id=dataset.id, as_of=moment)
    except LangSmithNotFoundError:
        if version is None:
            raise SetupError(
                f"The data set {name!r} of LangSmith holds no examples; add some, or give a file."
            ) from None
        raise SetupError(
            f"The data set {name!r} of LangSmith has no version {version!r}; give one of its tags, a time in ISO 8601, "
            "or none for the latest."
        ) from None
    origin = Origin(name, str(dataset.id), found.as_of.astimezone(UTC).isoformat())
    path = find_path(folder, origin)
    if path.is_file():
        return path
    examples = list(client.list_examples(dataset_id=dataset.id, as_of=found.as_of))
    examples.sort(key=lambda example: (example.created_at or found.as_of, str(example.id)))
    lines = [
        {"id": str(example.id), "inputs": example.inputs, "outputs": example.outputs, "metadata": example.metadata}
        for example in examples
    ]
    make_private_folder(path.parent)
    write_private(path.with_name(ORIGIN_FILE), json.dumps(asdict(origin)))
    write_private(path, "".join(json.dumps(line, ensure_ascii=False, default=str) + "\n" for line in lines))
    return path


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner may read; a killed process leaves none behind under this name."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    with open_private_text(draft) as file:
        file.write(text)
    draft.replace(path)


def parse_time(text: str | None) -> datetime | None:
    """A time in ISO 8601, without a zone in UTC; None for a tag."""
    try:
        moment = datetime.fromisoformat(text or "")
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def make_unknown_error(client: langsmith.Client, name: str) -> SetupError:
    """The error for a name that LangSmith does not know; it names some that it knows."""
    names = sorted(dataset.name for dataset in client.list_datasets(limit=MOST_NAMES))
    available = f"it has: {', '.join(names)}" if names else "it has none"
    return SetupError(
        f"LangSmith has no data set {name!r} (asked at {client.api_url}); {available}. Give one of them, or a file."
    )
