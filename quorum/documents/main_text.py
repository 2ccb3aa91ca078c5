"""Takes from a saved web page what is not its main text: menus, share links, related articles, cookie bars, footers.

Three things tell it: landmarks (<main>, <nav>, role=...), the words in an element's class and id, and how much of its
text is links. What holds a large part of the page's text is never taken away on account of its name.
"""

import re
from collections.abc import Iterator
from typing import Any

from quorum.core.sentences import make_word_set
from quorum.documents.document import join_lines
from quorum.documents.html_blocks import (
    BLOCK_TAGS,
    HEADING_LEVELS,
    IGNORED_TAGS,
    is_hidden,
    is_layout,
    list_cells,
    list_own_rows,
)

NAME_PART = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|\d+")
# Words of a class or an id that name boilerplate.
BOILERPLATE_NAME = re.compile(
    r"cookies?(?:bar|banner|notice)?|consent|gdpr|shar(?:e|es|ing|ebar|edaddy)|social|addthis|related\w*|"
    r"recommend(?:ed|ations?)|similar|sims|newsletters?|subscri(?:be|ption)|advert\w*|ads|promos?|sponsor(?:ed|s)?|outbrain|"
    r"taboola|breadcrumbs?|crumbs?|wayfinding|skip(?:link|links|nav)?|popups?|modal|paywall|pagination|pager|navbars?|"
    r"navigation|masthead|colophon|navbox|catlinks|printfooter|editsection|noprint|jumpbox|upsells?|mostread|trending|"
    r"feedback|helpful|announcements?|copyright|login|signin|signup|toc|back2top|backtotop|ticker|wishlist|buybox|"
    r"votes?|votecell|postprofile|sitenotice|newsticker"
)
# The same, but only of an element that has several links, or stands beside the main text.
DOUBTFUL_NAME = re.compile(
    r"\w*nav|\w*menu|\w*bar|side|rail|widgets?|tabs|tags?|taglist|tagcloud|labels|banner|legal|tools?|pagetools|actions?|"
    r"links?|buttons?|meta|signature|recent|latest|popular|more|also|foot|\w*footer|bottom|notice|disclaimer|rating|stat|"
    r"prevnext|bio|about|carousel|cart|payments?|online"
)
COMMENT_NAME = re.compile(r"comments?|commentlist|disqus|respond|responses")
FORUM_NAMES = make_word_set("question answer questions answers")
EDGE_NAME = re.compile(r"(?:site|page|global|main)?(?:footer|topbar)")
EDGE_TAGS = make_word_set("header footer aside")
EDGE_ROLES = make_word_set("banner contentinfo complementary dialog alertdialog")
CONTAINER_TAGS = make_word_set("body div section main article table tbody tr td center form span font")
CELL_TAGS = ("td", "th", "li", "dt", "dd")
KEPT_WHOLE = make_word_set("h1 h2 h3 h4 h5 h6 pre code")
LAYOUT_TAGS = make_word_set("div section table tr td center ul ol p font")
SEPARATORS = " \t\n|·•»«›>/,()[]–-↓↑←→▲▼★☆\xa0"
# What is offered to do with a page or a post, and what is counted of it. An element that says nothing else is left out.
CONTROL = re.compile(
    r"(?:share|tweet|pin|send|e-?mail|print|post) (?:this|it|on|by|to|via|with)\b.{0,40}|share|tweet|reply|permalink|"
    r"(?:improve|edit|rate|report) this.{0,30}|(?:read|show|see|view|load) (?:more|all|less)\b.{0,30}|"
    r"(?:skip|jump|back|return) to .{0,40}|(?:sign|log) ?(?:in|up|out)|register|subscribe(?: now| to .{0,40})?|"
    r"advertisement|sponsored|(?:write|leave|add|post) a (?:review|comment|reply)|ask question|forum rules|"
    r"add to (?:cart|basket|bag|list|wishlist)|buy now.{0,40}|(?:©|\(c\)|copyright\b).{0,160}|"
    r"(?:proudly )?powered by .{0,60}|.{0,80}all rights reserved\W*|sorted by|roll over image.{0,20}|"
    r"was this (?:page |article |section |answer )?helpful.{0,40}|viewed [\d.,]+k? times|"
    r"(?:asked|modified|answered|active|viewed)(?: .{0,30} ago)?|\d+ (?:years?|months?|days?|hours?).{0,12} ago|"
    r"[\d.,]+ out of \d+ stars|(?:no|[\d.,]+k?)(?: customer)? (?:comments?|ratings?|reviews?|likes?|views|answered questions)",
    re.IGNORECASE,
)
# The same, but only beside another of these, since a page may also speak of it.
COMMON_CONTROL = re.compile(
    r"post|pin|save|send|e-?mail|print|follow|like|report|quote|edit|flag|bookmark|copy link|listen|more|top|gift.{0,20}|"
    r"home|next|previous|prev|yes|no|reset.{0,20}|[\d.,]+[km]?",
    re.IGNORECASE,
)
LEGAL_LINK = re.compile(
    r"privacy(?: policy| notice)?|terms(?: of (?:use|service))?|imprint|disclaimer|cookies?(?: settings| policy)?|"
    r"terms (?:&|and) conditions|legal(?: notice)?|accessibility",
    re.IGNORECASE,
)
COPYRIGHT = re.compile(r"(?:©|\(c\)|\bcopyright\b)\s*(?:19|20)\d\d", re.IGNORECASE)
TAG_ADDRESS = re.compile(r"/(?:tags?|labels?|categor(?:y|ies)|topics?|t)/")
DATE = re.compile(r"\b(?:19|20)\d\d\b|\b\d+ (?:minutes|hours|days|weeks|months|years) ago\b|\b\d{1,2}:\d\d\b")
BY = re.compile(r"(?:post(?:ed)?|written|asked|answered) (?:by|on)\b|by ", re.IGNORECASE)
AUTHOR_NAMES = make_word_set("author byline meta postmeta comhead creator username user")
STEP = re.compile(r"\s*[>›»/→]\s*")  # between the links of a path to the page
# Headings above lists of other pages.
OTHER_PAGES = re.compile(
    r"(?:related|similar|recommended|sponsored|suggested|trending|popular)\b.{0,40}|(?:read|see|learn) (?:more|next).{0,30}|"
    r"more (?:from|in|on|like|stories|articles|posts|about)\b.{0,40}|most (?:read|popular|viewed|shared)|"
    r"(?:you (?:may|might)|customers|people|others|readers|viewers)\b.{0,20}\b(?:also|like|bought|viewed).{0,40}|"
    r"(?:latest|recent) (?:posts|news|articles|comments)|recently (?:changed|viewed).{0,20}|headlines|archives?|"
    r"categories|hot network questions|best ?sellers|jump to",
    re.IGNORECASE,
)
# Headings above what readers are asked to do, and of advertisements.
REQUEST = re.compile(
    r"share(?: this.{0,20})?|follow (?:us|along|me).{0,20}|newsletters?|leave a (?:reply|comment)|your answer|who is online|"
    r"advertisement|written by .{1,40}|about the author|\d+ comments?|\d+ thoughts on .{0,100}|"
    r"(?:comments|responses) \(\d+\)|(?:sign up (?:to|for)|subscribe to|get\b.{0,40} in your inbox)\b.{0,60}|.{0,20}use cookies\b.{0,100}",
    re.IGNORECASE,
)
SOME_LINKS, ALL_LINKS = 0.3, 0.8  # shares of an element's text that are links
LINK_WEIGHT = 0.25  # a letter in a link counts as so much of a text
LARGE = 0.4  # an element with this share of the page's text is never dropped
CORE = 0.75  # the smallest element with this share of the page's text is where the main text stands
MOST_COMMENTS = 0.5  # from this share of the page's text on, comments are its main text
MAIN_CELL = 0.6  # a cell with this share of its table's text is a column of the page
LEAST_MAIN = 0.25  # <main> must hold this share of the page's text
LEAST = 0.1  # if less of a page's text would remain, nothing is dropped
SHORT, LONG = 100, 300  # characters of a line


