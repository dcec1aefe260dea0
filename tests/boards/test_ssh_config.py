"""Ways to a board, as ~/.ssh/config and known_hosts describe them; nothing is dialled here."""

from __future__ import annotations

import base64
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from edgec.base.errors import DeviceError
from edgec.boards.connect.ssh_config import Route, resolve
from edgec.boards.connect.ssh_hosts import check_host, fingerprint, host_name, known_keys, preferred
from edgec.boards.device import Device, Limits

KEY, OTHER = b"a key", b"another key"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".ssh").mkdir()
    return tmp_path / ".ssh"


def board(address: str = "pi", **changes: object) -> Device:
    return Device("kitchen", "rpi4", "ssh", address, **changes)  # type: ignore[arg-type]


def route(**changes: object) -> Route:
    facts = {"name": "pi", "host": "pi", "port": 22, "user": "me", "keys": (), "keys_only": False, "agent": None}
    return Route(**{**facts, "known_hosts": (), "known_as": "", "connect": 1.0, **changes})  # type: ignore[arg-type]


def line(host: str, key: bytes = KEY, kind: str = "ssh-ed25519") -> str:
    return f"{host} {kind} {base64.b64encode(key).decode()}\n"


def test_an_alias_leads_to_host_user_port_and_key(home: Path) -> None:
    (home / "config").write_text("Host pi\n HostName 10.0.0.7\n User ada\n Port 2222\n IdentityFile ~/.ssh/of_%h\n IdentitiesOnly yes\n")
    found = resolve(board())
    assert (found.host, found.user, found.port, found.keys_only) == ("10.0.0.7", "ada", 2222, True)
    assert found.keys == (home / "of_10.0.0.7",)


def test_the_inventory_wins_over_the_configuration(home: Path, tmp_path: Path) -> None:
    (home / "config").write_text(f"Host pi\n User ada\n Port 2222\n IdentityFile ~/.ssh/a\n UserKnownHostsFile {tmp_path}/b\n")
    found = resolve(board(user="eve", port=22, key=Path("~/k"), known_hosts=Path("~/hosts")))
    assert (found.user, found.port, found.keys, found.known_hosts) == ("eve", 22, (tmp_path / "k",), (tmp_path / "hosts",))
    assert found.keys_only


def test_without_a_configuration_openssh_has_its_defaults(home: Path) -> None:
    found = resolve(board(user="ada"))
    assert (found.host, found.port, found.keys, found.keys_only, found.jumps, found.command) == ("pi", 22, (), False, (), "")
    assert found.known_hosts[:2] == (home / "known_hosts", home / "known_hosts2")


def test_known_hosts_files_of_the_configuration_are_used(home: Path, tmp_path: Path) -> None:
    (home / "config").write_text('UserKnownHostsFile ~/mine "~/of my team"\nGlobalKnownHostsFile none\nHostKeyAlias farm\n')
    found = resolve(board())
    assert found.known_hosts == (tmp_path / "mine", tmp_path / "of my team")
    assert host_name(found) == "farm"


def test_a_connect_time_out_shortens_but_never_lengthens(home: Path) -> None:
    (home / "config").write_text("Host pi\n ConnectTimeout 3\nHost slow\n ConnectTimeout 99\n")
    assert [resolve(board(name, limits=Limits(connect=5))).connect for name in ("pi", "slow", "other")] == [3, 5, 5]


def test_includes_are_followed(home: Path) -> None:
    (home / "config.d").mkdir()
    (home / "config.d/b.conf").write_text("Host pi\n Port 2\n User late\n")
    (home / "config.d/a.conf").write_text("Include deeper\nHost other\n Port 1\n")
    (home / "deeper").write_text("Host pi\n User ada\n")
    (home / "config").write_text("Include config.d/*.conf none.conf\nHost pi\n HostName 10.0.0.8\n")
    found = resolve(board())
    assert (found.user, found.port, found.host) == ("ada", 2, "10.0.0.8")


@pytest.mark.parametrize("block", ["Host pi", "Host=pi", "Host * !x", "Match host pi", "Match all"])
def test_an_include_in_a_block_counts_for_its_hosts_only(home: Path, block: str) -> None:
    (home / "more").write_text("Port 7\nHost *\n User ada\n")
    (home / "config").write_text(f"{block}\n Include more\n HostName 10.0.0.9\n")
    found = resolve(board())
    assert (found.port, found.user, found.host) == (7, "ada", "10.0.0.9")
    other = resolve(board("x"))
    assert block == "Match all" or (other.port, other.host) == (22, "x")


def test_an_include_of_itself_is_an_error(home: Path) -> None:
    (home / "config").write_text("Include config\n")
    with pytest.raises(DeviceError, match=r"(?s)kitchen.*includes itself"):
        resolve(board())


def test_jumps_are_resolved_like_hosts(home: Path) -> None:
    (home / "config").write_text("Host pi\n ProxyJump gate,eve@wall:2200\nHost gate\n HostName 10.0.0.1\n User ada\n Port 222\n")
    assert [str(jump) for jump in resolve(board()).jumps] == ["ada@10.0.0.1:222", "eve@wall:2200"]


def test_a_jump_has_jumps_of_its_own(home: Path) -> None:
    (home / "config").write_text("Host pi\n ProxyJump ssh://inner:5\nHost inner\n ProxyJump outer\nHost outer\n ProxyJump none\n")
    (inner,) = resolve(board()).jumps
    assert (inner.host, inner.port, [jump.host for jump in inner.jumps]) == ("inner", 5, ["outer"])


