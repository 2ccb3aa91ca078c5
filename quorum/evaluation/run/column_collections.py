"""Collections that columns name for themselves, as in `concat,concat[collection=other]`: such a column searches its own
collection, whatever the others read.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from quorum.core.errors import SetupError
from quorum.evaluation.run.columns import Column
from quorum.evaluation.run.corpus_indexes import CorpusIndexes, list_indexed
from quorum.evaluation.run.dataset import DataSet
from quorum.evaluation.run.options import Options


@dataclass(frozen=True)
class NamedCollection:
    """A collection that a column names: its name, and the revision that identifies its content."""

    name: str
    revision: str


def names_collection(column: Column) -> bool:
    """Whether the column's own settings name the collection that it searches.

    >>> from quorum.core.context import Context
    >>> from quorum.evaluation.run.columns import parse_columns
    >>> [names_collection(column) for column in parse_columns("concat,concat[collection=other]", Context())]
    [False, True]
    """
    return "collection" in column.settings


def check_columns_search(columns: Sequence[Column], *, retrieves: bool) -> None:
    """Raise `SetupError` for a column whose own settings say what it searches, if it would not search it, and for a
    retriever that does not exist. retrieves: whether passages are retrieved, and not brought by the questions.
    """
    from quorum.retrievers.registry import find_retriever

    for column in columns:
        check_column(column, given=not retrieves)
        if retrieves and isinstance(column.context.retriever, str):
            find_retriever(column.context.retriever)


def check_column(column: Column, *, given: bool = False) -> None:
    """See `quorum.graphs.choose_method.check_searched_settings`."""
    from quorum.graphs.choose_method import check_searched_settings

    graph = column.graph if column.own_graph is None else None
    check_searched_settings(column.name, column.settings, column.context, graph, given=given)


def find_named_collections(
    columns: Sequence[Column], indexes: CorpusIndexes | None = None
) -> dict[str, NamedCollection]:
    """By column: the collection that it names. The call blocks. A collection of `indexes` need not exist yet, and its
    content is that of the corpus.

    Raises `SetupError` if a collection does not exist.
    """
    return {column.name: find_named_collection(column, indexes) for column in columns if names_collection(column)}


def find_named_collection(column: Column, indexes: CorpusIndexes | None = None) -> NamedCollection:
    from quorum.retrievers.choose_collection import find_present_revision

    check_column(column)
    if indexes is not None and column.context.collection in indexes.name_collections(column.context):
        return NamedCollection(str(column.context.collection), indexes.sha256)
    return NamedCollection(str(column.context.collection), find_present_revision(column.context))


def describe_indexes(columns: Sequence[Column], indexes: CorpusIndexes | None) -> list[str]:
    """A list with one sentence, the collection of each index by which columns are named; empty without indexes."""
    collections = {
        settings.label: str(column.context.collection)
        for column in columns
        if (settings := list_indexed(indexes, column.context).get(str(column.context.collection))) is not None
    }
    if not collections:
        return []
    parts = [f"{label} is the collection {name}" for label, name in collections.items()]
    return [f"{', '.join(parts)}: to ask one, name it with --collection (quorum ask, quorum chat, quorum serve)."]


def check_passages_of_others(
    named: Mapping[str, NamedCollection], dataset: DataSet, columns: Sequence[Column], options: Options
) -> None:
    """Raises `SetupError` if columns name collections, and it is not clear what is searched besides.

    The questions' own passages cannot be read by some columns while others search, and a corpus or a user's retriever
    that no column would search is not accepted either.
    """
    others = [column.name for column in columns if not names_collection(column)]
    example = next(iter(named))
    if options.corpus == "given":
        raise SetupError(
            f"{example} would not search its collection, because every question's own passages are read ('given'); "
            "name a corpus or a collection in place of 'given'."
        )
    if not others and options.corpus is not None and not options.indexes:
        raise SetupError(
            f"The corpus {options.corpus} would not be searched, because every method names a collection in brackets; "
            "let one method search the corpus, or leave the corpus out (in quorum eval, or in Python with None)."
        )
    if others and options.corpus is None and options.collection is None and dataset.count_with_passages:
        raise SetupError(
            f"{example} searches a collection, but {others[0]} would read the passages that the questions bring; say "
            f"what {others[0]} searches: collection=NAME in its brackets, --collection NAME or --corpus PATH."
        )
