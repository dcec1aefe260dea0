"""The page in a real browser: it is drawn, in light and dark, on a desk and on a phone, and nothing in it runs."""

from __future__ import annotations

import html
import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image

from edgec.records.results import Record
from edgec.reports import render_html
from tests.reports.samples import farm, job, package

LIGHT, DARK = 1, 0  # of Chromium's preferredColorScheme
HOSTILE = "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"
QUIET = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update "
    "--disable-sync --hide-scrollbars"
)
POLICY = re.compile(r'<meta http-equiv="Content-Security-Policy"[^>]*>')
# what the copy of a page tells the page around it: its width, the width of what is in it, how many pictures it has, its colour
MEASURE = """<script>
const root = document.documentElement, pictures = document.querySelectorAll("svg").length;
parent.postMessage(JSON.stringify([innerWidth, root.scrollWidth, pictures, getComputedStyle(document.body).backgroundColor]), "*");
</script></body>"""
# windows have a least width that phones are below; frames have none
FRAME = """<!DOCTYPE html><meta name="color-scheme" content="light dark"><title>nothing heard</title><style>body {{ margin: 0 }}</style>
<script>addEventListener("message", (event) => {{ document.title = event.data; }});</script>
<iframe src="{page}" width="{width}" height="{height}" style="border: 0; display: block"></iframe>"""


def chromium(page: Path, tmp_path: Path, *flags: str) -> str:
    """Open a page; what Chromium prints."""
    command = ["chromium", *QUIET.split(), f"--user-data-dir={tmp_path / 'profile'}", *flags, page.as_uri()]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout


def seen(page: Path, tmp_path: Path, width: int, height: int, scheme: int) -> Image.Image:
    picture = tmp_path / f"{width}-{scheme}.png"
    flags = (f"--screenshot={picture}", f"--window-size={width},{height}", f"--blink-settings=preferredColorScheme={scheme}")
    chromium(page, tmp_path, *flags)
    return Image.open(picture).convert("RGB")


def title(dom: str) -> str:
    return html.unescape(re.search(r"<title>(.*?)</title>", dom, re.DOTALL)[1])  # type: ignore[index]


def write(path: Path, records: list[Record]) -> Path:
    path.write_text(render_html(records, history=[farm()]), encoding="utf-8")
    return path


def colours(picture: Image.Image) -> int:
    return len(picture.resize((picture.width // 2, picture.height // 2), Image.Resampling.NEAREST).getcolors(10**6) or ())


@pytest.mark.parametrize(("scheme", "bright"), [(LIGHT, True), (DARK, False)], ids=["light", "dark"])
def test_the_page_is_drawn_in_light_and_dark(needs: Callable[..., None], tmp_path: Path, scheme: int, bright: bool) -> None:
    needs("chromium")
    picture = seen(write(tmp_path / "report.html", farm()), tmp_path, 1280, 5200, scheme)
    assert picture.size == (1280, 5200)
    assert colours(picture) > 50, "a blank page has one colour"
    corner = sum(picture.getpixel((2, 2))) / 3  # type: ignore[arg-type]
    assert corner > 200 if bright else corner < 60
    bars = sum(count for count, (red, _, blue) in picture.getcolors(10**7) or () if blue - red > 100)
    assert bars > 5000, "the bars of the pictures are blue"


@pytest.mark.parametrize(("width", "scheme", "paper"), [(360, LIGHT, "rgb(251"), (360, DARK, "rgb(20"), (1280, LIGHT, "rgb(251")])
def test_nothing_is_wider_than_the_page(needs: Callable[..., None], tmp_path: Path, width: int, scheme: int, paper: str) -> None:
    """Measured by a script in a copy of the page, from which the policy is taken that forbids scripts."""
    needs("chromium")
    endless = "w" * 500
    records = [*farm(), package(endless, mark="d"), job(package(endless, mark="d"), endless, reason=endless, status="failed")]
    page = write(tmp_path / "report.html", records)
    page.write_text(POLICY.sub("", page.read_text(encoding="utf-8")).replace("</body>", MEASURE), encoding="utf-8")
    around = tmp_path / "around.html"
    around.write_text(FRAME.format(page=page.name, width=width, height=3000), encoding="utf-8")
    flags = ("--dump-dom", "--virtual-time-budget=20000", "--window-size=1400,3000", f"--blink-settings=preferredColorScheme={scheme}")
    window, content, pictures, background = json.loads(title(chromium(around, tmp_path, *flags)))
    assert (window, content) == (width, width)
    assert pictures > 20
    assert background.startswith(paper)


def test_the_page_is_drawn_on_a_phone(needs: Callable[..., None], tmp_path: Path) -> None:
    needs("chromium")
    page = write(tmp_path / "report.html", farm())
    around = tmp_path / "around.html"
    around.write_text(FRAME.format(page=page.name, width=360, height=2400), encoding="utf-8")
    picture = seen(around, tmp_path, 500, 2400, LIGHT)
    assert colours(picture.crop((0, 0, 360, 2400))) > 50


def test_what_a_board_says_does_not_run(needs: Callable[..., None], tmp_path: Path) -> None:
    """Escaping alone is enough, and the policy alone is too."""
    needs("chromium")
    facts = package(HOSTILE, mark="c")
    page = write(tmp_path / "report.html", [facts, job(facts, HOSTILE, reason=HOSTILE, status="failed", board={HOSTILE: HOSTILE})])
    guarded = page.read_text(encoding="utf-8")
    trapped = guarded.replace("</body>", "<script>document.title='owned'</script></body>")
    ran = []
    for text in (guarded, POLICY.sub("", guarded), trapped, POLICY.sub("", trapped)):
        page.write_text(text, encoding="utf-8")
        ran.append(title(chromium(page, tmp_path, "--dump-dom", "--virtual-time-budget=5000")) == "owned")
    assert ran == [False, False, False, True], "only a script of the page itself, without the policy, runs"
