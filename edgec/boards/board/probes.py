"""What edgec asks a board: two constant shell scripts, one round trip each, whose answers come in named parts.

Nothing from outside is part of a script: the mark between parts and the work folder are its arguments. A board that lacks a program or
a file leaves the part empty.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping

from edgec.base.errors import DeviceError, Problem
from edgec.base.harmless import last_lines
from edgec.boards.connect.connection import Connection

_PROPERTIES = (
    "ro.product.manufacturer",
    "ro.product.model",
    "ro.soc.manufacturer",
    "ro.soc.model",
    "ro.product.cpu.abilist",
    "ro.build.version.release",
    "ro.build.version.sdk",
)
_MAC = (
    "hw.model hw.memsize hw.ncpu machdep.cpu.brand_string machdep.cpu.features machdep.cpu.leaf7_features kern.osproductversion "
    "hw.cpufrequency_max hw.optional vm.loadavg"
)
_CPU = "/sys/devices/system/cpu"
_THERMAL = "/sys/class/thermal"

# part -> what prints it; what never changes while a board is up
FACTS: Mapping[str, str] = {
    "uname": "uname -s; uname -r; uname -m",
    "bits": "getconf LONG_BIT || od -An -tu1 -j4 -N1 /proc/self/exe",
    "model": "cat /proc/device-tree/model || cat /sys/class/dmi/id/product_name",
    "cpuinfo": "cat /proc/cpuinfo",
    "cores": "nproc || getconf _NPROCESSORS_ONLN",
    "most_frequencies": f"grep . {_CPU}/cpu*/cpufreq/cpuinfo_max_freq /dev/null",
    "memory": "cat /proc/meminfo",
    "release": "cat /etc/os-release || cat /usr/lib/os-release",
    "libc": "getconf GNU_LIBC_VERSION || { ldd --version 2>&1; ls -d /lib/ld-musl-* /system/lib*/libc.so; }",
    "properties": f'type getprop >/dev/null && for name in {" ".join(_PROPERTIES)}; do echo "[$name]: [$(getprop $name)]"; done',
    "sysctl": f"[ -d /proc/self ] || sysctl {_MAC}",
    "disk": 'df -Pk "$place"',
    "writable": '[ -w "$place" ] && echo yes || echo no',
    "gpu": "type timeout vulkaninfo >/dev/null && timeout 3 vulkaninfo --summary",
}
# part -> what prints it; what changes from one moment to the next
STATE: Mapping[str, str] = {
    "clock": "date +%s",
    "governors": f"grep . {_CPU}/cpu*/cpufreq/scaling_governor /dev/null",
    "frequencies": f"grep . {_CPU}/cpu*/cpufreq/scaling_cur_freq /dev/null",
    "most_frequencies": f"grep . {_CPU}/cpu*/cpufreq/cpuinfo_max_freq /dev/null",
    "zones": f"grep . {_THERMAL}/thermal_zone*/type {_THERMAL}/thermal_zone*/temp /dev/null",
    "coolers": f"grep . {_THERMAL}/cooling_device*/type {_THERMAL}/cooling_device*/cur_state /dev/null",
    "temperature": "vcgencmd measure_temp",
    "throttled": "vcgencmd get_throttled || cat /sys/devices/platform/soc/soc:firmware/get_throttled",
    "throttle_counts": f"grep . {_CPU}/cpu*/thermal_throttle/*_throttle_count /dev/null",
    "thermal_service": "type getprop >/dev/null && dumpsys thermalservice",
    "load": "cat /proc/loadavg || sysctl -n vm.loadavg",
    "uptime": "cat /proc/uptime",
}

_BEGIN = """mark=$1 place=$2
export LC_ALL=C PATH="$PATH:/usr/sbin:/sbin:/opt/vc/bin"
until [ -d "$place" ]; do case $place in .) place=/ ;; */*) place=${place%/*}; place=${place:-/} ;; *) place=. ;; esac; done
"""


def _script(parts: Mapping[str, str]) -> str:
    """Each part in a shell of its own, with nothing to read and its complaints unheard; the mark and its name stand above it."""
    asked = [f"printf '\\n%s {name}\\n' \"$mark\"\n( {words}\n) </dev/null 2>/dev/null\n" for name, words in parts.items()]
    return _BEGIN + "".join(asked) + "printf '\\n%s end\\n' \"$mark\"\n"


_FACTS, _STATE = _script(FACTS), _script(STATE)


def ask_facts(connection: Connection) -> dict[str, str]:
    """The parts of FACTS; {} for a machine without a POSIX shell that is ours."""
    return _ask(connection, _FACTS)


def ask_state(connection: Connection) -> dict[str, str]:
    """The parts of STATE; {} for a machine without a POSIX shell that is ours."""
    return _ask(connection, _STATE)


def _ask(connection: Connection, script: str) -> dict[str, str]:
    mark = f"----{secrets.token_hex(8)}"
    answer = connection.execute(["sh", "-c", script, "edgec", mark, connection.device.work])
    parts = split_parts(answer.output.decode("utf-8", errors="replace"), mark)
    if "end" not in parts:
        if connection.device.connection in ("local", "emulated"):
            return {}
        said = [Problem(line) for line in last_lines(answer.errors + b"\n" + answer.output, 4)]
        hint = "edgec needs a POSIX shell (`sh`) there, and an account that is not restricted to one command"
        raise DeviceError(f"the board does not run a shell script (status {answer.status})", said, where=connection.device.name, hint=hint)
    return parts


def split_parts(text: str, mark: str) -> dict[str, str]:
    """What stands below each line that has the mark and a name; the first of a name counts."""
    parts: dict[str, str] = {}
    for piece in text.split(f"\n{mark} ")[1:]:
        name, _, said = piece.partition("\n")
        parts.setdefault(name.strip(), said.strip("\n"))
    return parts
