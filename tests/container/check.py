"""Runs the image as its users do, without a network: python tests/container/check.py [--image NAME]

With --image it takes an image that Docker holds. Without it, it makes the image's files from the Dockerfile by
debootstrap and chroot, which needs root but no Docker (`make test-container`). It prints a line with the seconds of
each step, and ends at the first failure.
"""

import argparse
import json
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from containers import Container, Image, Options, RootFiles
from docker_images import DockerImage
from root_files import ROOT, build_image, measure

MOST_MEGABYTES = 900
READY_SECONDS = 120
TOKEN = "a-key-for-this-check"
WITH_TOKEN = {"QUORUM_TOKEN": TOKEN}
QUESTION, ANSWER = "How tall is the Eiffel Tower?", "330 metres"
REQUEST = """
import json, sys, urllib.request
path, body, token = sys.argv[1:]
headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
request = urllib.request.Request(f"http://127.0.0.1:8765{path}", body.encode() or None, headers)
print(urllib.request.urlopen(request).read().decode())
"""


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


def main(image_name: str | None) -> None:
    """image_name: an image of Docker; None to make its files here."""
    if image_name:
        image: Image = DockerImage(image_name)
        check_size(image.measure())
        check_image(image)
        return
    folder = ROOT / "build" / "container"
    shutil.rmtree(stages := folder / "stages", ignore_errors=True)
    stages.mkdir(parents=True)
    with report_step("every stage of the Dockerfile"):
        root, settings = build_image(stages)
    check_size(measure(root))
    with TemporaryDirectory(dir=folder) as name:
        check_image(RootFiles(root, settings, Path(name)))


def check_size(megabytes: float) -> None:
    print(f"{megabytes:6.0f} MB of files in the image")
    assert megabytes <= MOST_MEGABYTES, f"The image must not be larger than {MOST_MEGABYTES} MB."


def check_image(image: Image) -> None:
    """All checks, in the image of either kind."""
    with report_step("quorum --version"):
        assert image.run(["--version"], Options()).stdout.startswith("quorum "), image.run(["--version"], Options())
    with report_step("without a token the server does not start, and says why"):
        refused = image.run([], Options())
        assert refused.returncode == 2, refused
        assert "--token" in refused.stdout + refused.stderr, refused
    check_server(image, "the image's own user", Options(environment=WITH_TOKEN), "10001:0")
    for user, shown in (("4321", "4321:0"), ("4321:4321", "4321:4321")):
        options = Options(user, is_read_only=True, environment=WITH_TOKEN)
        check_server(image, f"--user {user} --read-only", options, shown)
    check_kept_volume(image)


def check_server(image: Image, name: str, options: Options, user: str) -> None:
    """The server as a user: its health check, an answer over the sample's documents, a new collection, SIGTERM."""
    with report_step(f"{name}: healthy, answers, indexes, stops"), image.start([], options) as container:
        wait_until_healthy(container)
        who = container.execute("python3", "-c", "import os; print(f'{os.getuid()}:{os.getgid()}')").stdout.strip()
        assert who == user, who
        written = container.execute("python3", "-c", "open('/opt/written', 'w')")
        assert written.returncode, "Only /data and /tmp may be written."
        assert ANSWER in ask(container, "concat@sample", QUESTION)
        index_note(container)
        assert "Halden Street" in ask(container, "concat@notes", "Where are new laptops ordered?")
        assert json.loads(request(container, "/v1/collections"))["may_make"]
        stop(container)


def check_kept_volume(image: Image) -> None:
    """What one container indexed in a folder of this machine, another one answers from; commands see it, too."""
    with report_step("a folder as the volume keeps the collection"), TemporaryDirectory() as name:
        (volume := Path(name)).chmod(0o777)
        options = Options(is_read_only=True, environment=WITH_TOKEN, volume=volume)
        with image.start([], options) as container:
            wait_until_healthy(container)
            index_note(container)
            stop(container)
        with image.start([], options) as container:
            wait_until_healthy(container)
            assert "Halden Street" in ask(container, "concat@notes", "Where are new laptops ordered?")
            stop(container)
        listed = image.run(["collections"], options)
        assert "notes" in listed.stdout, listed
        added = image.run(["token", "add", "alice"], options)
        assert (volume / "tokens.json").exists(), added
        doctor = image.run(["doctor", "--no-call"], options)
        assert doctor.returncode == 0, doctor


def wait_until_healthy(container: Container) -> None:
    """Run the health check until it succeeds, as Docker does."""
    deadline = time.monotonic() + READY_SECONDS
    while (checked := container.check_health()).returncode:
        assert time.monotonic() < deadline, checked
        time.sleep(1)


def ask(container: Container, model: str, question: str) -> str:
    """The served API's answer."""
    body = {"model": model, "messages": [{"role": "user", "content": question}]}
    reply = request(container, "/v1/chat/completions", json.dumps(body))
    return str(json.loads(reply)["choices"][0]["message"]["content"])


def request(container: Container, path: str, body: str = "") -> str:
    """The body of the server's reply, asked from inside; body: JSON to post."""
    done = container.execute("python3", "-c", REQUEST, path, body, TOKEN)
    assert done.returncode == 0, done
    return done.stdout


def index_note(container: Container) -> None:
    """Index a note in the container, beside the server that runs there."""
    note = "import pathlib; pathlib.Path('/tmp/it.md').write_text('New laptops are ordered in Halden Street.')"
    assert container.execute("python3", "-c", note).returncode == 0
    done = container.execute("quorum", "index", "/tmp/it.md", "--collection", "notes")
    assert "1 added" in done.stdout, done


def stop(container: Container) -> None:
    """SIGTERM ends the server in time, by itself and without an error."""
    code = container.stop()
    output = container.read_output()
    assert code in (0, 143), (code, output)
    assert "Traceback" not in output, output


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--image", metavar="NAME", help="an image of Docker; by default files made from the Dockerfile")
    main(parser.parse_args().image)
