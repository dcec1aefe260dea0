"""A phone for tests: the board's half of the adb protocol, served on loopback, so that the real `adb` program and its server talk to it.

python phone.py PORT FOLDER [STATE]: FOLDER stands for /data/local/tmp in every command; commands run in this machine's `sh`. STATE is
`device`, `unauthorized` (it never accepts the key), `offline` (it never answers) or `old` (it lacks the shell protocol of Android 7).
"""

from __future__ import annotations

import asyncio
import os
import signal
import struct
import sys
from contextlib import suppress

VERSION, MOST = 0x01000001, 1 << 20
STDIN, STDOUT, STDERR, EXIT, CLOSE_STDIN = range(5)
SHELL = b"shell,v2,"
HOME = b"/data/local/tmp"


class Phone:
    """One connection from an adb server."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, folder: str, state: str) -> None:
        self.reader, self.writer, self.folder, self.state = reader, writer, folder, state
        self.streams: dict[int, Stream] = {}

    def send(self, kind: bytes, first: int, second: int, data: bytes = b"") -> None:
        command = int.from_bytes(kind, "little")
        self.writer.write(struct.pack("<6I", command, first, second, len(data), sum(data) & 0xFFFFFFFF, command ^ 0xFFFFFFFF) + data)

    async def serve(self) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                kind, first, second, size, _, _ = struct.unpack("<4s5I", await self.reader.readexactly(24))
                data = await self.reader.readexactly(size)
                self.take(kind, first, second, data)
        for stream in self.streams.values():
            stream.hang_up()

    def take(self, kind: bytes, first: int, second: int, data: bytes) -> None:
        if kind in (b"CNXN", b"AUTH"):
            self.greet()
        elif kind == b"OPEN":
            self.open(first, data.rstrip(b"\0"))
        elif kind in (b"OKAY", b"WRTE", b"CLSE") and second in self.streams:
            stream = self.streams[second]
            if kind == b"OKAY":
                stream.ready.set()
            elif kind == b"WRTE":
                stream.inbox.put_nowait(data)
            else:
                stream.hang_up()

    def greet(self) -> None:
        features = "cmd" if self.state == "old" else "shell_v2,cmd"
        if self.state == "unauthorized":
            self.send(b"AUTH", 1, 0, os.urandom(20))
        elif self.state != "offline":
            banner = f"device::ro.product.name=edgec;ro.product.model=Test;ro.product.device=test;features={features}"
            self.send(b"CNXN", VERSION, MOST, banner.encode())

    def open(self, theirs: int, service: bytes) -> None:
        if not service.startswith(SHELL):
            self.send(b"CLSE", 0, theirs)
            return
        stream = Stream(self, theirs, len(self.streams) + 1)
        self.streams[stream.ours] = stream
        self.send(b"OKAY", stream.ours, theirs)
        stream.task = asyncio.create_task(stream.run(service.partition(b":")[2]))


class Stream:
    """One command, spoken to in packets: a kind, a length, that many bytes."""

    def __init__(self, phone: Phone, theirs: int, ours: int) -> None:
        self.phone, self.theirs, self.ours = phone, theirs, ours
        self.inbox: asyncio.Queue[bytes] = asyncio.Queue()
        self.ready = asyncio.Event()
        self.ready.set()
        self.lock = asyncio.Lock()
        self.task: asyncio.Task[None] | None = None
        self.program: asyncio.subprocess.Process | None = None

    async def run(self, command: bytes) -> None:
        text = command.replace(HOME, os.fsencode(self.phone.folder))
        pipe = asyncio.subprocess.PIPE
        self.program = await asyncio.create_subprocess_exec(
            "sh", "-c", text, stdin=pipe, stdout=pipe, stderr=pipe, cwd="/", start_new_session=True
        )  # fmt: skip
        assert self.program.stdout is not None and self.program.stderr is not None
        feeding = asyncio.create_task(self.feed())
        await asyncio.gather(self.pump(STDOUT, self.program.stdout), self.pump(STDERR, self.program.stderr))
        status = await self.program.wait()
        feeding.cancel()
        await self.write(EXIT, bytes([status if status >= 0 else 128 - status]))
        self.phone.send(b"CLSE", self.ours, self.theirs)

    async def pump(self, kind: int, source: asyncio.StreamReader) -> None:
        while data := await source.read(1 << 16):
            await self.write(kind, data)

    async def write(self, kind: int, data: bytes) -> None:
        async with self.lock:
            await self.ready.wait()
            self.ready.clear()
            self.phone.send(b"WRTE", self.ours, self.theirs, struct.pack("<BI", kind, len(data)) + data)

    async def feed(self) -> None:
        """Bytes from the host, which cuts packets as it likes, to the program's standard input."""
        assert self.program is not None and self.program.stdin is not None
        stdin, waiting = self.program.stdin, b""
        while True:
            waiting += await self.inbox.get()
            self.phone.send(b"OKAY", self.ours, self.theirs)
            while len(waiting) >= 5 and len(waiting) >= 5 + int.from_bytes(waiting[1:5], "little"):
                end = 5 + int.from_bytes(waiting[1:5], "little")
                kind, data, waiting = waiting[0], waiting[5:end], waiting[end:]
                with suppress(ConnectionError, RuntimeError):
                    if kind == STDIN:
                        stdin.write(data)
                        await stdin.drain()
                    elif kind == CLOSE_STDIN:
                        stdin.close()

    def hang_up(self) -> None:
        """The host is gone: like adbd, tell the shell, and nothing else."""
        if self.program is not None and self.program.returncode is None:
            with suppress(ProcessLookupError):
                os.kill(self.program.pid, signal.SIGHUP)


async def main(port: int, folder: str, state: str) -> None:
    async def welcome(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await Phone(reader, writer, folder, state).serve()
        writer.close()

    server = await asyncio.start_server(welcome, "127.0.0.1", port)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), sys.argv[2], sys.argv[3] if len(sys.argv) > 3 else "device"))
