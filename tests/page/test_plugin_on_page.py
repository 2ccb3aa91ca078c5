"""A method of an installed package on the page."""

import pytest
from plugin_package import example

from quorum.ui.cards import mermaid_of
from quorum.ui.form import families

__all__ = ["example"]


@pytest.mark.usefixtures("example")
def test_the_page_offers_and_draws_its_method() -> None:
    assert families()["Example"] == ["shout"]
    assert "raise_voice" in str(mermaid_of("shout"))
