"""Code that shaders share, and its packed form."""

from __future__ import annotations

import random
import struct
import subprocess
from pathlib import Path

import numpy as np
import pytest

from edgec.emit.gpu.compression import packed
from edgec.emit.gpu.dialect import Glsl
from edgec.emit.gpu.numbers import FIRST_ID, MOST_NUMBERS, modules
from edgec.emit.templates import runtime
from tests.conftest import require
from tests.gpu.lavapipe import compile_shader, run_shader

GROUP = (4, 1, 1)


def source(body: str, shared: int = 4) -> str:
    dialect = Glsl(True)
    return f"{dialect.begin('test', GROUP, (('uint', 'tile', shared),))}\n    {body}\n{dialect.end()}\n"


def test_literals_that_differ_become_constants_and_those_that_change_together_one() -> None:
    one, other = (
        source("store_word(io, 3 + 1, 7u); /* 1 */ float x = 1.5f; int y = 3;"),
        source("store_word(io, 9 + 1, 7u); /* 2 */ float x = -0.25e1f; int y = 9;".replace("-", "")),
    )
    (module,) = modules({"a": one, "b": other})
    assert module.numbers == {"a": (3, 0x3FC00000), "b": (9, 0x40200000)}
    assert f"layout(constant_id = {FIRST_ID}) const int N0 = 3;" in module.text and "store_word(io, N0 + 1, 7u);" in module.text
    assert f"layout(constant_id = {FIRST_ID + 1}) const float N1 = 1.5f;" in module.text and "int y = N0;" in module.text


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("int x = 1;", "uint x = 1u;"), ("int x = 1;", "int y = 1;"), ("int x[2];", "int x[3];"), ("float x = 1.0f;", "int x = 1;"),
        ("int x = 1;\n#if 1\n#endif", "int x = 1;\n#if 2\n#endif"),
    ],
)  # fmt: skip
def test_what_is_no_number_of_the_same_kind_keeps_shaders_apart(one: str, other: str) -> None:
    assert [list(module.numbers) for module in modules({"a": source(one), "b": source(other), "c": source(one)})] == [["a", "c"], ["b"]]


def test_sizes_and_words_before_the_kernel_keep_shaders_apart() -> None:
    texts = {
        "a": source("int x = 1;"),
        "b": source("int x = 1;", shared=8),
        "c": source("int x = 1;").replace("450\n", "450\n#define IN_PLACE\n"),
    }
    assert len(modules(texts)) == 3


def test_shaders_of_more_numbers_than_the_host_takes_stay_apart() -> None:
    def many(count: int, shift: int) -> str:
        return source(" ".join(f"int x{at} = {at * 2 + shift};" for at in range(count)))

    for count, expected in ((MOST_NUMBERS, 1), (MOST_NUMBERS + 1, 2)):
        found = modules({"a": many(count, 0), "b": many(count, 1)})
        assert len(found) == expected
    assert found[0].text == many(MOST_NUMBERS + 1, 0) and found[0].numbers == {"a": ()}
    assert f"MOST_NUMBERS = {MOST_NUMBERS} " in runtime("vulkan/pipelines.h", "net").decode()
    assert f"FIRST_NUMBER = {FIRST_ID}," in runtime("vulkan/pipelines.h", "net").decode()


def test_a_shared_module_computes_what_its_first_shader_does() -> None:
    body = "store_word(io, local_x(), uint(local_x() * {} + {}) ^ {}u);"
    first = source(body.format(3, 1, 12345))
    (module,) = modules({"a": first, "b": source(body.format(5, 2, 0))})
    for text in (first, module.text):
        _, io = run_shader(text, GROUP, (1, 1, 1), bytes(4), b"", bytes(16))
        assert list(np.frombuffer(io, np.uint32)) == [(at * 3 + 1) ^ 12345 for at in range(4)]


def test_packed_code_is_unpacked_by_the_host_to_the_same_words(tmp_path: Path) -> None:
    require("gcc")
    dice = random.Random(5)
    lengths = [1, 2, 7, 8, 9, 40, *(dice.randrange(1, 12) for _ in range(200))]
    operands = [
        [dice.choice([0, 1, dice.randrange(300), dice.getrandbits(32), 0x80000000, 0xFFFFFFFF]) for _ in range(n - 1)] for n in lengths
    ]
    random_words = [0x07230203, 0x10000, 0, 99, 0]
    for words in operands:
        random_words += [(len(words) + 1) << 16 | dice.randrange(6000), *words]
    codes = [struct.pack(f"<{len(random_words)}I", *random_words), compile_shader(source("store_word(io, 0, 7u);"), "base")]
    assert len(packed(codes[1])) * 2 < len(codes[1])
    lines = [
        "#include <stdint.h>", "#include <stdio.h>", "#include <string.h>",
        "struct net_code { const uint8_t *packed; uint32_t words; };", "#define MACRO_VULKAN_HOST_H",
        runtime("vulkan/code.h", "net").decode().replace('#include "net_vulkan_host.h"', ""),
        *(f"static const uint8_t code{at}[] = {{{', '.join(map(str, packed(code)))}}};" for at, code in enumerate(codes)),
        "static uint32_t words[100000];", "int main(void) {",
    ]  # fmt: skip
    for at, code in enumerate(codes):
        size = len(code) // 4
        lines += [f"    const struct net_code c{at} = {{code{at}, {size}}};", f"    unpack_code(&c{at}, words);"]
        lines += [f"    fwrite(words, 4, {size}, stdout);"]
    (tmp_path / "unpack.c").write_text("\n".join([*lines, "    return 0;", "}", ""]))
    command = ["gcc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-fsanitize=address,undefined", "unpack.c", "-o", "unpack"]
    subprocess.run(command, cwd=tmp_path, check=True)
    assert subprocess.run([tmp_path / "unpack"], capture_output=True, check=True).stdout == b"".join(codes)


def test_what_is_no_spirv_is_not_packed() -> None:
    for end in (0, 3 << 16):
        with pytest.raises(ValueError, match="empty or longer than its module"):
            packed(struct.pack("<6I", 0x07230203, 0x10000, 0, 9, 0, end))
