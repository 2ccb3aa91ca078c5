"""MAUVE (Pillutla et al. 2021), which compares the answers of a column with the gold ones by a language model's view of
both. It needs the extra `mauve`, which brings PyTorch, and loads a model.
"""

from collections.abc import Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING

from quorum.evaluation.experiments.experiment import Experiment

if TYPE_CHECKING:
    from quorum.evaluation.metrics.corpus_measures import CorpusMeasure


def mauve_measure(experiment: Experiment) -> "Mapping[str, CorpusMeasure]":
    """{"mauve": function} if the paper reports it and the extra is installed; else nothing."""
    wanted = "mauve" in experiment.measures and find_spec("mauve") is not None
    return {"mauve": compute_mauve} if wanted else {}


def compute_mauve(answers: list[str], golds: list[list[str]]) -> float:
    """MAUVE of the answers against the first gold answer of each question, in 0..100 as the papers state it."""
    import mauve

    pairs = [(answer, accepted[0]) for answer, accepted in zip(answers, golds, strict=True) if accepted]
    found = mauve.compute_mauve(p_text=[one for one, _ in pairs], q_text=[one for _, one in pairs], verbose=False)
    return 100 * float(found.mauve)
