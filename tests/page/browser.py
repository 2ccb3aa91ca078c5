"""A headless Chromium, driven through the DevTools protocol over one WebSocket."""

import base64
import json
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

from websockets.sync.client import ClientConnection, connect

BROWSER_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
BROWSER_FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run")
LONGEST_WAIT = 120.0  # seconds; a busy machine is slow to start


def find_chromium() -> str | None:
    """The path of an installed Chromium, or None."""
    return next((path for name in BROWSER_NAMES if (path := shutil.which(name))), None)


class NavigationError(AssertionError):
    """The page went to another address while a script ran in it."""


class Page:
    """One tab. errors: uncaught exceptions, and errors in the console; requested_urls: every address that it requested;
    dialogs: the kinds of the browser's own dialogs, such as "beforeunload", which are accepted.

    The lists are emptied before each page that `open` or `visit` loads.
    """

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket
        self.last_command_id = 0
        self.errors: list[str] = []
        self.requested_urls: list[str] = []
        self.dialogs: list[str] = []
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")

    def send(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a command and return its result; events that arrive before the result are recorded."""
        self.last_command_id += 1
        self.socket.send(json.dumps({"id": self.last_command_id, "method": method, "params": params}))
        command_id = self.last_command_id
        while True:
            message = json.loads(self.socket.recv(timeout=LONGEST_WAIT))
            if message.get("id") == command_id:
                # The protocol's general code for a server error. Here it means that the page was replaced.
                if message.get("error", {}).get("code") == -32000:
                    raise NavigationError(message)
                assert "error" not in message, message
                result: dict[str, Any] = message["result"]
                return result
            self.record_event(message)

    def record_event(self, message: dict[str, Any]) -> None:
        """Add an error or a requested address to the lists; ignore any other event."""
        params = message.get("params", {})
        if message.get("method") == "Runtime.exceptionThrown":
            self.errors.append(json.dumps(params["exceptionDetails"]))
        elif message.get("method") == "Log.entryAdded" and params["entry"]["level"] == "error":
            self.errors.append(params["entry"]["text"])
        elif message.get("method") == "Network.requestWillBeSent":
            self.requested_urls.append(params["request"]["url"])
        elif message.get("method") == "Page.javascriptDialogOpening":
            self.dialogs.append(params["type"])
            self.last_command_id += 1
            accept = {"id": self.last_command_id, "method": "Page.handleJavaScriptDialog", "params": {"accept": True}}
            self.socket.send(json.dumps(accept))

    def forget(self) -> None:
        """Empty the lists."""
        for events in (self.errors, self.requested_urls, self.dialogs):
            events.clear()

    def open(self, path: Path) -> None:
        """Load a file as a page, and wait until the page is complete."""
        self.forget()
        self.send("Page.navigate", url=path.as_uri())
        self.wait_until("document.readyState === 'complete' && location.protocol === 'file:'")

    def open_report(self, path: Path) -> None:
        """Load a report, and wait until its table of questions is there."""
        self.open(path)
        self.wait_until("document.getElementById('explore')?.hidden === false")

    def visit(self, url: str, ready_expression: str) -> None:
        """Load an address and wait until the JavaScript expression is true in its page."""
        self.forget()
        # Mark the old page, so that it is not taken for the new one if it has the same address and is ready, too.
        self.run("window.isOldPage = true")
        self.send("Page.navigate", url=url)
        is_new_page = f"!window.isOldPage && location.href.startsWith({json.dumps(url.partition('?')[0])})"
        self.wait_until(f"{is_new_page} && ({ready_expression})")

    def press(self, key: str, *, key_code: int, modifiers: int = 0, text: str = "") -> None:
        """Press a key. modifiers: 2 for Ctrl, 8 for Shift; text: the characters that the key types, if any."""
        for kind in ("keyDown", "keyUp"):
            typed_text = {"text": text} if text and kind == "keyDown" else {}
            self.send(
                "Input.dispatchKeyEvent",
                type=kind,
                key=key,
                code=key,
                windowsVirtualKeyCode=key_code,
                modifiers=modifiers,
                **typed_text,
            )

    def run(self, script: str) -> Any:
        """The value of a JavaScript expression in the page."""
        outcome = self.send("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in outcome, outcome
        return outcome["result"].get("value")

    def wait_until(self, script: str) -> None:
        """Wait until an expression is true."""
        deadline = time.monotonic() + LONGEST_WAIT
        while not self.is_true(script):
            assert time.monotonic() < deadline, script
            time.sleep(0.03)

    def is_true(self, script: str) -> bool:
        """Whether an expression is true now; False while the page goes to another address."""
        try:
            return bool(self.run(script))
        except NavigationError:
            return False

    def set_size(self, width: int, height: int = 900) -> None:
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def set_color_scheme(self, name: str) -> None:
        """Set the colour scheme: light or dark."""
        self.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": name}])

    def save_picture(self, path: Path, *, is_whole_page: bool = True) -> None:
        """Save the whole page as a PNG, or only the part that the window shows."""
        screenshot = self.send("Page.captureScreenshot", format="png", captureBeyondViewport=is_whole_page)
        path.write_bytes(base64.b64decode(screenshot["data"]))


@contextmanager
def open_browser(profile: Path) -> Iterator[Page]:
    """Start a browser, yield one tab of it, and end the browser afterwards. profile: the folder for its profile."""
    command = [
        str(find_chromium()),
        *BROWSER_FLAGS,
        f"--user-data-dir={profile}",
        "--remote-debugging-port=0",
        "about:blank",
    ]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        port = wait_for_port(profile, process)
        with urlopen(Request(f"http://127.0.0.1:{port}/json/new", method="PUT"), timeout=LONGEST_WAIT) as reply:
            address = json.load(reply)["webSocketDebuggerUrl"]
        with connect(address, max_size=None, open_timeout=LONGEST_WAIT, ping_interval=None, proxy=None) as socket:
            yield Page(socket)
    finally:
        process.terminate()
        process.wait(timeout=LONGEST_WAIT)


def wait_for_port(profile: Path, process: "subprocess.Popen[bytes]") -> int:
    """Wait until the browser has written the port of its DevTools server into its profile, and return the port."""
    file, deadline = profile / "DevToolsActivePort", time.monotonic() + LONGEST_WAIT
    while not (file.exists() and file.read_text().strip()):
        assert process.poll() is None, "the browser ended"
        assert time.monotonic() < deadline, "the browser does not listen"
        time.sleep(0.05)
    return int(file.read_text().split()[0])
