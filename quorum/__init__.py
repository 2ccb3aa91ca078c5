"""Question answering over your documents, by the method that is worth its cost on your questions.

Everything public is here; docs/api.md lists it. The module of a name is imported when the name is first used.
"""

import os.path
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from quorum.api.answer import answer, answer_sync
    from quorum.api.compare import compare, compare_async
    from quorum.api.documents import aindex, index
    from quorum.api.evaluate import evaluate, evaluate_async
    from quorum.api.langchain import as_retriever, as_tool
    from quorum.api.results import Comparison, Evaluation
    from quorum.api.stream import (
        AnswerText,
        CandidateFound,
        Event,
        MethodFailed,
        MethodFinished,
        NodeFinished,
        NodeStarted,
        Retrying,
        RunFinished,
        RunStarted,
        VoteCast,
        stream,
    )
    from quorum.core.context import Context
    from quorum.core.errors import CallError, QuorumError, SetupError, TooLong
    from quorum.core.refusals.unknown import is_unknown
    from quorum.core.state import Citation, CountedReplies, Evidence, Passage, Result, Step, Usage, Vote
    from quorum.evaluation.shown.shown_support import Support
    from quorum.evaluation.shown.support import ShownResult
    from quorum.graphs import METHODS, Method
    from quorum.nodes.read_answer import AnswerReading, read_answer, read_answer_async
    from quorum.parsing.answers import Parsed
    from quorum.prompts.read_reply import read_reply
    from quorum.retrievers.index_report import IndexReport

    __version__: str

__all__ = [
    "METHODS",
    "AnswerReading",
    "AnswerText",
    "CallError",
    "CandidateFound",
    "Citation",
    "Comparison",
    "Context",
    "CountedReplies",
    "Evaluation",
    "Event",
    "Evidence",
    "IndexReport",
    "Method",
    "MethodFailed",
    "MethodFinished",
    "NodeFinished",
    "NodeStarted",
    "Parsed",
    "Passage",
    "QuorumError",
    "Result",
    "Retrying",
    "RunFinished",
    "RunStarted",
    "SetupError",
    "ShownResult",
    "Step",
    "Support",
    "TooLong",
    "Usage",
    "Vote",
    "VoteCast",
    "__version__",
    "aindex",
    "answer",
    "answer_sync",
    "as_retriever",
    "as_tool",
    "compare",
    "compare_async",
    "evaluate",
    "evaluate_async",
    "index",
    "is_unknown",
    "read_answer",
    "read_answer_async",
    "read_reply",
    "stream",
]

_NAMES_BY_MODULE = {
    "quorum.api.answer": ("answer", "answer_sync"),
    "quorum.api.compare": ("compare", "compare_async"),
    "quorum.api.documents": ("aindex", "index"),
    "quorum.api.evaluate": ("evaluate", "evaluate_async"),
    "quorum.api.langchain": ("as_retriever", "as_tool"),
    "quorum.api.results": ("Comparison", "Evaluation"),
    "quorum.api.stream": (
        "AnswerText",
        "CandidateFound",
        "Event",
        "MethodFailed",
        "MethodFinished",
        "NodeFinished",
        "NodeStarted",
        "Retrying",
        "RunFinished",
        "RunStarted",
        "VoteCast",
        "stream",
    ),
    "quorum.core.context": ("Context",),
    "quorum.core.errors": ("CallError", "QuorumError", "SetupError", "TooLong"),
    "quorum.core.state": ("Citation", "Evidence", "CountedReplies", "Passage", "Result", "Step", "Usage", "Vote"),
    "quorum.core.refusals.unknown": ("is_unknown",),
    "quorum.evaluation.shown.support": ("ShownResult", "Support"),
    "quorum.graphs": ("METHODS", "Method"),
    "quorum.nodes.read_answer": ("AnswerReading", "read_answer", "read_answer_async"),
    "quorum.parsing.answers": ("Parsed",),
    "quorum.prompts.read_reply": ("read_reply",),
    "quorum.retrievers.index_report": ("IndexReport",),
}
_MODULE_BY_NAME = {name: module for module, names in _NAMES_BY_MODULE.items() for name in names}


def _check_links() -> None:
    """Raise an ImportError if the checkout has text files in the place of its three symbolic links."""
    package_folder = os.path.dirname(__file__)
    for folder in ("graphs", "nodes", "retrievers"):
        if os.path.isfile(os.path.join(package_folder, folder)):
            raise ImportError(
                f"quorum/{folder} is a text file where this checkout needs a link to ../{folder}: run "
                "`git config core.symlinks true`, then `git checkout -- quorum` (on Windows in developer mode)."
            )


_check_links()
import_module("quorum.core.telemetry").switch_off_telemetry()  # before any library that would report is imported


def _register_in_chroma() -> None:
    """Let Chroma know the embedding function that Quorum's collections name: the module registers it."""
    import_module("quorum.chroma_function")


import_module("quorum.core.after_import").call_after_import("chromadb", _register_in_chroma)


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    if name == "__version__":
        from importlib import metadata

        value: Any = metadata.version("quorum-rag")
    elif name in _MODULE_BY_NAME:
        value = getattr(import_module(_MODULE_BY_NAME[name]), name)
    else:
        raise AttributeError(f"module 'quorum' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
