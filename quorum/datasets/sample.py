"""The sample that comes with Quorum: a small corpus and questions, written by us."""

from pathlib import Path

from quorum.core.errors import SetupError

PACKAGE_FOLDER = Path(__file__).resolve().parents[1]


def find_sample_folder() -> Path:
    """The folder that holds `corpus/` and `questions.jsonl`.

    It is inside an installed package; in a checkout it is next to the package's folder.

    >>> (find_sample_folder() / "questions.jsonl").is_file()
    True
    """
    for folder in (PACKAGE_FOLDER / "data" / "sample", PACKAGE_FOLDER.parent / "data" / "sample"):
        if (folder / "corpus").is_dir():
            return folder
    raise SetupError(
        f"The sample's documents are not at {folder}; install Quorum again, or name a collection of your own with "
        "--collection."
    )
