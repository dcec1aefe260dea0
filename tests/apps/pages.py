"""A browser without a screen: what a page of a package shows once it has answered."""

from __future__ import annotations

import functools
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

OPTIONS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update "
    "--disable-sync --disable-dev-shm-usage --hide-scrollbars --window-size=800,600 --dump-dom"
)
PATIENCE = 60  # seconds until a page that says nothing is looked at as it is
# A browser looks at a page when all its pictures have come: the last one comes when the page has an answer, and the test's own code too.
WATCH = """
<img src="/wait" alt="">
<script type="module">
  const output = document.querySelector("output");
  const answered = new Promise((resolve) => {
    const look = () => !["loading", "ready"].includes(output.textContent) && resolve();
    new MutationObserver(look).observe(output, { childList: true });
    look();
  });
  const more = document.body.appendChild(document.createElement("pre"));
  const own = async () => {
    CODE
  };
  more.textContent = JSON.stringify(await own().catch(String));
  await answered;
  await fetch("/done");
</script>
"""


class Handler(SimpleHTTPRequestHandler):
    """A package's web folder, whose page tells when it has answered."""

    extensions_map: ClassVar = {**SimpleHTTPRequestHandler.extensions_map, ".mjs": "text/javascript", ".wasm": "application/wasm"}

    def __init__(self, answered: threading.Event, code: str, isolated: bool, *arguments: object, directory: str) -> None:
        self._answered, self._code, self._isolated = answered, code, isolated
        super().__init__(*arguments, directory=directory)  # type: ignore[arg-type]

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        if path == "/wait":
            self._answered.wait(PATIENCE)
        if path == "/done":
            self._answered.set()
        if path != "/index.html":
            super().do_GET()
            return
        content = (Path(self.directory) / "index.html").read_bytes() + WATCH.replace("CODE", self._code).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def end_headers(self) -> None:
        if self._isolated:
            self.send_header("Cross-Origin-Opener-Policy", "same-origin")
            self.send_header("Cross-Origin-Embedder-Policy", "require-corp")
        super().end_headers()

    def log_message(self, format: str, *arguments: object) -> None:
        """Nobody reads it."""


@contextmanager
def served(folder: Path, code: str = "", *, isolated: bool = False) -> Iterator[str]:
    """The address of a server on this machine that gives the folder's files, isolated from other origins or not.

    What `code` returns is in the page's <pre>, as JSON.
    """
    handler = functools.partial(Handler, threading.Event(), code, isolated, directory=str(folder))
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def browse(address: str, scratch: Path, *options: str) -> tuple[str, Path]:
    """The page's document after it has answered, and a picture of it, in a browser with some more options."""
    shot = scratch / "page.png"
    command = ["chromium", *OPTIONS.split(), *options, f"--user-data-dir={scratch / 'profile'}", f"--screenshot={shot}", address]
    done = subprocess.run(command, capture_output=True, text=True, timeout=2 * PATIENCE, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout, shot
