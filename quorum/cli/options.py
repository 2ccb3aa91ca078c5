"""The options that several commands share."""

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from quorum.cli.completion import complete_methods, complete_setting

Model: TypeAlias = Annotated[
    str | None,
    typer.Option("--model", "-m", metavar="SPEC", help="Chat model: embedded, openai:NAME or provider:NAME."),
]
Retriever: TypeAlias = Annotated[
    str | None, typer.Option("--retriever", metavar="NAME", help="Retriever: hybrid, chroma, bm25 or colbert:MODEL.")
]
K: TypeAlias = Annotated[int | None, typer.Option("--k", "-k", metavar="N", help="Passages per query.")]
Store: TypeAlias = Annotated[
    str | None,
    typer.Option("--store", metavar="DIR|URL", help="Folder of the store, or a Chroma server http://host:port."),
]
Embeddings: TypeAlias = Annotated[
    str | None,
    typer.Option("--embeddings", metavar="SPEC", help="Embeddings: embedded, huggingface:MODEL or provider:NAME."),
]
TitleKey: TypeAlias = Annotated[
    str | None,
    typer.Option("--title-key", metavar="KEY", help="Metadata with the title, in another program's collection."),
]
Collection: TypeAlias = Annotated[
    str | None,
    typer.Option("--collection", "-c", metavar="NAME", help="Collection to search; by default the store's only one."),
]
Where: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--where",
        metavar="CONDITION",
        help="Find only passages with these metadata: 'source=handbook.pdf', 'year>=2020'. If repeated, all must hold.",
    ),
]
Settings: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Any other setting; may be given several times.",
        autocompletion=complete_setting,
    ),
]
SkipBad: TypeAlias = Annotated[bool, typer.Option("--skip-bad", help="Leave out broken records and count them.")]
Judge: TypeAlias = Annotated[
    str | None, typer.Option("--judge", metavar="SPEC", help="Chat model that judges whether each answer is right.")
]
Metric: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--metric",
        metavar="[NAME=]MODULE:FUNCTION",
        help="A metric of your own: a function (result, reference) that returns a number for each answer.",
    ),
]
LangSmith: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--langsmith",
        metavar="NAME",
        help="Upload the questions to LangSmith as dataset NAME, and the answers of each method as an experiment.",
    ),
]
Engine: TypeAlias = Annotated[
    str, typer.Option("--engine", metavar="local|ray", help="One process, or many on Ray (extra 'ray').")
]
Race: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--race",
        metavar="exact|questions|future",
        help="Stop asking methods that cannot win (exact), or are unlikely to be the best on these questions "
        "(questions) or on new ones (future).",
    ),
]
WrongCost: TypeAlias = Annotated[
    float,
    typer.Option(
        "--wrong-cost",
        metavar="C",
        help="What a wrong answer costs, if a right one is worth 1; the answer unknown costs 0.",
    ),
]
Margin: TypeAlias = Annotated[
    float,
    typer.Option(
        "--margin",
        metavar="X",
        help="Recommend a cheaper method that may be the best if its mean is at most X below the highest: 0.02 is two "
        "points of 100.",
    ),
]
Limit: TypeAlias = Annotated[int | None, typer.Option("--limit", metavar="N", help="Only the first N questions.")]
Concurrency: TypeAlias = Annotated[int, typer.Option("--concurrency", metavar="N", help="Questions at once.")]
DryRun: TypeAlias = Annotated[bool, typer.Option("--dry-run", help="Print the estimate and stop.")]
MaxCost: TypeAlias = Annotated[
    float | None,
    typer.Option(
        "--max-cost",
        metavar="DOLLARS",
        help="Begin only if the estimate is at most this, and stop once more than this is spent.",
    ),
]
Prices: TypeAlias = Annotated[
    Path | None,
    typer.Option("--prices", metavar="FILE", help="Prices of models (TOML or JSON); they replace built-in prices."),
]
AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Data: TypeAlias = Annotated[
    Path,
    typer.Argument(metavar="DATA", help="Questions (JSON lines, also gzip), or langsmith:NAME.", show_default=False),
]
Methods: TypeAlias = Annotated[
    str,
    typer.Option(
        "--methods",
        metavar="A,B|all",
        help="Methods, with own settings in brackets: 'concat,concat[k=10;seed=1]'; 'concat>post_fusion' is a cascade: "
        "if the answer is unknown, the next is asked.",
        autocompletion=complete_methods,
    ),
]
Out: TypeAlias = Annotated[
    Path | None, typer.Option("--out", metavar="DIR", help="Folder of the results; by default under results/.")
]
Baseline: TypeAlias = Annotated[
    str | None,
    typer.Option("--baseline", metavar="NAME", help="Method that the others are compared with; by default the first."),
]
