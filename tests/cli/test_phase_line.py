"""What a method does is shown on a terminal, and nowhere else."""

import io

import pytest
from rich.console import Console

from quorum import AnswerText, NodeStarted, Retrying
from quorum.cli.phase_line import BACK_AND_CLEAR, PhaseLine


@pytest.mark.parametrize("is_terminal", [True, False])
def test_a_phase_replaces_the_one_before_and_is_gone_when_the_answer_comes(is_terminal: bool) -> None:
    out = io.StringIO()
    line = PhaseLine(Console(file=out, force_terminal=is_terminal, width=26, color_system=None))
    retrying = Retrying("The model does not answer", 3, 8, 4.0)
    for event in (NodeStarted("retrieve", phase="searching"), NodeStarted("x", phase="searching"), retrying):
        line.show(event)
    line.show(AnswerText("1931"))
    line.clear()
    shown = f"searching ...{BACK_AND_CLEAR}The model does not answer{BACK_AND_CLEAR}"
    assert out.getvalue() == (shown if is_terminal else "")
