"""A file quorum.json that is not the manifest of a trained model is refused with an error of one line."""

from pathlib import Path

import pytest

from quorum.core.errors import SetupError
from quorum.models.pretrained import MANIFEST_FILE, read_model_manifest


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"kind": 5}', "[" * 100_000, "\x00", '{"kind": "filter", "prompts": "x"}']
)
def test_a_file_that_is_no_manifest_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / MANIFEST_FILE).write_text(text, encoding="utf-8")
    with pytest.raises(SetupError, match="cannot be read \\(it is not the manifest of a trained model\\)") as caught:
        read_model_manifest(tmp_path)
    assert "\n" not in str(caught.value)
