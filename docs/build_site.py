"""Build the documentation site in build/docs/site (make docs): python -m docs.build_site

The pages are the Markdown files that GitHub shows. They are copied; links from one to another, which are true in the
repository, are made true in the site. A notebook becomes a page, and so does every other file that a page links to.
A link or an anchor that leads nowhere is an error, and so is a script, style or picture that is not in the site.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path, PurePosixPath

from docs.check_site import find_faults

ROOT = Path(__file__).resolve().parent.parent
PARTS = ROOT / "docs" / "site"  # the settings of the site, its theme, its scripts' versions
BUILD = ROOT / "build" / "docs"
PAGES_OUTSIDE_DOCS = {  # file of the repository: its page in the site
    "README.md": "readme.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "quorum/models/embedded/README.md": "methods/embedded_reader.md",
}
SCRIPTS = {  # file of an npm package: where it lies in the site
    "@mermaid-js/tiny/dist/mermaid.tiny.js": "assets/mermaid.js",
    "iframe-worker/shim/index.js": "assets/iframe-worker.js",
}
LANGUAGES = {".py": "python", ".toml": "toml", ".json": "json", ".yaml": "yaml", ".yml": "yaml", ".example": "sh"}
CODE = re.compile(r"^( *)(```+)[^\n]*\n.*?^\1\2 *$|`[^`\n]+`", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\[([^\[\]]*)\]\((?![a-z]+:)([^)#\s]*)(#[^)\s]*)?\)")
# The colours that LangGraph gives to a drawing: the light text of the dark scheme could not be read on them.
LIGHT_COLOURS = re.compile(r"^\tclassDef (default fill:#f2f0ff,line-height:1\.2|last fill:#bfb6fc)\n", re.MULTILINE)
FILE_NAME = re.compile(r"[\w./]+\.(md|ipynb)")


def find_page(file: str) -> str:
    """Where a file of the repository stands in the site: docs/methods/sure.md -> methods/sure.md."""
    if file in PAGES_OUTSIDE_DOCS:
        return PAGES_OUTSIDE_DOCS[file]
    if file.startswith("docs/"):
        return file.removeprefix("docs/")
    if file.endswith(".ipynb"):
        return str(PurePosixPath(file).with_suffix(".md"))
    return f"files/{file.strip('./')}.md"


def make_page(file: str) -> str:
    """The Markdown of a file's page, its links still those of the repository."""
    path = ROOT / file
    if path.suffix == ".md":
        return path.read_text(encoding="utf-8")
    if path.suffix == ".ipynb":
        return write_notebook(json.loads(path.read_text(encoding="utf-8")))
    parts = [f"# {file}"]
    for part in sorted(path.rglob("*")) if path.is_dir() else [path]:
        if part.is_file() and "__pycache__" not in part.parts:
            if part != path:
                parts.append(f"## {part.relative_to(path).as_posix()}")
            parts.append(f"````{LANGUAGES.get(part.suffix, '')}\n{part.read_text(encoding='utf-8').rstrip()}\n````")
    return "\n\n".join(parts) + "\n"


def write_notebook(notebook: dict[str, list[dict[str, str | list[str]]]]) -> str:
    """A notebook as Markdown: its prose, and its code in fences."""
    parts = []
    for cell in notebook["cells"]:
        text = "".join(cell["source"]).strip()
        parts.append(text if cell["cell_type"] == "markdown" else f"```python\n{text}\n```")
    return "\n\n".join(parts) + "\n"


def outside_code(text: str, change: Callable[[str], str]) -> str:
    """The text with `change` applied to all that is not code."""
    parts, end = [], 0
    for code in CODE.finditer(text):
        parts += [change(text[end : code.start()]), code[0]]
        end = code.end()
    return "".join([*parts, change(text[end:])])


def find_title(page: str) -> str:
    """The first heading of a page: in the site, a link reads so where its words in the repository are a file's name."""
    heading = re.search(r"^# (.+)$", page, re.MULTILINE)
    assert heading, page[:80]
    return heading[1]


def move_links(text: str, file: str, needed: list[str]) -> str:
    """The text of a file's page with links that hold in the site; the files that they lead to are added to `needed`.

    Raises FileNotFoundError if a link leads to no file.
    """

    def move(link: re.Match[str]) -> str:
        words, target, anchor = link[1], link[2], link[3] or ""
        if not target:
            return link[0]
        named = os.path.normpath(PurePosixPath(file).parent / target).replace(os.sep, "/")
        if not (ROOT / named).exists():
            raise FileNotFoundError(f"{file}: the link to {target} leads to no file")
        needed.append(named)
        page = named.removeprefix("docs/") if named.endswith(".png") else find_page(named)
        if FILE_NAME.fullmatch(words):
            words = find_title(make_page(named))
        return f"[{words}]({os.path.relpath(page, PurePosixPath(find_page(file)).parent).replace(os.sep, '/')}{anchor})"

    return outside_code(text, lambda part: LINK.sub(move, part))


def copy_pages(source: Path) -> list[str]:
    """Write every page of the site into `source`, and return their names. The files in docs/ come first, then whatever
    they link to.
    """
    files = [path.relative_to(ROOT).as_posix() for path in sorted((ROOT / "docs").rglob("*.md"))]
    files += [*PAGES_OUTSIDE_DOCS, *(f"notebooks/{path.name}" for path in sorted((ROOT / "notebooks").glob("*.ipynb")))]
    pages = {}
    while files:
        file = files.pop(0)
        if file.endswith(".png"):
            target = source / file.removeprefix("docs/")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / file, target)
            continue
        if find_page(file) in pages:
            continue
        text = move_links(make_page(file), file, files)
        text = outside_code(text, lambda part: part.replace("<details>", '<details markdown="1">'))
        pages[find_page(file)] = LIGHT_COLOURS.sub("", text)
    for page, text in pages.items():
        target = source / page
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    return list(pages)


def prepare() -> None:
    """Lay out in BUILD what zensical reads."""
    source = BUILD / "source"
    for folder in (source, BUILD / "site", BUILD / "theme", BUILD / ".cache"):
        shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(PARTS, BUILD, dirs_exist_ok=True)
    copy_pages(source)
    assets = source / "assets"
    assets.mkdir()
    shutil.copy(PARTS / "quorum.css", assets)
    for script, place in SCRIPTS.items():
        shutil.copy(BUILD / "node_modules" / script, source / place)


def main() -> None:
    prepare()
    zensical = Path(sys.executable).with_name("zensical")
    built = subprocess.run([zensical, "build", "--clean", "--strict"], cwd=BUILD, check=False)
    if built.returncode:
        sys.exit("zensical found the faults above (the pages named are copies in build/docs/source).")
    faults = find_faults(BUILD / "site")
    if faults:
        sys.exit("\n".join(faults))
    count = sum(1 for _ in (BUILD / "site").rglob("*.html"))
    print(f"build/docs/site/index.html and {count - 1} more pages")


if __name__ == "__main__":
    main()
