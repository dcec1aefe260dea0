"""Pure readers of what programs and files of a board say. None of them fails: odd text is None, 0 or nothing at all.

Every text that they give is one printable line of at most 120 characters.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from edgec.base.harmless import printable

# CPU implementer and part of ARM's main ID register -> the core's name
_ARM_CORES = {
    (0x41, 0xB76): "ARM1176", (0x41, 0xC05): "Cortex-A5", (0x41, 0xC07): "Cortex-A7", (0x41, 0xC08): "Cortex-A8",
    (0x41, 0xC09): "Cortex-A9", (0x41, 0xC0F): "Cortex-A15", (0x41, 0xD03): "Cortex-A53", (0x41, 0xD04): "Cortex-A35",
    (0x41, 0xD05): "Cortex-A55", (0x41, 0xD07): "Cortex-A57", (0x41, 0xD08): "Cortex-A72", (0x41, 0xD09): "Cortex-A73",
    (0x41, 0xD0A): "Cortex-A75", (0x41, 0xD0B): "Cortex-A76", (0x41, 0xD0C): "Neoverse N1", (0x41, 0xD0D): "Cortex-A77",
    (0x41, 0xD40): "Neoverse V1", (0x41, 0xD41): "Cortex-A78", (0x41, 0xD42): "Cortex-A78AE", (0x41, 0xD44): "Cortex-X1",
    (0x41, 0xD46): "Cortex-A510", (0x41, 0xD47): "Cortex-A710", (0x41, 0xD48): "Cortex-X2", (0x41, 0xD49): "Neoverse N2",
    (0x41, 0xD4B): "Cortex-A78C", (0x41, 0xD4D): "Cortex-A715", (0x41, 0xD4E): "Cortex-X3", (0x41, 0xD4F): "Neoverse V2",
    (0x41, 0xD80): "Cortex-A520", (0x41, 0xD81): "Cortex-A720", (0x41, 0xD82): "Cortex-X4", (0x4E, 0x004): "Carmel",
    (0x51, 0x800): "Kryo 2xx Gold", (0x51, 0x801): "Kryo 2xx Silver", (0x51, 0x802): "Kryo 3xx Gold", (0x51, 0x803): "Kryo 3xx Silver",
    (0x51, 0x804): "Kryo 4xx Gold", (0x51, 0x805): "Kryo 4xx Silver", (0x61, 0x022): "Apple Icestorm", (0x61, 0x023): "Apple Firestorm",
}  # fmt: skip
_MOST_CORES = 1024
# Apple's names of features -> Linux's
_APPLE_FEATURES = {"AdvSIMD": "asimd", "neon": "asimd", "FEAT_DotProd": "asimddp", "FEAT_I8MM": "i8mm", "FEAT_FP16": "asimdhp"}
_THROTTLED = ("under-voltage", "frequency capped", "throttled", "soft temperature limit")  # bits 0-3 hold now, 16-19 did since the boot


def line(text: str, most: int = 120) -> str:
    """Text on one line, printable and short."""
    return " ".join(printable(text[: 8 * most].replace("\0", " "), 8 * most).split())[:most]


def first_line(text: str) -> str:
    return line(next((item for item in text.split("\n") if item.strip("\0 \r")), ""))


def whole(text: str) -> int | None:
    """The first word as a number that is not negative."""
    found = re.match(r"\s*([0-9]{1,18})(?![0-9])", text)
    return int(found[1]) if found else None


def pairs(text: str, between: str = ":") -> Iterator[tuple[str, str]]:
    """`key : value` of every line that has one."""
    for item in text.split("\n"):
        key, found, value = item.partition(between)
        if found:
            yield key.strip(), value.strip()


def processor(cpuinfo: str) -> str:
    """The processor's name; kinds of ARM cores in the order of their numbers."""
    found = list(pairs(cpuinfo))
    named = [value for key, value in found if key in ("model name", "uarch", "cpu model") and value]
    arm = _arm_cores(found)
    # 32-bit ARM kernels say "ARMv7 Processor rev 4 (v7l)" in `model name`
    if arm and (not named or "rocessor rev" in named[0]):
        return line(", ".join(dict.fromkeys(arm)))
    return line(", ".join(dict.fromkeys(named[:_MOST_CORES])))


def _arm_cores(found: list[tuple[str, str]]) -> list[str]:
    makers = [_hexadecimal(value) for key, value in found if key == "CPU implementer"]
    parts = [_hexadecimal(value) for key, value in found if key == "CPU part"]
    known = list(zip(makers, parts, strict=False))[:_MOST_CORES]
    return [
        _ARM_CORES.get((maker, part), f"ARM core {maker:#x}/{part:#x}") for maker, part in known if maker is not None and part is not None
    ]


