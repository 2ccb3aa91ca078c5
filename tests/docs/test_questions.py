"""Every question in README.md, docs/ and notebooks/ gets the answer in this file's table, by the offline reader.

The test finds the questions itself: texts in double quotes that end in a question mark. Each is asked with the methods
and the k of its paragraph of code. A new question fails until it has a line in ANSWERS; if the reader changes, the
failure prints the new answers, so that the table, and what the pages say, can be renewed.
"""

import ast
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from quorum import Context, answer, index
from quorum.core.text import normalize
from quorum.graphs import DEFAULT_METHOD, METHODS

ROOT = Path(__file__).resolve().parents[2]
# test_first_pages.py asks the questions of the tutorial, of the handbook that stands there.
PAGES = [ROOT / "README.md", *sorted(path for path in (ROOT / "docs").rglob("*.md") if path.name != "tutorial.md")]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
QUOTED_QUESTION = re.compile(r'(?<!\w)\\?"([A-Z][^"\n]{3,160}\?)\\?"')
METHOD_NAME = re.compile(rf"(?:[\"',]|--methods? |graphs\.)({'|'.join(METHODS)})(?=[\"',@\[ ]|\s|$)")
PASSAGE_COUNT = re.compile(r"\bk\W{1,3}(\d+)\b|--k (\d+)")
PLACEHOLDERS = {"Who ...?"}  # stand for the reader's own questions
FILLED_IN = {"How tall is the {state['sight']}?": "How tall is the Eiffel Tower?"}  # as the page calls it

LIGHTHOUSE = "The lighthouse of Vell was built in 1874 by Ada Korn."
EIFFEL_HISTORY = [
    {"role": "user", "content": "Whose company built the Eiffel Tower?"},
    {"role": "assistant", "content": "Gustave Eiffel"},
]
# Question -> (where it is asked, the answer). It is asked of the sample, of the handbook that notebook 03 writes, of
# the folder docs, or of a passage. Three dots: the answer contains the text before them.
ANSWERS = {
    "After how many years are laptops replaced?": ("handbook", "four"),
    "How fast is a broken screen repaired?": ("handbook", "within three days"),
    "How high is it?": ("The tower is 80 metres high.", "80 metres"),
    "How many weeks of leave do parents get?": ("Parents get twenty weeks of leave in a year.", "twenty"),
    "How many weeks of parental leave are there?": ("Parents get 14 weeks of parental leave.", "14"),
    "How many tokens of context does Quorum assume?": ("docs", "8,192"),
    "How soon is a damaged screen fixed?": ("handbook", "three days"),
    "How tall is it?": ("sample", "330 metres"),
    "How tall is the Eiffel Tower?": ("sample", "330 metres"),
    "What did the architect of the Eiffel Tower eat for breakfast?": ("sample", "unknown"),
    "What does a laptop cost?": ("handbook", "unknown"),
    "What is the password of the guest network?": ("handbook", "unknown"),
    "When is the coffee machine cleaned?": ("handbook", "Mondays"),
    "When was it built?": (LIGHTHOUSE, "1874"),
    "Where are new laptops ordered?": ("handbook", "Halden Street"),
    "Which astronomer suggested what Jupiter's moon Europa should be called?": ("sample", "unknown"),
    "Which contractor supplied bad wire for the Brooklyn Bridge?": ("sample", "Lloyd Haigh"),
    "Who books train tickets?": ("handbook", "Mira Oduya"),
    "Who built the lighthouse?": (LIGHTHOUSE, "Ada Korn"),
    "Who built the mill of Orrin?": ("The mill of Orrin was built by Greta Hale.", "Greta Hale"),
    "Who cleans the windows?": ("handbook", "unknown"),
    "Who leads the workshop?": ("handbook", "Jonas Brekke"),
    "Who laid the quay of Brae?": ("The quay of Brae was laid by Ivo Tarn.", "Ivo Tarn"),
    "Who led the first expedition to reach the South Pole?": ("sample", "Roald Amundsen"),
    "Who lit the lamp of Vell?": ("The lamp of Vell was lit by Ida Brenn.", "Ida Brenn"),
    "Who may use the small kitchen?": ("handbook", "Guests"),
    "Who selected the colour of the Golden Gate Bridge?": ("sample", "Irving Morrow"),
    "Who slashed the ribbon at the opening of the Sydney Harbour Bridge?": ("sample", "Francis de Groot"),
    "Who was captain of the Marigold?": (
        "On 3 May the Marigold left Vell harbour under Captain Ada Korn.",
        "Ada Korn",
    ),
    "Who wrote the Zen of Python?": ("sample", "Tim Peters"),
    "Whose company built the Eiffel Tower?": ("sample", "Gustave Eiffel"),
}


@dataclass(frozen=True, order=True)
class Shown:
    """A question as a page shows it, with its method and k."""

    question: str
    method: str
    k: int


