"""C++: include/NAME.hpp, a class that owns its memory and threads, over the C interface."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from edgec.apps.app import App, Tensor
from edgec.apps.names import legal, pascal, snake
from edgec.base.harmless import in_a_comment
from edgec.base.version import __version__
from edgec.emit.c_text import C_TYPES, float_literal
from edgec.emit.templates import fill

# What the header says itself where a tensor's name would hide it, and macros in small letters
_LOCALS = """
inputs outputs instance state status state_ run locked check fits reserve label most best found item heard boxes mask score overlap count
threshold arena gpu pool mutex data size values where bytes memory begun forgotten threads ran assert errno stdin stdout stderr near far
small interface environ signals slots emit foreach min max
"""
_TYPES = "Error Tensor Span Inputs Outputs Class Box Mask State"
# Namespaces, functions and variables that the headers of C++ and POSIX have in the global namespace
_GLOBALS = """
std posix detail abort abs accept access acos alarm alloca asctime asin atan atexit atof atoi atol basename bcmp bcopy bind brk bsearch
bzero calloc cbrt ceil chdir chmod chown chroot clearerr clock clone close confstr connect copysign cos cosh creat crypt ctermid ctime
daemon daylight difftime dirname div dprintf drand48 dup dup2 encrypt endpwent environ erand48 erf erfc errno execl execv execve exit exp
exp2 expm1 fabs fchdir fchmod fchown fclose fcntl fdatasync fdim fdopen feof ferror fexecve fflush ffs fgetc fgetpos fgets fileno floor
fma fmax fmin fmod fopen fork fprintf fputc fputs fread free freopen frexp fscanf fseek fsetpos fstat fsync ftell ftruncate fwide fwrite
getc getchar getcwd getdate getenv getline getopt getpid gets gettimeofday gmtime hypot ilogb imaxabs imaxdiv index initgroups initstate
ioctl isalnum isalpha isatty iscntrl isdigit isgraph islower isnan isprint ispunct isspace isupper isxdigit j0 j1 jn jrand48 kill labs
ldexp ldiv lgamma link listen llabs lldiv llrint llround localeconv localtime lockf log log10 log1p log2 logb longjmp lrand48 lrint lround
lseek malloc mblen mbrlen memccpy memchr memcmp memcpy memmem memmove memset mkdir mkfifo mkstemp mktemp mktime mlock modf mrand48 nan
nanosleep nearbyint nextafter nice nrand48 open openlog optarg opterr optind optopt pause pclose perror pipe poll popen pow pread printf
profil ptsname putc putchar putenv puts pwrite qsort quick_exit raise rand random read readlink readv realloc realpath reboot recv regcomp
remainder remove remquo rename revoke rewind rindex rint rmdir round rpmatch sbrk scalbn scanf seed48 select send setbuf setenv setjmp
setkey setlocale setstate setvbuf shutdown sigaction signal sin sinh sleep socket sprintf sqrt srand srand48 srandom sscanf stat stdin
stdout stderr stime stpcpy strcat strchr strcmp strcpy strdup strerror strlen strsep strstr strtod strtok strtol swab swapcontext symlink
sync syscall sysconf system tan tanh tcgetattr tempnam tgamma time timegm timer times timezone tmpfile tmpnam tolower toupper trunc
truncate ttyname tzname tzset ualarm uname ungetc unlink unsetenv usleep utime vfork vfprintf vprintf vscanf vsprintf wait waitpid wcscat
wcschr wcscmp wcscpy wcslen wcstod wcstok wctob wctype wmemchr wmemcmp wmemcpy wprintf write writev wscanf y0 y1 yn
"""
# kind of task -> its method, what that gives and is called, and the arguments beside the inputs: type, name, default
_METHODS: dict[str, tuple[str, str, list[tuple[str, str, str]]]] = {
    "classify": ("std::vector<Class>", "best", [("int", "most", "5")]),
    "keyword": ("std::optional<Class>", "heard", [("float", "threshold", "0.5f")]),
    "detect": ("std::vector<Box>", "boxes", [("float", "score", "0.3f"), ("float", "overlap", "0.5f"), ("int", "most", "100")]),
    "segment": ("Mask", "mask", []),
}


def cpp_files(app: App, vocabularies: Sequence[str]) -> dict[str, bytes]:
    """Path -> content, of a package for tensors of one size."""
    context = _context(app) | {"vocabularies": vocabularies}
    if app.task is not None:
        context["throwing"] = _throwing(app.task.kind, context).rstrip()
    return {f"include/{app.name}.hpp": fill("apps/cpp", "model.hpp.j2", context).encode()}


def _context(app: App) -> dict[str, Any]:
    """All that the templates of templates/apps/cpp read, but the methods that throw."""
    fields = _fields((*app.inputs, *app.outputs), ["shape"] if app.sets else [])
    inputs = [_tensor(tensor, fields, place, "Inputs") for place, tensor in enumerate(app.inputs)]
    outputs = [_tensor(tensor, fields, place, "Outputs") for place, tensor in enumerate(app.outputs, len(inputs))]
    which = ["shape"] if app.sets else []
    given = [f"Span<const {tensor['c_type']}, {tensor['elements']}> {tensor['field']}" for tensor in inputs]
    taken = [f"Span<{tensor['c_type']}, {tensor['elements']}> {tensor['field']}" for tensor in outputs]
    asked = [f"int {name}" for name in which]
    in_names, out_names = ([tensor["field"] for tensor in group] for group in (inputs, outputs))
    by_name = dict(zip((tensor.name for tensor in app.outputs), out_names, strict=True))
    (namespace,) = legal([app.name], "cpp", str, "model", _GLOBALS.split())
    (class_name,) = legal([app.name], "cpp", pascal, "Model", _TYPES.split())
    return {
        "name": app.name,
        "NAME": app.name.upper(),
        "namespace": namespace,
        "class": class_name,
        "version": __version__,
        "gpu": app.gpu,
        "task": app.task,
        "inputs": inputs,
        "outputs": outputs,
        "tensors": [*inputs, *outputs],
        "sets": app.sets,
        "which": "".join(f"{name}, " for name in which),
        "which_parameter": "".join(f"{name}, " for name in asked),
        "parameters": ", ".join([*asked, *given, *taken]),
        "arguments": ", ".join([*which, *in_names, *out_names]),
        "fits": " || ".join(f"!{tensor['fits']}" for tensor in (*inputs, *outputs)),
        "pointers": "".join(f", {name}" for name in which) + "".join(f", {name}.data()" for name in (*in_names, *out_names)),
        "members": ", ".join([*which, *(f"inputs.{name}" for name in in_names), *(f"outputs.{name}" for name in out_names)]),
        "input_parameters": ", ".join([*asked, *given]),
        "input_arguments": ", ".join([*which, *in_names]),
        "input_members": ", ".join([*which, *(f"inputs.{name}" for name in in_names)]),
        "mixed": ", ".join([*which, *in_names, *(f"outputs.{name}" for name in out_names)]),
        "comma": ", " if given else "",
        "answers": ", ".join(f"outputs.{by_name[name]}.data()" for name in (app.task.outputs if app.task else ())),
    }


def _fields(tensors: Sequence[Tensor], taken: Sequence[str]) -> list[tuple[str, ...]]:
    """For each tensor its own identifier and those of its shape, scale and zero point, and of its elements in several shapes.

    Small letters, since macros have capitals. taken: further names that they must not be.
    """
    names = [tensor.name for tensor in tensors]
    kinds = ("shape", "scale", "zero point", *(["elements"] if taken else []))
    derived = [f"{name} {what}" for what in kinds for name in names]
    found = legal([*names, *derived], "cpp", lambda text: snake(text).lower(), "tensor", [*_LOCALS.split(), *taken])
    columns = (found[start : start + len(names)] for start in range(0, len(found), len(names)))
    return list(zip(*columns, strict=True))


def _tensor(tensor: Tensor, fields: Sequence[tuple[str, ...]], place: int, group: str) -> dict[str, Any]:
    field, shape, scale, zero_point, *more = fields[place]
    c_type = C_TYPES[tensor.dtype]
    every = "], [".join(",".join(map(str, extents)) for extents in tensor.shapes or [tensor.shape])
    return {
        "field": field,
        "shape_field": shape,
        "scale_field": scale,
        "zero_point_field": zero_point,
        "comment": in_a_comment(f"{tensor.name}: {tensor.dtype.value}[{every}]"),
        "c_type": c_type if c_type in ("float", "double") else f"std::{c_type}",
        "elements": tensor.most_elements,
        "sizes": ", ".join(map(str, tensor.sizes)),
        "sizes_field": "".join(more),
        "fits": f"{field}.holds({group}::{more[0]}[shape - 1])" if more else f"{field}.fits()",
        "rank": len(tensor.shape),
        "shape": ", ".join(map(str, tensor.shape)),
        "scale": None if tensor.scale is None else float_literal(tensor.scale),
        "zero_point": tensor.zero_point,
    }


def _throwing(kind: str, context: Mapping[str, Any]) -> str:
    """The task's methods that give what was found, or throw."""
    result, found, options = _METHODS[kind]
    declared = ", ".join(f"{type_name} {name} = {default}" for type_name, name, default in options)
    names = [name for _, name, _ in options]
    passed = ", ".join([*names, found])
    more = {
        "result": result,
        "method": kind,
        "found": found,
        "options": (context["comma"] if declared else "") + declared,
        "passed": context["comma"] + passed,
        "more_options": f", {declared}" if declared else "",
        "more_passed": (context["comma"] if names else "") + ", ".join(names),
    }
    text = fill("apps/cpp", "throwing.hpp.j2", {**context, **more})
    return text + ('    void reset_keyword() { check(try_reset_keyword(), "reset_keyword"); }\n' if kind == "keyword" else "")
