"""Collections that columns name for themselves, as in `concat,concat[collection=other]`: such a column searches its own
collection, whatever the others read.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from quorum.core.errors import SetupError
from quorum.evaluation.run.columns import Column
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


def find_named_collections(columns: Sequence[Column]) -> dict[str, NamedCollection]:
    """By column: the collection that it names. The call blocks.

    Raises `SetupError` if a collection does not exist, and for a column whose retriever searches no collection.
    """
    return {column.name: find_named_collection(column) for column in columns if names_collection(column)}


def find_named_collection(column: Column) -> NamedCollection:
    from quorum.retrievers.choose_collection import locate_collection
    from quorum.retrievers.store import open_store

    if not isinstance(column.context.retriever, str):
        raise SetupError(
            f"{column.name} would not search the collection that it names, because the context has a retriever of "
            f"yours ({type(column.context.retriever).__name__}); leave the collection out, or name a retriever in the "
            "brackets, such as retriever=hybrid."
        )
    if not column.context.collection:
        raise SetupError(f"{column.name} names an empty collection; write its name, or leave collection out.")
    located_context = locate_collection(column.context)
    name = str(located_context.collection)
    return NamedCollection(name, open_store(located_context.store).fetch_revised_info(name).revision)


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
    if not others and options.corpus is not None:
        raise SetupError(
            f"The corpus {options.corpus} would not be searched, because every method names a collection in brackets; "
            "let one method search the corpus, or leave the corpus out (in quorum eval, or in Python with None)."
        )
    if others and options.corpus is None and options.collection is None and dataset.count_with_passages:
        raise SetupError(
            f"{example} searches a collection, but {others[0]} would read the passages that the questions bring; say "
            f"what {others[0]} searches: collection=NAME in its brackets, --collection NAME or --corpus PATH."
        )
