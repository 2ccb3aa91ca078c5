"""What the tests of `make test-llm` ask the model: a question, passages, and values of the prompts' variables."""

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
CANDIDATES = ["Ada Korn", "Ida Moor"]
SUMMARY = "Ada Korn built the lighthouse of Vell in 1874."
# A value for each variable of the prompts, except passages and demonstrations.
VALUES: dict[str, str | list[str]] = {
    "answer": "Ada Korn",
    "candidates": CANDIDATES,
    "choices": "(a) Ada Korn\n(b) Ida Moor",
    "count": "2",
    "examples": "Question: Which river runs through Vell?\nAnswer: the Orn",
    "first": SUMMARY,
    "form": "(a) answer (b) answer",
    "golds": "Ada Korn",
    "history": "Question: Where is Vell?\nAnswer: on the coast",
    "judgement": "The passages name the builder.",
    "kind": "a name, a number or a few words",
    "max_steps": "3",
    "notes": "- The lighthouse of Vell was built in 1874.",
    "prediction": "Ada Korn",
    "question": QUESTION,
    "reasoning": "The first passage says that Ada Korn built the lighthouse.",
    "second": "The harbour of Vell was dug in 1850.",
    "statement": "[MASK] built the lighthouse of Vell.",
    "step": "1",
    "steps": "",
    "summaries": ["Ada Korn built it.", "The harbour is old."],
    "summary": SUMMARY,
    "thought": "I should look for the builder of the lighthouse.",
    "topic": "lighthouses",
}
