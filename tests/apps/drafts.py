"""A package of which only the manifest is there, for emitters that are tried by themselves."""

from __future__ import annotations

from edgec.emit.manifest import BY_HAND
from edgec.package.draft import Draft
from edgec.package.manifest import Manifest
from edgec.package.parts import Arena, Weights


def empty_draft(name: str, form: str = "c") -> Draft:
    manifest = Manifest(
        name=name, target="portable", arch="any", vocabularies=("portable",), abi_version=2, int8_contract=1, edgec_version="0.1.0",
        arena_bytes=0, weights_bytes=0, weights=Weights(form, 0, "0" * 64), arena=Arena(0, 0, 0, 0, 64), stack_bytes=0, inputs=(),
        outputs=(), sizes={}, macs=0, calls=(), memory=(), **vars(BY_HAND),
    )  # fmt: skip
    return Draft({}, manifest)
