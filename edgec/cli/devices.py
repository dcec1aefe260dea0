"""list, check, show and add the boards of an inventory"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import edgec
from edgec.base.errors import DeviceError, UsageError
from edgec.base.output import replace_file
from edgec.boards.board.checks import Check, check_device, propose_device
from edgec.boards.board.entry import entry_text
from edgec.boards.board.inventory import FILE, choose, inventory_path, load_inventory, with_entry
from edgec.boards.board.look import Facts, describe
from edgec.boards.device import KINDS, Device
from edgec.cli.console import Console, table
from edgec.cli.inside import Inside
from edgec.verbs.devices import Devices

_CHOOSING = ("device", "tag", "all")
_ONLY_ADD = ("name", "user", "port", "key", "known_hosts", "connection", "write")
_SUMMARIES = {
    "list": "list the boards of the inventory, without a connection",
    "check": "ask boards, all at once, what they are and whether packages can run there",
    "show": "show one board's entry, and what the board says that it is",
    "add": "connect to a new board, ask what it is, and print its entry or append it to the inventory",
}
_BOARDS = {"show": ("NAME", "a board of the inventory"), "add": ("HOST", "a host name, IP address, user@host or an adb serial number")}


def declare(parser: argparse.ArgumentParser) -> None:
    """Every flag may stand before the action, too."""
    _declare_flags(parser)
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True, action=Inside)
    for name, summary in _SUMMARIES.items():
        page = actions.add_parser(name, help=summary, description=summary, epilog=parser.epilog, allow_abbrev=False)
        board, words = _BOARDS.get(name, ("board", argparse.SUPPRESS))
        page.add_argument("board", nargs=None if name in _BOARDS else "?", metavar=board, help=words)
        _declare_flags(page, name)


def _declare_flags(parser: argparse.ArgumentParser, action: str = "") -> None:
    """All flags of all actions, so that one in the wrong place is told what it is for; the help shows those of `action`, or all."""
    declare_choice(parser)
    parser.add_argument("--name", help="add: the new board's name (else from the address)")
    parser.add_argument("--user", help="add: who to log in as")
    parser.add_argument("--port", type=int, help="add: the SSH port")
    parser.add_argument("--key", help="add: the path of a private key")
    parser.add_argument("--known-hosts", metavar="FILE", help="add: the host keys to trust, which the entry then names (what ssh trusts)")
    parser.add_argument("--connection", choices=KINDS, help="add: how to reach it (default ssh)")
    parser.add_argument("--write", action="store_true", default=None, help="add: append the entry to the inventory")
    for flag in parser._actions if action else ():
        foreign = {*(_CHOOSING if action in _BOARDS else ()), *(_ONLY_ADD if action != "add" else ())}
        flag.help = argparse.SUPPRESS if flag.dest in foreign else (flag.help or "").removeprefix(f"{action}: ")


def declare_choice(parser: argparse.ArgumentParser) -> None:
    """The flags that name boards, for every verb that takes some."""
    parser.add_argument(
        "--devices", type=Path, metavar="FILE", help=f"the inventory (default $EDGEC_DEVICES, else ./{FILE}, else this machine)"
    )
    parser.add_argument("--device", action="append", default=[], metavar="NAME", help="a board of the inventory; may be repeated")
    parser.add_argument("--tag", action="append", default=[], help="every board with this tag; may be repeated")
    parser.add_argument("--all", action="store_true", help="every board")


def act(options: argparse.Namespace, console: Console) -> int:
    action, see = options.action, f"see edgec devices {options.action} --help"
    if action != "add" and (given := [flag for flag in _ONLY_ADD if getattr(options, flag) is not None]):
        raise UsageError(f"--{given[0].replace('_', '-')} goes with `add` only", hint=see)
    if action in _BOARDS and any(getattr(options, flag) for flag in _CHOOSING):
        raise UsageError("--device, --tag and --all go with `list` and `check` only", hint=f"edgec devices {action} {options.board}")
    if action not in _BOARDS and options.board:
        raise UsageError(f"`{action}` takes no {options.board!r}", hint=f"--device {options.board}")
    return _ACTIONS[action](options, console)


def _chosen(options: argparse.Namespace, *, check: bool = False) -> Devices:
    """All boards, unless some are asked for."""
    return edgec.devices(options.device, tags=options.tag, everything=options.all, inventory=options.devices, check=check)


def _list(options: argparse.Namespace, console: Console) -> int:
    found = _chosen(options)
    rows = [(item.name, item.target, item.connection, _place(item), item.tags, item.cores) for item in found.devices]
    shown = table("", ["device", "target", "connection", "address", "tags", "cores"], rows)
    console.result({"inventory": str(found.path or ""), "devices": [device_facts(item) for item in found.devices]}, [shown])
    return 0


def _place(device: Device) -> str:
    user = f"{device.user}@" if device.user else ""
    return f"{user}{device.address}" + (f":{device.port}" if device.port else "")


def _check(options: argparse.Namespace, console: Console) -> int:
    """Exit code 5 when a board cannot be reached or used."""
    count = len(_chosen(options).devices)
    console.note(f"asking {count} board{'s' * (count != 1)}")
    checks = _chosen(options, check=True).checks
    columns = ["device", "", "target", "processor", "disk free", "governor", "temperature", "throttled", "clock"]
    shown = table("", columns, [_row(item) for item in checks])
    console.result({"devices": [_check_facts(item) for item in checks]}, [shown, *_said("problem", checks), *_said("remark", checks)])
    return DeviceError.exit_code if any(item.verdict != "ok" for item in checks) else 0


def _row(check: Check) -> list[object]:
    facts, state = check.facts, check.state
    if facts is None or state is None:
        return [check.device.name, check.verdict, check.device.target, *[""] * 6]
    return [
        check.device.name,
        check.verdict,
        check.device.target,
        facts.processor,
        "?" if facts.disk_free_bytes is None else f"{facts.disk_free_bytes / 2**30:.1f} GiB",
        state.governor or "?",
        "?" if state.temperature_c is None else f"{state.temperature_c:.0f} \N{DEGREE SIGN}C",
        ", ".join(state.throttled) or "no",
        "?" if facts.clock_offset_s is None else f"{round(facts.clock_offset_s):+d} s",
    ]


def _said(kind: str, checks: Sequence[Check]) -> list[str]:
    """The problems, or the remarks, of all boards, each with its board's name."""
    found = [(item.device.name, problem) for item in checks for problem in (item.problems if kind == "problem" else item.remarks)]
    return [f"{kind}: {problem if name in problem.where else f'{name}: {problem}'}" for name, problem in found]


