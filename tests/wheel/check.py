"""Installs the wheel in a new virtual environment, as users do, and runs it in the folder of an application.

`make test-wheel` runs this script. It prints a line with the seconds of each step, and ends at the first failure. It
builds the wheel and checks its contents, and at the end lets LangGraph Studio serve it. With `--wheel FOLDER` it takes
the wheel that lies there and leaves both out; it then needs only Python, on Linux, macOS or Windows.
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.request import Request, urlopen

from application import PASSAGE, write_application
from packages import ROOT, build_wheel, check_contents, read_contents, run_or_exit, unpack_without_links

IS_WINDOWS = sys.platform == "win32"
ENVIRONMENT = ROOT / ".venv-wheel"
PROGRAMS = ENVIRONMENT / ("Scripts" if IS_WINDOWS else "bin")
WHEEL_PYTHON = PROGRAMS / "python"
STUDIO_PYTHON = ROOT / ".venv-studio" / "bin" / "python"
QUIET_VARIABLES = {"QUORUM_JOURNAL": "off", "LANGSMITH_TRACING": "false", "COLUMNS": "100", "PYTHONUTF8": "1"}
INHERITED = (
    "PATH",
    "HOME",
    "LANG",
    "TMPDIR",
    "SYSTEMROOT",
    "USERPROFILE",
    "APPDATA",
    "LOCALAPPDATA",
    "TEMP",
    "PATHEXT",
)


@contextmanager
def report_step(name: str) -> Iterator[None]:
    """Print one line when the step has ended: its seconds and its name."""
    started_at = time.perf_counter()
    try:
        yield
    except BaseException:
        print(f"{time.perf_counter() - started_at:6.1f} s  FAILED  {name}", flush=True)
        raise
    print(f"{time.perf_counter() - started_at:6.1f} s  {name}", flush=True)


def main(wheel_folder: Path | None) -> None:
    """wheel_folder: the folder of a wheel that is built already; None to build it here."""
    # On Windows a file that a process has just closed may still be locked.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=IS_WINDOWS) as name:
        folder = Path(name).resolve()
        wheel = find_wheel(wheel_folder) if wheel_folder else build_wheel_in_three_ways(folder)
        with report_step("the wheel installed in a fresh environment, without an extra"):
            install(wheel)
            check_site_packages()
        (application := folder / "application").mkdir()
        write_application(application)
        check_commands(application)
        check_plugin(application)
        check_server(application)
        if not wheel_folder:
            check_studio(application, wheel, folder / "studio")


def find_wheel(folder: Path) -> Path:
    """The only wheel in a folder."""
    wheels = [path.resolve() for path in folder.glob("*.whl")]
    assert len(wheels) == 1, f"{folder} must hold one wheel; it holds {len(wheels)}."
    return wheels[0]


def build_wheel_in_three_ways(folder: Path) -> Path:
    """Build the wheel in the three possible ways, check that they give the same contents, and return one."""
    with report_step("sdist, and the wheel from it"):
        wheel = build_wheel(ROOT, folder / "dist")
        check_contents(wheel)
    with report_step("the same wheel from the checkout"):
        assert read_contents(build_wheel(ROOT, folder / "direct", "--wheel")) == read_contents(wheel)
    # Windows and some unzip tools write a text file in place of a symbolic link.
    with report_step("the same wheel from a checkout whose links are text files"):
        [sdist] = (folder / "dist").glob("*.tar.gz")
        checkout = unpack_without_links(sdist, folder / "unlinked")
        assert read_contents(build_wheel(checkout, folder / "from-unlinked", "--wheel")) == read_contents(wheel)
    return wheel


def install(wheel: Path) -> None:
    """Install what a user installs, and pytest for the application's own tests."""
    requirements = ["-c", str(ROOT / "constraints.txt"), str(wheel), "pytest"]
    if uv := shutil.which("uv"):
        run_or_exit(uv, "venv", "--quiet", "--clear", "--python", sys.executable, str(ENVIRONMENT))
        run_or_exit(uv, "pip", "install", "--quiet", "--python", str(WHEEL_PYTHON), *requirements)
    else:
        run_or_exit(sys.executable, "-m", "venv", "--clear", str(ENVIRONMENT))
        run_or_exit(str(WHEEL_PYTHON), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *requirements)


def check_site_packages() -> None:
    """Check that the wheel put only one folder and its metadata into site-packages, and that its extra ui is empty."""
    [metadata] = ENVIRONMENT.rglob("site-packages/quorum_rag-*.dist-info/METADATA")
    text = metadata.read_text(encoding="utf-8")
    assert "Provides-Extra: ui\n" in text
    assert "extra == 'ui'" not in text
    [record] = ENVIRONMENT.rglob("site-packages/quorum_rag-*.dist-info/RECORD")
    names = {line.split("/")[0] for line in record.read_text().splitlines() if not line.startswith("../")}
    assert names == {"quorum", record.parent.name}, names


def check_commands(application: Path) -> None:
    """Run the commands of a user's first day in the application's folder."""
    compare = ["compare", "documents", "questions.jsonl", "--methods", "concat,sure", "--out", "compared"]
    for expected_text, *command in (
        ["quorum 0.", "quorum", "--version"],
        ["330 metres", "quorum", "demo", "demo_store"],
        ["1 added", "quorum", "index", "documents", "--collection", "vell"],
        ["Ada Korn", "quorum", "ask", "Who built the lighthouse of Vell?", "--collection", "vell"],
        ["100.0", "quorum", "eval", "questions.jsonl", "--methods", "concat,post_fusion", "--out", "results"],
        ["concat", "quorum", *compare],
        ["passed", "python", "-m", "pytest", "-q"],
        ["Ada Korn\nAda Korn", "python", "script.py"],
    ):
        with report_step(" ".join(command)):
            run_command(application, expected_text, *command)
    # The application has packages with the names of Quorum's folders, such as `graphs`. Quorum must import its own even
    # if Python searches the application's folder first.
    with report_step("PYTHONPATH=. quorum ask"):
        ask_sample = ["quorum", "ask", "How tall is the Eiffel Tower?", "--collection", "sample"]
        run_command(application, "330 metres", *ask_sample, PYTHONPATH=".")
    report = (application / "compared" / "report.html").read_text(encoding="utf-8")
    assert "<style" in report
    assert "sure" in report


