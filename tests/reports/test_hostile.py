"""Whatever boards and models say, and whatever numbers they send, every form of report stays whole and harmless."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from dataclasses import fields, is_dataclass, replace
from html.parser import HTMLParser
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from edgec.records.diagnosis import Advice, Diagnosis, HistogramFacts, LayerFacts
from edgec.records.results import STATUSES, Job, PackageFacts, Versus
from edgec.reports import render_diagnosis, render_html, render_junit, render_markdown, render_trace
from tests.reports.samples import farm, job, latency, package

NASTY = (
    "<script>document.title='owned'</script>", "</title><img src=x onerror=alert(1)>", "\"><svg onload=alert(1)>", "a|b\\|c", "`code` ```",
    "\x1b[2J\x1b]0;owned\x07red", "two\nlines\r\nmore", "\x00\x08\ud800\ufffe\u202egnp.exe", "{{ 7*7 }}{% raw %}", "]]>&amp;&#60;",
    "x" * 5000,
    "@everyone #1 www.example.org http://example.org", "# head", "", "   ", "-o", "$x^2$ *a* _b_ ~c~ ![i](u) [l](u)",
)  # fmt: skip
TEXTS = st.sampled_from(NASTY) | st.text(max_size=12)
HASHES = st.sampled_from(["a" * 64, "b" * 64, NASTY[0]])
FLOATS = st.sampled_from([0.0, -1.0, 1e300, -1e300, 5e-324, 1.0, 1e9]) | st.floats()
INTS = st.sampled_from([0, -1, 1, 3, 10**400, -(10**400)]) | st.integers(-5, 10**12)
VOID = {"meta", "img", "br", "link", "input", "hr"}
TAGS = set(
    re.findall(
        r"\w+",
        "html head meta title style body header main nav section h1 h2 h3 p span small strong b a ul li div table thead tbody tr th td "
        "figure figcaption svg desc rect line path circle text details summary pre",
    )
)
NUMBERS = {"x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "r", "width", "height"}


def built(kind: Any, **known: st.SearchStrategy) -> st.SearchStrategy:
    """Anything that has the types of `kind`."""
    if is_dataclass(kind):
        hints = get_type_hints(kind)
        return st.builds(
            kind, **{field.name: known[field.name] if field.name in known else built(hints[field.name]) for field in fields(kind)}
        )
    if isinstance(kind, UnionType):
        return st.one_of([st.none() if option is NoneType else built(option) for option in get_args(kind)])
    if get_origin(kind) is tuple:
        return st.lists(built(get_args(kind)[0]), max_size=4).map(tuple)
    plain = {str: TEXTS, float: FLOATS, int: INTS, bool: st.booleans()}
    return plain[kind] if kind in plain else st.dictionaries(TEXTS, TEXTS, max_size=3)


RECORDS = st.lists(
    built(PackageFacts, sha256=HASHES)
    | built(Job, package=HASHES, status=st.sampled_from(STATUSES), device=st.sampled_from(["pi", *NASTY]))
    | built(Versus, package=HASHES, base=HASHES),
    max_size=4,
)
hostile = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))


class Page(HTMLParser):
    """Fails at any tag, attribute or nesting that our templates do not have."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.feed(text)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        assert tag in TAGS, tag
        for name, value in attributes:
            assert not name.startswith("on") and name not in ("src", "style", "action"), name
            assert name != "href" or (value or "").startswith("#")
            if name in NUMBERS:
                assert re.fullmatch(r"-?\d+(\.\d)?", value or ""), (tag, name, value)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@hostile
@given(RECORDS, RECORDS)
def test_the_page_has_only_our_own_elements(records: list, earlier: list) -> None:
    text = render_html(records, history=[earlier])
    Page(text)
    text.encode()
    assert "\x1b" not in text and "\x00" not in text


@hostile
@given(RECORDS)
def test_junit_is_xml_and_no_job_is_lost_in_it(records: list) -> None:
    root = ET.fromstring(render_junit(records))
    jobs = [record for record in records if isinstance(record, Job)]
    if not all(record.kept for record in {(item.device, item.package): item for item in jobs}.values()):
        assert root.findall(".//failure") + root.findall(".//error")
    assert bool(jobs) == bool(root.findall(".//testcase"))


@hostile
@given(RECORDS)
def test_the_trace_is_json_of_finite_numbers(records: list) -> None:
    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    trace = json.loads(render_trace(records), parse_constant=refuse)
    assert all(event["dur"] >= 0 and event["ts"] >= 0 for event in trace["traceEvents"] if event["ph"] == "X")


@hostile
@given(RECORDS, RECORDS)
def test_markdown_has_only_our_own_markup(records: list, earlier: list) -> None:
    text = render_markdown(records, history=[earlier])
    text.encode()
    assert set(re.findall(r"</?([a-zA-Z!][^ >]*)", text)) <= {"details", "summary", "br", "code"}
    width = None
    for line in text.splitlines():
        width = None if not line.startswith("|") else line.count("|") if width is None else width
        assert width is None or line.count("|") == width, line
    outside = re.sub(r"^```sh\n[^`]*^```$|`[^`\n]+`", "", text, flags=re.MULTILINE)
    assert "`" not in outside and "@e" not in outside and "http://" not in outside and "](" not in outside


@hostile
@given(st.lists(built(LayerFacts), max_size=4), st.lists(built(Advice), max_size=2), FLOATS, FLOATS, TEXTS)
def test_the_page_of_layers_has_only_our_own_elements(layers: list, advice: list, low: float, high: float, title: str) -> None:
    histograms = tuple(HistogramFacts(layer.value, low, high, (0, 3, 1), (high, low)) for layer in layers)
    places = tuple(range(len(layers)))
    found = Diagnosis(1, "mse", {title: low}, {}, tuple(layers), places, histograms, {title: title}, tuple(advice))
    text = render_diagnosis(found, title)
    Page(text)
    text.encode()
    assert "\x1b" not in text and "\x00" not in text and text == render_diagnosis(found, title)


@pytest.mark.parametrize("name", NASTY, ids=range(len(NASTY)))
def test_a_hostile_name_is_shown_and_does_nothing(name: str) -> None:
    records = [package(name), job(package(), device=name, reason=name, status="failed", board={name: name})]
    Page(render_html(records))
    ET.fromstring(render_junit(records))
    assert "\x1b" not in render_html(records) + render_markdown(records) + render_trace(records)
    assert len(render_html(records)) < 200_000


@pytest.mark.thorough
def test_thousands_of_layers_and_boards_stay_a_page_one_can_send() -> None:
    facts = package(layers=4000)
    one = job(facts, latencies=(latency(),))
    boards = [replace(one, device=f"board{number}", profile=one.profile if number < 20 else ()) for number in range(1500)]
    text = render_html([facts, *boards])
    assert len(text.encode()) < 5_000_000
    assert "and 500 more jobs" in text
    assert len(render_markdown([facts, *boards])) <= 65_000


def test_the_same_records_give_the_same_bytes() -> None:
    for render in (render_html, render_markdown, render_junit, render_trace):
        assert render(farm(), history=[farm()]) == render(farm(), history=[farm()])
