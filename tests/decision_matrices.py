"""Tables of answers on which commands must not contradict each other: recorded sets, and scripted ones."""

import numpy as np
from matrix_results import Matrix

from benchmarks.decisions import RECORDED_FOLDER
from benchmarks.decisions_recorded import read_recorded_set

RECORDED_NAMES = ("hotpotqa", "nq_search", "popqa", "squad_open", "triviaqa")


def read_recorded_matrix(name: str) -> Matrix:
    """The answers of all 23 methods to the questions of a recorded set."""
    recorded_set = read_recorded_set(RECORDED_FOLDER / f"{name}.npz")
    arrays = recorded_set.arrays
    return Matrix(
        recorded_set.methods,
        arrays["right"].astype(float),
        arrays["tokens"].astype(float),
        arrays["unknown"].astype(bool),
        confidence=arrays["confidence"].astype(float),
    )


def script_matrix(
    shares: dict[str, float],
    tokens: dict[str, float],
    questions: int,
    *,
    seed: int = 0,
    shared: float = 0.7,
    documents: int | None = None,
) -> Matrix:
    """Methods that are right with known probabilities, and for the most part on the same questions.

    shared: the probability that an answer follows the question's difficulty; documents: the questions belong to so many
    documents, and a method finds all questions of a document easier or harder than another method does.
    """
    rng = np.random.default_rng(seed)
    count = len(shares)
    difficulty = np.where(rng.random((count, questions)) < shared, rng.random((1, questions)), rng.random((count, 1)))
    own = rng.random((count, questions))
    draws = np.where(rng.random((count, questions)) < shared, np.broadcast_to(difficulty[:1], own.shape), own)
    groups = None
    if documents is not None:
        places = np.arange(questions) % documents
        groups = [f"document {place}" for place in places]
        draws = np.clip(draws + 0.25 * rng.normal(size=(count, documents))[:, places], 0, 1)
    right = (draws < np.array(list(shares.values()))[:, None]).astype(float)
    unknown = (right == 0) & (rng.random((count, questions)) < 0.3)
    token_table = np.tile(np.array([tokens[name] for name in shares])[:, None], (1, questions))
    return Matrix(tuple(shares), right, token_table, unknown, groups=groups)


def make_sixty_questions() -> Matrix:
    """60 questions: one call of cot is right on 19 of them, filco on 9, for 8% fewer tokens; two more are between."""
    right = np.zeros((4, 60))
    for method, count in enumerate((19, 9, 15, 13)):
        right[method, np.random.default_rng(method).permutation(60)[:count]] = 1.0
    tokens = np.tile(np.array([[1000.0], [920.0], [1400.0], [2100.0]]), (1, 60))
    return Matrix(("cot", "filco", "concat", "post_fusion"), right, tokens, right == -1.0)


def name_methods(count: int) -> list[str]:
    """Names of methods that exist, the first `count`."""
    return list(read_recorded_set(RECORDED_FOLDER / "popqa.npz").methods[:count])


def make_scripted_matrices() -> dict[str, Matrix]:
    names = name_methods(23)
    rising = {name: 500.0 + 100 * place for place, name in enumerate(names)}
    return {
        "60 questions, cot 31.7% and filco 15.0%": make_sixty_questions(),
        "23 equal methods, 200 questions": script_matrix(dict.fromkeys(names, 0.5), rising, 200, seed=1),
        "one of 8 leads by 12 points, 400 questions": script_matrix(
            {name: 0.62 if place == 5 else 0.5 - place / 100 for place, name in enumerate(names[:8])},
            rising,
            400,
            seed=2,
        ),
        "10 within 1 point, 10 far behind, 600 questions": script_matrix(
            {name: 0.6 - place / 1000 if place % 2 else 0.3 for place, name in enumerate(names[:20])},
            rising,
            600,
            seed=3,
        ),
        "10 equal methods, 200 questions of 50 documents": script_matrix(
            dict.fromkeys(names[:10], 0.5), rising, 200, seed=4, documents=50
        ),
    }