def check_plugin(application: Path) -> None:
    """Check that an installed plugin adds a method, a metric, a retriever and a document reader to every command."""
    (notes := application / "notes").mkdir()
    (notes / "vell.note").write_text(f"Vell\n{PASSAGE['text']}\n", encoding="utf-8")
    with report_step("the example plugin, installed beside Quorum"):
        add_package(ROOT / "examples" / "plugin")
    options = ["--methods", "concat,shout", "--corpus", "notes", "--retriever", "titles", "--out", "shouted"]
    for expected_text, *command in (
        ["shout", "quorum", "methods"],
        ["brevity", "quorum", "eval", "questions.jsonl", *options],
        ["ADA KORN", "quorum", "ask", "Who built the lighthouse of Vell?", "--collection", "vell", "--method", "shout"],
    ):
        with report_step(" ".join(command)):
            run_command(application, expected_text, *command)


def add_package(folder: Path) -> None:
    """Install a package without its requirements, which the virtual environment has already."""
    if uv := shutil.which("uv"):
        run_or_exit(uv, "pip", "install", "--quiet", "--no-deps", "--python", str(WHEEL_PYTHON), str(folder))
    else:
        run_or_exit(
            str(WHEEL_PYTHON),
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "--no-deps",
            str(folder),
        )


def run_command(folder: Path, expected_text: str, command: str, *arguments: str, **variables: str) -> None:
    """Run a command of the virtual environment. It must end with exit code 0 and print `expected_text`.

    variables: environment variables for the command.
    """
    run = subprocess.run(
        [str(PROGRAMS / command), *arguments],
        cwd=folder,
        env=make_clean_environment(**variables),
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert run.returncode == 0, f"exit code {run.returncode}\n{run.stdout}{run.stderr}"
    assert expected_text in run.stdout + run.stderr, f"{expected_text!r} is not in\n{run.stdout}{run.stderr}"


def make_clean_environment(**variables: str) -> dict[str, str]:
    """Environment variables for a command, without the settings of the user who runs the checks."""
    return {name: os.environ[name] for name in INHERITED if name in os.environ} | QUIET_VARIABLES | variables


def check_server(application: Path) -> None:
    """Check that `quorum serve` starts, sends its page, and ends by Ctrl-C."""
    with report_step("quorum serve"):
        process = subprocess.Popen(
            [str(PROGRAMS / "quorum"), "serve", "--port", "0", "--store", "demo_store"],
            cwd=application,
            env=make_clean_environment(PYTHONUNBUFFERED="1"),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            # Windows sends Ctrl-Break to a group of processes, and Ctrl-C only to all processes of a console.
            creationflags=subprocess.CREATE_NEW_PROCESS_GROUP if IS_WINDOWS else 0,
        )
        try:
            line = process.stdout.readline() if process.stdout else ""
            assert "Quorum is at http://" in line, line + process.communicate(timeout=60)[0]
            for path in ("", "documents", "page/app.js", "page/app.css"):
                with urlopen(line.split()[3] + path, timeout=60) as response:
                    assert response.read(), path
        finally:
            process.send_signal(signal.CTRL_BREAK_EVENT if IS_WINDOWS else signal.SIGINT)
            output, _ = process.communicate(timeout=60)
        assert process.returncode == 0 or IS_WINDOWS, output  # Ctrl-Break ends a process of Windows with its own code


def check_studio(application: Path, wheel: Path, unpacked_wheel: Path) -> None:
    """Check that `langgraph dev` serves the application's langgraph.json with the wheel's `quorum`.

    unpacked_wheel: the folder into which the wheel is unpacked.
    """
    sys.path.insert(0, str(ROOT / "tests"))
    from studio_server import start_studio  # imports packages that a check of a built wheel does without

    with report_step("langgraph dev of the application's langgraph.json"):
        shutil.unpack_archive(wheel, unpacked_wheel, "zip")
        command = [str(STUDIO_PYTHON), "-c", "import quorum; print(quorum.__file__)"]
        quorum_file = subprocess.check_output(
            command, cwd=application, env=make_clean_environment(PYTHONPATH=str(unpacked_wheel)), text=True
        )
        assert Path(quorum_file.strip()).is_relative_to(unpacked_wheel), quorum_file
        config = application / "langgraph.json"
        with start_studio(
            application, config=config, python=str(STUDIO_PYTHON), PYTHONPATH=str(unpacked_wheel), **QUIET_VARIABLES
        ) as server:
            inputs = {"question": "Who built the lighthouse of Vell?", "given": [PASSAGE]}
            body = json.dumps({"assistant_id": "ask", "input": inputs, "context": {"k": 1}}).encode()
            request = Request(f"{server.url}/runs/wait", body, {"content-type": "application/json"})
            with urlopen(request, timeout=120) as response:
                result = json.load(response)
            assert result["answer"] == "Ada Korn", result


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--wheel", type=Path, metavar="FOLDER", help="take the wheel in this folder")
    started = time.perf_counter()
    try:
        main(parser.parse_args().wheel)
    except AssertionError as error:
        sys.exit(str(error))
    print(f"{time.perf_counter() - started:6.1f} s  in all")
