"""Takes from a saved web page what is not its main text: menus, share links, related articles, cookie bars, footers.

Three things tell it: landmarks (<main>, <nav>, role=...), the words in an element's class and id, and how much of its
text is links. What holds a large part of the page's text is never taken away.
"""

from typing import Any

from quorum.core.sentences import make_word_set
from quorum.documents.document import join_lines
from quorum.documents.html_blocks import BLOCK_TAGS, HEADING_LEVELS, is_layout, list_cells, list_own_rows
from quorum.documents.page_text import (
    PageText,
    get_role,
    has_title,
    is_first_page,
    is_in,
    is_in_data,
    is_in_post,
    is_in_sentence,
    remove,
)
from quorum.documents.page_words import (
    COPYRIGHT,
    FORUM_NAMES,
    LEGAL_LINK,
    NEIGHBOUR,
    OTHER_PAGES,
    REQUEST,
    STEP,
    TAG_ADDRESS,
    is_boilerplate_name,
    is_byline,
    is_comment_name,
    is_control,
    is_doubtful,
    is_edge,
    is_review,
    list_names,
)

EDGE_TAGS = make_word_set("header footer aside")
EDGE_ROLES = make_word_set("banner contentinfo complementary dialog alertdialog")
CONTAINER_TAGS = make_word_set("body div section main article table tbody tr td center form span font")
LAYOUT_TAGS = make_word_set("div section table tr td center ul ol p font")
LINE_TAGS = BLOCK_TAGS | {"font", "span"}
NEVER_DROPPED = make_word_set("html body main h1 h2 h3 h4 h5 h6 pre code")
NO_LABEL_TAGS = make_word_set("a td th li code pre")
SOME_LINKS, ALL_LINKS = 0.3, 0.8  # shares of an element's text that are links
CORE = 0.75  # the smallest element with this share of the page's text is where the main text stands
MOST_COMMENTS = 0.5  # from this share of the page's text on, comments are its main text
MAIN_CELL = 0.6  # a cell with this share of its table's text is a column of the page
LEAST_MAIN = 0.25  # <main> must hold this share of the page's text
LEAST = 0.1  # if less of a page's text would remain, nothing is dropped
SHORT, LONG = 100, 300  # characters of a line


def drop_boilerplate(root: Any) -> None:
    """Remove from the tree of a page the elements that are not its main text. If little would remain, all is kept."""
    if not any(element.attrib or element.tag in EDGE_TAGS for element in root.iter()):
        return  # without landmarks, names and links nothing tells boilerplate
    page = MainText(root)
    page.mark_layout()
    whole = page.weigh(root)
    mains = page.find_mains()
    if mains:
        page.keep_only(mains)
    page.drop_named()
    page.drop_comments()
    if not mains:
        core = page.find_core()
        page.drop_beside(core)
        page.drop_menus(core)
    page.drop_other_pages()
    page.drop_lines()
    page.drop_repeated_titles()
    if page.weigh(root) >= LEAST * whole:
        for element in page.dropped:
            remove(element)


