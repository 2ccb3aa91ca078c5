"""A calibration, a server that is watched, a model that gets worse midway, the alarm, and a new beginning.

    python examples/watch_demo.py [FOLDER]

It prints every command with what the command says. The model is a script: of the questions about an archive it answers
one in a hundred wrong, and is unsure about one in ten; after 500 of 1,000 questions it answers one in five wrong, as
surely as before. A person who knows the archive labels what `quorum serve --watch` samples. It takes about a minute,
needs no key and reaches no other machine.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterable
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from pathlib import Path
from typing import Any

ROOMS, CALIBRATING = 1400, 400
THINGS = ("maps", "letters", "seals", "coins", "ledgers", "portraits", "charters", "lamps")
TOWNS = ("Vell", "Orrin", "Tarn", "Lisk", "Brae", "Hollow", "Marl", "Sedge", "Quill", "Fenn", "Dorn")
CALIBRATION = "archive.json"


def name_content(room: int) -> str:
    """What a room of the archive holds."""
    return f"the {THINGS[room % len(THINGS)]} of {TOWNS[room % len(TOWNS)]}"


def draw(text: str) -> float:
    """A number in [0, 1) that depends on a text alone."""
    return int.from_bytes(sha256(text.encode()).digest()[:8]) / 2**64


class ScriptedModel(ThreadingHTTPServer):
    """Speaks OpenAI's chat protocol. wrong: the share of the questions that it answers wrong and surely."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.wrong, self.numbers = 0.01, count()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def reply(self, prompt: str) -> str:
        room = int(re.findall(r"room (\d+)", prompt)[-1])  # the question stands after the passages
        if draw(f"wrong {room}") < self.wrong:
            return name_content(room + 1)
        if draw(f"unsure {room}") < 0.1:
            return name_content(room + next(self.numbers) % 3)
        return name_content(room)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: ScriptedModel

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        prompt = body["messages"][-1]["content"]
        choices = [
            {
                "index": i,
                "message": {"role": "assistant", "content": self.server.reply(prompt)},
                "finish_reason": "stop",
            }
            for i in range(body.get("n") or 1)
        ]
        usage = {"prompt_tokens": 100, "completion_tokens": 5, "total_tokens": 105}
        head = {"id": "chatcmpl-1", "object": "chat.completion", "created": 0, "model": body["model"]}
        content = json.dumps({**head, "choices": choices, "usage": usage}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *arguments: Any) -> None:
        """Nothing is logged."""


def write_lines(path: Path, lines: Iterable[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def run(folder: Path, command: str, keys: str | None = None, last: int | None = None) -> None:
    """Run a command of Quorum and show what it says, or its last lines. keys: what a person types."""
    print(f"\n$ {command}", flush=True)
    quorum = str(Path(sys.executable).with_name("quorum"))
    arguments = [quorum, *re.findall(r"'[^']*'|\S+", command)[1:]]
    process = subprocess.run(
        [argument.strip("'") for argument in arguments],
        cwd=folder, input=keys, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
    )  # fmt: skip
    lines = process.stdout.strip().splitlines()
    print("\n".join(lines if last is None else lines[-last:]))
    if process.returncode:
        print(f"(exit code {process.returncode})")


def ask(address: str, rooms: Iterable[int]) -> None:
    """Ask the server, as any client of OpenAI's protocol does."""
    for room in rooms:
        body = {"model": "concat", "messages": [{"role": "user", "content": f"What does room {room} hold?"}]}
        request = urllib.request.Request(
            f"{address}v1/chat/completions", json.dumps(body).encode(), {"content-type": "application/json"}
        )
        urllib.request.urlopen(request).read()


def type_labels(folder: Path) -> str:
    """What a person who knows the archive types for each answer that waits."""
    watched = folder / ".quorum" / "watch" / "archive"
    labels = watched / "labels.jsonl"
    seen = {json.loads(line)["id"] for line in labels.open()} if labels.exists() else set()
    keys = []
    for line in map(json.loads, (watched / "answers.jsonl").open()):
        if "id" in line and line["id"] not in seen:
            room = int(re.findall(r"\d+", line["question"])[0])
            keys.append("y" if name_content(room) in line["answer"] else "n")
    return "\n".join(keys) + "\n"


def demonstrate(folder: Path) -> None:
    model = ScriptedModel()
    os.environ |= {"OPENAI_BASE_URL": f"http://127.0.0.1:{model.server_port}/v1", "OPENAI_API_KEY": "none"}
    write_lines(
        folder / "archive.jsonl",
        ({"id": f"r{i}", "title": f"Room {i}", "text": f"Room {i} holds {name_content(i)}."} for i in range(ROOMS)),
    )
    questions = [(f"What does room {i} hold?", name_content(i)) for i in range(CALIBRATING)]
    write_lines(
        folder / "questions.jsonl",
        ({"id": f"q{i}", "question": text, "answers": [answer]} for i, (text, answer) in enumerate(questions)),
    )
    settings = "--model openai:scripted --retriever bm25 --set samples=5 --set temperature=0.7"
    run(folder, "quorum index archive.jsonl --collection archive", last=1)
    run(
        folder,
        f"quorum eval questions.jsonl --collection archive --methods concat {settings} --out results/archive",
        last=1,
    )
    run(folder, f"quorum calibrate results/archive --wrong-at-most 5% --out {CALIBRATION}")
    serve = (
        f"quorum serve --port 0 --no-page --collection archive {settings} --set calibration={CALIBRATION} "
        f"--watch {CALIBRATION} --label-share 40%"
    )
    print(f"\n$ {serve}")
    quorum = str(Path(sys.executable).with_name("quorum"))
    server = subprocess.Popen([quorum, *serve.split()[1:]], cwd=folder, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        address = str(re.search(r"http://\S+", server.stdout.readline())[0])  # type: ignore[index]
        ask_and_label(folder, model, address)
    finally:
        server.terminate()
        server.wait()
        model.shutdown()


def ask_and_label(folder: Path, model: ScriptedModel, address: str) -> None:
    middle = (CALIBRATING + ROOMS) // 2
    ask(address, range(CALIBRATING, middle))
    print("(500 questions are asked; one in a hundred is answered wrong.)")
    time.sleep(1)  # the last answer is sampled after its reply
    run(folder, "quorum label archive --who Ada", type_labels(folder), last=2)
    run(folder, "quorum watch archive")
    model.wrong = 0.2
    ask(address, range(middle, ROOMS))
    print("\n(The model gets worse: 500 more questions are asked, and one in five is answered wrong.)")
    time.sleep(1)
    run(folder, "quorum label archive --who Ada", type_labels(folder), last=2)
    run(folder, "quorum watch archive")
    print(f"\n$ curl -s {address}metrics | grep quorum_watch_refuted")
    text = urllib.request.urlopen(f"{address}metrics").read().decode()
    print("\n".join(line for line in text.splitlines() if line.startswith("quorum_watch_refuted")))
    run(folder, "quorum watch reset archive --because 'the old model is back'")
    run(folder, "quorum watch archive")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        demonstrate(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as temporary:
            demonstrate(Path(temporary))
