"""The inventory: what is read, what is refused (all of it at once, by file, board and key), and how it grows."""

from __future__ import annotations

import re
import tempfile
from dataclasses import fields
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgec.base.errors import UsageError
from edgec.boards.board.checks import name_of
from edgec.boards.board.inventory import BUILT_IN, Inventory, choose, entry_text, load_inventory, read_inventory, with_entry
from edgec.boards.device import Device, Limits

ROOT = Path(__file__).parents[2]
GOOD = "{target: rpi4, connection: ssh, address: pi}"


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("EDGEC_DEVICES", raising=False)
    monkeypatch.chdir(tmp_path)


def refused(text: str) -> list[str]:
    """What is said of an inventory that cannot be used."""
    with pytest.raises(UsageError) as caught:
        read_inventory(text, Path("devices.yaml"))
    return str(caught.value).splitlines()


def test_every_key_is_read(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("k")
    (tmp_path / "hosts").write_text("h")
    text = """
devices:
  pi-5.a:
    target: rpi5
    connection: ssh
    address: fe80::1%eth0
    user: pi
    port: 2222
    key: key
    known_hosts: ./hosts
    tags: [arm64, kitchen]
    cores: [2, 3]
    prefix: [qemu-aarch64, -L, /usr/aarch64 linux]
    work: data//edgec/
    limits: {connect: 1, wait: 0, run: 2.5, output: 1000}
"""
    (device,) = read_inventory(text, tmp_path / "devices.yaml")
    assert device == Device(
        name="pi-5.a",
        target="rpi5",
        connection="ssh",
        address="fe80::1%eth0",
        user="pi",
        port=2222,
        key=tmp_path / "key",
        known_hosts=tmp_path / "hosts",
        tags=("arm64", "kitchen"),
        cores=(2, 3),
        prefix=("qemu-aarch64", "-L", "/usr/aarch64 linux"),
        work="data/edgec",
        limits=Limits(connect=1.0, wait=0.0, run=2.5, output=1000),
    )


def test_the_example_is_this_machine_and_its_commented_boards_are_good(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    example = ROOT / "devices.yaml"
    (device,) = load_inventory(example).devices
    assert (device.name, device.target, device.connection) == ("local", "host", "local")
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".ssh").mkdir()
    (tmp_path / ".ssh/id_ed25519").write_text("")
    lines = example.read_text().splitlines()
    commented = [line.replace("  # ", "  ", 1) for line in lines if re.match(r"  # (  |[a-z0-9-]+:$)", line)]
    devices = read_inventory("devices:\n" + "\n".join(commented), example)
    assert {item.connection for item in devices} == {"ssh", "adb", "emulated"}


def test_without_a_file_there_is_this_machine() -> None:
    assert load_inventory() == Inventory(None, BUILT_IN)


def test_the_given_file_wins_over_the_variable_and_that_over_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("devices", "variable", "given"):
        (tmp_path / f"{name}.yaml").write_text(f"devices: {{{name}: {GOOD}}}")
    assert load_inventory().devices[0].name == "devices"
    monkeypatch.setenv("EDGEC_DEVICES", str(tmp_path / "variable.yaml"))
    assert load_inventory().devices[0].name == "variable"
    assert load_inventory(tmp_path / "given.yaml").devices[0].name == "given"


@pytest.mark.parametrize("how", ["given", "variable"])
def test_a_file_that_was_asked_for_must_be_there(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if how == "variable":
        monkeypatch.setenv("EDGEC_DEVICES", "no.yaml")
    with pytest.raises(UsageError, match=r"no\.yaml: cannot read the inventory: No such file"):
        load_inventory(Path("no.yaml") if how == "given" else None)


def test_everything_that_is_wrong_is_told_at_once_with_file_board_and_key() -> None:
    text = """
devices:
  good: {target: rpi4, connection: ssh, address: pi}
  one: {target: rpi9, connection: shh, adress: b}
  two: {target: rpi4, connection: ssh, address: pi, port: 70000, work: ../../etc, limits: {run: -1, conect: 3, output: 1.5}}
  two: {target: rpi4, connection: local, cores: [-1], prefix: qemu, key: no-key, tags: [a b]}
  three:
more: 1
"""
    said = refused(text)
    for words in (
        "devices.yaml: line 6: 'two' is there twice",
        "unknown key 'more'",
        "devices.yaml: one: target: unknown: 'rpi9'    hint: did you mean 'rpi",
        "devices.yaml: one: connection: unknown: 'shh'    hint: did you mean 'ssh'?",
        "devices.yaml: one: adress: unknown key 'adress'    hint: did you mean 'address'?",
        "devices.yaml: two: cores: must be within 0 and 1023",
        "devices.yaml: two: prefix: must be a list of words, is text",
        "devices.yaml: two: key: there is no file",
        "devices.yaml: two: tags: 'a b' cannot be used",
        "devices.yaml: two: key: a board with `connection: local` has no key    hint: only ssh boards have",
        "devices.yaml: three: must hold keys and values, is nothing",
    ):
        assert any(words in line for line in said), (words, said)


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ("{target: rpi4, connection: ssh}", "a: needs `address`"),
        ("{address: x}", "a: needs `connection`"),
        ("{connection: local}", "a: needs `target`"),
        ("{target: rpi4, connection: ssh, address: -oProxyCommand=sh}", "a: address: '-oProxyCommand=sh' cannot be used"),
        ("{target: rpi4, connection: ssh, address: 'a b'}", "a: address: 'a b' cannot be used"),
        ('{target: rpi4, connection: ssh, address: "a\\e[2Jb"}', "a: address: "),
        ("{target: rpi4, connection: ssh, address: pi@host}", "the user goes into `user`"),
        ("{target: rpi4, connection: ssh, address: 10}", "a: address: must be text, is a whole number    hint: write it in quotes"),
        ("{target: rpi4, connection: ssh, address: x, user: -l}", "a: user: '-l' cannot be used"),
        ("{target: rpi4, connection: ssh, address: x, port: 0}", "a: port: must be within 1 and 65535"),
        ("{target: rpi4, connection: ssh, address: x, port: true}", "a: port: must be a whole number, is true or false"),
        ("{target: rpi4, connection: ssh, address: x, port: '22'}", "a: port: must be a whole number, is text"),
        ("{target: rpi4, connection: ssh, address: x, key: ''}", "a: key: there is no file"),
        ("{target: rpi4, connection: ssh, address: x, key: ~nobody-of-that-name/k}", "a: key: "),
        ("{target: rpi4, connection: ssh, address: x, key: '-----BEGIN OPENSSH PRIVATE KEY-----'}", "must be the path of a file"),
        ("{target: rpi4, connection: ssh, address: x, known_hosts: nowhere}", "a: known_hosts: there is no file"),
        ("{target: rpi4, connection: local, work: ''}", "a: work: '' is no folder"),
        ("{target: rpi4, connection: local, work: /}", "a: work: '/' is refused"),
        ("{target: rpi4, connection: local, work: .}", "a: work: '.' is refused"),
        ("{target: rpi4, connection: local, work: a/../../b}", "a: work: 'a/../../b' is refused"),
        ("{target: rpi4, connection: local, work: ~/x}", "a: work: '~/x' is refused"),
        ("{target: rpi4, connection: local, work: -rf}", "a: work: '-rf' is refused"),
        ('{target: rpi4, connection: local, work: "a\\nb"}', "a: work: "),
        ("{target: rpi4, connection: local, cores: [1, 1]}", "a: cores: names something twice"),
        ("{target: rpi4, connection: local, cores: 1}", "a: cores: must be a list of whole numbers"),
        ("{target: rpi4, connection: local, prefix: ['']}", "a: prefix: '' is no word of a command"),
        ("{target: rpi4, connection: local, limits: {lock: 0}}", "a: limits: lock: is no time to wait"),
        ("{target: rpi4, connection: local, limits: {lock: .nan}}", "a: limits: lock: is no time to wait"),
        ("{target: rpi4, connection: local, limits: {lock: .inf}}", "a: limits: lock: is no time to wait"),
        ("{target: rpi4, connection: local, limits: {lock: soon}}", "a: limits: lock: must be a number of seconds, is text"),
        ("{target: rpi4, connection: local, limits: {conect: 1}}", "conect: unknown key 'conect'    hint: did you mean 'connect'?"),
        ("{target: rpi4, connection: local, limits: 4}", "a: limits: must be keys and values, is a whole number"),
        ("{target: rpi4, connection: local, address: x}", "a board with `connection: local` has no address"),
        (f"{{target: rpi4, connection: ssh, address: x, port: 0x{'f' * 900}}}", "a: port: must be within 1 and 65535"),
    ],
)  # fmt: skip
def test_a_wrong_value_is_refused(entry: str, words: str) -> None:
    assert any(words in line for line in refused(f"devices: {{a: {entry}}}")), refused(f"devices: {{a: {entry}}}")


