"""Names from a model as identifiers of the languages that applications are written in: legal, stable, and never two alike.

A name becomes ASCII words (letters and digits; all else separates), the words are joined as the language likes it, and what is empty or
begins with a digit gets a word before it. A keyword gets an underscore at its end. Of names that have become alike the first keeps its form
and the others get numbers, in the order of the model, past every name that is taken: adding a name at the end changes no earlier one.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Container, Iterable, Sequence

from edgec.program.names import KEYWORDS as C_KEYWORDS

_SWIFT = """
associatedtype class deinit enum extension fileprivate func import init inout internal let open operator precedencegroup private protocol
public rethrows static struct subscript typealias var break case catch continue default defer do else fallthrough for guard if in repeat
return throw switch where while Any as await catch false is nil self Self super throws true try actor async nonisolated isolated some any
Type Protocol left right get set willSet didSet lazy mutating nonmutating optional override required unowned weak convenience dynamic final
indirect infix postfix prefix macro consuming borrowing
"""
_KOTLIN = """
as break class continue do else false for fun if in interface is null object package return super this throw true try typealias typeof val
var when while by catch constructor delegate dynamic field file finally get import init param property receiver set setparam value where
abstract actual annotation companion const crossinline data enum expect external final infix inline inner internal lateinit noinline open
operator out override private protected public reified sealed suspend tailrec vararg it
"""
_JAVASCRIPT = """
abstract arguments as async await boolean break byte case catch char class const constructor continue debugger declare default delete do
double else enum eval export extends false final finally float for from function get goto if implements import in infer instanceof int
interface is keyof let long module namespace native never new null number object of package private protected prototype public readonly
require return set short static string super switch symbol synchronized this throw throws transient true try type typeof undefined unique
unknown var void volatile while with yield any bigint NaN Infinity
"""
_PYTHON = """
False None True and as assert async await break class continue def del elif else except finally for from global if import in is lambda
nonlocal not or pass raise return try while with yield match case type self np numpy ctypes print
"""
_CPP = """
alignas alignof and_eq atomic_cancel atomic_commit atomic_noexcept bitand bitor char8_t char16_t char32_t co_await co_return co_yield compl
concept const_cast consteval constinit dynamic_cast final import module not_eq or_eq override reflexpr reinterpret_cast requires
static_assert static_cast synchronized thread_local typeof xor_eq i386
"""
KEYWORDS = {
    "c": C_KEYWORDS,
    "cpp": C_KEYWORDS | frozenset(_CPP.split()),
    "swift": frozenset(_SWIFT.split()),
    "kotlin": frozenset(_KOTLIN.split()),
    "javascript": frozenset(_JAVASCRIPT.split()),
    "python": frozenset(_PYTHON.split()),
}


def words(text: str) -> list[str]:
    """The ASCII words of a name: `Größe_der-Box2` -> Grosse, der, Box2. Letters without an ASCII form separate."""
    plain = unicodedata.normalize("NFKD", text.replace("ß", "ss"))
    ascii_text = "".join(letter for letter in plain if not unicodedata.combining(letter))
    return re.findall(r"[A-Za-z0-9]+", ascii_text)


def camel(text: str) -> str:
    """`box_scores` -> boxScores; what is written in mixed case stays so: `boxScores`, `Identity`."""
    found = words(text)
    first = found[0].lower() if found and found[0].isupper() else found[0][:1].lower() + found[0][1:] if found else ""
    return first + "".join(word[:1].upper() + word[1:] for word in found[1:])


def pascal(text: str) -> str:
    """`mobilenet_v2` -> MobilenetV2."""
    return "".join(word[:1].upper() + word[1:] for word in words(text))


def snake(text: str) -> str:
    """`boxScores 2` -> boxScores_2."""
    return "_".join(words(text))


def legal(
    names: Sequence[str], language: str, style: Callable[[str], str], what: str = "value", taken: Container[str] = ()
) -> tuple[str, ...]:
    """One identifier of `language` for each of `names`, none twice, none among `taken`; `what` stands where nothing is left of a name."""
    found: list[str] = []
    for name in names:
        word = style(name)
        if not word or word[0].isdigit():
            word = style(f"{what} {word}") if word else style(what)
        found.append(_free(f"{word}_" if word in KEYWORDS[language] else word, found, taken))
    return tuple(found)


def _free(word: str, *taken: Container[str]) -> str:
    candidate, number = word, 1
    while any(candidate in names for names in taken):
        number += 1
        candidate = f"{word}{'' if word.endswith('_') else '_'}{number}"
    return candidate


def quoted(text: str) -> str:
    """A string literal of Kotlin and JavaScript that stands for any text: printable ASCII as it is, all else as \\uXXXX.
    `$`, which begins a template in Kotlin, is escaped too. Swift's form is quoted_swift, Java's quoted_java, C's text_literal,
    Python's ascii()."""
    return '"' + "".join(_escaped(unit, "\\u{:04x}".format) for unit in _units(text)) + '"'


def quoted_java(text: str) -> str:
    """Java reads \\uXXXX before all else, as the letter itself: what would end a line or the literal is given in octal."""
    return '"' + "".join(_escaped(unit, "\\u{:04x}".format if unit > 127 else "\\{:03o}".format) for unit in _units(text)) + '"'


def quoted_swift(text: str) -> str:
    return '"' + "".join(_escaped(ord(letter), "\\u{{{:x}}}".format) for letter in text) + '"'


def _units(text: str) -> Iterable[int]:
    """UTF-16 code units; lone surrogates stay what they are."""
    data = text.encode("utf-16-le", "surrogatepass")
    return (int.from_bytes(data[start : start + 2], "little") for start in range(0, len(data), 2))


def _escaped(code: int, escape: Callable[[int], str]) -> str:
    plain = 32 <= code < 127 and chr(code) not in '"\\$'
    return chr(code) if plain else escape(code)
