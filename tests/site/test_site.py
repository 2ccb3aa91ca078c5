"""The built documentation site, opened from its folder as a reader without a network opens it (make test-site)."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "page"))

from browser import Page, find_chromium, open_browser  # noqa: E402

SITE = ROOT / "build" / "docs" / "site"
PAGES = sorted(path.relative_to(SITE).as_posix() for path in SITE.rglob("*.html") if path.name != "404.html")


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    if find_chromium() is None:
        pytest.fail("No Chromium is installed; on Debian: apt-get install chromium")
    with open_browser(tmp_path_factory.mktemp("profile")) as browser_page:
        yield browser_page


def test_every_page_opens_from_its_folder_and_fits_a_phone(page: Page) -> None:
    assert len(PAGES) > 40
    page.set_size(390, 844)
    for name in PAGES:
        page.open(SITE / name)
        page.wait_until(
            "document.querySelectorAll('h1').length >= 1 && !!document.querySelector('[data-md-component=search]')"
        )
        assert page.errors == [], name
        assert {url.partition(":")[0] for url in page.requested_urls} <= {"file", "data", "blob"}, name
        assert page.run("document.documentElement.scrollWidth <= innerWidth"), name


def test_the_search_finds_a_word_of_a_page_and_leads_to_it(page: Page) -> None:
    page.set_size(1280)
    page.open(SITE / "index.html")
    page.wait_until("!!document.querySelector('.md-search__button')")
    page.run("document.querySelector('.md-search__button').click()")
    page.wait_until("!!document.activeElement.shadowRoot?.querySelector('input')")
    page.send("Input.insertText", text="hypothetical passage")
    links = "[...document.activeElement.shadowRoot.querySelectorAll('a')].map((link) => link.href)"
    page.wait_until(f"{links}.length > 0")
    assert any("methods/hyde.html?h=" in link for link in page.run(links))
    assert page.errors == []
    assert {url.partition(":")[0] for url in page.requested_urls} <= {"file", "data", "blob"}


def test_a_methods_graph_is_drawn(page: Page) -> None:
    page.open(SITE / "methods" / "hyde.html")
    page.run("document.querySelector('details').open = true")
    page.wait_until("document.querySelector('div.mermaid')?.getBoundingClientRect().height > 300")
    assert page.errors == []
