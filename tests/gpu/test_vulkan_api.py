"""Our declarations of Vulkan against the real header: sizes, offsets, values and the types of functions."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from edgec.emit.templates import runtime

HEADER = "\n".join(runtime(f"vulkan/{name}.h", "net").decode() for name in ("api", "api_work"))
STRUCTS = dict(re.findall(r"typedef struct (\w+) \{\n(.*?)\n\} \1;", HEADER, re.S))
MEMBER = re.compile(r"(\w+)(?:\[\w+\])?;$", re.M)
CONSTANTS = sorted(set(re.findall(r"^    (VK_\w+) = ", HEADER, re.M)))
FUNCTION = re.compile(r"X\((vk\w+), (\w+), (\(.*?\))\)(?: \\)?$", re.M)
FUNCTIONS = [*FUNCTION.findall(HEADER), *re.findall(r"\(VKAPI_PTR \*PFN_(vk\w+)\)()(\(.*?\));", HEADER)]
# what parameters point to that are always NULL here
NOTHING = {
    "allocator": "VkAllocationCallbacks", "copy": "VkCopyDescriptorSet",
    "buffer_barriers": "VkBufferMemoryBarrier", "image_barriers": "VkImageMemoryBarrier",
}  # fmt: skip
RESULTS = {"vkGetInstanceProcAddr": "PFN_vkVoidFunction", "vkVoidFunction": "void", "vkDebugUtilsMessengerCallbackEXT": "VkBool32"}


# compiler -> how its programs run: handles are pointers in 64 bits, and numbers in 32
MACHINES = {"gcc": (), "arm-linux-gnueabihf-gcc": ("qemu-arm", "-L", "/usr/arm-linux-gnueabihf")}


def facts(include: str, folder: Path, compiler: str) -> dict[str, int]:
    """What a program says of every structure, member and constant that our header has."""
    folder.mkdir()
    lines = [f'    show("{name}", sizeof({name}));' for name in STRUCTS]
    for name, body in STRUCTS.items():
        lines += [f'    show("{name}.{member}", offsetof({name}, {member}));' for member in MEMBER.findall(body)]
    lines += [f'    show("{name}", (long long){name});' for name in [*CONSTANTS, "VK_WHOLE_SIZE"]]
    show = 'static void show(const char *name, long long value) { printf("%s %lld\\n", name, value); }'
    text = f"{include}\n#include <stddef.h>\n#include <stdio.h>\n{show}\n"
    (folder / "facts.c").write_text(text + "int main(void) {\n" + "\n".join(lines) + "\n    return 0;\n}\n")
    for name in ("api", "api_work"):
        (folder / f"net_vulkan_{name}.h").write_bytes(runtime(f"vulkan/{name}.h", "net"))
    subprocess.run(
        ["gcc", "-std=c99", "-Wall", "-Wextra", "-Wno-unused", "-Werror", "-I.", "facts.c", "-o", "facts"], cwd=folder, check=True
    )
    done = subprocess.run([folder / "facts"], capture_output=True, text=True, check=True)
    return {name: int(value) for name, value in (line.split() for line in done.stdout.splitlines())}


@pytest.fixture(autouse=True)
def _header(needs: Callable[..., None]) -> None:
    needs("gcc")
    if not Path("/usr/include/vulkan/vulkan.h").exists():
        pytest.skip("needs vulkan/vulkan.h: apt-get install libvulkan-dev")


@pytest.mark.parametrize("compiler", MACHINES)
def test_structures_and_constants_are_those_of_the_real_header(tmp_path: Path, compiler: str, needs: Callable[..., None]) -> None:
    needs(compiler, *MACHINES[compiler][:1])
    ours = facts('#include "net_vulkan_api_work.h"', tmp_path / "ours", compiler)
    real = facts("#include <vulkan/vulkan.h>", tmp_path / "real", compiler)
    assert len(STRUCTS) > 35 and len(CONSTANTS) > 60 and len(ours) > 300
    assert ours == real


def test_functions_have_the_types_of_the_real_header(tmp_path: Path) -> None:
    """Every parameter of ours, assigned from the real type: a mistaken type, count or order does not compile."""
    assert len(FUNCTIONS) > 50
    lines = ["#include <vulkan/vulkan.h>"]
    for name, result, parameters in FUNCTIONS:
        typed = re.sub(r"const void \*(\w+)", lambda found: f"const {NOTHING[found[1]]} *{found[1]}", parameters)
        kind = result or RESULTS.get(name, "VkResult")
        lines.append(f"typedef {kind}(VKAPI_PTR *OUR_{name}){typed};")
        lines.append(f"OUR_{name} our_{name}(PFN_{name} real) {{ return real; }}")
    (tmp_path / "types.c").write_text("\n".join(lines) + "\n")
    done = subprocess.run(
        ["gcc", "-std=c99", "-Werror", "-fsyntax-only", "types.c"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[:3000]
