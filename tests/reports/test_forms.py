"""What each form of report says of known results."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from edgec.base.errors import UsageError
from edgec.cli.main import main
from edgec.records.results import Block, ExamResult, Record, Versus, to_line
from edgec.reports import render_html, render_junit, render_markdown, render_trace, report_results, write_report
from edgec.reports.memory import occupied
from tests.reports.samples import farm, job, latency, package


def page_text(records: list[Record], **more: list) -> str:
    """The words of the page, without its elements."""
    return re.sub(r"\s+", " ", re.sub(r"<style>.*?</style>|<[^>]+>", " ", render_html(records, **more), flags=re.DOTALL))


def store(path: Path, records: list[Record]) -> Path:
    path.write_text("".join(f"{to_line(record)}\n" for record in records), encoding="utf-8")
    return path


def test_the_page_names_every_job_that_did_not_pass_with_its_reason() -> None:
    text = page_text(farm())
    assert "3 of 6 jobs on 5 boards did not pass: 1 failed, 1 unsteady, 1 unreachable" in text
    assert "max-latency: 1.24 ms is over 0.3 ms" in text
    assert "cannot be reached: no answer within 10 s" in text
    assert "48.2 °C → 84.9 °C" in text and "under-voltage, frequency capped" in text


def test_the_page_has_no_script_and_asks_nobody_for_anything() -> None:
    page = render_html(farm())
    assert "default-src 'none'" in page
    assert not re.findall(r"<script|<link|<img|<iframe|@import|url\(|https?://", page)


def test_every_picture_has_a_title_and_a_description_or_is_decoration() -> None:
    pictures = re.findall(r"<svg.*?</svg>", render_html(farm()), re.DOTALL)
    assert len(pictures) > 20
    for picture in pictures:
        assert 'aria-hidden="true"' in picture or ('role="img"' in picture and "<title>" in picture and "<desc>" in picture)


def test_an_empty_result_is_said_to_be_empty() -> None:
    assert "There are no results: nothing was run" in page_text([])
    assert "nothing was run" in render_markdown([])
    assert ET.fromstring(render_junit([])).get("tests") == "0"
    assert json.loads(render_trace([]))["traceEvents"] == []


def test_a_job_of_an_unknown_package_is_called_by_its_hash() -> None:
    assert "package aaaaaaaaaaaa" in page_text([job(package())])
    assert "digits" not in page_text([job(package())])


def test_a_job_that_was_run_again_counts_once() -> None:
    facts = package()
    text = page_text([facts, job(facts, status="unreachable", reason="gone", exam=None), job(facts)])
    assert "The job passed on 1 board" in text and "gone" not in text


def test_the_page_says_whether_boards_gave_the_same_bytes() -> None:
    facts = package()
    other = ExamResult(True, 8, True, 0.0, "neon", ("9" * 64,))
    assert "the same bytes from all 2 boards" in page_text([facts, job(facts), job(facts, "pi5")])
    assert '<td class="bad"><span>2 different answers from 2 boards</span>' in render_html(
        [facts, job(facts), job(facts, "pi5", exam=other)]
    )


def test_float_answers_may_differ_within_the_tolerance() -> None:
    facts = package(precision="fp32")
    exams = [ExamResult(True, 8, False, 1e-7, "neon", (digit * 64,)) for digit in "12"]
    page = render_html([facts, job(facts, exam=exams[0]), job(facts, "pi5", exam=exams[1])])
    assert "<td><span>2 different answers from 2 boards, all within tolerance</span>" in page


def test_layers_are_shown_longest_first_and_the_rest_is_summed() -> None:
    facts = package(layers=45)
    text = page_text([facts, job(facts)])
    assert "and 25 more" in text and "All 45 calls in their order" in text
    assert text.index("conv1_0") < text.index("depthwise1_1")


def test_layers_tell_their_share_and_speed() -> None:
    facts = package(layers=2)  # 100 and 50 us, 40,000 and 80,000 MACs
    text = page_text([facts, job(facts)])
    assert "66.7 %" in text and "33.3 %" in text
    assert "0.400" in text and "1.60" in text  # GMAC/s


@pytest.mark.parametrize(
    ("versus", "said"),
    [((0.5, 0.4, 0.6), "faster, by 50.0 %"), ((1.2, 1.1, 1.3), "slower, by 20.0 %"), ((0.99, 0.9, 1.1), "no difference shown")],
)
def test_two_packages_differ_only_where_the_interval_says_so(versus: tuple[float, float, float], said: str) -> None:
    assert said in page_text([*farm(), Versus("pi4", "b" * 64, "a" * 64, *versus, 5)])


def test_history_follows_a_package_over_its_builds_and_compares_with_the_last_run() -> None:
    old, new = package(mark="c"), package(mark="a")
    before = [old, job(old, started="2026-11-01T00:00:00Z", latencies=(latency(1000.0),))]
    text = page_text([new, job(new, latencies=(latency(500.0),))], history=[before])
    assert "History" in text and re.search(r"-(49|50)\.\d % against the run before", text)
    assert "within the intervals" in page_text([new, job(new)], history=[[old, job(old)]])
    text = page_text([new, job(new, latencies=(latency(500.0),), status="unsteady")], history=[before])
    assert "not known: a speed is unsteady" in text and "against the run before" not in text


def test_the_memory_line_is_the_sum_of_what_is_needed() -> None:
    blocks = (Block("a", 0, 100, 0, 1), Block("b", 100, 50, 1, 2), Block("c", 0, 10, 2, 2))
    assert occupied(blocks, 3) == [100, 150, 60]


def test_junit_has_a_suite_for_each_board_and_a_failure_with_each_reason() -> None:
    root = ET.fromstring(render_junit(farm()))
    assert [suite.get("name") for suite in root] == ["attic", "pi4", "pi5", "shelf", "zero2"]
    broken = {
        (case.get("classname"), case.get("name")): case for case in root.iter("testcase") if len(case) and case[0].tag != "system-out"
    }
    assert set(broken) == {
        ("attic.digits int8", "gate max-latency"),
        ("shelf.digits int8", "exam"),
        ("zero2.digits int8", "gate max-latency"),
    }
    assert "no answer within 10 s" in (broken["shelf.digits int8", "exam"][0].get("message") or "")
    assert (root.get("tests"), root.get("failures"), root.get("errors")) == (str(len(list(root.iter("testcase")))), "2", "1")


def test_an_unsteady_speed_without_a_promise_fails_in_no_form() -> None:
    records = [package(), job(package(), status="unsteady", reason="pi4: the board throttled", gates=())]
    root = ET.fromstring(render_junit(records))
    assert (root.get("failures"), root.get("errors")) == ("0", "0")
    assert "unsteady: pi4: the board throttled" in [said.text for said in root.iter("system-out")][1]
    assert render_markdown(records).startswith("### ✅ edgec: The job passed on 1 board, the speed of 1 is unsteady")


def test_junit_never_lets_a_failed_job_look_good() -> None:
    facts = package()
    wrong = ExamResult(False, 8, True, 0.0, "neon", ())
    failures = ET.fromstring(render_junit([facts, job(facts, status="failed", reason="wrong answers", exam=wrong)])).findall(".//failure")
    assert [failure.get("type") for failure in failures] == ["exam"]
    refused = ET.fromstring(render_junit([facts, job(facts, status="busy", reason="locked by eve", gates=())])).find(".//error")
    assert refused is not None and refused.get("message") == "busy: locked by eve"


def test_the_trace_lays_the_calls_of_each_package_end_to_end() -> None:
    trace = json.loads(render_trace(farm()))["traceEvents"]
    names = {event["pid"]: event["args"]["name"] for event in trace if event["name"] == "process_name"}
    (pi5,) = [pid for pid, name in names.items() if name == "pi5"]
    calls = [event for event in trace if event["pid"] == pi5 and event.get("cat") == "call"]
    assert [event["name"] for event in calls] == [layer.name for layer in package().layers]
    for one, following in pairwise(calls):
        assert following["ts"] == pytest.approx(one["ts"] + one["dur"], abs=0.002)
    assert calls[0]["args"] | {"nodes": []} == {"kernel": "conv_int8", "precision": "int8", "macs": 40_000, "sqnr_db": 42.5, "nodes": []}
    (run,) = [event for event in trace if event["pid"] == pi5 and event.get("cat") == "run"]
    assert run["dur"] == pytest.approx(sum(event["dur"] for event in calls), abs=0.01)


def test_the_trace_counts_the_bytes_of_the_arena() -> None:
    facts = package()
    counters = [event for event in json.loads(render_trace([facts, job(facts)]))["traceEvents"] if event["ph"] == "C"]
    assert [event["args"]["bytes"] for event in counters] == [*occupied(facts.blocks, 9), 0]
    assert [event["ts"] for event in counters] == sorted(event["ts"] for event in counters)


def test_markdown_starts_with_the_verdict_and_folds_away_what_is_long() -> None:
    lines = render_markdown(farm()).splitlines()
    assert lines[0] == "### ❌ edgec: 3 of 6 jobs on 5 boards did not pass: 1 failed, 1 unsteady, 1 unreachable"
    assert lines.count("</details>") == sum(line.startswith("<details>") for line in lines) >= 4
    assert "| ❌ failed | `zero2`<br>raspberry-pi-4 | `digits int8` | max-latency: 1.24 ms is over 0.3 ms |" in "\n".join(lines)


def test_the_suffix_chooses_the_form(tmp_path: Path) -> None:
    for name, start in (("a.html", "<!DOCTYPE html>"), ("a.md", "### "), ("a.xml", "<?xml"), ("a.trace.json", '{"generated"')):
        write_report(farm(), tmp_path / "new" / name)
        assert (tmp_path / "new" / name).read_text(encoding="utf-8").startswith(start)
    with pytest.raises(UsageError, match=r"unknown form of report '.pdf'.*\.html, \.md"):
        write_report(farm(), tmp_path / "a.pdf")
    with pytest.raises(UsageError, match="is a folder"):
        (tmp_path / "b.html").mkdir()
        write_report(farm(), tmp_path / "b.html")


def test_the_verb_shows_the_last_run_and_the_others_as_history(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    facts = package()
    old = store(tmp_path / "z.jsonl", [facts, job(facts, started="2026-01-01T00:00:00Z", status="unreachable", reason="old", exam=None)])
    new = store(tmp_path / "a.jsonl", [facts, job(facts, started="2026-02-01T00:00:00Z")])
    out = tmp_path / "report.html", tmp_path / "summary.md"
    assert main(["report", str(new), str(old), "-o", str(out[0]), "-o", str(out[1]), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["verdict"], said["earlier_runs"], said["reports"]) == ("passed", 1, [str(path) for path in out])
    assert [(one["device"], one["name"], one["status"]) for one in said["jobs"]] == [("pi4", "digits", "passed")]
    assert all(path.stat().st_size > 500 for path in out)


def test_the_verb_refuses_what_is_no_results_file_and_keeps_the_results(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results = store(tmp_path / "results.json", farm())
    assert main(["report", str(results), "-o", str(results)]) == 2
    assert "is an input: it would be overwritten" in capsys.readouterr().err
    (tmp_path / "no.jsonl").write_text("hello\nworld\n", encoding="utf-8")
    assert main(["report", str(tmp_path / "no.jsonl"), "-o", str(tmp_path / "r.html")]) == 2
    assert "not a results file" in capsys.readouterr().err and not (tmp_path / "r.html").exists()


def test_a_report_of_several_files_needs_no_order(tmp_path: Path) -> None:
    facts = package()
    runs = [store(tmp_path / f"{day}.jsonl", [facts, job(facts, started=f"2026-03-0{day}T00:00:00Z")]) for day in (3, 1, 2)]
    found = report_results(runs, [tmp_path / "r.html"])
    assert found.run.started == "2026-03-03T00:00:00Z" and found.earlier == 2


def test_labels_tell_packages_of_one_name_apart() -> None:
    twins = [package(), replace(package(), sha256="f" * 64)]
    text = page_text([*twins, *(job(facts) for facts in twins)])
    assert "digits aaaaaaaaaaaa" in text and "digits ffffffffffff" in text
