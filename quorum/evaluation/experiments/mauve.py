"""MAUVE (Pillutla et al. 2021): how similar all answers of a method with its settings are to the gold answers.

A language model turns each text into a vector; MAUVE compares the two distributions of vectors.

It needs the extra `mauve`: the authors' package, PyTorch, and GPT-2 large (3 GB), which is fetched on first use.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from quorum.core.errors import SetupError
from quorum.evaluation.experiments.experiment import Experiment

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from quorum.evaluation.metrics.user_measures import UserMeasure

DEFAULT_MODEL = "gpt2-large"  # the authors' choice
MOST_TOKENS = 1024  # GPT-2 reads at most so many tokens of a text
PACKAGES = ("mauve", "torch", "transformers")


def describe_missing_mauve(experiment: Experiment) -> list[str]:
    """Why MAUVE is left out of an experiment whose paper reports it; nothing if it can be computed. Loads the model."""
    if "mauve" not in experiment.measures:
        return []
    if any(find_spec(package) is None for package in PACKAGES):
        return ["MAUVE is left out: pip install 'quorum-rag[mauve]' lets it run"]
    try:
        load_featurizer(DEFAULT_MODEL)
    except SetupError:
        return [f"MAUVE is left out: its language model {DEFAULT_MODEL} is not on this machine and cannot be fetched"]
    return []


def choose_mauve_measure(experiment: Experiment, *, is_missing: bool) -> "Mapping[str, UserMeasure]":
    """{"mauve": function} if the paper reports MAUVE and nothing is missing; else {}."""
    return {"mauve": compute_mauve} if "mauve" in experiment.measures and not is_missing else {}


def compute_mauve(answers: Sequence[str], golds: Sequence[Sequence[str]], model: str = DEFAULT_MODEL) -> float:
    """MAUVE of the answers against the first gold answer of each question, in 0..100 as the papers state it.

    Empty answers are skipped. MAUVE compares distributions, so it needs at least a few hundred answers.
    model: a name or folder of a causal language model, for example "gpt2".
    """
    import mauve

    texts = [answer for answer in answers if answer]
    gold_texts = [accepted_answers[0] for accepted_answers in golds if accepted_answers and accepted_answers[0]]
    if not texts or not gold_texts:
        return 0.0
    scores = mauve.compute_mauve(p_features=embed_texts(texts, model), q_features=embed_texts(gold_texts, model))
    return 100 * float(scores.mauve)


def embed_texts(texts: Sequence[str], name: str) -> "NDArray[np.float32]":
    """An array with a row for each text: the model's last hidden state at the text's last token."""
    import numpy as np
    import torch

    model, tokenizer = load_featurizer(name)
    states = []
    with torch.inference_mode():
        for text in texts:
            ids = tokenizer(text, return_tensors="pt", truncation=True, max_length=MOST_TOKENS).input_ids.to(
                model.device
            )
            states.append(
                model(input_ids=ids, output_hidden_states=True).hidden_states[-1][0, -1].float().cpu().numpy()
            )
    return np.stack(states)


@lru_cache(maxsize=1)
def load_featurizer(name: str) -> tuple[Any, Any]:
    """The model and its tokenizer. Raises `SetupError` if they can neither be found nor fetched."""
    from quorum.models.pretrained import load_base

    model, tokenizer = load_base(name, half=False)
    return model.eval(), tokenizer