def drop_boilerplate(root: Any) -> None:
    """Remove from the tree of a page the elements that are not its main text. If little would remain, all is kept."""
    page = PageText(root)
    page.mark_layout()
    whole = page.weigh(root)
    mains = find_mains(page)
    if mains:
        page.keep_only(mains)
    page.drop_named()
    page.drop_comments()
    if not mains:
        core = page.find_core()
        page.drop_beside(core)
        page.drop_menus(core)
    page.drop_other_pages()
    page.drop_controls()
    if page.weigh(root) >= LEAST * whole:
        for element in page.dropped:
            remove(element)


def find_mains(page: "PageText") -> list[Any]:
    """The elements <main>, or of this role; none if they hold less than a quarter of the page's text without links."""
    mains = [element for element in page.elements if element.tag == "main" or get_role(element) == "main"]
    mains = [
        element
        for element in mains
        if page.text[element] and not any(is_inside(element, x) for x in mains if x is not element)
    ]
    total = sum(page.text[element] - page.linked[element] for element in mains)
    return mains if total >= LEAST_MAIN * (page.text[page.root] - page.linked[page.root]) else []


def is_inside(element: Any, outer: Any) -> bool:
    return any(parent is outer for parent in element.iterancestors())


def is_in(element: Any, *tags: str) -> bool:
    return next(element.iterancestors(*tags), None) is not None


