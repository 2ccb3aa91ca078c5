"""What `make docs` gives to the builder of the site: every page, with links that hold there."""

import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from docs.build_site import PARTS, copy_pages, move_links
from docs.check_site import find_faults


def list_nav_pages(nav: list[dict[str, object]]) -> Iterator[str]:
    for entry in nav:
        for value in entry.values():
            if isinstance(value, list):
                yield from list_nav_pages(value)
            else:
                yield str(value)


def test_the_navigation_names_every_page_once(tmp_path: Path) -> None:
    nav = tomllib.loads((PARTS / "zensical.toml").read_text(encoding="utf-8"))["project"]["nav"]
    pages = [page for page in copy_pages(tmp_path) if not page.startswith("files/")]
    assert sorted(list_nav_pages(nav)) == sorted(pages)


def test_links_of_the_repository_become_links_of_the_site() -> None:
    text = "[sure.md](methods/sure.md#sure), [it](../CONTRIBUTING.md), `[a](b.md)`, ![](pictures/page.png)."
    files: list[str] = []
    assert move_links(text, "docs/methods.md", files) == (
        "[SuRe and its baselines](methods/sure.md#sure), [it](contributing.md), `[a](b.md)`, ![](pictures/page.png)."
    )
    assert files == ["docs/methods/sure.md", "CONTRIBUTING.md", "docs/pictures/page.png"]
    assert move_links("[code](../pyproject.toml)", "docs/scale.md", files) == "[code](files/pyproject.toml.md)"
    with pytest.raises(FileNotFoundError, match=r"docs/scale.md: the link to gone.md leads to no file"):
        move_links("[x](gone.md)", "docs/scale.md", files)


def test_a_link_an_anchor_and_a_script_that_are_not_in_the_site_are_faults(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(
        '<h2 id="one"></h2><a href="b.html#two"></a><a href="c.html"></a><a href="#one"></a>'
        '<script src="https://cdn.example/x.js"></script><a href="https://example.org">elsewhere</a>',
        encoding="utf-8",
    )
    (tmp_path / "b.html").write_text('<h2 id="three"></h2><img src="//cdn.example/x.png">', encoding="utf-8")
    assert find_faults(tmp_path) == [
        "a.html loads https://cdn.example/x.js from another machine",
        "a.html: the page of the link b.html#two has no such anchor",
        "a.html: the link c.html leads to no file of the site",
        "b.html loads //cdn.example/x.png from another machine",
    ]
