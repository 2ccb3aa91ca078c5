"""What an index adds to the text of its passages (`quorum index --context outline`): the values, and their checks."""

from quorum.core.errors import SetupError
from quorum.retrievers.metadata import CollectionInfo

OUTLINE, NO_CONTEXT = "outline", "none"
CHOICES = (NO_CONTEXT, OUTLINE)


def check_added_context(value: str | None) -> None:
    """Raise `SetupError` for a context that does not exist."""
    if value is not None and value not in CHOICES:
        raise SetupError(f"There is no context {value!r} for an index; give {' or '.join(CHOICES)}.")


def choose_context(info: CollectionInfo | None, name: str, wanted: str | None) -> str | None:
    """What is indexed with the passages of a collection: "outline", or None for nothing.

    info: of the collection `name`, None if it is new. wanted: a value of CHOICES, or None for what the collection has.
    Raises `SetupError` if the collection has been indexed with another one.
    """
    stored = None if info is None else info.context
    if wanted is None:
        return stored
    if info is not None and wanted != (stored or NO_CONTEXT):
        raise SetupError(
            f"The collection {name!r} was indexed with the context {stored or NO_CONTEXT!r}, but {wanted!r} is set; "
            f"leave it out, give another collection, or rebuild this one: quorum collections rm {name} && quorum "
            f"index PATH --collection {name} --context {wanted}"
        )
    return None if wanted == NO_CONTEXT else wanted
