"""How much text each element of a web page has, and what is to be dropped of it (see `quorum.documents.main_text`)."""

from collections.abc import Iterator
from typing import Any

from quorum.documents.document import join_lines
from quorum.documents.html_blocks import IGNORED_TAGS, is_hidden, is_layout
from quorum.documents.page_words import SEPARATORS, list_names

LOGO_NAMES = frozenset(("logo", "brand"))
CELL_TAGS = ("td", "th", "li", "dt", "dd")
LINK_WEIGHT = 0.25  # a letter in a link counts as so much of a text
LARGE = 0.4  # an element with this share of the page's text is never dropped


class PageText:
    """How many characters of text each element of a page has, and how many of them are links; what is to be dropped."""

    def __init__(self, root: Any) -> None:
        self.root = root
        self.elements = list(root.iter())
        self.text: dict[Any, int] = dict.fromkeys(self.elements, 0)
        self.linked: dict[Any, int] = dict.fromkeys(self.elements, 0)
        self.dropped: set[Any] = set()
        self.hidden: set[Any] = set()
        for element in reversed(self.elements):  # what is inside comes before what is around it
            if element.tag in IGNORED_TAGS or (element.attrib and is_hidden(element)):
                self.text[element] = self.linked[element] = 0
                self.hidden.add(element)
            else:
                self.text[element] += len((element.text or "").strip())
                self.linked[element] = self.text[element] if element.tag == "a" else self.linked[element]
            parent = element.getparent()
            if parent is not None:
                self.text[parent] += self.text[element] + len((element.tail or "").strip())
                self.linked[parent] += self.linked[element]

    def weigh(self, element: Any) -> float:
        """The length of an element's text, in which links count little."""
        return self.text[element] - (1 - LINK_WEIGHT) * self.linked[element]

    def share_links(self, element: Any) -> float:
        return self.linked[element] / max(self.text[element], 1)

    def is_large(self, element: Any) -> bool:
        return self.weigh(element) >= LARGE * self.weigh(self.root)

    def walk(self, start: Any) -> Iterator[Any]:
        """The elements with text that are not dropped, in order."""
        stack = [start]
        while stack:
            element = stack.pop()
            if element in self.dropped or not self.text[element]:
                continue
            yield element
            if element not in self.dropped:
                stack.extend(reversed(element))

    def is_dropped(self, element: Any) -> bool:
        return element in self.dropped or not self.dropped.isdisjoint(element.iterancestors())

    def drop(self, element: Any) -> None:
        self.dropped.add(element)
        text, linked = self.text[element], self.linked[element]
        for outer in element.iterancestors():
            self.text[outer] -= text
            self.linked[outer] -= linked

    def is_whole_cell(self, element: Any) -> bool:
        """Whether an element is all that stands in a cell, a list item or a definition."""
        holder = element if element.tag in CELL_TAGS else next(element.iterancestors(*CELL_TAGS), None)
        return holder is not None and self.text[holder] == self.text[element]

    def list_parts(self, element: Any) -> Iterator[str]:
        """The texts of an element and of those in it, each apart, without what is hidden or dropped."""
        stack: list[Any] = [element]
        while stack:
            item = stack.pop()
            if isinstance(item, str):
                if text := join_lines(item).strip(SEPARATORS):
                    yield text
            elif item is element or (item not in self.dropped and item not in self.hidden):
                for child in reversed(item):
                    if child.tail:
                        stack.append(child.tail)
                    stack.append(child)
                if item.text:
                    stack.append(item.text)


def is_in(element: Any, *tags: str) -> bool:
    return next(element.iterancestors(*tags), None) is not None


def is_in_post(element: Any) -> bool:
    """Whether an element stands in a text of its own, which the edges of the page are not."""
    return is_in(element, "article", "main", "blockquote")


def get_role(element: Any) -> str:
    return (element.get("role") or "").lower()


def is_first_page(address: str) -> bool:
    """Whether a link leads to the first page of the site."""
    return address.strip("./") in ("", "index.html")


def has_title(element: Any) -> bool:
    """Whether an element has a heading of level 1 that is not the site's name: a logo, or a link to the first page."""
    for heading in element.iter("h1"):
        if not LOGO_NAMES.isdisjoint(list_names(heading)):
            continue
        address = next((link.get("href") for link in heading.iter("a") if link.get("href")), "#")
        if not is_first_page(address) and "".join(heading.itertext()).strip():
            return True
    return False


def is_in_data(element: Any) -> bool:
    """Whether an element is a table that holds data, or stands in one."""
    for outer in (element, *element.iterancestors()):
        if outer.tag == "table":
            return not is_layout(outer)
    return False


def is_in_sentence(element: Any) -> bool:
    """Whether text stands directly beside an element in its line."""
    parent = element.getparent()
    beside = [parent.text, *(child.tail for child in parent)]
    return any((text or "").strip(SEPARATORS) for text in beside)


def remove(element: Any) -> None:
    """Remove an element from its tree. The text after it stays."""
    parent, before = element.getparent(), element.getprevious()
    if parent is None:
        return
    if element.tail and before is None:
        parent.text = (parent.text or "") + element.tail
    elif element.tail:
        before.tail = (before.tail or "") + element.tail
    parent.remove(element)