class MainText(PageText):
    """The rules by which elements of a page are dropped."""

    def mark_layout(self) -> None:
        """Mark the tables that only lay out the page: one cell holds most of the text, in several lines."""
        for table in self.root.iter("table"):
            cells = [cell for row in list_own_rows(table) for cell in list_cells(row)]
            if is_layout(table) or not cells or any(cell.tag == "th" for cell in cells):
                continue
            largest = max(cells, key=self.weigh)
            lines = sum(1 for _ in largest.iter("p", "br", "div"))
            if lines > 2 and self.weigh(largest) >= MAIN_CELL * self.weigh(table):
                table.set("role", "presentation")

    def find_mains(self) -> list[Any]:
        """The elements <main>, or of this role; none if they hold little of the page's text without links."""
        marked = [e for e in self.elements if e.tag == "main" or (e.attrib and get_role(e) == "main")]
        mains = [e for e in marked if self.text[e] and set(marked).isdisjoint(e.iterancestors())]
        held = sum(self.text[e] - self.linked[e] for e in mains)
        return mains if held >= LEAST_MAIN * (self.text[self.root] - self.linked[self.root]) else []

    def keep_only(self, mains: list[Any]) -> None:
        """Drop everything outside of these elements, except the page's title if they have no heading."""
        around = {outer for element in mains for outer in element.iterancestors()}
        needs_title = all(next(element.iter(*HEADING_LEVELS), None) is None for element in mains)
        stack = [self.root]
        while stack:
            for element in stack.pop():
                is_title = needs_title and has_title(element)
                if element in around or (is_title and element.tag != "h1"):
                    stack.append(element)
                elif element not in mains and not is_title:
                    self.drop(element)

    def drop_named(self) -> None:
        """Drop what a landmark, a class or an id names as boilerplate."""
        for element in self.walk(self.root):
            if element.tag in NEVER_DROPPED or not (element.attrib or element.tag in EDGE_TAGS):
                continue
            if self.is_named_boilerplate(element) and not self.is_large(element) and not has_title(element):
                self.drop(element)

    def is_named_boilerplate(self, element: Any) -> bool:
        has_links = self.share_links(element) >= SOME_LINKS
        if element.tag in EDGE_TAGS or get_role(element) in EDGE_ROLES:
            return (has_links or not is_in_post(element)) and element.find(".//pre") is None
        names = list_names(element)
        if any(map(is_boilerplate_name, names)):
            return element.tag in BLOCK_TAGS or has_links or "editsection" in names
        if element.tag not in BLOCK_TAGS or element.tag in ("td", "th", "tr"):
            return False
        return (has_links and is_doubtful(element)) or (is_edge(element) and not is_in_post(element))

    def drop_comments(self) -> None:
        """Drop the comments, unless the page is one of questions and answers or consists mostly of comments."""
        comments: list[Any] = []
        for element in self.walk(self.root):
            if not element.attrib or element.tag in NEVER_DROPPED:
                continue
            names = list_names(element)
            if not FORUM_NAMES.isdisjoint(names):
                return
            if any(map(is_comment_name, names)) and not is_review(element):
                comments.append(element)
        inner = set(comments)
        outermost = [element for element in comments if inner.isdisjoint(element.iterancestors())]
        if sum(map(self.weigh, outermost)) < MOST_COMMENTS * self.weigh(self.root):
            for element in outermost:
                self.drop(element)

    def find_core(self) -> Any:
        """The smallest element that holds nearly all text of the page."""
        core = self.root
        while True:
            inner = max((child for child in core if child not in self.dropped), key=self.weigh, default=None)
            if inner is None or inner.tag not in CONTAINER_TAGS or self.weigh(inner) < CORE * self.weigh(core):
                return core
            core = inner

    def drop_beside(self, core: Any) -> None:
        """Drop what stands beside the core and has many links and little text, or is named as an edge of the page."""
        while core is not self.root:
            around = core.getparent()
            beside = [element for element in around if element is not core]
            while beside:
                element = beside.pop()
                if element in self.dropped or element.tag in NEVER_DROPPED:
                    continue
                if has_title(element):
                    beside += element
                elif self.text[element] - self.linked[element] > SHORT:
                    beside += element  # it has a text of its own: only some of it may be a list of links
                elif self.share_links(element) >= SOME_LINKS or is_edge(element):
                    self.drop(element)
            core = around

    def drop_menus(self, core: Any) -> None:
        """Drop what holds only links, three at least, and has neither a heading nor a text before it."""
        for element in self.walk(core):
            if element is core or element.tag not in LAYOUT_TAGS or self.share_links(element) < ALL_LINKS:
                continue
            before = element.getprevious()
            follows_text = before is not None and (before.tag in HEADING_LEVELS or before.tag in ("p", "dt"))
            if follows_text or self.is_large(element) or sum(1 for _ in element.iter("a")) < 3:
                continue
            if next(element.iter("pre", *HEADING_LEVELS), None) is None and not is_in_data(element):
                self.drop(element)

    def drop_other_pages(self) -> None:
        """Drop the lists of other pages, and what readers are asked to do, which a heading announces."""
        for element in self.walk(self.root):
            if self.text[element] > SHORT or element.tag in NO_LABEL_TAGS:
                continue
            label = " ".join(self.list_parts(element)).rstrip(" :")
            is_request = bool(REQUEST.fullmatch(label))
            if not is_request and not OTHER_PAGES.fullmatch(label):
                continue
            box = self.find_box(element)
            if self.text[box] == self.text[element]:
                self.drop_list_below(box)
            elif is_request or self.share_links(box) >= SOME_LINKS:
                self.drop(box)

    def find_box(self, label: Any) -> Any:
        """The largest element that begins with the label and is not a large part of the page."""
        box = label
        while (outer := box.getparent()) is not None and outer.tag not in ("body", "main", "article"):
            before = [child for child in box.itersiblings(preceding=True) if child not in self.dropped]
            if (outer.text or "").strip() or any(map(self.text.get, before)) or self.is_large(outer):
                break
            box = outer
        return box

    def drop_list_below(self, label: Any) -> None:
        """Drop a label and the elements after it that are mostly links, if there are any."""
        below: list[Any] = []
        for element in label.itersiblings():
            if element.tag in HEADING_LEVELS or (self.text[element] and self.share_links(element) < SOME_LINKS):
                break
            below.append(element)
        if any(map(self.text.get, below)):
            for element in {label, *below} - self.dropped:
                self.drop(element)

    def drop_lines(self) -> None:
        """Drop what only offers to do something with the page, the path to it, its tags, its legal notes; and who
        wrote the posts of a page with several.
        """
        bylines: list[Any] = []
        for element in self.walk(self.root):
            is_heading = element.tag in HEADING_LEVELS and element.tag != "h1"
            if self.text[element] > LONG or (element.tag in NEVER_DROPPED and not is_heading):
                continue
            if is_heading or self.is_whole_cell(element):
                parts = list(self.list_parts(element))
                if element.tag == "li" and self.is_neighbour(element, parts):
                    self.drop(element)
                bylines += [element] if self.linked[element] and is_byline(parts, []) else []
                continue
            if element.tag not in BLOCK_TAGS and is_in_sentence(element):
                continue
            parts = list(self.list_parts(element))
            if is_control(parts) or self.is_edge_line(element, parts):
                if not is_in_data(element):
                    self.drop(element)
            elif self.text[element] <= SHORT and self.linked[element] and element.tag in BLOCK_TAGS:
                bylines += [element] if is_byline(parts, list_names(element)) and not is_in_data(element) else []
        for element in bylines if len(bylines) > 1 else ():
            if not self.is_dropped(element):
                self.drop(element)

    def is_edge_line(self, element: Any, parts: list[str]) -> bool:
        """Whether an element is the path to the page, a list of its tags, parts or neighbours, or its legal notes."""
        links = [link for link in element.iter("a") if self.text[link]]
        if not links or element.tag not in LINE_TAGS or element.find(".//pre") is not None:
            return False
        addresses = [link.get("href") or "" for link in links]
        shown = self.share_links(element)
        if all(map(TAG_ADDRESS.search, addresses)) and len(parts) <= len(links) + 1 and self.text[element] <= SHORT:
            return True
        if len(links) > 1 and shown >= ALL_LINKS and all(address.startswith("#") for address in addresses):
            return True
        if self.is_neighbour(element, parts):
            return True
        steps = [link for link in links if STEP.fullmatch((link.tail or "").strip()[:1])]
        if links[0] in steps and (len(steps) > 1 or is_first_page(links[0].get("href") or "#")):
            return True
        is_legal = any(map(LEGAL_LINK.fullmatch, parts)) or COPYRIGHT.search(" ".join(parts))
        return bool(is_legal) and not is_in(element, "article", "main") and element.find(".//p") is None

    def is_neighbour(self, element: Any, parts: list[str]) -> bool:
        """Whether an element leads to the previous or the next page."""
        if not parts:  # signs only, such as an arrow
            return False
        return self.share_links(element) >= SOME_LINKS and bool(NEIGHBOUR.fullmatch(parts[0].rstrip(" :")))

    def drop_repeated_titles(self) -> None:
        """Drop the headings of replies, which repeat the title of what they reply to."""
        headings = [element for element in self.elements if element.tag in HEADING_LEVELS]
        titles = [join_lines("".join(element.itertext())) for element in headings]
        for element, title in zip(headings, titles, strict=True):
            if title.startswith("Re: ") and title[4:] in titles and not self.is_dropped(element):
                self.drop(element)