def _hexadecimal(text: str) -> int | None:
    return int(text, 16) if re.fullmatch(r"0x[0-9a-fA-F]{1,8}", text) else None


def features(cpuinfo: str) -> frozenset[str]:
    """What every core can do, in the kernel's words (x86 `flags`, ARM `Features`, the letters and names of RISC-V's `isa`)."""
    cores = [_feature_words(key, value) for key, value in pairs(cpuinfo) if key in ("flags", "Features", "isa")][:_MOST_CORES]
    return frozenset.intersection(*cores) if cores else frozenset()


def _feature_words(key: str, value: str) -> frozenset[str]:
    if key == "isa":
        letters, *names = value.lower().split("_")
        letters = re.sub(r"^rv[0-9]+", "", letters)
        return frozenset(word for word in (*letters, *names) if re.fullmatch(r"[a-z0-9]{1,32}", word))
    return frozenset(word for word in value.split()[:1000] if re.fullmatch(r"[A-Za-z0-9_.]{1,32}", word))


def cpuinfo_model(cpuinfo: str) -> str:
    """Raspberry Pi's kernels name the board there too."""
    return next((line(value) for key, value in pairs(cpuinfo) if key == "Model"), "")


def count_cores(cpuinfo: str) -> int:
    return min(sum(key == "processor" and value.isdecimal() for key, value in pairs(cpuinfo)), _MOST_CORES)


def memory(meminfo: str, key: str = "MemTotal") -> int | None:
    """Bytes."""
    value = next((value for name, value in pairs(meminfo) if name == key), "")
    kilobytes = whole(value)
    return None if kilobytes is None else kilobytes * 1024


def disk_free(df: str) -> int | None:
    """Bytes that a user may still write: the fourth column of `df -Pk`."""
    rows = [item.split() for item in df.split("\n")[1:] if item.strip()]
    for row in rows:
        at = next((index for index, word in enumerate(row) if re.fullmatch(r"[0-9]{1,3}%", word)), 0)
        if at >= 2:
            kilobytes = whole(row[at - 1])
            return None if kilobytes is None else kilobytes * 1024
    return None


def per_core(grepped: str, of: str = "cpu") -> dict[int, str]:
    """`.../cpu3/...:value` of every line, by the number in the path."""
    found: dict[int, str] = {}
    for path, value in pairs(grepped):
        number = re.search(rf"/{of}([0-9]{{1,4}})/", path)
        if number and len(found) < _MOST_CORES:
            found[int(number[1])] = line(value)
    return found


def kilohertz(grepped: str) -> dict[int, int]:
    """Core -> kHz."""
    found = {core: whole(value) for core, value in per_core(grepped).items()}
    return {core: value for core, value in found.items() if value}


def zone_temperature(grepped: str) -> float | None:
    """Celsius of the hottest zone that is the processor's, else of the hottest of all."""
    kinds = per_core("\n".join(item for item in grepped.split("\n") if "/type:" in item), "thermal_zone")
    values = per_core("\n".join(item for item in grepped.split("\n") if "/temp:" in item), "thermal_zone")
    degrees = {zone: found for zone, value in values.items() if (found := _celsius(value)) is not None}
    ours = [value for zone, value in degrees.items() if re.search(r"cpu|soc|pkg|core|x86", kinds.get(zone, ""), re.IGNORECASE)]
    return max(ours or degrees.values(), default=None)


def _celsius(value: str) -> float | None:
    """Zones tell thousandths of a degree, those of some phones degrees; what no board survives is no temperature."""
    if not re.fullmatch(r"-?[0-9]{1,7}", value):
        return None
    degrees = int(value) / 1000 if abs(int(value)) >= 1000 else float(value)
    return degrees if -40 <= degrees <= 150 and degrees != 0 else None


def firmware_temperature(measured: str) -> float | None:
    """Celsius, of `temp=48.3'C`."""
    found = re.search(r"temp=([0-9]{1,3}(?:\.[0-9]{1,3})?)'C", measured)
    return float(found[1]) if found else None


def throttled(said: str) -> int | None:
    """The bits of `throttled=0x50005`, or of the kernel's `50005`."""
    found = re.match(r"\s*(?:throttled=0x)?([0-9a-fA-F]{1,8})\s*$", said)
    return int(found[1], 16) if found else None


def throttle_reasons(bits: int) -> tuple[str, ...]:
    """The reasons of the lowest four bits."""
    return tuple(reason for bit, reason in enumerate(_THROTTLED) if bits >> bit & 1)


