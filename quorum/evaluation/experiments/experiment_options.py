"""What a user can choose for an experiment."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class ExperimentOptions:
    """The options that an experiment has beside those of an evaluation. judge, verifier: models; examples: a file from
    which demonstrations are drawn; filters: context filters to compare; variants: settings for variants, as
    'psg[filter=SPEC;model=SPEC]'; drop_known: ask only the questions that the model does not answer correctly without a
    context; quick: a smaller run; stated_settings: the settings that the user gave, which replace the paper's;
    paper_number_words: words that select numbers of the paper ("NQ gpt-4"); without them, those of this data set and
    model are shown.
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
