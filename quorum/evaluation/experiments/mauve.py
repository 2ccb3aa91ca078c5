"""MAUVE (Pillutla et al. 2021): how similar the answers of one column, taken together, are to the gold answers.

A language model turns each text into a vector; MAUVE compares the two distributions of vectors.

It needs the extra `mauve` (the package of MAUVE's authors, PyTorch and transformers) and GPT-2 large (3 GB), which is
fetched on first use.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from quorum.core.errors import SetupError
from quorum.core.extras import describe_install
from quorum.evaluation.experiments.experiment import Experiment

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from quorum.evaluation.run.user_measures import UserMeasure

DEFAULT_MODEL = "gpt2-large"  # the choice of MAUVE's authors
MOST_TOKENS = 1024  # GPT-2 reads only the first 1024 tokens of a text
PACKAGES = ("mauve", "torch", "transformers")


def describe_missing_mauve(experiment: Experiment) -> list[str]:
    """One sentence that says why MAUVE is left out of an experiment, in a list.

    The list is empty if MAUVE can be computed, or if the experiment's paper does not report it. To find out whether the
    language model is available, this function loads it.
    """
    if "mauve" not in experiment.measures:
        return []
    if any(find_spec(package) is None for package in PACKAGES):
        return [f"MAUVE is left out; to include it, run: {describe_install('mauve')}"]
    try:
        load_featurizer(DEFAULT_MODEL)
    except SetupError:
        return [f"MAUVE is left out: its language model {DEFAULT_MODEL} is not on this machine and cannot be fetched"]
    return []


def choose_mauve_measure(experiment: Experiment, *, is_missing: bool) -> "Mapping[str, UserMeasure]":
    """{"mauve": function} if the paper reports MAUVE and it can be computed; else {}.

    is_missing: whether `describe_missing_mauve` gives a reason to leave MAUVE out.
    """
    return {"mauve": compute_mauve} if "mauve" in experiment.measures and not is_missing else {}


def compute_mauve(answers: Sequence[str], golds: Sequence[Sequence[str]], model: str = DEFAULT_MODEL) -> float:
    """MAUVE of the answers against the first gold answer of each question, in 0..100 as the papers state it.

    Empty answers are skipped, and so are empty or missing gold answers. If a question's gold answer is skipped, its
    answer still counts; if its answer is skipped, its gold answer still counts. If no answer or no gold answer is left,
    the value is 0. MAUVE compares distributions, so it needs at least a few hundred answers. model: the name or folder
    of a causal language model, for example "gpt2".
    """
    import mauve

    texts = [answer for answer in answers if answer]
    gold_texts = [accepted_answers[0] for accepted_answers in golds if accepted_answers and accepted_answers[0]]
    if not texts or not gold_texts:
        return 0.0
    scores = mauve.compute_mauve(p_features=embed_texts(texts, model), q_features=embed_texts(gold_texts, model))
    return 100 * float(scores.mauve)


def embed_texts(texts: Sequence[str], model_name: str) -> "NDArray[np.float32]":
    """An array with a row for each text: the model's last hidden state at the text's last token."""
    import numpy as np
    import torch

    model, tokenizer = load_featurizer(model_name)
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
def load_featurizer(model_name: str) -> tuple[Any, Any]:
    """The language model that turns texts into vectors, and its tokenizer.

    Raises `SetupError` if they are neither on this machine nor can be fetched.
    """
    from quorum.models.pretrained import load_base

    model, tokenizer = load_base(model_name, half=False)
    return model.eval(), tokenizer
