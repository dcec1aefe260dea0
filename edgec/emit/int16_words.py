"""The headers of runtimes/c/vocabulary that hold the words of products of 16-bit codes, for each vocabulary."""

from __future__ import annotations

_NEON = ("int16_lanes_neon.h", "int16_neon.h")

INT16_HEADERS: dict[str, tuple[str, ...]] = {
    "portable": ("int16_portable.h",),
    "sse41": ("int16_sse41.h",),
    "avx2": ("int16_lanes_avx2.h", "int16_avx2.h"),
    "avxvnni": ("int16_lanes_avx2.h", "int16_avxvnni.h"),
    "avx512vnni": ("int16_avx512.h",),
    "neon": _NEON,
    "dotprod": _NEON,
    "i8mm": _NEON,
    "fp16": _NEON,
    "neon32": ("int16_lanes_neon.h", "int16_neon32.h"),
    "dsp": ("int16_portable.h",),
    "helium": ("int16_helium.h",),
    **dict.fromkeys(("wasm128", "relaxed7", "relaxed8"), ("int16_wasm128.h",)),
}