def list_paragraphs(path: Path) -> Iterator[str]:
    """The cells of a notebook; the paragraphs of a page, in which every shell command is one by itself."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".ipynb":
        yield from ("".join(cell["source"]) for cell in json.loads(text)["cells"])
        return
    for paragraph in re.split(r"\n\s*\n", text):
        lines = paragraph.splitlines()
        commands = [line for line in lines if line.startswith("quorum ")]
        yield from commands
        yield "\n".join(line for line in lines if line not in commands)


def find_questions() -> dict[Shown, str]:
    """Every question with its settings -> the first file that shows it."""
    found: dict[Shown, str] = {}
    for path in [*PAGES, *NOTEBOOKS]:
        for paragraph in list_paragraphs(path):
            methods = dict.fromkeys(METHOD_NAME.findall(paragraph)) or [DEFAULT_METHOD]
            counts = [int(first or second) for first, second in PASSAGE_COUNT.findall(paragraph)]
            for question in QUOTED_QUESTION.findall(paragraph):
                for method in methods:
                    shown = Shown(FILLED_IN.get(question, question), method, counts[0] if counts else Context().k)
                    found.setdefault(shown, path.name)
    return {shown: file for shown, file in found.items() if shown.question not in PLACEHOLDERS}


def read_handbook() -> dict[str, str]:
    """The documents that notebook 03 writes: file -> text, as they are after its change of the kitchen's."""
    source = "\n\n".join(list_paragraphs(ROOT / "notebooks" / "03_your_own_corpus.ipynb"))
    [texts] = re.findall(r"^texts = (\{.*?^\})$", source, re.DOTALL | re.MULTILINE)
    [kitchen] = re.findall(r'"kitchen\.txt"\)\.write_text\((".*?")\)', source)
    return {**ast.literal_eval(texts), "kitchen.txt": ast.literal_eval(kitchen)}


def has_expected_answer(given: str, expected: str) -> bool:
    if expected.endswith("..."):
        return expected.removesuffix("...") in given
    return normalize(given) == normalize(expected)


def test_every_question_of_the_docs_has_a_line_in_the_table() -> None:
    found = {shown.question: file for shown, file in find_questions().items()}
    assert {question: file for question, file in found.items() if question not in ANSWERS} == {}
    assert [question for question in ANSWERS if question not in found] == []


@pytest.mark.long  # some fifty questions
async def test_every_question_of_the_docs_is_answered_as_the_table_says(
    tmp_path: Path, copy_sample_vectors: Callable[[Path], None]
) -> None:
    copy_sample_vectors(tmp_path / "store")
    handbook = tmp_path / "handbook"
    handbook.mkdir()
    for name, text in read_handbook().items():
        (handbook / name).write_text(text)
    index(handbook, collection="handbook", context=Context(store=str(tmp_path / "store")))
    questions = [shown for shown in find_questions() if get_place(shown) != "docs"]
    assert await find_mistakes(questions, str(tmp_path / "store")) == {}


@pytest.mark.long  # reads and embeds every page of the docs
async def test_every_question_about_the_docs_is_answered_as_the_table_says(tmp_path: Path) -> None:
    index(ROOT / "docs", collection="docs", context=Context(store=str(tmp_path / "store")))
    questions = [shown for shown in find_questions() if get_place(shown) == "docs"]
    assert questions
    assert await find_mistakes(questions, str(tmp_path / "store")) == {}


def get_place(shown: Shown) -> str:
    return ANSWERS.get(shown.question, ("sample", ""))[0]


async def find_mistakes(questions: list[Shown], store: str) -> dict[Shown, str]:
    """The questions that get another answer than the table's, each with the answer it gets."""
    mistakes = {}
    for shown in sorted(questions):
        place, expected = ANSWERS.get(shown.question, ("sample", "a line in ANSWERS"))
        is_collection = place in ("sample", "handbook", "docs")
        given: Any = None if is_collection else [{"id": "1", "title": "Vell", "text": place}]
        result = await answer(
            shown.question,
            shown.method,
            Context(store=store, collection=place if is_collection else None, k=shown.k),
            given=given,
            history=EIFFEL_HISTORY if shown.question == "How tall is it?" else (),
        )
        if not has_expected_answer(result["answer"], expected):
            mistakes[shown] = result["answer"]
    return mistakes


def test_the_readme_says_what_its_python_examples_print(
    tmp_path: Path,
    copy_sample_vectors: Callable[[Path], None],
    capsys: pytest.CaptureFixture[str],
) -> None:
    copy_sample_vectors(Path(".quorum"))
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) == 2
    for block in blocks:
        [shown] = re.findall(r"  # (.+)$", block, re.MULTILINE)
        exec(compile(block, "README.md", "exec"), {"__name__": "readme"})
        assert capsys.readouterr().out.splitlines()[0] == shown