def get_role(element: Any) -> str:
    return (element.get("role") or "").lower()


def list_names(element: Any) -> list[str]:
    """The words of an element's class and id, in small letters."""
    text = f"{element.get('class') or ''} {element.get('id') or ''}"
    return [name.lower() for name in re.split(r"[\W_]+", text)] + [part.lower() for part in NAME_PART.findall(text)]


def has_title(element: Any) -> bool:
    """Whether an element has a heading of level 1 that is not only a link to the site's first page."""
    for heading in [element] if element.tag == "h1" else element.iter("h1"):
        link = heading.find(".//a")
        if link is None or (link.get("href") or "").strip("./") not in ("", "index.html"):
            return bool("".join(heading.itertext()).strip())
        if (link.get("href") or "").startswith("#"):
            return True
    return False


def list_parts(element: Any, dropped: set[Any]) -> Iterator[str]:
    """The texts of an element and of those in it, each apart, without what is hidden or dropped."""
    stack: list[Any] = [element]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            if text := join_lines(item).strip(SEPARATORS):
                yield text
            continue
        if item is not element and (item in dropped or is_hidden(item)):
            continue
        for child in reversed(item):
            stack += [child.tail or "", child]
        stack.append(item.text or "")


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


class PageText:
    """How many characters of text each element of a page has, and how many of them are links; what is to be dropped."""

    def __init__(self, root: Any) -> None:
        self.root = root
        self.elements = list(root.iter())
        self.text: dict[Any, int] = dict.fromkeys(self.elements, 0)
        self.linked: dict[Any, int] = dict.fromkeys(self.elements, 0)
        self.dropped: set[Any] = set()
        for element in reversed(self.elements):  # what is inside comes before what is around it
            if element.tag in IGNORED_TAGS or (element.attrib and is_hidden(element)):
                self.text[element] = self.linked[element] = 0
                length = 0
            else:
                length = self.text[element] = self.text[element] + len((element.text or "").strip())
                if element.tag == "a":
                    self.linked[element] = length
            parent = element.getparent()
            if parent is not None:
                self.text[parent] += length + len((element.tail or "").strip())
                self.linked[parent] += self.linked[element]

    def weigh(self, element: Any) -> float:
        """The length of an element's text, in which links count little."""
        return self.text[element] - (1 - LINK_WEIGHT) * self.linked[element]

    def share_links(self, element: Any) -> float:
        return self.linked[element] / max(self.text[element], 1)

    def is_large(self, element: Any) -> bool:
        return self.weigh(element) >= LARGE * self.weigh(self.root)

    def mark_layout(self) -> None:
        """Mark the tables that only lay out the page: one cell holds most of the text, in several paragraphs or lines."""
        for table in self.root.iter("table"):
            cells = [cell for row in list_own_rows(table) for cell in list_cells(row)]
            if is_layout(table) or not cells or any(cell.tag == "th" for cell in cells):
                continue
            largest = max(cells, key=self.weigh)
            if self.weigh(largest) >= MAIN_CELL * self.weigh(table) and len(list(largest.iter("p", "br", "div"))) > 2:
                table.set("role", "presentation")

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

    def drop(self, element: Any) -> None:
        self.dropped.add(element)
        text, linked = self.text[element], self.linked[element]
        for outer in element.iterancestors():
            self.text[outer] -= text
            self.linked[outer] -= linked

    def keep_only(self, mains: list[Any]) -> None:
        """Drop everything outside of these elements, except headings above them that are the page's title."""
        around = {outer for element in mains for outer in element.iterancestors()}
        needs_title = not any(element.find(f".//{tag}") is not None for element in mains for tag in HEADING_LEVELS)
        stack = [self.root]
        while stack:
            for element in stack.pop():
                if element in around or (needs_title and element.tag not in HEADING_LEVELS and has_title(element)):
                    stack.append(element)
                elif element not in mains and not (needs_title and has_title(element)):
                    self.drop(element)

    def drop_named(self) -> None:
        """Drop what a landmark, a class or an id names as boilerplate."""
        for element in self.walk(self.root):
            if element.tag in ("html", "body", "main", *HEADING_LEVELS) or not (
                element.attrib or element.tag in EDGE_TAGS
            ):
                continue
            if self.is_named_boilerplate(element) and not self.is_large(element) and not has_title(element):
                self.drop(element)

    def is_named_boilerplate(self, element: Any) -> bool:
        tag, role = element.tag, get_role(element)
        has_links = self.share_links(element) >= SOME_LINKS
        is_post = is_in(element, "article", "main", "blockquote")
        if tag in ("header", "footer", "aside") or role in EDGE_ROLES:
            return has_links or not is_post
        names = list_names(element)
        if any(map(BOILERPLATE_NAME.fullmatch, names)):
            return tag in BLOCK_TAGS or has_links or "editsection" in names
        if tag not in BLOCK_TAGS or tag in ("td", "th", "tr"):
            return False
        is_short_edge = any(map(EDGE_NAME.fullmatch, names)) and not is_post
        return (has_links and any(map(DOUBTFUL_NAME.fullmatch, names))) or is_short_edge

    def drop_comments(self) -> None:
        """Drop the comments, unless the page is one of questions and answers or consists mostly of comments."""
        comments, is_forum = [], False
        for element in self.elements:
            if element.attrib and self.text[element] and element.tag not in ("html", "body"):
                names = list_names(element)
                is_forum = is_forum or bool(FORUM_NAMES & set(names))
                if any(map(COMMENT_NAME.fullmatch, names)):
                    comments.append(element)
        all_comments = set(comments)
        outermost = [element for element in comments if not all_comments.intersection(element.iterancestors())]
        outermost = [
            element for element in outermost if not self.dropped.intersection([element, *element.iterancestors()])
        ]
        if not is_forum and sum(map(self.weigh, outermost)) < MOST_COMMENTS * self.weigh(self.root):
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
        """Drop what stands beside the core and has many links, or is named as an edge of the page."""
        while core is not self.root:
            around = core.getparent()
            for element in around:
                if element is core or element in self.dropped or element.tag in HEADING_LEVELS or has_title(element):
                    continue
                if self.share_links(element) >= SOME_LINKS or any(map(DOUBTFUL_NAME.fullmatch, list_names(element))):
                    self.drop(element)
            core = around

    def drop_menus(self, core: Any) -> None:
        """Drop what holds only links, three at least, and has neither a heading nor a text before it."""
        for element in list(self.walk(core)):
            if element is core or element.tag not in LAYOUT_TAGS or element in self.dropped:
                continue
            if is_in(element, "ul", "ol", "dl") or is_in_data_table(element):
                continue
            before = element.getprevious()
            if before is not None and (before.tag in HEADING_LEVELS or before.tag in ("p", "dt")):
                continue
            if (
                self.share_links(element) >= ALL_LINKS
                and len(list(element.iter("a"))) >= 3
                and not self.is_large(element)
            ):
                if all(element.find(f".//{tag}") is None for tag in HEADING_LEVELS):
                    self.drop(element)

    def drop_other_pages(self) -> None:
        """Drop the lists of other pages, and what readers are asked to do, which a heading announces."""
        for element in self.walk(self.root):
            if self.text[element] > SHORT or element.tag in ("a", "td", "th", "li", "code", "pre"):
                continue
            label = " ".join(list_parts(element, self.dropped)).rstrip(" :")
            request = REQUEST.fullmatch(label)
            if not request and not OTHER_PAGES.fullmatch(label):
                continue
            box = self.find_box(element)
            if box is element or self.text[box] == self.text[element]:
                self.drop_list_below(box)
            elif request or self.share_links(box) >= SOME_LINKS:
                self.drop(box)

    def find_box(self, label: Any) -> Any:
        """The largest element that begins with the label and is not a large part of the page."""
        box = label
        while (outer := box.getparent()) is not None and outer.tag not in ("body", "main", "article"):
            begins_earlier = (outer.text or "").strip() or any(
                self.text[child] and child not in self.dropped for child in box.itersiblings(preceding=True)
            )
            if begins_earlier or self.is_large(outer):
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
        if any(self.text[element] for element in below):
            for element in [label, *below]:
                if element not in self.dropped:
                    self.drop(element)

    def drop_controls(self) -> None:
        """Drop what only offers to do something with the page: share it, print it, go to its top."""
        bylines: list[Any] = []
        titles: set[str] = set()
        for element in self.walk(self.root):
            if element.tag in HEADING_LEVELS:
                title = " ".join(list_parts(element, self.dropped))
                if title.startswith("Re: ") and title[4:] in titles:
                    self.drop(element)
                titles.add(title)
            if self.text[element] > LONG or element.tag in KEPT_WHOLE or is_whole_cell(element, self.text):
                continue
            if is_in_data_table(element):
                continue
            if element.tag not in BLOCK_TAGS and is_in_sentence(element):
                continue
            parts = list(list_parts(element, self.dropped))
            if is_control(parts) or self.is_edge_line(element, parts):
                self.drop(element)
            elif self.text[element] <= SHORT and self.is_byline(element, parts):
                bylines.append(element)
        for element in bylines if len(bylines) > 1 else ():
            if not self.dropped.intersection([element, *element.iterancestors()]):
                self.drop(element)

    def is_edge_line(self, element: Any, parts: list[str]) -> bool:
        """Whether an element is a path to the page, a list of its tags, or legal notes at its end."""
        links = [link for link in element.iter("a") if self.text[link]]
        if not links or element.tag not in BLOCK_TAGS | {"font", "span"}:
            return False
        if self.share_links(element) >= ALL_LINKS and all(TAG_ADDRESS.search(link.get("href") or "") for link in links):
            return True
        steps = [link for link in links if STEP.fullmatch((link.tail or "")[:3].strip())]
        if links[0] in steps and (len(steps) > 1 or (links[0].get("href") or "").strip("./") in ("", "index.html")):
            return True
        is_legal = any(map(LEGAL_LINK.fullmatch, parts)) or COPYRIGHT.search(" ".join(parts))
        return bool(is_legal) and not is_in(element, "article", "main") and element.find(".//p") is None

    def is_byline(self, element: Any, parts: list[str]) -> bool:
        """Whether an element says who wrote a post, and when. Only of interest if a page has several."""
        if element.tag not in BLOCK_TAGS or not self.linked[element]:
            return False
        text = " ".join(parts)
        is_named = bool(AUTHOR_NAMES & set(list_names(element))) or BY.match(text)
        return bool(is_named and DATE.search(text))


def is_control(parts: list[str]) -> bool:
    certain = [bool(CONTROL.fullmatch(part)) for part in parts]
    if not all(is_one or COMMON_CONTROL.fullmatch(part) for is_one, part in zip(certain, parts, strict=True)):
        return False
    return any(certain) or sum(not part[0].isdigit() for part in parts) > 1


def is_whole_cell(element: Any, text: dict[Any, int]) -> bool:
    """Whether an element is all that stands in a cell, a list item or a definition."""
    holder = element if element.tag in CELL_TAGS else next(element.iterancestors(*CELL_TAGS), None)
    return holder is not None and text[holder] == text[element]


def is_in_data_table(element: Any) -> bool:
    table = element if element.tag == "table" else next(element.iterancestors("table"), None)
    return table is not None and not is_layout(table)


def is_in_sentence(element: Any) -> bool:
    """Whether text stands directly beside an element in its line."""
    parent = element.getparent()
    beside = [parent.text, *(child.tail for child in parent)]
    return any((text or "").strip(SEPARATORS) for text in beside)
