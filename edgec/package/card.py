"""Who made a model and what one may do with it: the words of the model file, and of [card] in edgec.toml."""

from __future__ import annotations

from collections.abc import Mapping

from edgec.base.errors import Problem, UsageError, did_you_mean

# key of [card] -> its title in MODEL_CARD.md
FIELDS = {
    "title": "Title",
    "description": "Description",
    "version": "Version",
    "author": "Author",
    "license": "License",
    "copyright": "Copyright",
    "url": "URL",
    "citation": "Citation",
    "training_data": "Training data",
    "intended_use": "Intended use",
    "limitations": "Limitations",
}
# what the model file alone can say: key -> title
OF_THE_FILE = {"producer": "Made with", "domain": "Domain", "exported_from": "Exported from"}
MOST = 2000  # characters of a field

# names under which model files say it, in ONNX's own metadata and as exporters write it -> key
_SPELLINGS = {
    **{key: key for key in FIELDS},
    **{f"model_{key}": key for key in FIELDS},
    "name": "title",
    "model_name": "title",
    "licence": "license",
    "authors": "author",
    "homepage": "url",
    "source": "url",
}


def parse_card(table: object) -> Mapping[str, str]:
    """The table [card]; UsageError lists every key that is not known and every value that is no short text."""
    if not isinstance(table, Mapping):
        raise UsageError("card must be a table of keys and values", hint="write [card] on a line of its own")
    problems = [Problem("unknown key", f"[card] {key}", did_you_mean(str(key), FIELDS)) for key in table if key not in FIELDS]
    known = {key: value for key, value in table.items() if key in FIELDS}
    for key, value in known.items():
        if not isinstance(value, str) or len(value) > MOST:
            problems.append(Problem("cannot be used", f"[card] {key}", f"write a text of at most {MOST} characters"))
    if problems:
        raise UsageError("the card cannot be used", problems)
    return {key: text for key, value in known.items() if (text := printable(value))}


def card_of(origin: Mapping[str, str], declared: Mapping[str, str]) -> dict[str, str]:
    """The card of a package: what the model file says of itself under names that are known, and before it what [card] declares.

    origin: words of a stranger, under any names. What is too long is cut, what cannot be printed becomes spaces.
    """
    found: dict[str, str] = {}
    for name, value in origin.items():
        key = name if name in OF_THE_FILE else _SPELLINGS.get(name.strip().lower().replace(" ", "_"), "")
        text = printable(value)
        if key and text and key not in found:
            found[key] = text if len(text) <= MOST else text[: MOST - 1] + "…"
    found |= declared
    return {key: found[key] for key in (*FIELDS, *OF_THE_FILE) if key in found}


def printable(text: str) -> str:
    """In one line, without control characters and without marks that change the direction of writing."""
    return " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())
