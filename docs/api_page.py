"""Generates the text of docs/api.md, which tables.py writes: every public name with its docstring and its signature."""

import ast
import doctest
import inspect
import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from itertools import pairwise
from typing import Any

from typing_extensions import is_typeddict

import quorum

WIDEST_LINE = 100  # characters; a longer signature gets one line for each parameter


@dataclass(frozen=True)
class Group:
    """A section of the page: its public names, a sentence about them, and perhaps an example.

    The example is shown in addition to those in the docstrings of the names.
    """

    title: str
    names: tuple[str, ...]
    intro: str
    example: str = ""


GROUPS = (
    Group(
        "Ask",
        (
            *("answer", "answer_sync", "stream", "Event", "RunStarted", "NodeStarted", "NodeFinished", "VoteCast"),
            *("CandidateFound", "AnswerText", "Retrying", "MethodFinished", "MethodFailed", "RunFinished"),
            *("Context", "METHODS", "Method", "as_retriever", "as_tool"),
        ),
        "A question, a method, and settings. All methods take the same parameters and return the same keys.",
        """
        >>> from quorum import METHODS, Context, answer_sync
        >>> [name for name in METHODS if name.startswith("sure")]
        ['sure']
        >>> METHODS["concat"].calls  # the number of model calls: one for each of the n samples
        'n'
        >>> passages = [{"id": "1", "title": "Vell", "text": "The lighthouse of Vell was built by Ada Korn."}]
        >>> answer_sync("Who built the lighthouse?", "sure", Context(ranking="lazy"), given=passages)["answer"]
        'Ada Korn'
        """,
    ),
    Group(
        "What an answer holds",
        (
            "Result",
            "ShownResult",
            "Support",
            "Passage",
            "Vote",
            "Evidence",
            "Citation",
            "Step",
            "Usage",
            "CountedReplies",
        ),
        "Plain dicts, which JSON can hold.",
        """
        >>> import quorum
        >>> result = quorum.answer_sync("Who wrote the Zen of Python?", "post_fusion", quorum.Context(k=2))
        >>> result["answer"], result["unknown"], [vote["unknown"] for vote in result["votes"]]
        ('Tim Peters', False, [True, False])
        >>> first = result["evidence"][0]
        >>> text = next(passage["text"] for passage in result["passages"] if passage["id"] == first["passage"])
        >>> text[first["start"] : first["end"]]
        'Tim Peters'
        >>> result["usage"]["answer"]["calls"], result["malformed"]
        (2, {})
        """,
    ),
    Group(
        "Index documents",
        ("index", "aindex", "IndexReport"),
        "From files to a collection that `Context(collection=...)` names.",
    ),
    Group(
        "Measure",
        ("evaluate", "evaluate_async", "Evaluation", "compare", "compare_async", "Comparison"),
        "What each method is worth on your questions. An `Evaluation` and a `Comparison` hold tables as lists of\n"
        "dicts, and show tables if you print them in a terminal or a notebook.",
        """
        >>> import quorum
        >>> passages = [{"id": "1", "title": "Vell", "text": "The lighthouse of Vell was built by Ada Korn."}]
        >>> record = {"question": "Who built the lighthouse?", "answers": ["Ada Korn"], "passages": passages}
        >>> evaluation = quorum.evaluate([record], "concat,post_fusion", out="example")
        >>> str(evaluation).splitlines()[0].split()[:3]
        ['method', 'n', 'EM']
        >>> sorted(evaluation.differences[0])[:4]
        ['baseline', 'difference', 'high', 'low']
        """,
    ),
    Group(
        "Read replies",
        ("read_answer", "read_answer_async", "AnswerReading", "read_reply", "Parsed", "is_unknown"),
        "How the methods read a model's replies: the short answer in any wording, and the replies to Quorum's"
        " prompts, for programs that send them themselves.",
        """
        >>> import quorum
        >>> reading = quorum.read_answer("Who built the lighthouse?", "Sure! The answer is **Ada Korn** [2].")
        >>> reading.answer, reading.how, reading.answer_text
        ('Ada Korn', 'stripped', 'Sure! The answer is **Ada Korn** [2].')
        >>> quorum.read_answer("When was it built?", "Ada Korn finished the lighthouse in 1874, after a storm.").answer
        '1874'
        >>> from quorum import is_unknown, read_reply
        >>> is_unknown("The passages do not say."), is_unknown("Unknown Pleasures")
        (True, False)
        >>> step = read_reply("react", "Thought 1: I need the year.\\nAction 1: Search[lighthouse of Vell]")
        >>> step.value.query, step.value.answer, step.malformed
        ('lighthouse of Vell', None, False)
        """,
    ),
    Group(
        "Errors",
        ("QuorumError", "SetupError", "CallError", "TooLong"),
        "`TooLong` is a `CallError`; `CallError` and `SetupError` are each a `QuorumError`. Any other exception is a"
        " bug in Quorum.",
        """
        >>> import quorum
        >>> try:
        ...     quorum.answer_sync("Who?", "conct")
        ... except quorum.SetupError as error:
        ...     print(str(error).partition("?")[0])
        There is no method 'conct'; did you mean concat
        """,
    ),
    Group(
        "Version",
        ("__version__",),
        "The version that is installed.",
        """
        >>> import quorum
        >>> quorum.__version__.split(".")[0]
        '0'
        """,
    ),
)
CONSTANTS = {
    "METHODS": "Every method by its name: a dict of `Method`.",
    "__version__": "The version of the installed package, a text.",
}
FURTHER_READING = {"Context": "All settings, with their defaults and meaning: [settings.md](settings.md)."}


