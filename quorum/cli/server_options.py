"""The options that `quorum serve` and `quorum mcp` share: the address, and what clients may choose and spend."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from quorum.core.errors import SetupError
from quorum.core.files import expand_home

if TYPE_CHECKING:
    from quorum.serving.serve import Options
    from quorum.serving.watched import WatchOptions

ALL_COLLECTIONS = "all"
# The groups of the options in the help.
ACCESS, CHOICES = "Address and access", "What clients may ask"
LIMITS, RECORDS, WATCH = "What they may spend", "What is kept", "Promises and labels"
Host: TypeAlias = Annotated[
    str,
    typer.Option(
        "--host",
        metavar="HOST",
        help="Address to listen on; --token or --tokens is needed if others can reach it.",
        rich_help_panel=ACCESS,
    ),
]
Port: TypeAlias = Annotated[
    int, typer.Option("--port", metavar="N", help="Port; 0: any free port.", rich_help_panel=ACCESS)
]
Tokens: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--token",
        metavar="TOKEN",
        envvar="QUORUM_TOKEN",
        help="Key that clients must send; repeat the option for several keys. The first key also opens the page.",
        show_envvar=True,
        rich_help_panel=ACCESS,
    ),
]
TokenFileOption: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--tokens",
        metavar="FILE",
        envvar="QUORUM_TOKEN_FILE",
        help="Token file of a team, which quorum token add makes: names, and what each may ask. It is read again when "
        "it changes.",
        show_envvar=True,
        rich_help_panel=ACCESS,
    ),
]
Origins: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--allow-origin",
        metavar="ORIGIN",
        help="Site whose pages may ask this server from a browser, such as https://chat.example.org; may be given "
        "several times.",
        rich_help_panel=ACCESS,
    ),
]
FirstCollection: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--collection",
        "-c",
        metavar="NAME",
        help="Collection that is searched unless a client chooses another; by default the store's only one.",
        rich_help_panel=CHOICES,
    ),
]
MoreCollections: TypeAlias = Annotated[
    str,
    typer.Option(
        "--collections",
        metavar="NAMES",
        help="Further collections that clients may choose, separated by commas, or 'all'. The page of a server "
        "without a token and without --collection offers all.",
        rich_help_panel=CHOICES,
    ),
]
AllowedModels: TypeAlias = Annotated[
    str,
    typer.Option(
        "--allow-models",
        metavar="SPECS",
        help="Further models that clients may choose, separated by commas.",
        rich_help_panel=CHOICES,
    ),
]
QuestionsPerMinute: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "--questions-per-minute",
        metavar="N",
        help="Most questions per minute with each key.",
        min=1,
        rich_help_panel=LIMITS,
    ),
]
DollarsPerDay: TypeAlias = Annotated[
    float | None,
    typer.Option(
        "--dollars-per-day", metavar="X", help="Most dollars per day with each key.", min=0, rich_help_panel=LIMITS
    ),
]
CascadeFiles: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--composed",
        metavar="[NAME=]FILE",
        help="File that quorum compose wrote: clients may choose its cascade as the method NAME (without NAME=, the "
        "method is named like the file); may be given several times.",
        rich_help_panel=CHOICES,
    ),
]
ModelPrices: TypeAlias = Annotated[
    Path | None,
    typer.Option("--prices", metavar="FILE", help="Prices of models (TOML or JSON).", rich_help_panel=LIMITS),
]
LogTarget: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--log-file",
        metavar="FILE",
        envvar="QUORUM_LOG_FILE",
        help="Write a line of JSON for every request: who, what, outcome, calls, tokens, dollars, time; no question. "
        "'-' is the standard output. The file may be rotated at any time.",
        show_envvar=True,
        rich_help_panel=RECORDS,
    ),
]
LogQuestions: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--log-questions",
        help="With --log-file: the lines hold the questions and answers, too.",
        rich_help_panel=RECORDS,
    ),
]

WatchTargets: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--watch",
        metavar="[NAME=]FILE",
        help="Watch whether the promise of a file of quorum calibrate or quorum compose is kept (quorum watch says): "
        "sample answers for a label. With --score-at-least, a method in place of the file. May be given several times.",
        rich_help_panel=WATCH,
    ),
]
ScoreAtLeast: TypeAlias = Annotated[
    float | None,
    typer.Option(
        "--score-at-least",
        metavar="S",
        help="With --watch METHOD: the mean score that is promised.",
        rich_help_panel=WATCH,
    ),
]
LabelShare: TypeAlias = Annotated[
    str,
    typer.Option(
        "--label-share",
        metavar="SHARE",
        help="With --watch: the share of the answers to label.",
        rich_help_panel=WATCH,
    ),
]

Labels: TypeAlias = Annotated[
    str,
    typer.Option(
        "--labels",
        metavar="WHO",
        help="With --watch: who labels sampled answers, people or judge (--judge).",
        rich_help_panel=WATCH,
    ),
]
WatchJudgeModel: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--judge",
        metavar="SPEC",
        help="With --watch: the model that labels sampled answers (--labels judge), or says which answers look "
        "doubtful, so that more of them are sampled for people.",
        rich_help_panel=WATCH,
    ),
]
Anchors: TypeAlias = Annotated[
    int,
    typer.Option(
        "--anchors",
        metavar="N",
        help="With --labels judge: answers that tell whether the judge changes.",
        min=300,
        rich_help_panel=WATCH,
    ),
]
OnRefuted: TypeAlias = Annotated[
    str,
    typer.Option(
        "--on-refuted",
        metavar="WHAT",
        help="With --watch: report (in quorum watch and /metrics), or withhold: then answer unknown as well.",
        rich_help_panel=WATCH,
    ),
]
LabelResults: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--label",
        metavar="RESULTS",
        help="Let the server's owner label on the page, under /label, the answers of two methods where they differ: a "
        "folder of results of two, or FOLDER:METHOD,FOLDER:METHOD. (Those of --watch are there without it.)",
        rich_help_panel=WATCH,
    ),
]


@dataclass(frozen=True)
class WatchArguments:
    """The options of a command about watched promises, as they were given."""

    targets: list[str] | None = None
    score_at_least: float | None = None
    label_share: str = "5%"
    labels: str = "people"
    judge: str | None = None
    anchors: int = 300
    on_refuted: str = "report"

    def read(self) -> "WatchOptions":
        """Raises `SetupError` for options that do not fit."""
        from quorum.evaluation.decisions.recorded_results import read_share
        from quorum.serving.watched import WatchOptions

        given = {"--score-at-least": self.score_at_least is not None, "--judge": self.judge is not None}
        given |= {"--labels": self.labels != "people", "--on-refuted": self.on_refuted != "report"}
        for option, is_given in given.items():
            if is_given and not self.targets:
                raise SetupError(f"{option} belongs to --watch; give both, or neither.")
        if self.labels not in ("people", "judge"):
            raise SetupError(f"--labels {self.labels!r} does not fit; choose people or judge.")
        if self.on_refuted not in ("report", "withhold"):
            raise SetupError(f"--on-refuted {self.on_refuted!r} does not fit; choose report or withhold.")
        return WatchOptions(
            tuple(self.targets or ()),
            self.score_at_least,
            read_share(self.label_share, "--label-share", may_be_all=True),
            "judge" if self.labels == "judge" else "people",
            self.judge,
            self.anchors,
            self.on_refuted == "withhold",
        )


def make_server_options(
    host: str,
    tokens: list[str] | None,
    collections: str,
    allow_models: str,
    questions_per_minute: int | None,
    dollars_per_day: float | None,
    prices: Path | None,
    cascade_files: list[str] | None = None,
    own_systems: list[str] | None = None,
    *,
    token_file: Path | None = None,
    origins: list[str] | None = None,
    forget_files: bool = False,
    watch: WatchArguments | None = None,
    label_results: list[str] | None = None,
    log_file: str | None = None,
    log_questions: bool = False,
) -> "Options":
    """The server's `Options`, made from the command's options. Raises `SetupError` if others can reach the address
    without a token, if a token is too short, or if the token file cannot be used.
    """
    from quorum.evaluation.run.parse_systems import read_systems
    from quorum.serving.address import check_tokens
    from quorum.serving.named_tokens import read_named_tokens
    from quorum.serving.other_origins import check_origins
    from quorum.serving.serve import Options

    if token_file is not None:
        read_named_tokens(expand_home(token_file))  # a fault is told before the store is opened
    if log_questions and not log_file:
        raise SetupError("--log-questions belongs to --log-file FILE; give both, or neither.")
    return Options(
        access_tokens=check_tokens(host, tokens or (), has_token_file=token_file is not None),
        token_file=token_file,
        origins=check_origins(origins or ()),
        collections=None if collections.strip() == ALL_COLLECTIONS else read_names(collections),
        models=read_names(allow_models),
        questions_per_minute=questions_per_minute,
        dollars_per_day=dollars_per_day,
        prices=prices,
        cascade_files=tuple(cascade_files or ()),
        own_systems=read_systems(own_systems) if own_systems else {},
        forget_files=forget_files,
        log_file=log_file or None,
        log_questions=log_questions,
        watch=(watch or WatchArguments()).read(),
        label_results=tuple(label_results or ()),
    )


def read_names(text: str) -> tuple[str, ...]:
    """The names in a comma-separated text, each once."""
    return tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
