"""Where an encoder is loaded from: a folder, or a name on the model hub."""

import pytest

from quorum.core.errors import SetupError
from quorum.models.load_encoder import require_model_location


def test_the_home_folder_of_an_unknown_user_is_a_setup_error() -> None:
    with pytest.raises(SetupError, match="There is no model in '~no-such-user/model'; give the folder"):
        require_model_location("~no-such-user/model")