def write_api_page() -> str:
    """The Markdown of all groups, one after the other."""
    return "\n\n".join(part for group in GROUPS for part in list_group_parts(group))


def list_group_parts(group: Group) -> Iterator[str]:
    yield f"## {group.title}"
    yield group.intro
    if group.example:
        yield format_doctest(group.example)
    for name in group.names:
        yield f"### `{name}`"
        if name in CONSTANTS:
            yield CONSTANTS[name]
            continue
        value = getattr(quorum, name)
        if inspect.isfunction(value):
            yield fence_code(format_signature(name, value))
        prose, example = split_docstring(inspect.getdoc(value) or "")
        yield prose
        if name in FURTHER_READING:
            yield FURTHER_READING[name]
        if rows := list_fields(value):
            yield "\n".join(["| field | type | meaning |", "| --- | --- | --- |", *rows])
        if example:
            yield format_doctest(example)


def collect_examples() -> dict[str, str]:
    """Every example of the page as a doctest: public name, or title of a group -> the doctest's text."""
    examples_of_names = {
        name: split_docstring(inspect.getdoc(getattr(quorum, name)) or "")[1] for name in list_documented_names()
    }
    examples_of_groups = {group.title: textwrap.dedent(group.example).strip() for group in GROUPS}
    return {name: text for name, text in (examples_of_groups | examples_of_names).items() if text}


def list_documented_names() -> list[str]:
    return [name for group in GROUPS for name in group.names if name not in CONSTANTS]


def split_docstring(text: str) -> tuple[str, str]:
    """(prose, example) of a docstring. The example begins at the first ">>> "; it is "" if there is none."""
    position = text.find(">>> ")
    return (text.strip(), "") if position < 0 else (text[:position].strip(), text[position:].strip())


def format_doctest(example: str) -> str:
    """A doctest as code to copy: without prompts, with the output as comments."""
    lines: list[str] = []
    for part in doctest.DocTestParser().get_examples(textwrap.dedent(example).strip() + "\n"):
        lines += part.source.rstrip("\n").split("\n")
        lines += [f"# {line}" for line in part.want.rstrip("\n").split("\n") if line]
    return fence_code("\n".join(lines))


def fence_code(code: str) -> str:
    return f"```python\n{code}\n```"


def format_signature(name: str, function: Any) -> str:
    """A function's signature; a long one has one parameter per line."""
    signature = inspect.signature(function)
    keyword = "async def" if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function) else "def"
    return_type = f" -> {format_type(signature.return_annotation)}"
    keyword_only = False
    parts = []
    for parameter in signature.parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and not keyword_only:
            keyword_only = True
            parts.append("*")
        default = "" if parameter.default is parameter.empty else f" = {parameter.default!r}"
        parts.append(f"{parameter.name}: {format_type(parameter.annotation)}{default}")
    line = f"{keyword} {name}({', '.join(parts)}){return_type}"
    if len(line) <= WIDEST_LINE:
        return line
    return "\n".join([f"{keyword} {name}(", *(f"    {part}," for part in parts), f"){return_type}"])


def list_fields(value: Any) -> list[str]:
    """A table row for each field of a TypedDict or a dataclass; the fields of Context have a page of their own."""
    if value is quorum.Context:
        return []
    if is_typeddict(value):
        types = {name: format_type(annotation) for name, annotation in value.__annotations__.items()}
    elif is_dataclass(value):
        types = {field.name: format_type(field.type) for field in fields(value)}
    else:
        return []
    meanings = read_field_docs(value)
    return [
        f"| `{name}` | {format_field_type(type_text)} | {escape_cell(meanings[name])} |"
        for name, type_text in types.items()
    ]


def escape_cell(text: str) -> str:
    """A text for a cell of a table, in which a bar stays a bar."""
    return text.replace("|", "\\|")


def read_field_docs(value: type) -> dict[str, str]:
    """{field: the docstring below it} of a class and its bases."""
    docs: dict[str, str] = {}
    for base in getattr(value, "__orig_bases__", value.__bases__):
        if isinstance(base, type) and base.__module__.startswith("quorum"):
            docs |= read_field_docs(base)
    (class_definition,) = ast.parse(textwrap.dedent(inspect.getsource(value))).body
    assert isinstance(class_definition, ast.ClassDef)
    for field, below in pairwise(class_definition.body):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(below, ast.Expr):
            docs[field.target.id] = " ".join(ast.literal_eval(below.value).split())
    return docs


def format_field_type(type_text: str) -> str:
    """A formatted type for a cell of a table."""
    optional = re.fullmatch(r"NotRequired\[(.*)\]", type_text)
    text = (optional[1] if optional else type_text).replace("|", "\\|")
    return f"`{text}`, may be absent" if optional else f"`{text}`"


def format_type(annotation: Any) -> str:
    """A type as the code writes it, without module names and without the metadata in `Annotated[...]`."""
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    text = re.sub(r"ForwardRef\('([^']*)'[^)]*\)", r"\1", text)
    text = re.sub(r"\b(?:[a-z_]+\.)+(?=[A-Za-z])", "", text).replace("'", "").replace("~T", "Any")
    while annotated_type := re.search(r"Annotated\[([^\[\],]*(?:\[[^\[\]]*\])?)[^\[\]]*\]", text):
        text = text.replace(annotated_type[0], annotated_type[1])
    return text
