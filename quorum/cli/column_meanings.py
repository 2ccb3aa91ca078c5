"""What the columns of the printed tables mean, in a few words each; docs/measures.md says it in full."""

from collections.abc import Iterable, Iterator

from rich.console import Group, RenderableType

from quorum.cli.number_table import NumberTable

MEANINGS = {
    "n": "questions",
    "EM": "exact match with an accepted answer, %",
    "F1": "words shared with an accepted answer, %",
    "accuracy": "right answers, %",
    "ROUGE-L": "longest common run of words with an accepted answer, %",
    "STR-EM": "parts of the accepted answer that the answer contains, %",
    "judged": "right answers as a chat model judges them, %",
    "contains": "replies that contain an accepted answer, %",
    "%Unk": "answered unknown, rightly or wrongly, %",
    "%NM": "a right answer had a vote but no majority, %",
    "%among votes": "a right answer had a vote, %",
    "right, %": "answered right; unknown is right where there is no accepted answer",
    "wrong, %": "answered wrong",
    "wrongly unknown, %": "answered unknown although there is an accepted answer",
    "worth": "right answers less the cost of wrong ones",
    "p": "how often chance alone would show such a difference",
    "n needed": "questions that would show it",
    "recall": "gold passages that were read, %",
    "hit": "questions for which a gold passage was found, %",
    "MRR": "1 / rank of the first gold passage, mean, %",
    "prec": "gold ones among the passages read, %",
    "S-prec": "questions with exactly the gold passages, %",
    "context": "tokens of the passages",
    "calls": "calls of the model for a question",
    "tokens in": "tokens sent for a question",
    "out": "tokens received for a question",
    "p50 s": "seconds for a question, median",
    "p95 s": "seconds that 95% of the questions stay below",
    "errors": "questions that failed",
    "malformed": "replies without the form that the prompt asks for",
    "wordy answers": "sentences where a short answer was asked for",
    "temperature refused": "calls whose model takes no temperature",
    "unscored": "answers that no measure could score",
    "judge errors": "answers that the judge could not judge",
}


def describe_columns(tables: Iterable[RenderableType]) -> str:
    """The meanings of all columns of the tables, each once, in their order; columns without one are left out.

    >>> describe_columns([NumberTable("method", "EM", "%Unk")])
    'EM: exact match with an accepted answer, %; %Unk: answered unknown, rightly or wrongly, %.'
    """
    titles = dict.fromkeys(title for table in tables for title in list_titles(table))
    meanings = "; ".join(f"{title}: {MEANINGS[title]}" for title in titles if title in MEANINGS)
    return f"{meanings}." if meanings else ""


def list_titles(table: RenderableType) -> Iterator[str]:
    """The titles of a table's columns, also if the table stands in a group."""
    if isinstance(table, NumberTable):
        yield from table.titles
    elif isinstance(table, Group):
        for part in table.renderables:
            yield from list_titles(part)
