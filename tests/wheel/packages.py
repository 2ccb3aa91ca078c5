"""Builds the sdist and the wheel, and checks their contents."""

import shutil
import subprocess
import sys
import tarfile
from pathlib import Path
from zipfile import ZipFile

ROOT = Path(__file__).resolve().parents[2]
LINKED_FOLDERS = ("graphs", "nodes", "retrievers")
# Folder in the checkout -> the folder of the wheel that holds its files.
PLACES_IN_WHEEL = {"quorum": "quorum", "data/sample": "quorum/data/sample"} | {
    name: f"quorum/{name}" for name in LINKED_FOLDERS
}


def build_wheel(source: Path, out: Path, *options: str) -> Path:
    """Build the wheel of the package in `source`, and return the wheel's path.

    It is built from the package's sdist; with the option --wheel, directly from the files in `source`.
    """
    uv = shutil.which("uv")
    command = [uv, "build", "--out-dir"] if uv else [sys.executable, "-m", "build", "--outdir"]
    run_or_exit(*command, str(out), *options, str(source))
    [wheel] = out.glob("*.whl")
    return wheel


def run_or_exit(*command: str) -> None:
    """Run the command; if it fails, exit with its output."""
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode:
        raise SystemExit(f"{' '.join(command)}\n{run.stdout}{run.stderr}")


def unpack_without_links(sdist: Path, folder: Path) -> Path:
    """Unpack an sdist into an empty folder, and return the folder with the sources.

    The sdist leaves out the links in quorum/. For each of them, this writes a text file with the link's target, as
    Windows and some unzip tools do.
    """
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    [unpacked_folder] = folder.iterdir()
    for name in LINKED_FOLDERS:
        (unpacked_folder / "quorum" / name).write_text(f"../{name}")
    return unpacked_folder


def list_expected_files() -> set[str]:
    """The paths of the files that a wheel of this checkout must hold, without those of its metadata. Of the page it
    holds what is built.
    """
    expected_files = set()
    for source, place in PLACES_IN_WHEEL.items():
        for path in (ROOT / source).rglob("*"):
            inside = path.relative_to(ROOT / source)
            is_in_linked_folder = source == "quorum" and inside.parts[0] in LINKED_FOLDERS
            is_source_of_page = inside.parts[0] == "page" and inside.suffix != ".py" and inside.parts[1:2] != ("built",)
            is_left_out = is_in_linked_folder or is_source_of_page or "__pycache__" in inside.parts
            if path.is_file() and not is_left_out:
                expected_files.add(f"{place}/{inside.as_posix()}")
    return expected_files


def read_contents(wheel: Path) -> dict[str, int]:
    """{path: checksum} of all files of the wheel except its metadata."""
    with ZipFile(wheel) as archive:
        return {item.filename: item.CRC for item in archive.infolist() if ".dist-info/" not in item.filename}


def check_contents(wheel: Path) -> None:
    """Check that the wheel holds exactly the package: code, prompts, weights, assets, the sample and py.typed."""
    names, expected = set(read_contents(wheel)), list_expected_files()
    assert names == expected, f"missing: {sorted(expected - names)}; unexpected: {sorted(names - expected)}"
    for needed in ("quorum/py.typed", "quorum/graphs/sure.py", "quorum/data/sample/questions.jsonl"):
        assert needed in names, f"{needed} is missing"
    for suffix in (".md", ".onnx", ".css", ".js"):
        assert any(name.endswith(suffix) for name in names), f"no file *{suffix}"
    test_files = [name for name in names if "test" in Path(name).name.split("_")]
    assert not test_files, f"the wheel contains tests: {test_files}"
