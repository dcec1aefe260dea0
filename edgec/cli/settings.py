"""The flags of a build, made from the table of settings, and the configuration they resolve to."""

from __future__ import annotations

import argparse
import os
from collections.abc import Container, Iterable, Mapping
from pathlib import Path

import rich.table

from edgec.cli.console import table
from edgec.settings import FILE, find_file, resolve
from edgec.settings.config import FLAGS, BuildConfig
from edgec.settings.facts import settings_facts
from edgec.settings.forms_of_text import OneOf, Operators

GROUPS = list(dict.fromkeys(setting.group for setting in FLAGS.values()))
OF_A_BUILD = tuple(flag for flag in FLAGS if flag != "key")


def declare_settings(parser: argparse.ArgumentParser, names: Iterable[str] = OF_A_BUILD, defaults: Mapping[str, str] | None = None) -> None:
    """Add one flag for each named setting, and those that choose the file of others; a missing flag is None: other sources can speak.

    defaults: what holds in this verb where nobody sets it, where that is not what holds in a build.
    """
    held = {name: setting.default for name, setting in FLAGS.items()} | dict(defaults or {})
    groups: dict[str, argparse._ArgumentGroup] = {}
    for name in sorted(names, key=lambda name: GROUPS.index(FLAGS[name].group)):
        setting, flag = FLAGS[name], f"--{name.replace('_', '-')}"
        group = groups.get(setting.group) or groups.setdefault(setting.group, parser.add_argument_group(setting.group))
        words = f"{setting.help} ({held[name]})".replace("%", "%%")  # which argparse would fill in
        if setting.switch and getattr(BuildConfig, name):  # it is done unless the flag says no
            group.add_argument(f"--no-{name}", dest=name, action="store_const", const=False, default=None, help=words)
        elif setting.switch:
            group.add_argument(flag, dest=name, action="store_const", const=True, default=None, help=words)
        else:
            short = ["-o"] if name == "out" else []
            action = "append" if setting.many else "store"
            form = "|".join(setting.parse.choices) if isinstance(setting.parse, OneOf) else name.upper()
            group.add_argument(*short, flag, dest=name, action=action, default=None, metavar=form, help=words)
    parser.add_argument("--config", type=Path, default=None, metavar="FILE", help=f"settings (the {FILE} beside the model, else here)")
    parser.add_argument("--trust-config", action="store_true", help=f"obey an {FILE} that lies beside the model in all that it says")


def resolve_settings(options: argparse.Namespace) -> BuildConfig:
    """Flags over EDGEC_* over edgec.toml (named, else beside the model, else here) over defaults."""
    flags = {name: getattr(options, name) for name in FLAGS if getattr(options, name, None) is not None}
    known = {f"EDGEC_{name.upper()}" for name in FLAGS}
    variables = {key: value for key, value in os.environ.items() if key in known}
    return resolve(flags, variables, find_file(options.model, options.config, trust=options.trust_config))


def declare_key(parser: argparse.ArgumentParser) -> None:
    """For verbs that open packages of others."""
    parser.add_argument("--key", type=Path, default=None, help=FLAGS["key"].help)


def resolve_key(options: argparse.Namespace) -> Path | None:
    """--key, over EDGEC_KEY, over the edgec.toml that is named or lies in the current folder: one beside a package has no say."""
    return _resolve_one("key", options).key


def declare_operators(parser: argparse.ArgumentParser) -> None:
    """For verbs that read a model, and take all else from a package."""
    parser.add_argument("--operators", action="append", default=None, metavar="FILE", help=FLAGS["operators"].help)


def resolve_operators(options: argparse.Namespace) -> tuple[Operators, ...]:
    """As --key is: one beside the model has no say."""
    return _resolve_one("operators", options).operators


def _resolve_one(name: str, options: argparse.Namespace) -> BuildConfig:
    variable = f"EDGEC_{name.upper()}"
    variables = {key: value for key, value in os.environ.items() if key == variable}
    return resolve({name: getattr(options, name)}, variables, find_file(Path(FILE), getattr(options, "config", None)))


def settings_table(config: BuildConfig, *, unheard: Container[str] = ()) -> rich.table.Table:
    """What was set, and where, for verbs that have no plan of a build. unheard: settings that the verb decides itself."""
    given = {key: item for key, item in settings_facts(config).items() if item["from"] != "default" and key not in unheard}
    return table("", ["", "", ""], [(key, item["value"], item["from"]) for key, item in given.items()])