@pytest.mark.parametrize("name", ["-x", ".hidden", "'a b'", "a/b", "../x", "'<b>'", "5", "true", "'a\u202eb'", "x" * 65, "0x" + "f" * 900])
def test_a_name_that_is_no_plain_word_is_refused(name: str) -> None:
    assert any("is no name for a board" in line for line in refused(f"devices: {{? {name} : {GOOD}}}"))


def test_names_that_differ_by_capitals_are_refused() -> None:
    assert any("'Pi' differs from 'pi' by capitals only" in line for line in refused(f"devices: {{pi: {GOOD}, Pi: {GOOD}}}"))


@pytest.mark.parametrize("key", ["password", "Passphrase", "token"])
def test_a_password_is_refused_with_what_to_do_and_never_repeated(key: str) -> None:
    said = "\n".join(refused(f"devices: {{a: {{target: rpi4, connection: ssh, address: x, {key}: hunter2}}}}"))
    assert "a password does not belong here" in said and "SSH agent" in said and "hunter2" not in said


LAUGHS = "a: &a [x, x]\n" + "".join(f"{b}: &{b} [*{a}, *{a}, *{a}, *{a}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (LAUGHS, "line 2: an alias (*name); write the value out"),
        (f"devices:\n  a: &x {GOOD}\n  b: *x\n", "line 3: an alias"),
        (f"devices:\n  a: &x {GOOD}\n  b:\n    <<: *x\n", "line 4: an alias"),
        ("devices: {a: {<<: {target: rpi4}}}", "line 1: a merge key (<<)"),
        ("[" * 100_000, "line 1: nested more than 12 deep"),
        ("a: " * 50_000, "mapping values are not allowed"),
        ("devices:\n" + "# x\n" * 100_000, "longer than 256 KiB"),
        ("devices: !!python/object/apply:os.system [id]", "could not determine a constructor"),
        ("devices: {a: 2024-13-99}", "month must be in 1..12"),
        ("a: 1\n---\nb: 2\n", "line 2: but found another document"),
        ("devices: {a: \x00}", "special characters are not allowed"),
        ("? [a, [b]]\n: c", "unhashable key"),
    ],
    ids=lambda text: text[:12].split("\n")[0] if len(text) > 40 else None,
)  # fmt: skip
def test_what_is_no_plain_yaml_is_refused(text: str, words: str) -> None:
    assert words in refused(text)[0]


