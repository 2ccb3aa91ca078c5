"""A trained model's card (quorum.json) that another program wrote is refused with an error of one sentence."""

from pathlib import Path

import pytest

from quorum.core.errors import SetupError
from quorum.models.pretrained import CARD_FILE, read_card


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"kind": 5}', "[" * 100_000, "\x00", '{"kind": "filter", "prompts": "x"}']
)
def test_a_card_of_another_kind_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / CARD_FILE).write_text(text, encoding="utf-8")
    with pytest.raises(SetupError, match="cannot be read \\(it is not the card of a trained model\\)") as caught:
        read_card(tmp_path)
    assert "\n" not in str(caught.value)
