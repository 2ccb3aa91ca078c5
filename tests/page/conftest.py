"""Fixtures: one browser tab for all tests, and two reports (100 and 5,000 questions)."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from report_folder import make_report

sys.path.insert(0, str(Path(__file__).parent))

from browser import Page, find_chromium, open_browser


@pytest.fixture(scope="session")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """The tab of the browser in which the tests open pages."""
    if find_chromium() is None:
        pytest.fail("No Chromium is installed; on Debian: apt-get install chromium")
    with open_browser(tmp_path_factory.mktemp("profile")) as browser_page:
        yield browser_page


@pytest.fixture(scope="session", params=[100, 5000])
def report(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The path of a report's page. A test that uses it runs twice: with 100 and with 5,000 questions."""
    return make_report(tmp_path_factory.mktemp("report"), request.param)
