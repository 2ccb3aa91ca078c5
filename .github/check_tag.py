"""Exits with a sentence unless the built distributions have the version of a tag: check_tag.py v0.2.0 dist"""

import sys
from pathlib import Path

from packaging.utils import parse_sdist_filename, parse_wheel_filename
from packaging.version import Version


def main(tag: str, folder: Path) -> None:
    """Compare the tag with the version of each file in the folder."""
    versions = {path.name: parse_wheel_filename(path.name)[1] for path in folder.glob("*.whl")}
    versions |= {path.name: parse_sdist_filename(path.name)[1] for path in folder.glob("*.tar.gz")}
    if len(versions) != 2:
        sys.exit(f"{folder} must hold one wheel and one sdist; it holds: {', '.join(versions) or 'neither'}.")
    for name, version in versions.items():
        if version != Version(tag):
            sys.exit(f"{name} is not of the tag {tag}: build it in a clean checkout of that tag.")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
