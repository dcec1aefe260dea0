"""build(): what the compiler drafts, or drafted before of the very same, as a package that is compiled, examined and sealed here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from edgec.apps.wheel_archive import make_wheels
from edgec.base.errors import GateError
from edgec.base.output import complete_directory
from edgec.base.stage import stage
from edgec.cache import Store, opened
from edgec.cache.files import packed, unpacked
from edgec.exam.examine import examine_everywhere, failed
from edgec.isolation.process import start
from edgec.package import Package
from edgec.package.manifest import Content
from edgec.pipeline.depends import draft_key
from edgec.pipeline.kept import entry
from edgec.pipeline.prepare import Plan, prepare
from edgec.provenance.seal import seal
from edgec.settings.config import BuildConfig
from edgec.toolchain import compile_package

Progress = Callable[[str, int, int], None]  # stage, steps done, steps in all (0: not known)


def build(model: Path, config: BuildConfig, progress: Progress | None = None) -> Package:
    """Turn an ONNX file into a compiled package; the directory appears complete or not at all."""
    planned, store = prepare(model, config), opened(config.cache)
    target, tell = planned.target, progress or (lambda stage, done, total: None)
    files = _drafted(planned, store, tell)
    with complete_directory(planned.out, files, force=config.force) as directory:
        if config.compile:
            with stage(tell, "compiling"):
                compile_package(directory, target, cc=config.cc, store=store, tell=partial(tell, "compiling"))
        if config.wheel:
            with stage(tell, "making wheels"):
                make_wheels(directory, target, files, config.cc, store=store)
        examined = _examined(directory, planned.out, config, tell)
        seal(directory, files, compiled=config.compile or config.wheel, key=config.sign)
    store.trim()
    return Package(planned.out, examined)


def _drafted(planned: Plan, store: Store, tell: Progress) -> Mapping[str, Content]:
    """Every file of the package but what is compiled, from the cache where it has them."""
    whole = entry(store, partial(draft_key, planned))
    kept = whole.get()
    if kept is not None:
        with stage(tell, "found in the cache"):
            return unpacked(kept)
    start()  # the worker loads while the compiler does
    from edgec.pipeline.compiler import draft  # most of edgec, which an identical build does without

    files = draft(planned, store, tell)
    whole.put(*packed(files))
    return files


def _examined(directory: Path, out: Path, config: BuildConfig, tell: Progress) -> tuple[str, ...]:
    """Where the package in `directory`, which will be `out`, passed its exam. GateError when it failed: then there is no `out`."""
    if not config.compile:
        return ()
    try:
        return examine_everywhere(Package(directory), tell)
    except GateError as error:
        raise failed(error, directory, out, keep=config.keep_failed) from error
