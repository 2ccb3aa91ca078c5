"""Passages of which some are gold, for tests."""

from quorum.core.state import Passage


def make_passages_with_answer_in_g(*ids: str) -> list[Passage]:
    """Passages with these ids; those whose id begins with g contain the answer, Basel."""
    return [Passage(id=id_, title="", text="It is Basel." if id_[0] == "g" else "Nothing.") for id_ in ids]
