"""Instructions that whole inferences and their layers take on ARM boards, one thread, counted under qemu: the same number every time.

    python benchmarks/arm.py MODEL.onnx... [--precision fp32 int8] [--target rpi4 rpi5 linux-arm64 rpi-32bit] [--layers [N]] [--functions N]

Needs qemu-user 7.2 with plugins (Debian: qemu-user) and the targets' cross compilers. A package is edgec's own build for the board,
compiled as `edgec build` compiles it, and run by the target's emulator: rpi4 is a Cortex-A72, rpi5 a Cortex-A76, linux-arm64 qemu's `max`,
which has i8mm, rpi-32bit an armv7. A row says millions of instructions of one inference, how many these are for each multiplication of the
model, and what the best peer takes, where that is known; then how many times what the layers' innermost loops alone take that is, and of
the same with the least that results are started and ended by, where it is known; then kinds of instructions. --layers: the calls of a run,
those first that are furthest from what the innermost loop alone takes; --functions: the code that most instructions are of, as the compiler
names it. INT8 models are made as by benchmarks/peers.py, from the same samples. Instructions are not time: llvm-mca says what a loop takes
on a processor.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
from contestants import prepare

from edgec.package import Package
from edgec.package.manifest import Manifest
from edgec.targets import Target, load_target
from edgec.toolchain.find import find_compiler

PLUGIN = Path(__file__).with_name("arm_counts.c")
CORES = {"rpi4": {"int8": "a72", "fp32": "a72"}, "rpi5": {"int8": "a76", "fp32": "a72", "fp16": "a76"}}  # what PEERS has of each

# Instructions for each multiplication of one inference, of the best of LiteRT (XNNPACK), ONNX Runtime, ncnn, MNN and OpenVINO of October
# 2026, counted by the same means under qemu 7.2; fp32 is of an A72
PEERS: dict[tuple[str, str, str], tuple[float, str]] = {
    ("mobilenetv2-1.0", "int8", "a72"): (0.378, "LiteRT"),
    ("mobilenetv2-1.0", "int8", "a76"): (0.163, "LiteRT"),
    ("mobilenetv2-1.0", "fp32", "a72"): (0.336, "ncnn"),
    ("mobilenetv2-1.0", "fp16", "a76"): (0.180, "ncnn"),
    ("squeezenet1.1", "int8", "a72"): (0.216, "ncnn"),
    ("squeezenet1.1", "int8", "a76"): (0.113, "LiteRT"),
    ("squeezenet1.1", "fp32", "a72"): (0.218, "ncnn"),
    ("squeezenet1.1", "fp16", "a76"): (0.122, "MNN"),
    ("resnet8_cifar10", "int8", "a72"): (0.223, "ncnn"),
    ("resnet8_cifar10", "int8", "a76"): (0.120, "LiteRT"),
    ("resnet8_cifar10", "fp32", "a72"): (0.242, "MNN"),
    ("resnet8_cifar10", "fp16", "a76"): (0.133, "MNN"),
    ("kws_dscnn", "int8", "a72"): (0.463, "ncnn"),
    ("kws_dscnn", "int8", "a76"): (0.270, "LiteRT"),
    ("kws_dscnn", "fp32", "a72"): (0.442, "ncnn"),
    ("kws_dscnn", "fp16", "a76"): (0.288, "ncnn"),
    ("mnist-8", "int8", "a72"): (0.571, "ncnn"),
    ("mnist-8", "int8", "a76"): (0.392, "ncnn"),
    ("mnist-8", "fp32", "a72"): (0.613, "LiteRT"),
    ("mnist-8", "fp16", "a76"): (0.499, "ncnn"),
}

# What an innermost loop takes for each multiplication with the registers that there are: of dense layers, of depthwise ones of 3 x 3
BOUNDS: dict[tuple[str, str], tuple[float, float]] = {
    ("int8", "neon"): (0.225, 0.25),  # smull, smlal2 and sadalp, 4 x 4; two taps before they are widened
    ("int8", "dotprod"): (0.081, 0.10),  # sdot by lane, 8 x 12; four rows interleaved
    ("int8", "i8mm"): (0.047, 0.10),  # smmla, 8 x 12
    ("int8", "neon32"): (0.25, 0.27),
    ("fp32", "neon"): (0.284, 0.47),  # fmla by lane, 5 x 16; patches of 4 x 4
    ("fp32", "neon32"): (0.324, 0.40),
    ("fp16", "neon"): (0.138, 0.165),  # fmla by lane, 8 x 16
}

# The least instructions that a result of such layers begins and ends with, 16 together: what sums begin with is loaded, two registers at a
# time, and what they end by, where the zero point is the least code; four multiplications that add this and four additions make codes of 16
# bits of them, else four conversions, multiplications and additions; two put these together, two narrow them, one stores. Where
# a sum lies in two registers, these are added first, and twice as many begin; of two pixels, they are sorted.
ENDINGS: dict[tuple[str, str], tuple[float, float]] = {
    ("int8", "neon"): ((4 + 4 + 15) / 16, 15 / 16),  # depthwise sums begin with a register that is kept
    ("int8", "dotprod"): ((2 + 15) / 16, (2 + 15) / 16),
    ("int8", "i8mm"): ((2 + 15 + 3) / 16, (2 + 15) / 16),
}

# The first pattern that a mnemonic begins with, of 64-bit and of 32-bit processors
KINDS = {
    "dot": r"[su]dot|v[su]dot|smmla|ummla",
    "mull": r"[su]mull|[su]mlal|[su]mlsl|vmull\.|vmlal\.|vmlsl\.",
    "adalp": r"[su]adalp|[su]addlp|[su]addw|[su]addl|vpad[ad]l|vaddw|vaddl",
    "fma": r"fmla|fmls|fmadd|vfma|vmla\.f|vmls\.f",
    "real": r"f[a-z]+|[su]cvtf|v[a-z]+(\.[a-z0-9]+)?\.f",
    "narrow": r"[su]?q?xtn|sqxtun|[su]shll|sshr|sxtl|uxtl|vq?movu?n|vmovl|vshll",
    "shuffle": r"dup|zip|uzp|trn|tbl|tbx|ext\b|ins\b|movi|mvni|umov|smov|vdup|vzip|vuzp|vtrn|vtbl|vext|vmov",
    "load": r"ld|vld|pop",
    "store": r"st|vst|push",
    "branch": r"(b|bl|bx|blx|br|blr|ret|cbn?z|tbn?z|tb[bh])(\.[nw])?$|b\."
    r"|bl?(eq|ne|cs|cc|hs|lo|mi|pl|vs|vc|hi|ls|ge|lt|gt|le)(\.[nw])?$",
}

DRIVER = r"""
#define _GNU_SOURCE
#include "net.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <sys/syscall.h>
static void mark(void *user, int32_t call) { (void)user; syscall(SYS_getppid, 0x45444745L, (long)call); }
static unsigned char arena[NET_ARENA_BYTES] __attribute__((aligned(NET_ARENA_ALIGNMENT)));
@DATA@
static net_t net;
static int run(void) { return net_run(&net@ARGUMENTS@); }
int main(int count, char **names) {
    FILE *const file = count > 1 ? fopen(names[1], "rb") : NULL;
    if (!file || net_init(&net, arena, sizeof arena)) return 1;
@READ@
    if (run()) return 2;
    mark(0, NET_CALLS + 1);
    if (run()) return 2;
    mark(0, NET_CALLS + 2);
    if (net_set_observer(&net, mark, 0) || run()) return 2;
    puts(net_isa(&net));
    return 0;
}
"""


@dataclass(frozen=True)
class Instruction:
    function: str
    kind: str


@dataclass(frozen=True)
class Counted:
    """Of one inference: how often each instruction ran in all, and in each call."""

    isa: str
    program: tuple[Instruction, ...]
    whole: np.ndarray
    calls: np.ndarray  # [call][instruction]

    def by(self, times: np.ndarray, fact: str) -> list[tuple[str, int]]:
        """The most first."""
        found: Counter[str] = Counter()
        for index in np.nonzero(times)[0]:
            found[getattr(self.program[index], fact)] += int(times[index])
        return found.most_common()


def main() -> None:
    options = parse()
    with tempfile.TemporaryDirectory(prefix="edgec-arm-") as folder:
        work = options.work or Path(folder)
        work.mkdir(parents=True, exist_ok=True)
        print("| model | | target | isa | M insns | insns/MAC | best peer | of it | of the loops | with endings |\n" + "|---" * 10 + "|")
        for path, precision, target in product(options.models, options.precision, options.target):
            _, inputs, package = prepare(path, precision, options.calib, target, work)
            show(path.stem, precision, target, Package(package), count(package, inputs, load_target(target)), options)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", type=Path, nargs="+", metavar="MODEL.onnx")
    parser.add_argument("--precision", nargs="+", default=["fp32", "int8"])
    parser.add_argument("--target", nargs="+", default=["rpi4", "rpi5"])
    parser.add_argument("--calib", help="samples for all models, as edgec quantize takes them")
    parser.add_argument("--layers", type=int, nargs="?", const=1000, default=0, metavar="N", help="show so many calls")
    parser.add_argument("--functions", type=int, default=0, metavar="N", help="show so many functions")
    parser.add_argument("--work", type=Path, help="folder to keep models and packages in; quantized models there are used again")
    return parser.parse_args()


def count(package: Path, inputs: Path, target: Target) -> Counted:
    """Runs a compiled package under the plugin."""
    folder = package / "build"
    compiler = find_compiler(target).command
    plugin, source, program, data, marks = (folder / f"arm_counts{end}" for end in (".so", "_driver.c", "_driver", ".bin", ".txt"))
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", plugin, PLUGIN], check=True)
    facts = Package(package).manifest
    source.write_text(driver(facts), encoding="utf-8")
    with np.load(inputs) as arrays:
        data.write_bytes(b"".join(arrays[value.name].tobytes() for value in facts.inputs))
    include = f"-I{package / 'include'}"
    subprocess.run([*compiler, *target.flags, "-O2", "-static", include, "-o", program, source, folder / "libnet.a"], check=True)
    emulated = [*target.emulator, "-plugin", f"{plugin},out={marks}", str(program), str(data)]
    isa = subprocess.run(emulated, check=True, capture_output=True, text=True).stdout.strip()
    objdump = re.sub(r"gcc$", "objdump", compiler[0])
    listing = subprocess.run([objdump, "-d", "--no-show-raw-insn", program], check=True, capture_output=True, text=True).stdout
    addresses, listed = disassembled(listing)
    rows = dict(counts(marks.read_text(encoding="utf-8"), addresses))
    calls = len(facts.calls)
    return Counted(isa, listed, rows[calls + 2], np.stack([rows[call + 1] for call in range(calls)]))


def driver(facts: Manifest) -> str:
    """A program that runs a package three times: unseen, marked as a whole, and marked call by call."""
    tensors = [*((value, "INPUT") for value in facts.inputs), *((value, "OUTPUT") for value in facts.outputs)]
    names = [f"{role.lower()}_{value.identifier}" for value, role in tensors]
    sizes = [f"NET_{role}_{value.identifier.upper()}_BYTES" for value, role in tensors]
    data = "\n".join(f"static unsigned char {name}[{size}] __attribute__((aligned(64)));" for name, size in zip(names, sizes, strict=True))
    arguments = "".join(f", (void *){name}" for name in names)
    read = "\n".join(
        f"    if (fread({name}, 1, sizeof {name}, file) != sizeof {name}) return 1;" for name in names if name.startswith("input_")
    )
    return DRIVER.replace("@DATA@", data).replace("@ARGUMENTS@", arguments).replace("@READ@", read)


def disassembled(listing: str) -> tuple[np.ndarray, tuple[Instruction, ...]]:
    """The instructions of objdump's listing and their addresses."""
    patterns = {kind: re.compile(pattern) for kind, pattern in KINDS.items()}
    kinds: dict[str, str] = {}
    addresses, listed, function = [], [], ""
    for line in listing.splitlines():
        if match := re.fullmatch(r"[0-9a-f]+ <(.+)>:", line):
            function = match[1]
        elif match := re.match(r" *([0-9a-f]+):\s+(\S+)", line):
            name = match[2]
            if name not in kinds:
                kinds[name] = next((kind for kind, pattern in patterns.items() if pattern.match(name)), "other")
            addresses.append(int(match[1], 16))
            listed.append(Instruction(function, kinds[name]))
    return np.array(addresses), tuple(listed)


