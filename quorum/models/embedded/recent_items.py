"""A mapping that keeps its most recently used items. Safe to use from several threads."""

import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class RecentItems(Generic[K, V]):
    """Keeps at most `size` items. If there are more, the least recently used item is removed.

    >>> items = RecentItems[str, int](2)
    >>> for name in "abc":
    ...     items.put(name, ord(name))
    >>> items.get("a"), items.get("c")
    (None, 99)
    """

    def __init__(self, size: int) -> None:
        self.size, self.lock = size, threading.Lock()
        self.items: OrderedDict[K, V] = OrderedDict()

    def get(self, key: K) -> V | None:
        """The item, or None if it is not kept."""
        with self.lock:
            if key in self.items:
                self.items.move_to_end(key)
            return self.items.get(key)

    def put(self, key: K, item: V) -> None:
        """Keep an item."""
        with self.lock:
            self.items[key] = item
            self.items.move_to_end(key)
            while len(self.items) > self.size:
                self.items.popitem(last=False)

    def clear(self) -> None:
        """Forget all items."""
        with self.lock:
            self.items.clear()
