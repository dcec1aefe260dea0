"""Deploys to and benches on whole arm64 boards: qemu-system machines with Debian's kernel, busybox, dropbear and nothing else.

    python benchmarks/qemu_board.py [--cpu cortex-a72,cortex-a76] [--cache FOLDER] [--model MODEL --calib DATA] [--keep]

Needs Debian (or Ubuntu) with qemu-system-arm, gcc-aarch64-linux-gnu and openssh-client; no root. The first run downloads 64 MB of arm64
packages with apt into --cache, with package lists of its own: this machine's packages stay as they are. A board boots in 10 to 60 s from an
initial RAM disk of 6 MB that is made here, takes SSH on a port of 127.0.0.1, and reaches no network at all. Its host key is read from its
console. It is a processor that is interpreted, so its latencies say nothing of a real one: this shows that everything works on a whole
board that has no GNU tools, another SSH server than OpenSSH, and a root user with no password.

--keep: leave the boards running until Ctrl-C, with an inventory to use from another terminal.
"""

from __future__ import annotations

import argparse
import gzip
import io
import re
import signal
import socket
import stat
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from textwrap import indent

import edgec
from edgec.boards.board.entry import entry_text
from edgec.boards.device import Device, Limits
from edgec.verbs.bench import Bench, bench
from edgec.verbs.deploy import deploy

HERE = Path(__file__).parent
DIGITS = HERE.parent / "examples/digits"
TARGETS = {"cortex-a53": "rpi3", "cortex-a72": "rpi4", "cortex-a76": "rpi5"}
MIRROR, SUITE = "http://deb.debian.org/debian", "bookworm"
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
KERNEL = "linux-image-arm64"  # depends on the kernel itself
PACKAGES = (
    "busybox-static",
    "dropbear-bin",
    "openssh-sftp-server",
    "libc6",
    "libcrypt1",
    "libtomcrypt1",
    "libtommath1",
    "libgmp10",
    "zlib1g",
)
# in the order in which they are loaded; those that the kernel has built in are not among its files
MODULES = ("virtio_pci_legacy_dev", "virtio_pci_modern_dev", "virtio_pci", "virtio-rng", "failover", "net_failover", "virtio_net")
BOOT_SECONDS = 240.0

Files = dict[str, tuple[int, bytes]]  # path in the RAM disk -> mode with the kind of file, content (of a link: where it leads)


