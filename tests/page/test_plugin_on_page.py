"""A method of an installed package on the page."""

import pytest
from plugin_package import example_plugin

from quorum.ui.cards import render_mermaid
from quorum.ui.form import list_methods_by_paper

__all__ = ["example_plugin"]  # a fixture, used by name


@pytest.mark.usefixtures("example_plugin")
def test_the_page_offers_and_draws_a_plugins_method() -> None:
    assert list_methods_by_paper()["Example"] == ["shout"]
    assert "write_in_capitals" in str(render_mermaid("shout"))
