"""Builds the sdist and the wheel, and says what is wrong with what is in them."""

import shutil
import subprocess
import sys
import tarfile
from pathlib import Path
from zipfile import ZipFile

ROOT = Path(__file__).resolve().parents[2]
LINKED = ("graphs", "nodes", "retrievers")
IN_THE_WHEEL = {"quorum": "quorum", "data/sample": "quorum/data/sample"} | {name: f"quorum/{name}" for name in LINKED}


def build(source: Path, out: Path, *options: str) -> Path:
    """The wheel that `source` gives: by way of the sdist, or with --wheel straight from the files."""
    uv = shutil.which("uv")
    command = [uv, "build", "--out-dir"] if uv else [sys.executable, "-m", "build", "--outdir"]
    run(*command, str(out), *options, str(source))
    [wheel] = out.glob("*.whl")
    return wheel


def run(*command: str) -> None:
    """Run the command; a failure ends all with what it said."""
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    if ran.returncode:
        raise SystemExit(f"{' '.join(command)}\n{ran.stdout}{ran.stderr}")


def unpack_without_links(sdist: Path, folder: Path) -> Path:
    """The sources as they are where links become text files: on Windows, in some unzippers."""
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    [unpacked] = folder.iterdir()
    for name in LINKED:
        (unpacked / "quorum" / name).write_text(f"../{name}")
    return unpacked


def expected_files() -> set[str]:
    """What a wheel of this checkout holds beside its metadata."""
    found = set()
    for source, place in IN_THE_WHEEL.items():
        for path in (ROOT / source).rglob("*"):
            inside = path.relative_to(ROOT / source)
            linked = source == "quorum" and inside.parts[0] in LINKED
            if path.is_file() and not linked and "__pycache__" not in inside.parts:
                found.add(f"{place}/{inside.as_posix()}")
    return found


def contents(wheel: Path) -> dict[str, int]:
    """{name: checksum} of all files but the metadata's."""
    with ZipFile(wheel) as archive:
        return {item.filename: item.CRC for item in archive.infolist() if ".dist-info/" not in item.filename}


def check_contents(wheel: Path) -> None:
    """The package and nothing else: code, prompts, weights, assets, the sample, and the mark that it is typed."""
    names, expected = set(contents(wheel)), expected_files()
    assert names == expected, f"missing: {sorted(expected - names)}; too much: {sorted(names - expected)}"
    for needed in ("quorum/py.typed", "quorum/graphs/sure.py", "quorum/data/sample/questions.jsonl"):
        assert needed in names, f"{needed} is missing"
    for kind in (".md", ".onnx", ".css"):
        assert any(name.endswith(kind) for name in names), f"no file *{kind}"
    assert not [name for name in names if "test" in Path(name).name.split("_")], "tests are in it"