def total(grepped: str) -> int:
    """The sum of the values of all lines."""
    return sum(whole(value) or 0 for _, value in pairs(grepped))


def cooling(grepped: str) -> bool:
    """Whether the kernel holds a processor's frequency down at this moment."""
    kinds = per_core("\n".join(item for item in grepped.split("\n") if "/type:" in item), "cooling_device")
    states = per_core("\n".join(item for item in grepped.split("\n") if "/cur_state:" in item), "cooling_device")
    return any(re.search(r"cpufreq|^processor$", kinds.get(number, ""), re.IGNORECASE) and whole(value) for number, value in states.items())


def thermal_status(dumped: str) -> int:
    """Android's thermal status: 0 none, 1 light, 2 moderate (which slows the processor down) and above."""
    found = re.search(r"Thermal Status: ([0-9])", dumped)
    return int(found[1]) if found else 0


def properties(printed: str) -> dict[str, str]:
    """`[name]: [value]`, as Android's getprop prints it."""
    found = re.findall(r"^\[([A-Za-z0-9._-]{1,64})\]: \[([^\n]*)\]\s*$", printed[:65536], re.MULTILINE)
    return {name: line(value) for name, value in found if value.strip()}


def sysctl(printed: str) -> dict[str, str]:
    """`name: value` of macOS, `name = value` elsewhere."""
    return {key: line(value, 4000) for key, value in pairs(printed[:65536]) if re.fullmatch(r"[A-Za-z0-9_.]{1,64}", key)}


def apple_features(values: Mapping[str, str]) -> frozenset[str]:
    """Features of a Mac's processor in Linux's words."""
    arm = {_APPLE_FEATURES.get(key.rpartition(".")[2]) for key, value in values.items() if key.startswith("hw.optional.") and value == "1"}
    intel = f"{values.get('machdep.cpu.features', '')} {values.get('machdep.cpu.leaf7_features', '')}".lower().replace(".", "_").split()
    return frozenset(word for word in (*arm, *intel) if word)


def release(text: str) -> str:
    """PRETTY_NAME of os-release."""
    return next((line(value.strip("\"'")) for key, value in pairs(text, "=") if key == "PRETTY_NAME"), "")


def libc(said: str) -> str:
    """`glibc 2.36`, `musl 1.2.4` or `bionic`."""
    said = said[:4096]
    for pattern in (r"\bglibc ([0-9]{1,3}\.[0-9]{1,3})", r"(?:GLIBC|GNU libc)[^\n]{0,80}?([0-9]{1,3}\.[0-9]{1,3})"):
        if found := re.search(pattern, said):
            return f"glibc {found[1]}"
    if "musl" in said:
        version = re.search(r"Version ([0-9][0-9.]{0,12})", said)
        return f"musl {version[1]}" if version else "musl"
    return "bionic" if re.search(r"/system/lib(64)?/libc\.so", said) else ""


def gpu(summary: str) -> str:
    """Names of the devices that `vulkaninfo --summary` lists, but for those that are programs (llvmpipe)."""
    kinds = [value for key, value in pairs(summary, "=") if key == "deviceType"]
    names = [value for key, value in pairs(summary, "=") if key == "deviceName"]
    real = [name for name, kind in zip(names, kinds, strict=False) if kind != "PHYSICAL_DEVICE_TYPE_CPU"]
    return line(", ".join(dict.fromkeys(real)))


def load(said: str) -> float | None:
    """Runnable tasks, of /proc/loadavg or macOS's `{ 1.20 1.30 1.40 }`: over one minute, or now, beside the one that asked, where that is
    told and less, since a mean holds what has ended, and on Android what only waits."""
    found = re.match(r"[\s{]*([0-9]{1,6}\.[0-9]{1,4})(?:\s+[0-9.]{1,11}\s+[0-9.]{1,11}\s+([0-9]{1,6})/)?", said)
    if not found:
        return None
    return min(float(found[1]), max(0.0, float(found[2]) - 1)) if found[2] else float(found[1])


def uptime(said: str) -> float | None:
    """Seconds, the first word of /proc/uptime."""
    found = re.match(r"\s*([0-9]{1,12}(?:\.[0-9]{1,4})?)\s", said + " ")
    return float(found[1]) if found else None


def bits(said: str) -> int | None:
    """Of a pointer of programs there: `getconf LONG_BIT`, or the class byte of an executable (1 or 2)."""
    return {32: 32, 64: 64, 1: 32, 2: 64}.get(whole(said) or 0)
