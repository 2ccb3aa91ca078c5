"""Writes the parts of the documentation that come from the code: the tables of methods and settings, the Python API,
every method's graph, and langgraph.json (python docs/tables.py; a test checks that they are up to date).
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from docs.api_page import write_api_page
from quorum.algorithms.abstention import count_fewest_answers
from quorum.core.context import get_setting_schemas
from quorum.graphs import METHODS, list_methods

CHAT_GRAPH = "quorum.graphs.conversation:graph"
CHAT_DESCRIPTION = (
    "Answer the last message of a conversation from documents; a follow-up question may refer to earlier messages."
)
CONFIDENCE = 0.95  # the default of quorum calibrate --confidence
ROOT = Path(__file__).resolve().parent.parent


def format_table(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(str(cell).replace("|", "\\|") for cell in line) + " |" for line in lines)


def make_methods_table() -> str:
    """Every method: what it does, its calls, its depth (calls one after the other), its paper."""
    rows = (
        [f"`{item.name}`", item.summary, f"`{item.calls}`", item.depth, item.paper.partition(",")[0]]
        for item in METHODS.values()
    )
    return format_table(["method", "what it does", "calls", "depth", "paper"], rows)


def make_settings_table() -> str:
    """Every setting: its name, default and meaning."""
    rows = []
    for name, schema in get_setting_schemas().items():
        default = schema.get("default")
        default_cell = "" if default is None else f"`{str(default).lower() if isinstance(default, bool) else default}`"
        rows.append([f"`{name}`", default_cell, schema["description"].removesuffix(".")])
    return format_table(["setting", "default", "meaning"], rows)


def make_fewest_answers_table() -> str:
    """How many answers `quorum calibrate` needs at least, by the promised share and the number of methods."""
    counts, shares = (1, 2, 3, 5, 10), (0.01, 0.02, 0.05, 0.1)
    rows = (
        [f"{share:.0%}", *(count_fewest_answers(share, (1 - CONFIDENCE) / count) for count in counts)]
        for share in shares
    )
    header = ["`--wrong-at-most`", "one method (`--method`)", *(f"{count} methods" for count in counts[1:])]
    return format_table(header, rows)


def make_diagram(name: str) -> str:
    """A method's graph, drawn from the compiled graph, in a collapsed section; in a second one, the same graph with its
    subgraphs open, if it has any.
    """
    diagrams = {"graph": METHODS[name].draw(), "graph, open": METHODS[name].draw(is_open=True)}
    if diagrams["graph"] == diagrams["graph, open"]:
        del diagrams["graph, open"]
    return "\n\n".join(
        f"<details><summary>{title}</summary>\n\n```mermaid\n{diagram.strip()}\n```\n\n</details>"
        for title, diagram in diagrams.items()
    )


def find_method_sections() -> dict[str, list[str]]:
    """{page of a method family: the names of the methods that have a section on the page}."""
    pages = sorted((ROOT / "docs" / "methods").glob("*.md"))
    return {
        f"docs/methods/{page.name}": re.findall(r"^## (\w+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
        for page in pages
    }


def make_langgraph_json() -> str:
    """langgraph.json: the module of every method and of the conversation, each with a description for agents.

    The methods are those in `METHODS` and, after them, those of other installed packages (docs/plugins.md).
    """
    graphs = {
        name: {"path": method.import_path, "description": f"Answer a question from documents. {method.summary}"}
        for name, method in list_methods().items()
    }
    graphs["chat"] = {"path": CHAT_GRAPH, "description": CHAT_DESCRIPTION}
    lines = ",\n".join(f'    "{name}": {json.dumps(graph, ensure_ascii=False)}' for name, graph in graphs.items())
    return (
        '{\n  "$schema": "https://langgra.ph/schema.json",\n  "dependencies": ["."],\n  "env": ".env",\n'
        f'  "graphs": {{\n{lines}\n  }}\n}}\n'
    )


def make_generated_parts() -> dict[str, dict[str, str]]:
    """{file: {mark: generated text}}; the text goes between <!-- mark --> and <!-- /mark --> in the file."""
    return {
        "docs/api.md": {"api": write_api_page()},
        "docs/decisions.md": {"fewest answers": make_fewest_answers_table()},
        "docs/methods.md": {"methods": make_methods_table()},
        "docs/settings.md": {"settings": make_settings_table()},
    } | {
        page: {f"diagram {name}": make_diagram(name) for name in names}
        for page, names in find_method_sections().items()
    }


def fill_marks(text: str, parts: Mapping[str, str]) -> str:
    """The text with every part put between its two marks. parts: {mark: generated text}.

    Raises LookupError if a mark is missing.
    """
    for mark, part in parts.items():
        pattern = re.compile(rf"(<!-- {mark} -->\n).*?(<!-- /{mark} -->)", re.DOTALL)
        if not pattern.search(text):
            raise LookupError(
                f"the page has no marks for {mark!r}; add the lines <!-- {mark} --> and <!-- /{mark} --> to it"
            )
        text = pattern.sub(lambda match, part=part: match[1] + part + "\n" + match[2], text)
    return text


if __name__ == "__main__":
    for file, generated in make_generated_parts().items():
        path = ROOT / file
        path.write_text(fill_marks(path.read_text(encoding="utf-8"), generated), encoding="utf-8")
    (ROOT / "langgraph.json").write_text(make_langgraph_json(), encoding="utf-8")