@pytest.mark.parametrize("text", ["", "devices:", "devices: {}", "devices: [a]", "- a", "just words", "# nothing\n"])
def test_an_inventory_without_boards_is_refused(text: str) -> None:
    assert any("names no board" in line for line in refused(text))


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "devices.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match="not UTF-8 text"):
        load_inventory()
    with pytest.raises(UsageError, match="Is a directory"):
        load_inventory(tmp_path)


def test_a_file_of_windows_is_read() -> None:
    assert read_inventory(f"\N{BYTE ORDER MARK}devices:\r\n  a: {GOOD}\r\n", Path("x"))[0].name == "a"


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=80) | st.from_regex(r"devices:\n( {0,4}[a-z&*!|>{}\[\]:,#'\"-]{1,8} ?[0-9a-z~]{0,4}\n){0,6}", fullmatch=True))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        assert read_inventory(text, Path("devices.yaml"))
    except UsageError as error:
        assert error.exit_code == 2


THREE = Inventory(
    None,
    (
        Device("a", "rpi4", "ssh", "a", tags=("arm",)),
        Device("b", "rpi5", "ssh", "b", tags=("arm", "new")),
        Device("c", "x86-64", "ssh", "c"),
    ),
)


def names(devices: tuple[Device, ...]) -> str:
    return "".join(device.name for device in devices)


def test_boards_are_chosen_by_name_tag_or_all_of_them_in_the_order_of_the_file() -> None:
    assert names(choose(THREE, ["c", "a"])) == "ac"
    assert names(choose(THREE, tags=["arm"])) == "ab"
    assert names(choose(THREE, ["c"], ["new"])) == "bc"
    assert names(choose(THREE, everything=True)) == "abc"
    assert names(choose(Inventory(None, BUILT_IN))) == "local"


def test_unknown_names_and_tags_are_told_together() -> None:
    with pytest.raises(UsageError) as caught:
        choose(THREE, ["a", "bb", "x"], ["amr"], everything=True)
    said = str(caught.value)
    assert "unknown device 'bb'    hint: did you mean 'b'?" in said and "'x'" in said and "did you mean 'arm'?" in said


def test_of_several_boards_one_must_say_which() -> None:
    with pytest.raises(UsageError, match=r"which board\?    hint: --device NAME, --tag TAG or --all; there are a, b, c"):
        choose(THREE)


