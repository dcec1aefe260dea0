"""One text file for each case of a rewrite: the graph before, `--- after`, the graph after; the file's name begins with the rule's.

Blessing alone would freeze a miscompile, so every case also runs both graphs in ONNX Runtime.
"""

from pathlib import Path

import pytest

from edgec.ir.text import dumps, loads
from edgec.ir.verify import verify
from edgec.passes import PIPELINE
from edgec.passes.duplicates import remove_dead, remove_unread_constants
from edgec.passes.pipeline import apply, name_uniquely
from edgec.passes.rewrite import Rewrite

from .compare import assert_same_results

FILES = sorted((Path(__file__).parent / "rewrites").glob("*.eir"))
RULES = {rewrite.name: rewrite for rewrite in PIPELINE}
SEPARATOR = "--- after\n"


def halves(file: Path) -> tuple[str, str]:
    before, _, after = file.read_text().partition(SEPARATOR)
    return before, after


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_rewrite(file: Path, bless: bool) -> None:
    text, expected = halves(file)
    before = loads(text)
    verify(before)
    assert dumps(before) == text
    after = before.copy()
    for _ in range(10):
        if not apply(RULES[file.name.split(".")[0]], after):
            break
    else:
        pytest.fail("the rule goes on for ever")
    apply(remove_dead, after)
    remove_unread_constants(after)
    name_uniquely(after)
    verify(after)
    if bless:
        file.write_text(text + SEPARATOR + dumps(after))
    else:
        assert dumps(after) == expected
    assert_same_results(before, after)


@pytest.mark.parametrize("rewrite", PIPELINE, ids=lambda rewrite: rewrite.name)
def test_every_rule_has_a_case_that_it_changes(rewrite: Rewrite) -> None:
    cases = [halves(file) for file in FILES if file.name.split(".")[0] == rewrite.name]
    assert any(before != after for before, after in cases)
