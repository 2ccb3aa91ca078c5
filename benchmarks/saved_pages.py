"""How much of saved web pages is indexed beside their main text, and how much of it is lost:
python -m benchmarks.saved_pages [FOLDER] [--pages]

FOLDER holds HTML files whose main text stands between the comments <!--main--> and <!--/main-->; the default is the
repository's 42 pages (see their README.md). Words are counted, each as often as it stands there. Outside: words of the
passages that are not in the main text, as a share of all words of the passages. Lost: words of the main text that
stand neither in a passage nor in the title.
"""

import argparse
import re
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from quorum.documents.html_blocks import read_html
from quorum.documents.readers.web_page import read

PAGES = Path(__file__).parents[1] / "tests" / "documents" / "saved_pages"
MAIN_TEXT = re.compile(r"<!--main-->(.*?)<!--/main-->", re.DOTALL)
WORD = re.compile(r"\w+")


class Words(NamedTuple):
    """Numbers of words: of the main text, how many of these are lost, of the passages, how many of these are outside
    of the main text.
    """

    main: int
    lost: int
    indexed: int
    outside: int

    @property
    def shares(self) -> str:
        return f"{self.outside / max(self.indexed, 1):>9.1%}{self.lost / max(self.main, 1):>9.1%}"


def measure_page(path: Path) -> Words:
    """The words of a page whose main text is marked."""
    data = path.read_bytes()
    document = read(data, path.name)
    main_blocks = read_html("".join(MAIN_TEXT.findall(data.decode()))).blocks
    main = count_words("\n".join(block.text for block in main_blocks))
    indexed = count_words(document.text)
    lost = main - indexed - count_words(document.title)
    return Words(main.total(), lost.total(), indexed.total(), (indexed - main).total())


def count_words(text: str) -> Counter[str]:
    return Counter(WORD.findall(text))


def measure_folder(folder: Path) -> dict[Path, Words]:
    """The words of each page in a folder."""
    return {path: measure_page(path) for path in sorted(folder.glob("*.html"))}


def add_up(pages: dict[Path, Words]) -> Words:
    """The sums over all pages."""
    return Words(*(sum(numbers) for numbers in zip(*pages.values(), strict=True)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, default=PAGES)
    parser.add_argument("--pages", action="store_true", help="print every page, too")
    options = parser.parse_args()
    folders = sorted({path.parent for path in options.folder.rglob("*.html")})
    print(f"{'':36}{'main':>7}{'indexed':>9}{'outside':>9}{'lost':>9}")
    for folder in folders:
        pages = measure_folder(folder)
        for path, words in pages.items() if options.pages else ():
            print(f"  {path.name:34}{words.main:>7,}{words.indexed:>9,}{words.shares}")
        words = add_up(pages)
        print(f"{folder.name:36}{words.main:>7,}{words.indexed:>9,}{words.shares}")


if __name__ == "__main__":
    main()
