"""What graphs and packages of your own need from Quorum, in one place: docs/plugins.md says what each name is for.

The names stay when modules of Quorum move. The module of a name is imported when the name is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from quorum.core.context import Context
    from quorum.core.state import Passage, Question, Result, State
    from quorum.documents.document import Block, Document
    from quorum.documents.readers import add_reader
    from quorum.evaluation.metrics.registry import Metric
    from quorum.graphs.catalogue import Method
    from quorum.graphs.method_graph import MethodGraph
    from quorum.graphs.parts.retrieve import retrieve
    from quorum.nodes.abstain import abstain
    from quorum.nodes.answer import passage_answer
    from quorum.nodes.ask import ask
    from quorum.nodes.begin import begin
    from quorum.nodes.whole_answers import concat_answer, vote
    from quorum.parsing.answers import Parsed
    from quorum.prompts.prompt import Prompt
    from quorum.retrievers.collections import list_passages
    from quorum.retrievers.passages import make_document
    from quorum.retrievers.registry import RetrieverKind

__all__ = [
    "Block",
    "Context",
    "Document",
    "Method",
    "MethodGraph",
    "Metric",
    "Parsed",
    "Passage",
    "Prompt",
    "Question",
    "Result",
    "RetrieverKind",
    "State",
    "abstain",
    "add_reader",
    "ask",
    "begin",
    "concat_answer",
    "list_passages",
    "make_document",
    "passage_answer",
    "retrieve",
    "vote",
]

_NAMES_BY_MODULE = {
    "quorum.core.context": ("Context",),
    "quorum.core.state": ("Passage", "Question", "Result", "State"),
    "quorum.documents.document": ("Block", "Document"),
    "quorum.documents.readers": ("add_reader",),
    "quorum.evaluation.metrics.registry": ("Metric",),
    "quorum.graphs.catalogue": ("Method",),
    "quorum.graphs.method_graph": ("MethodGraph",),
    "quorum.graphs.parts.retrieve": ("retrieve",),
    "quorum.nodes.abstain": ("abstain",),
    "quorum.nodes.answer": ("passage_answer",),
    "quorum.nodes.ask": ("ask",),
    "quorum.nodes.begin": ("begin",),
    "quorum.nodes.whole_answers": ("concat_answer", "vote"),
    "quorum.parsing.answers": ("Parsed",),
    "quorum.prompts.prompt": ("Prompt",),
    "quorum.retrievers.collections": ("list_passages",),
    "quorum.retrievers.passages": ("make_document",),
    "quorum.retrievers.registry": ("RetrieverKind",),
}
_MODULE_BY_NAME = {name: module for module, names in _NAMES_BY_MODULE.items() for name in names}


def __getattr__(name: str) -> Any:
    """Import a name when it is first used."""
    if name not in _MODULE_BY_NAME:
        raise AttributeError(f"module 'quorum.extend' has no attribute {name!r}")
    value = getattr(import_module(_MODULE_BY_NAME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