def test_jumps_in_a_circle_are_an_error(home: Path) -> None:
    (home / "config").write_text("Host a\n ProxyJump b\nHost b\n ProxyJump a\n")
    with pytest.raises(DeviceError, match="a -> b -> a"):
        resolve(board("a"))


def test_a_proxy_command_gets_host_and_port_of_the_inventory(home: Path) -> None:
    (home / "config").write_text("Host pi\n HostName 10.0.0.2\n ProxyCommand relay %h %p %r\n")
    assert resolve(board(port=77, user="ada")).command == "relay 10.0.0.2 77 ada"


@pytest.mark.parametrize("field", ["address", "user"])
@pytest.mark.parametrize("value", ["a\nProxyCommand evil", "-oProxyCommand=evil", "a b", "a%h", 'a"', "a\0", "a\x85", "$(evil)", "a;b"])
def test_a_name_cannot_become_configuration(home: Path, field: str, value: str) -> None:
    with pytest.raises(DeviceError, match="is not the name of a"):
        resolve(board(**{field: value}))


@pytest.mark.parametrize("text", ["Match exec 'true' nonsense\n", "Host pi\n Port many\n", "ProxyJump a:b:c\n"])
def test_a_broken_configuration_is_an_error_not_a_traceback(home: Path, text: str) -> None:
    (home / "config").write_text(text)
    with pytest.raises(DeviceError, match="kitchen"):
        resolve(board())


# known_hosts


def known(tmp_path: Path, text: str, **changes: object) -> list[bytes]:
    file = tmp_path / "known_hosts"
    file.write_text(text)
    return [found.key for found in known_keys(route(known_hosts=(tmp_path / "none", file), **changes))]


@pytest.mark.parametrize(
    ("names", "host", "port", "is_known"),
    [
        ("pi", "pi", 22, True),
        ("PI,10.0.0.1", "pi", 22, True),
        ("pi", "pi", 2222, False),
        ("[pi]:2222", "pi", 2222, True),
        ("[p?]:22*", "pi", 2222, True),
        ("[pi]:2222", "pi", 22, False),
        ("*.farm,!bad.farm", "good.farm", 22, True),
        ("*.farm,!bad.farm", "bad.farm", 22, False),
        ("[pi]", "p", 22, False),
        ("# pi", "pi", 22, False),
        ("@cert-authority pi", "pi", 22, False),
    ],
)
def test_names_in_known_hosts(tmp_path: Path, names: str, host: str, port: int, is_known: bool) -> None:
    assert known(tmp_path, line(names), host=host, port=port) == ([KEY] if is_known else [])


def test_hashed_names_are_found(tmp_path: Path, needs: Callable[..., None]) -> None:
    needs("ssh-keygen")
    key = tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    file = tmp_path / "hashed"
    file.write_text("".join(f"{name} {key.with_suffix('.pub').read_text()}" for name in ("pi", "[pi]:2222")))
    subprocess.run(["ssh-keygen", "-q", "-H", "-f", str(file)], check=True, capture_output=True)
    assert all(line.startswith("|1|") for line in file.read_text().splitlines()), "no name is left as it was"
    assert [len(known(tmp_path, file.read_text(), host=host, port=port)) for host, port in (("pi", 22), ("pi", 2222), ("pie", 22))] == [
        1,
        1,
        0,
    ]


def test_lines_that_make_no_sense_are_left_out(tmp_path: Path) -> None:
    assert known(tmp_path, "pi\npi ssh-ed25519\npi ssh-ed25519 ???\n|1|?|? ssh-rsa AAAA\n|1| x AAAA\n\n@revoked\n" + line("pi")) == [KEY]


def test_a_known_kind_of_key_is_asked_for_first(tmp_path: Path) -> None:
    (tmp_path / "hosts").write_text(line("pi", kind="ssh-rsa"))
    lines = known_keys(route(known_hosts=(tmp_path / "hosts",)))
    assert preferred(["ssh-ed25519", "rsa-sha2-512", "rsa-sha2-256"], lines) == ["rsa-sha2-512", "rsa-sha2-256", "ssh-ed25519"]


def check(tmp_path: Path, text: str, key: bytes = KEY) -> None:
    (tmp_path / "hosts").write_text(text)
    way = route(known_hosts=(tmp_path / "hosts",))
    check_host("kitchen", way, known_keys(way), "ssh-ed25519", key)


def test_a_known_key_passes(tmp_path: Path) -> None:
    check(tmp_path, line("pi", OTHER) + line("pi"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is unknown: it shows ssh-ed25519 SHA256:"),
        (line("pi", OTHER, "ssh-rsa"), r"is unknown.*another kind for it \(ssh-rsa\)"),
        ("\n" + line("pi", OTHER), r"has changed.*hosts line 2.*ssh-keygen -R 'pi' -f"),
        (line("pi") + line("@revoked *"), "is revoked"),
        (line("@revoked pi", OTHER), "is unknown"),
    ],
    ids=["unknown", "other kind", "changed", "revoked", "another revoked"],
)
def test_any_other_key_is_refused(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(DeviceError, match=f"(?s)kitchen.*{said}") as caught:
        check(tmp_path, text)
    assert fingerprint(KEY) in str(caught.value)
