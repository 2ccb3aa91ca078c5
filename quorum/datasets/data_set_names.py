"""Finds out which published data set a file holds, from the name of the file and those of its folders."""

import os
import re
from functools import lru_cache
from pathlib import PurePath

WORDS_OF_DATA_SET = {  # data set, by its name in the papers -> words that identify it in a name
    "NQ": ("nq", "naturalquestions", "natural questions"),
    "WebQ": ("webq", "webquestions", "web questions"),
    "2Wiki": ("2wiki", "2wikimultihopqa", "2wikimultihop"),
    "HotpotQA": ("hotpot", "hotpotqa"),
    "TriviaQA": ("trivia", "triviaqa", "tqa"),
    "SQuAD": ("squad",),
    "StrategyQA": ("strategyqa", "strategy"),
    "FEVER": ("fever",),
    "ELI5": ("eli5",),
    "WoW": ("wow", "wizard"),
    "ASQA": ("asqa",),
}


def find_data_set_name(path: str | PurePath) -> str | None:
    """The data set that the file's name contains, or else the nearest of its folders, by its name in the papers; None
    if none of them contains one.

    The home folder and the folders above it are left out, because they are named after people.

    >>> find_data_set_name("natural_questions-dev.jsonl"), find_data_set_name("nq/hotpotqa/dev.jsonl.gz")
    ('NQ', 'HotpotQA')
    """
    return find_name_in_parts(os.path.abspath(path), os.path.expanduser("~"))


def find_folder_name(path: str | PurePath) -> str | None:
    """The name of the file's folder; None for the home folder and those above it, which are named after people.

    >>> find_folder_name("data/hotpotqa/dev.jsonl.gz")
    'hotpotqa'
    """
    folder = PurePath(os.path.abspath(path)).parent
    return None if PurePath(os.path.expanduser("~")).is_relative_to(folder) else folder.name


@lru_cache(maxsize=64)  # a converter asks for every record of a file
def find_name_in_parts(absolute_path: str, home: str) -> str | None:
    path, home_folder = PurePath(absolute_path), PurePath(home)
    parts = [part.name for part in (path, *path.parents) if not home_folder.is_relative_to(part)]
    return next((name for part in parts if (name := find_name_in_words(part))), None)


def find_name_in_words(text: str) -> str | None:
    """The first data set of `WORDS_OF_DATA_SET` whose words the text contains as whole words."""
    words = f" {' '.join(re.split('[-_. ]+', text.lower()))} "
    return next(
        (name for name, aliases in WORDS_OF_DATA_SET.items() if any(f" {alias} " in words for alias in aliases)), None
    )