def command(*words: str | Path, folder: Path | None = None) -> str:
    """What a program of this machine says; its errors end the script."""
    done = subprocess.run([str(word) for word in words], cwd=folder, stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout


def download(cache: Path) -> dict[str, Path]:
    """The .deb files of arm64 by their packages' names; only those that are not there yet are fetched."""
    debs, apt = cache / "debs", cache / "apt"
    for folder in (debs, apt / "state/lists/partial", apt / "cache/archives/partial"):
        folder.mkdir(parents=True, exist_ok=True)
    (apt / "state/status").touch()
    (apt / "sources.list").write_text(f"deb [arch=arm64 signed-by={KEYRING}] {MIRROR} {SUITE} main\n")
    facts: dict[str, Path | str] = {
        "Dir::State": apt / "state", "Dir::State::status": apt / "state/status", "Dir::Cache": apt / "cache",
        "Dir::Etc::sourcelist": apt / "sources.list", "Dir::Etc::sourceparts": "/dev/null",
        "APT::Architecture": "arm64", "APT::Architectures::": "arm64", "APT::Sandbox::User": "root",
    }  # fmt: skip
    options = [word for name, value in facts.items() for word in ("-o", f"{name}={value}")]
    found = {path.name.split("_")[0]: path for path in debs.glob("*.deb")}
    if not any(name.startswith("linux-image-") for name in found):
        command("apt-get", *options, "-qq", "update")
        depends = command("apt-cache", *options, "depends", KERNEL)
        kernel = re.findall(r"Depends: (linux-image-\S+)", depends)[0]
        command("apt-get", *options, "-qq", "download", kernel, *PACKAGES, folder=debs)
        found = {path.name.split("_")[0]: path for path in debs.glob("*.deb")}
    return found


def unpack(deb: Path) -> Iterator[tuple[str, tarfile.TarInfo, bytes]]:
    """Every regular file and link of a package: its path, what it is, its content."""
    stream = subprocess.run(["dpkg-deb", "--fsys-tarfile", str(deb)], stdout=subprocess.PIPE, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(stream)) as archive:
        for member in archive:
            if member.isfile():
                reader = archive.extractfile(member)
                assert reader is not None
                yield member.name.removeprefix("./"), member, reader.read()
            elif member.issym():
                yield member.name.removeprefix("./"), member, member.linkname.encode()


def make_board(cache: Path, key: Path) -> tuple[Path, Path]:
    """A kernel and a RAM disk, which lets the owner of `key` in."""
    debs = download(cache)
    kernel, disk = cache / "vmlinuz", cache / "initramfs.gz"
    files: Files = dict.fromkeys(("bin", "dev", "disk", "etc", "lib", "modules", "proc", "run", "sys", "tmp"), (stat.S_IFDIR | 493, b""))
    modules: dict[str, bytes] = {}
    for name, deb in debs.items():
        for path, member, content in unpack(deb):
            if name.startswith("linux-image-"):
                if path.startswith("boot/vmlinuz-"):
                    kernel.write_bytes(content)
                elif path.endswith(".ko"):
                    modules[Path(path).stem] = content
            elif kept := place(name, path):
                if member.issym() and Path(content.decode()).name == Path(path).name:
                    continue  # a link between folders that are one here
                kind = stat.S_IFLNK | 0o777 if member.issym() else stat.S_IFREG | 0o755
                files[kept] = kind, (Path(content.decode()).name.encode() if member.issym() else content)
    there = [name for name in MODULES if name in modules]
    texts = {
        "init": (HERE / "qemu_board/init").read_text(),
        "authorized_keys": key.with_suffix(".pub").read_text(),
        "modules/order": "".join(f"{name}.ko\n" for name in there),
        "etc/passwd": "root:x:0:0:root:/disk/root:/bin/sh\n",
        "etc/shadow": "root:*:19000:0:99999:7:::\n",
        "etc/group": "root:x:0:\n",
        "etc/shells": "/bin/sh\n",
    }
    files |= {path: (stat.S_IFREG | 0o755, text.encode()) for path, text in texts.items()}
    files |= {f"modules/{name}.ko": (stat.S_IFREG | 0o644, modules[name]) for name in there}
    files["etc/shadow"] = stat.S_IFREG | 0o600, files["etc/shadow"][1]
    disk.write_bytes(gzip.compress(cpio(files), 1))
    return kernel, disk


def place(package: str, path: str) -> str:
    """Where a package's file goes on the board; "" for what a board does without."""
    name = Path(path).name
    if package == "openssh-sftp-server":
        return "usr/lib/sftp-server" if path == "usr/lib/openssh/sftp-server" else ""
    if package.startswith("lib") or package == "zlib1g":
        wanted = "/aarch64-linux-gnu/" in path and "/gconv/" not in path and ".so" in name
        return f"lib/{name}" if wanted or name == "ld-linux-aarch64.so.1" else ""
    return f"bin/{name}" if name in ("busybox", "dropbear", "dropbearkey") and "/share/" not in path else ""


def cpio(files: Files) -> bytes:
    """The archive that the kernel unpacks: "newc" headers, names and contents, each padded to four bytes."""
    folders = {str(parent) for path in files for parent in Path(path).parents if str(parent) != "."}
    everything = {**dict.fromkeys(folders, (stat.S_IFDIR | 493, b"")), **files}
    archive = bytearray()
    for number, (path, (mode, content)) in enumerate([*sorted(everything.items()), ("TRAILER!!!", (0, b""))], 1):
        name = path.encode() + b"\0"
        numbers = (number, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(name), 0)
        archive += b"070701" + b"".join(b"%08x" % value for value in numbers) + name
        archive += bytes(-len(archive) % 4) + content
        archive += bytes(-len(archive) % 4)
    return bytes(archive)


@dataclass(frozen=True)
class Machine:
    """A board that answers. seconds: from power-on until its SSH server was there."""

    device: Device
    seconds: float


@contextmanager
def boot(cache: Path, cpu: str, kernel: Path, disk: Path, key: Path) -> Iterator[Machine]:
    """A board with this processor, until the end of the block."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    name, console = f"qemu-{cpu}", cache / f"{cpu}.log"
    words = [
        "qemu-system-aarch64", "-M", "virt", "-cpu", cpu, "-smp", "2", "-m", "1024", "-no-reboot", "-display", "none", "-monitor", "none",
        "-serial", f"file:{console}", "-kernel", str(kernel), "-initrd", str(disk),
        "-append", f"console=ttyAMA0 quiet rdinit=/init edgec.name={name}", "-device", "virtio-rng-pci",
        "-netdev", f"user,id=net,restrict=on,hostfwd=tcp:127.0.0.1:{port}-:22", "-device", "virtio-net-pci,netdev=net,romfile=",
    ]  # fmt: skip
    console.unlink(missing_ok=True)
    start = time.monotonic()
    machine = subprocess.Popen(words, stdin=subprocess.DEVNULL)
    try:
        host_key = await_boot(machine, console, start + BOOT_SECONDS)
        known = cache / f"{cpu}.known_hosts"
        known.write_text(f"[127.0.0.1]:{port} {host_key}\n")
        await_ssh(port, start + BOOT_SECONDS)
        limits = Limits(connect=60, command=120, transfer=120, run=600)  # an interpreted processor is slow
        device = Device(
            name, TARGETS[cpu], "ssh", address="127.0.0.1", user="root", port=port, key=key, known_hosts=known, tags=("qemu",),
            limits=limits,
        )  # fmt: skip
        yield Machine(device, time.monotonic() - start)
    finally:
        machine.kill()
        machine.wait()


def await_boot(machine: subprocess.Popen[bytes], console: Path, deadline: float) -> str:
    """The host key that the board tells on its console."""
    while time.monotonic() < deadline and machine.poll() is None:
        said = console.read_text(errors="replace") if console.exists() else ""
        if "EDGEC-READY" in said and (found := re.search(r"ssh-ed25519 [A-Za-z0-9+/=]+", said)):
            return found[0]
        time.sleep(0.25)
    raise SystemExit(f"the board did not boot (status {machine.poll()}); its console: {console}")


def await_ssh(port: int, deadline: float) -> None:
    """qemu itself takes connections at once: wait for the server's first words."""
    while time.monotonic() < deadline:
        try:
            with socket.create_connection(("127.0.0.1", port), 10) as line:
                if line.recv(4) == b"SSH-":
                    return
        except OSError:
            pass
        time.sleep(0.25)
    raise SystemExit("the board's SSH server does not answer")


def run(machines: Sequence[Machine], model: Path, calib: Path, folder: Path) -> Bench:
    """Build for each board, deploy, and bench int8 against float."""
    inventory = folder / "devices.yaml"
    inventory.write_text("devices:\n" + "".join(indent(entry_text(machine.device), "  ") for machine in machines))
    for machine in machines:
        device = machine.device
        print(f"{device.name}: SSH {machine.seconds:.1f} s after power-on")
        package = folder / f"{model.stem}-{device.target}"
        edgec.build(model, target=device.target, calib=calib, out=package)
        for _ in range(2):  # the second time nothing should travel
            (done,) = deploy(package, devices=[device.name], inventory=inventory)
            assert done.exam is not None and done.exam.passed
            sent = f"{done.sent_files} files ({done.sent_bytes} bytes) sent, {done.kept_files} kept"
            print(f"{device.name}: {done.status}, {sent}, exam passed with {done.exam.isa}, {done.seconds:.1f} s")
    data = DIGITS / "evaluation.npz" if model.parent == DIGITS else None
    return bench(
        model, everything=True, inventory=inventory, out=folder / "bench", precision="int8", calib=calib, threads=(1, 2), profile=True,
        data=data, tell=print,
    )  # fmt: skip


def show(found: Bench) -> None:
    """The table, one row for each number of threads."""
    print("| board | target | package | isa | status | agreement | threads | runs | p50 us | 95 % interval | p99 us | RSS MiB |")
    print("|---|---|---|---|---|---|---|---|---|---|---|---|")
    for job in found.jobs:
        facts = found.packages[job.package]
        agreement = "-" if job.accuracy is None or job.accuracy.agreement is None else f"{job.accuracy.agreement:.3f}"
        head = (job.device, facts.target, f"{facts.name} {facts.precision}", job.exam.isa if job.exam else "-", job.status, agreement)
        for one in job.latencies:
            interval = f"{one.low_us:.0f} to {one.high_us:.0f}"
            row = (*head, one.threads, one.runs, f"{one.p50_us:.0f}", interval, f"{one.p99_us:.0f}", f"{one.rss_bytes / 2**20:.1f}")
            print("| " + " | ".join(map(str, row)) + " |")
        if job.reason:
            print(f"{job.device}: {job.reason}")
    print(f"results  {found.results}\nreport   {found.report}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cpu", default="cortex-a72,cortex-a76", help="processors of qemu, with commas between them")
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache/edgec/qemu-board")
    parser.add_argument("--model", type=Path, default=DIGITS / "digits.onnx")
    parser.add_argument("--calib", type=Path, default=DIGITS / "calibration.npz")
    parser.add_argument("--keep", action="store_true", help="leave the boards running")
    options = parser.parse_args()
    cache: Path = options.cache
    cache.mkdir(parents=True, exist_ok=True)
    key = cache / "id_ed25519"
    if not key.exists():
        command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "edgec-qemu-board", "-f", key)
    kernel, disk = make_board(cache, key)
    folder = cache / time.strftime("run-%Y%m%d-%H%M%S")
    folder.mkdir()
    with ExitStack() as stack:
        machines = [stack.enter_context(boot(cache, cpu, kernel, disk, key)) for cpu in options.cpu.split(",")]
        found = run(machines, options.model, options.calib, folder)
        show(found)
        if options.keep:
            print(f"inventory {folder / 'devices.yaml'}; Ctrl-C ends the boards")
            with suppress(KeyboardInterrupt):
                signal.pause()
    sys.exit(found.exit_code)


if __name__ == "__main__":
    main()
