"""Importing Quorum changes nothing of the program that imports it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from quorum.core.telemetry import TELEMETRY_SWITCHES

# Imports the libraries, sets a client of its own for traces, and looks at the program. Then it imports every module of
# Quorum and looks again after each, and once more when the graphs of all methods are made.
PROGRAM = """
import asyncio, importlib, json, locale, logging, os, pkgutil, random, signal, sys, threading, warnings

import chromadb, httpx, langchain, langchain_openai, langgraph.graph, langsmith, onnxruntime, openai, rich, typer
import uvicorn
from langsmith.run_trees import get_cached_client

langsmith.configure(client=langsmith.Client(api_url="http://127.0.0.1:9", api_key="x"))

def describe_logger(name):
    logger = logging.getLogger(name)
    parts = list(map(id, [*logger.handlers, *logger.filters]))
    return [logger.level, logger.propagate, logger.disabled, *parts]

def look():
    return {
        "warnings": [repr(entry) for entry in warnings.filters],
        "showwarning": id(warnings.showwarning),
        "loggers": {name: describe_logger(name) for name in LOGGERS},
        "logger class": logging.getLoggerClass().__name__,
        "environment": dict(os.environ),
        "signals": {int(number): str(signal.getsignal(number)) for number in signal.valid_signals()},
        "event loops": type(asyncio.get_event_loop_policy()).__name__,
        "langsmith": id(get_cached_client()),
        "hooks": [id(sys.excepthook), id(threading.excepthook), id(sys.unraisablehook), id(sys.displayhook)],
        "streams": [id(sys.stdin), id(sys.stdout), id(sys.stderr)],
        "locale": locale.setlocale(locale.LC_ALL),
        "random": hash(random.getstate()),
        "folder": os.getcwd(),
        "recursion": sys.getrecursionlimit(),
    }

LOGGERS = [None, "chromadb", "httpx", "langsmith", "openai", "langchain", "langgraph", "asyncio", "uvicorn", "quorum"]
before, changes, names = look(), [], ["quorum"]
import quorum
names += [module.name for module in pkgutil.walk_packages(quorum.__path__, "quorum.", onerror=lambda name: None)]
for name in names:
    if name.startswith("quorum.training"):  # it needs an extra
        continue
    importlib.import_module(name)
    after = look()
    changes += [[name, part, before[part], after[part]] for part in before if before[part] != after[part]]
    before = after
from quorum.graphs import METHODS
graphs = [method.graph for method in METHODS.values()]
after = look()
changes += [["graphs", part, before[part], after[part]] for part in before if before[part] != after[part]]
print(json.dumps([len(names), changes]))
"""


@pytest.mark.long  # it imports some 400 modules
def test_no_module_changes_the_program_that_imports_it(tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name not in TELEMETRY_SWITCHES}
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    count, changes = json.loads(run.stdout.splitlines()[-1])
    assert count > 300
    [added] = [change for change in changes if change[:2] == ["quorum", "environment"]]
    assert added[3] == added[2] | TELEMETRY_SWITCHES  # docs/privacy.md lists them
    assert [change for change in changes if change is not added] == []
