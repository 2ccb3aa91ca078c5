"""Checks a built site as a browser reads it: every link and anchor leads somewhere, and every file that a page loads
is in the site.
"""

from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src"}  # tags that load a file
NOT_LOADED = {"canonical", "prev", "next", "alternate"}  # `rel` of a <link> that names a page and loads nothing


class PageReader(HTMLParser):
    """The anchors of a page, its links, and the files that it loads."""

    def __init__(self) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.anchors |= {values[name] for name in ("id", "name") if name in values}
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        if LOADED.get(tag, "") in values and values.get("rel") not in NOT_LOADED:
            self.loaded.append(values[LOADED[tag]])


def find_faults(site: Path) -> list[str]:
    """A sentence for each link, anchor and loaded file that is not in the site."""
    pages = {}
    for path in sorted(site.rglob("*.html")):
        pages[path] = PageReader()
        pages[path].feed(path.read_text(encoding="utf-8"))
    faults = []
    for path, page in pages.items():
        if path.name == "404.html":  # a server shows it at any address, so that its links are absolute
            continue
        name = path.relative_to(site).as_posix()
        for link in page.loaded:
            if urlsplit(link).scheme not in ("", "data") or link.startswith("//"):
                faults.append(f"{name} loads {link} from another machine")
        for link in page.links + page.loaded:
            parts = urlsplit(link)
            if parts.scheme or link.startswith("//"):
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.is_file():
                faults.append(f"{name}: the link {link} leads to no file of the site")
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors:
                faults.append(f"{name}: the page of the link {link} has no such anchor")
    return faults