def _check_facts(check: Check) -> dict[str, Any]:
    return {
        "name": check.device.name,
        "verdict": check.verdict,
        "target": check.device.target,
        "problems": [asdict(problem) for problem in check.problems],
        "remarks": [asdict(problem) for problem in check.remarks],
        "facts": board_facts(check.facts) if check.facts else None,
        "state": asdict(check.state) if check.state else None,
    }


def _show(options: argparse.Namespace, console: Console) -> int:
    """The entry is shown even where the board does not answer; exit code 5 then."""
    (device,) = choose(load_inventory(options.devices), [options.board])
    check = check_device(device)
    entry = device_facts(device)
    rows = [(key, _in_words(value)) for key, value in entry.items() if value]
    facts = describe(check.facts) if check.facts else {}
    shown = [table("entry", ["", ""], rows), "", table("board", ["", ""], facts.items())] if facts else [table("entry", ["", ""], rows)]
    console.result({"entry": entry, **_check_facts(check)}, [*shown, *_said("problem", [check]), *_said("remark", [check])])
    return 0 if check.verdict == "ok" else DeviceError.exit_code


def _add(options: argparse.Namespace, console: Console) -> int:
    keys = {key: getattr(options, key) for key in ("user", "port", "key", "known_hosts")}
    connection = options.connection or "ssh"
    path = inventory_path(options.devices) or Path(FILE)
    text = _text(path) if options.write else None
    device, facts = propose_device(options.board, name=options.name or "", connection=connection, **keys)
    entry = entry_text(device)
    if options.write:
        _replace(path.resolve(), with_entry(text, device, path))
    written = str(path) if options.write else ""
    done = f"written to {path}" if options.write else f"to keep it: the lines above go below `devices:` in {path}, or --write"
    board = table("board", ["", ""], describe(facts).items())
    console.result(
        {"entry": device_facts(device), "text": entry, "facts": board_facts(facts), "written": written}, [board, "", entry.rstrip()]
    )
    console.note(done)
    return 0


def _text(path: Path) -> str | None:
    """The inventory as it is, or None where there is none yet."""
    try:
        return path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read the inventory: {error}", where=str(path), hint="write to another one with --devices") from error


def _replace(path: Path, text: str) -> None:
    """Write the inventory; who may read it stays."""
    mode = path.stat().st_mode if path.exists() else None
    replace_file(path, text.encode())
    if mode is not None:
        path.chmod(mode)


def device_facts(device: Device) -> dict[str, Any]:
    """An entry for JSON."""
    return {key: str(value) if isinstance(value, Path) else value for key, value in asdict(device).items()}


def board_facts(facts: Facts) -> dict[str, Any]:
    """Facts for JSON."""
    return {**asdict(facts), "features": sorted(facts.features)}


def _in_words(value: object) -> object:
    return (
        {key: f"{item:,}" if isinstance(item, int) else f"{item:g}" for key, item in value.items()} if isinstance(value, Mapping) else value
    )


_ACTIONS = {"list": _list, "check": _check, "show": _show, "add": _add}
