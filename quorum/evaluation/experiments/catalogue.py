"""The papers' tables and figures by name: one file NAME.toml each, in the folder of this module."""

from difflib import get_close_matches
from pathlib import Path

from quorum.core.errors import SetupError
from quorum.evaluation.experiments.experiment import Experiment, read_experiment

EXPERIMENTS_FOLDER = Path(__file__).parent
PAPERS = ("Post-fusion", "BlendFilter", "SuRe", "FILCO")
EXPERIMENTS: dict[str, Experiment] = {}
ALIASES: dict[str, Experiment] = {}  # shorter names; some change a key of their experiment, such as its methods

for path in EXPERIMENTS_FOLDER.glob("*.toml"):
    experiment, aliases = read_experiment(path)
    EXPERIMENTS[experiment.name] = experiment
    ALIASES.update(aliases)


def make_sort_key(experiment: Experiment) -> tuple[int, bool, int, str]:
    """The key that sorts by paper, then tables before other items, then by number; items without one come last."""
    kind, _, number_text = experiment.item.partition(" ")
    number = "".join(character for character in number_text if character.isdigit())
    return PAPERS.index(experiment.paper), kind != "table", int(number or 99), experiment.name


EXPERIMENTS = {experiment.name: experiment for experiment in sorted(EXPERIMENTS.values(), key=make_sort_key)}


def find_experiment(name: str) -> Experiment:
    """The experiment with that name or alias. If there is none, raises a `SetupError` that lists similar names.

    >>> find_experiment("rerank").name
    'sure-table-4'
    """
    experiment = EXPERIMENTS.get(name) or ALIASES.get(name)
    if experiment is None:
        similar_names = get_close_matches(name, [*EXPERIMENTS, *ALIASES], n=3)
        advice = (
            f"did you mean {' or '.join(similar_names)}?"
            if similar_names
            else "the command quorum experiment lists all experiments."
        )
        raise SetupError(f"There is no experiment {name!r}; {advice}")
    return experiment