WORDS = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,12}", fullmatch=True)
DEVICES = st.builds(
    Device,
    name=WORDS,
    target=st.sampled_from(["rpi4", "host", "x86-64"]),
    connection=st.just("ssh"),
    address=WORDS,
    user=st.just("") | WORDS,
    port=st.just(0) | st.integers(1, 65535),
    tags=st.lists(WORDS, unique=True, max_size=3).map(tuple),
    cores=st.lists(st.integers(0, 1023), unique=True, max_size=3).map(tuple),
    prefix=st.lists(st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "S"]), min_size=1), max_size=3).map(tuple),
    work=st.from_regex(r"[a-z.]{0,3}[a-z](/[a-z '\"#:]{0,3}[a-z]){0,3}", fullmatch=True),
    limits=st.builds(Limits, connect=st.floats(0.1, 1000), output=st.integers(1, 2**30)),
)


@settings(max_examples=60, deadline=None)
@given(DEVICES)
def test_the_text_of_an_entry_reads_back_as_the_same_device(device: Device) -> None:
    text = "devices:\n" + "".join(f"  {line}\n" for line in entry_text(device).splitlines())
    assert read_inventory(text, Path("devices.yaml")) == (device,)


@settings(max_examples=40, deadline=None)
@given(DEVICES.filter(lambda device: device.name.lower() not in ("here", "there")), st.sampled_from(["  ", "    "]), st.booleans())
def test_an_inventory_grows_and_keeps_its_comments(device: Device, margin: str, ends: bool) -> None:
    text = f"# mine\ndevices:\n{margin}here: {GOOD} # near\n\n{margin}there:\n{margin}  target: rpi5\n{margin}  connection: adb\n# the end"
    text += "\n" if ends else ""
    grown = with_entry(text, device, Path("devices.yaml"))
    assert grown.startswith(text)
    assert [item.name for item in read_inventory(grown, Path("devices.yaml"))] == ["here", "there", device.name]
    assert read_inventory(grown, Path("devices.yaml"))[-1] == device


def test_a_new_inventory_has_this_machine_too() -> None:
    text = with_entry(None, Device("pi", "rpi5", "ssh", "pi"), Path("devices.yaml"))
    assert [item.name for item in read_inventory(text, Path("devices.yaml"))] == ["local", "pi"]
    text = with_entry(None, Device("local", "x86-64", "local"), Path("devices.yaml"))
    assert [item.target for item in read_inventory(text, Path("devices.yaml"))] == ["x86-64"]


def test_line_ends_of_windows_stay() -> None:
    grown = with_entry(f"devices:\r\n  a: {GOOD}", Device("b", "rpi5", "ssh", "b"), Path("x"))
    assert "\n" not in grown.replace("\r\n", "") and len(read_inventory(grown, Path("x"))) == 2


def test_a_name_that_is_taken_is_not_added() -> None:
    with pytest.raises(UsageError, match=r"there is a board 'PI' already    hint: give another one with --name"):
        with_entry(f"devices: {{pi: {GOOD}}}", Device("PI", "rpi5", "ssh", "pi"), Path("x"))


@pytest.mark.parametrize("text", [f"devices: {{a: {GOOD}}}\n", f"devices:\n  a: {GOOD}\n...\n", f"{{devices: {{a: {GOOD}}}}}"])
def test_an_inventory_on_one_line_is_left_alone(text: str) -> None:
    with pytest.raises(UsageError, match="add by hand:\nb:\n  target: rpi5"):
        with_entry(text, Device("b", "rpi5", "ssh", "b"), Path("x"))


@pytest.mark.parametrize(
    ("address", "name"),
    [("kitchen.local", "kitchen"), ("10.0.0.5", "10.0.0.5"), ("fe80::1%eth0", "fe80-1-eth0"), ("R5CT", "R5CT"), ("::", "board")]
)  # fmt: skip
def test_a_board_is_called_after_its_address(address: str, name: str) -> None:
    assert name_of(address) == name


def test_a_key_is_looked_for_beside_the_inventory_and_at_home(monkeypatch: pytest.MonkeyPatch) -> None:
    with tempfile.TemporaryDirectory() as home:
        monkeypatch.setenv("HOME", home)
        (Path(home) / "id").write_text("")
        text = "devices: {a: {target: rpi4, connection: ssh, address: x, key: ~/id}}"
        assert read_inventory(text, Path("devices.yaml"))[0].key == Path(home) / "id"
        assert any("there is no file" in line for line in refused(text.replace("~/id", "id")))


def test_the_documentation_names_every_key_and_limit_and_its_example_is_good() -> None:
    page = (ROOT / "docs/devices.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    assert [item.connection for item in read_inventory(example, Path("devices.yaml"))] == ["ssh", "adb", "emulated"]
    section = page.partition("## The inventory")[2].partition("\n## ")[0]
    assert not [field.name for field in fields(Device) if f"`{field.name}`" not in section and field.name not in ("name", "limits")]
    assert not [field.name for field in fields(Limits) if f"`{field.name}` {field.default:g}" not in section and field.name != "output"]
    assert f"`output` {Limits.output}" in section and f"`{Device.work}`" in section
