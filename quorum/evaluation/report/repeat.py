"""The command that repeats a comparison, for report.md."""

import shlex

from quorum.evaluation.run.options import Options

# Options of the command that take what the field of this name holds; left out where the field has its default.
PLAIN_OPTIONS = ("limit", "baseline", "max_cost", "prices", "judge", "race", "engine", "concurrency")
LIST_OPTIONS = ("models", "retrievers", "k")


def describe_command(options: Options) -> str:
    """`quorum compare` with the options of this comparison that are not the defaults. Settings of quorum.toml and of
    the environment are not repeated; the results' config.json has them.

    >>> from pathlib import Path
    >>> describe_command(Options(data=Path("q.jsonl"), corpus="docs", methods="concat,sure[k=3]", margin=0.0))
    "quorum compare docs q.jsonl --methods 'concat,sure[k=3]' --margin 0"
    """
    source = options.corpus or "given"
    defaults = Options(data=options.data)
    words = ["quorum", "compare", source, str(options.data), "--methods", options.methods]
    for name in PLAIN_OPTIONS:
        value = getattr(options, name)
        if value != getattr(defaults, name):
            words += [f"--{name.replace('_', '-')}", str(value)]
    for name in LIST_OPTIONS:
        if value := getattr(options, name):
            words += [f"--{name}", ",".join(value)]
    for name in ("wrong_cost", "margin"):
        if getattr(options, name) != getattr(defaults, name):
            words += [f"--{name.replace('_', '-')}", f"{getattr(options, name):g}"]
    if options.budget:
        words += ["--budget", ",".join(f"{unit}={limit:g}" for unit, limit in options.budget.items())]
    if options.skip_bad:
        words.append("--skip-bad")
    return shlex.join(words)
