"""An authenticated line to a board: sockets of our own, verified host keys on every hop, and an end to every wait."""

from __future__ import annotations

import logging
import os
import socket
import struct
import subprocess
import tempfile
from collections.abc import Callable
from typing import IO, Any

import paramiko

from edgec.base.environment import users_command_environment
from edgec.base.errors import DeviceError
from edgec.base.harmless import last_lines, printable
from edgec.boards.connect.ssh_config import Route, resolve
from edgec.boards.connect.ssh_hosts import check_host, known_keys, preferred
from edgec.boards.connect.ssh_keys import log_in
from edgec.boards.connect.trouble import BoardLost, BoardTimeout
from edgec.boards.connect.watchdog import Watchdog, within
from edgec.boards.device import Device

_LOG = "edgec.boards.paramiko"  # its tracebacks are not for users: what went wrong is raised
logging.getLogger(_LOG).propagate = False
logging.getLogger(_LOG).addHandler(logging.NullHandler())
KEEPALIVE = 15  # seconds
# What paramiko raises, and hands on from its thread, when a peer goes away or sends nonsense.
TROUBLE = (paramiko.SSHException, paramiko.SFTPError, EOFError, OSError, ValueError, LookupError, TypeError, struct.error, AssertionError)


class Line:
    """The transport to a board, and everything that it travels through. The constructor dials: DeviceError when that fails."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self.route = resolve(device)
        self._ends: list[Callable[[], None]] = []  # what hanging up closes, in the order of opening
        hops = [*self.route.jumps, self.route]
        self._proxy_words: IO[bytes] | None = None
        with Watchdog(device.limits.connect * len(hops) + 2, self._close) as dog:
            self.transport = self._dial(self.route, None, dog)
            self.transport.set_keepalive(KEEPALIVE)

    def session(self, seconds: float) -> paramiko.Channel:
        """A new channel for a command or for SFTP."""
        with self.watch(seconds + 2):
            try:
                return self.transport.open_session(timeout=seconds)
            except paramiko.ChannelException as error:
                what = f"the board's sshd opens no session: {printable(error.text)}"
                raise DeviceError(what, where=self.device.name, hint="see MaxSessions in its sshd_config, and its log") from error
            except TROUBLE as error:
                raise self.lost(error) from error

    def watch(self, seconds: float) -> Watchdog:
        """A watchdog that hangs up, which ends every call that waits for this line."""
        return Watchdog(seconds, self.close)

    def lost(self, error: object = "") -> BoardLost:
        """The error to raise when the line is no more, or is of no use any more; hangs up."""
        self.close()
        said = printable(str(error))
        why = f": {said}" if said else ""
        return BoardLost(
            f"the line to {self.route} was lost{why}", where=self.device.name, hint="check its power and network, then try again"
        )

    @property
    def stands(self) -> bool:
        return self.transport.is_active()

    def answers(self) -> bool:
        """Whether somebody is still at its other end. A channel that ends does not tell: the end of the line may be on its way."""
        if not self.stands:
            return False
        try:
            with self.watch(self.device.limits.connect):
                self.transport.global_request("keepalive@openssh.com", wait=True)
        except TROUBLE:
            return False
        return self.stands

    def close(self) -> None:
        """Hang up; safe to call twice, from any thread."""
        self._close()

    def _close(self) -> None:
        for end in reversed(self._ends[:]):
            try:
                end()
            except TROUBLE:
                continue
        if self._proxy_words is not None:
            self._proxy_words.close()

    def _dial(self, route: Route, through: paramiko.Transport | None, dog: Watchdog) -> paramiko.Transport:
        """A transport to a machine, over its jumps. Each hop has its own limits.connect seconds."""
        for jump in route.jumps:
            through = self._dial(jump, through, dog)
        dog.calm()
        try:
            return self._greet(route, self._link(route, through))
        except TROUBLE as error:
            raise self._explain(route, error, dog.has_bitten) from error
        except DeviceError:
            self._close()
            raise

    def _greet(self, route: Route, link: Any) -> paramiko.Transport:
        """Shake hands, verify who it is, log in."""
        board, seconds = self.device.name, self.device.limits.connect
        transport = paramiko.Transport(link)
        transport.set_log_channel(_LOG)
        self._ends.append(transport.close)
        transport.auth_timeout = transport.channel_timeout = seconds
        transport.banner_timeout = transport.handshake_timeout = 2 * seconds  # start_client ends first, and tells silence from noise
        known = known_keys(route)
        options = transport.get_security_options()
        options.key_types = preferred(options.key_types, known)
        transport.start_client(timeout=seconds)
        if not transport.initial_kex_done:
            raise TimeoutError(f"no SSH greeting within {seconds:g} s")
        key = transport.get_remote_server_key()
        check_host(board, route, known, key.get_name(), key.asbytes())
        log_in(board, route, transport)
        return transport

    def _link(self, route: Route, through: paramiko.Transport | None) -> Any:
        """A socket, or what serves as one, to a machine's sshd."""
        board, seconds = self.device.name, min(route.connect, self.device.limits.connect)
        try:
            if through is not None:
                link: Any = through.open_channel("direct-tcpip", (route.host, route.port), ("", 0), timeout=seconds)
            elif route.command:
                link = self._proxy(route.command)
            else:
                link = within(seconds + 1, lambda: socket.create_connection((route.host, route.port), seconds))
                tune(link, self.device.limits.transfer)
        except socket.gaierror as error:
            hint = "write its address or a name that resolves into the inventory"
            raise BoardLost(f"no machine is called {route.host}: {error.strerror}", where=board, hint=hint) from error
        except TimeoutError as error:
            hint = "is it switched on and on the network? A firewall may drop packets"
            raise BoardLost(f"{route} does not answer within {seconds:g} s", where=board, hint=hint) from error
        except TROUBLE as error:
            way = f" through {route.jumps[-1]}" if through is not None and route.jumps else ""
            hint = "is it switched on, does sshd run there, are address and port right?"
            raise BoardLost(f"cannot connect to {route}{way}: {printable(str(error))}", where=board, hint=hint) from error
        self._ends.append(link.close if not isinstance(link, socket.socket) else lambda: _hang_up(link))
        return link

    def _proxy(self, command: str) -> socket.socket:
        """The user's own ProxyCommand, which their shell runs, at the other end of a socket."""
        if os.name != "posix":
            raise DeviceError("ProxyCommand works on POSIX systems only", where=self.device.name, hint="use ProxyJump in ~/.ssh/config")
        near, far = socket.socketpair()
        self._proxy_words = tempfile.TemporaryFile()  # noqa: SIM115 (open as long as the line)
        with far:
            words, end, environment = ["sh", "-c", f"exec {command}"], far.fileno(), users_command_environment()
            process = subprocess.Popen(words, env=environment, stdin=end, stdout=end, stderr=self._proxy_words)
        self._ends.append(lambda: _end(process))
        return near

    def _explain(self, route: Route, error: Exception, bitten: bool) -> DeviceError:
        """Why a handshake or a log-in failed; hangs up."""
        plain = isinstance(error, paramiko.SSHException | EOFError | OSError)
        board, said = self.device.name, printable(str(error)) if plain else f"what it sends is not SSH ({type(error).__name__})"
        if self._proxy_words is not None:
            self._proxy_words.seek(0)
            said = "; ".join([said, *last_lines(self._proxy_words.read(65536), 3)])
        self._close()
        if bitten or isinstance(error, TimeoutError) or "timeout" in said.lower():
            hint = "something listens there and does not speak SSH, or the board is overloaded"
            return BoardTimeout(f"{route} takes connections and then falls silent: {said}", where=board, hint=hint)
        hint = "does sshd listen on that port? See its log on the board"
        return BoardLost(f"{route} does not let us in: {said or 'it hung up'}", where=board, hint=hint)


def tune(link: socket.socket, seconds: float) -> None:
    """Let the system give up a TCP connection on which nothing is acknowledged for that long, where the system can."""
    link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    link.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    part = max(1, int(seconds / 4))
    for name, value in (
        ("TCP_KEEPIDLE", part),
        ("TCP_KEEPALIVE", part),  # what macOS calls it
        ("TCP_KEEPINTVL", part),
        ("TCP_KEEPCNT", 3),
        ("TCP_USER_TIMEOUT", int(seconds * 1000)),
    ):
        if hasattr(socket, name):
            link.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


def _hang_up(link: socket.socket) -> None:
    """Close at once, also under a thread that is sending."""
    try:
        link.shutdown(socket.SHUT_RDWR)
    finally:
        link.close()


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
