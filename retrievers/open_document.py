"""A document whose passages the ledger is replacing."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass
class OpenDocument:
    """A document whose passages are being replaced.

    old_numbers: passage id -> its number in the document, as the last run left them; new_numbers: those of this run.
    earlier_copies: see `Ledger.find_earlier_copies`. file_hash: of the file that is read, None if there is none. count:
    how many passages this run has read, also skipped ones.
    """

    source: str
    old_numbers: Mapping[str, int]
    earlier_copies: dict[str, str]
    file_hash: str | None = None
    new_numbers: dict[str, int] = field(default_factory=dict)
    has_changed: bool = False
    count: int = 0
