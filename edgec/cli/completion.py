"""print what completes these words in bash, zsh or fish"""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from edgec.cli.console import Console
from edgec.targets import all_targets

SHELLS = ("bash", "zsh", "fish")
# What bash and zsh have in common: `place` becomes the verb, and `devices add` the one inside of it
_WALK = """  local place= names= flags= values= word
  for word in "${@:1:$#-1}"; do case "$place $word" in
{steps}
  esac; done
  case "$place" in
{places}
  esac
  case "$place ${previous}" in
{values}
  esac"""
_BASH = """_edgec() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}" previous="${{COMP_WORDS[COMP_CWORD-1]}}"
  _edgec_walk "${{COMP_WORDS[@]:1:COMP_CWORD}}"
}}
_edgec_walk() {{
{walk}
  if [[ -n $values ]]; then COMPREPLY=($(compgen -W "$values" -- "$current"))
  elif [[ $current == -* ]]; then COMPREPLY=($(compgen -W "$flags" -- "$current"))
  else COMPREPLY=($(compgen -W "$names" -- "$current")); fi
}}
complete -o bashdefault -o default -F _edgec edgec"""
_ZSH = """#compdef edgec
_edgec() {{
  local current="$words[CURRENT]" previous="$words[CURRENT-1]"
  _edgec_walk "${{(@)words[2,CURRENT]}}"
}}
_edgec_walk() {{
{walk}
  if [[ -n $values ]]; then compadd -- ${{=values}}
  elif [[ $current == -* ]]; then compadd -- ${{=flags}}
  elif [[ -n $names ]]; then compadd -- ${{=names}}
  else _files; fi
}}
compdef _edgec edgec"""


@dataclass(frozen=True)
class Place:
    """What can follow these words: names of verbs or of choices, flags with their help, and the values of flags that have known ones."""

    path: tuple[str, ...]
    names: tuple[str, ...]
    flags: dict[str, str]
    values: dict[str, tuple[str, ...]]


def declare(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=SHELLS, help="for this shell")


def act(options: argparse.Namespace, console: Console) -> None:
    from edgec.cli.verbs import VERBS, grammar  # which knows this verb, too

    places = list(_places(grammar(VERBS)[0], ()))
    text = _fish(places) if options.shell == "fish" else (_BASH if options.shell == "bash" else _ZSH).format(walk=_walk(places))
    if options.json:
        console.result({"script": text})
    else:
        print(text)


def _places(parser: argparse.ArgumentParser, path: tuple[str, ...]) -> Iterator[Place]:
    """Of a parser and of those inside of it."""
    names: list[str] = []
    flags: dict[str, str] = {}
    values: dict[str, tuple[str, ...]] = {}
    inside: dict[str, argparse.ArgumentParser] = {}
    for action in parser._actions:
        named = str(action.metavar).split("|") if "|" in str(action.metavar) else ()
        known = tuple(map(str, action.choices or named))
        if isinstance(action, argparse._SubParsersAction):
            inside = dict(action.choices)
        if not action.option_strings:
            names += known
        if action.help == argparse.SUPPRESS:
            continue
        words = ((action.help or "") % {}).splitlines()[:1]
        flags |= {flag: "".join(words) for flag in action.option_strings}
        if "--target" in action.option_strings:
            known = ("host", *(target.name for target in all_targets()))
        values |= {flag: known for flag in action.option_strings if known}
    yield Place(path, tuple(names), flags, values)
    for name in names:
        if name not in inside:  # said once, and its verb's flags can follow
            yield Place((*path, name), (), flags, values)
    for name, verb in inside.items():
        yield from _places(verb, (*path, name))


def _walk(places: list[Place]) -> str:
    steps = [f'    "{" ".join(place.path[:-1])} {place.path[-1]}") place="{" ".join(place.path)}" ;;' for place in places if place.path]
    found = [f'    "{" ".join(place.path)}") names="{" ".join(place.names)}" flags="{" ".join(place.flags)}" ;;' for place in places]
    values = [
        f'    "{" ".join(place.path)} {flag}") values="{" ".join(words)}" ;;' for place in places for flag, words in place.values.items()
    ]
    parts = {"{steps}": steps, "{places}": found, "{values}": values}
    text = _WALK
    for mark, lines in parts.items():
        text = text.replace(mark, "\n".join(lines))
    return text


def _fish(places: list[Place]) -> str:
    lines = []
    for place in places:
        seen = [f"__fish_seen_subcommand_from {word}" for word in place.path] or ["__fish_use_subcommand"]
        start = f"complete -c edgec -n {shlex.quote('; and '.join(seen))}"
        if place.names:
            named = " ".join(place.names)
            first = "; and ".join([*seen, f"not __fish_seen_subcommand_from {named}"])
            lines.append(f"complete -c edgec -n {shlex.quote(first)} -f -a {shlex.quote(named)}")
        for flag, words in place.flags.items():
            kind = f"-l {flag[2:]}" if flag.startswith("--") else f"-s {flag[1:]}"
            known = place.values.get(flag)
            lines.append(f"{start} {kind} -d {shlex.quote(words)}" + (f" -x -a {shlex.quote(' '.join(known))}" if known else ""))
    return "\n".join(lines)
