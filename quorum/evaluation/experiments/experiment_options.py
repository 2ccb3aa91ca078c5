"""The options that only `quorum experiment` has."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class ExperimentOptions:
    """The options that an experiment has beside those of an evaluation (`quorum.evaluation.run.options`).

    judge: the model that judges summaries or answers. verifier: the model that checks SuRe's summaries. examples: a
    file from which demonstrations are drawn. filters: the context filters to compare. variants: settings of the
    experiment's variants, each as NAME[SETTINGS], such as 'psg[filter=SPEC;model=SPEC]' for the variant `psg`.
    drop_known: ask only the questions that the model does not answer correctly without passages. quick: make a smaller
    run. stated_settings: the names of the settings that the user gave; for these, the user's values apply, not the
    paper's. paper_number_words: words that choose which of the paper's numbers are shown, such as "NQ gpt-4"; None:
    those of the same data set and model.
    """

    judge: str | None = None
    verifier: str | None = None
    examples: Path | None = None
    filters: tuple[str, ...] = ()
    variants: tuple[str, ...] = ()
    drop_known: bool = False
    quick: bool = False
    stated_settings: frozenset[str] = frozenset()
    paper_number_words: str | None = None
