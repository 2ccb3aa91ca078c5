"""The question and the passages with which the tests of `make test-llm` ask a language model."""

from quorum.core.state import Passage

PASSAGES: list[Passage] = [
    {
        "id": "1",
        "title": "Lighthouse of Vell",
        "text": "The lighthouse of Vell was built in 1874 by Ada Korn. It stands on the north pier.",
    },
    {
        "id": "2",
        "title": "Vell",
        "text": "Vell is a small port. Its harbour was dug in 1850, and its museum shows ships.",
    },
]
QUESTION = "Who built the lighthouse of Vell?"