def counts(text: str, addresses: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """By mark: how often each instruction ran since the mark before."""
    for part in text.split("mark ")[1:]:
        first, *lines = part.splitlines()
        steps = np.zeros(len(addresses) + 1, np.int64)
        for line in lines:
            address, instructions, times = line.split()
            start = int(np.searchsorted(addresses, int(address, 16)))
            steps[start] += int(times)
            steps[start + int(instructions)] -= int(times)
        yield int(first), np.cumsum(steps)[:-1]


def show(model: str, precision: str, target: str, package: Package, counted: Counted, options: argparse.Namespace) -> None:
    macs, total = package.manifest.macs, int(counted.whole.sum())
    loops, whole = bounds(package, counted, precision)
    beyond = " | ".join(f"{total / bound:.2f}" if bound else "-" for bound in (loops, whole))
    figures = f"{total / 1e6:.3f} | {compared(model, precision, target, total, macs)} | {beyond}"
    print(f"| {model} | {precision} | {target} | {counted.isa} | {figures} |", flush=True)
    print("  " + ", ".join(f"{kind} {times / total:.1%}" for kind, times in counted.by(counted.whole, "kind")))
    layers(package, counted, precision, options.layers)
    for function, times in counted.by(counted.whole, "function")[: options.functions]:
        print(f"  {times / 1e6:10.3f} M {times / total:6.1%}  {function}")


def compared(model: str, precision: str, target: str, total: int, macs: int) -> str:
    """Instructions for each multiplication, and beside the best peer's; empty without multiplications, or peers on such a processor."""
    if not macs:
        return "- | | "
    core = CORES.get(target, {}).get(precision, "")
    peer = PEERS.get((model, precision, core))
    return f"{total / macs:.3f} | {peer[0]:.3f} {peer[1]} | {total / macs / peer[0]:.2f}" if peer else f"{total / macs:.3f} | | "


def of_loops(counted: Counted, precision: str) -> tuple[float, float]:
    """Instructions of an innermost loop for each multiplication, of dense and of depthwise layers."""
    return BOUNDS.get((precision, counted.isa)) or BOUNDS.get((precision, "neon"), (0.0, 0.0))


def bounds(package: Package, counted: Counted, precision: str) -> tuple[float, float]:
    """What all innermost loops take, and what these take with the endings of all results; 0 where that isn't known."""
    facts, loops, endings = package.manifest, of_loops(counted, precision), ENDINGS.get((precision, counted.isa))
    elements = {memory.name: memory.bytes for memory in facts.memory}  # of codes, which endings are of
    products = sum(call.macs * loops["depthwise" in call.kernel] for call in facts.calls)
    if endings is None:
        return products, 0.0
    coded = [call for call in facts.calls if call.macs and not call.kernel.endswith("float")]
    written = {name: endings["depthwise" in call.kernel] for call in coded for name in call.writes}  # some write parts of what others do
    return products, products + sum(elements[name] * ending for name, ending in written.items())


def layers(package: Package, counted: Counted, precision: str, most: int) -> None:
    """The calls that take the most instructions beyond their bound."""
    dense, deep = of_loops(counted, precision)
    rows = []
    for call, times in zip(package.manifest.calls, counted.calls, strict=True):
        bound = call.macs * (deep if "depthwise" in call.kernel else dense)
        rows.append((int(times.sum()) - bound, int(times.sum()), bound, call, times))
    for beyond, total, bound, call, times in sorted(rows, key=lambda row: -row[0])[:most]:
        shares = " ".join(f"{kind} {number / total:.0%}" for kind, number in counted.by(times, "kind")[:6])
        each = f"{total / call.macs:.3f}" if call.macs else "-"
        figures = f"{total / 1e6:9.3f} M, bound {bound / 1e6:8.3f}, beyond {beyond / 1e6:8.3f}  {each:>7}/MAC"
        print(f"  {figures}  {call.kernel:<18} {call.name[:36]:<36} {shares}")


if __name__ == "__main__":
    main()
