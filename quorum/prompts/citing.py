"""Chooses the texts of prompts that ask the model to cite passages, or not to (`Context.citations`)."""

from collections.abc import Mapping

from quorum.prompts import BUILT_IN, Overrides, load_overrides

# The prompts for long answers and turns, which ask for citations, in the wording that does not.
UNCITED_TEXTS = {name.removesuffix(".uncited"): text for name, text in BUILT_IN.items() if name.endswith(".uncited")}
# SuRe's summary, which is its long answer; the built-in wording serves short answers and asks for no citations.
CITED_TEXTS = {name.removesuffix(".cited"): text for name, text in BUILT_IN.items() if name.endswith(".cited")}


def add_citing_texts(overrides: Overrides, answer_type: str, *, cites: bool) -> Mapping[str, str]:
    """The overrides of a run, and with them the texts that ask for citations or not. A text of the user's own wins.

    cites: whether answers cite the passages that they come from; only long answers and turns of a conversation do.

    >>> sorted(add_citing_texts(None, "long", cites=True)), sorted(add_citing_texts(None, "short", cites=True))
    (['conditional_summary'], [])
    """
    chosen_texts = {} if cites else UNCITED_TEXTS
    if cites and answer_type == "long":
        chosen_texts = CITED_TEXTS
    return {**chosen_texts, **load_overrides(overrides)}
