"""Clients that do not see the server's log read in the answer that a window is only assumed."""

from quorum.core.context import Context
from quorum.core.conversation import remove_served_additions
from quorum.core.state import Result
from quorum.evaluation.shown.support import make_window_note
from quorum.models.scripted import ScriptedModel


async def test_the_note_says_what_was_left_out_where_nothing_says_how_long_the_window_is() -> None:
    context = Context(model=ScriptedModel())
    note = await make_window_note(Result(dropped=3), context)
    assert note == (
        "Left out of the prompt for want of room: 3 passages; nothing says how many tokens the model reads, so 8,192 "
        "are assumed; set context_window to the size of its window."
    )
    assert remove_served_additions(f"1931\n\n{note}\n\nSources:\n[1] Towers") == "1931"
    assert await make_window_note(Result(dropped=0), context) is None
    assert await make_window_note(Result(dropped=3), Context(model=ScriptedModel(), context_window=9000)) is None
