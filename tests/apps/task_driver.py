"""A C program that calls the functions of every case, and prints hashes of all that they write."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from edgec.emit.c_text import C_TYPES
from tests.apps.task_packages import Case

HEAD = """#include <stdio.h>
#include <stdint.h>
#include <string.h>
"""
TOOLS = """
static uint32_t state;
static uint64_t hash;
static uint32_t draw(void) { state = state * 1664525u + 1013904223u; return state >> 8; }

/* Random bytes, or floats of a few sizes; one of thirty is any pattern of bits. */
static void fill(void *to, size_t bytes, int real) {
    unsigned char *const at = (unsigned char *)to;
    for (size_t i = 0; i < bytes; i += 4) {
        uint32_t word = draw() << 16 ^ draw();
        float x = (float)(int32_t)(draw() % 4001u - 2000u) / 1000.0f;
        if (real && draw() % 30u != 0) memcpy(&word, &x, 4);
        memcpy(at + i, &word, bytes - i < 4 ? bytes - i : 4);
    }
}

static void add(const void *from, size_t bytes) {
    for (size_t i = 0; i < bytes; i++) hash = (hash ^ ((const unsigned char *)from)[i]) * UINT64_C(1099511628211);
}
"""
CALLS = {
    "classify": """        struct {name}_class best[{classes}];
        add(best, sizeof best * (size_t)({name}_classify({outputs}, {classes}, best) == 0));
""",
    "keyword": """        static struct {name}_keyword keyword;
        struct {name}_class heard;
        if (turn == 0) {name}_keyword_reset(&keyword);
        add(&heard, sizeof heard * (size_t)({name}_keyword_feed(&keyword, {outputs}, 0.3f, &heard) == 0));
""",
    "detect": """        struct {name}_box boxes[20];
        int32_t found = 0;
        if ({name}_detect({outputs}, 0.05f, 0.4f, turn, boxes, &found) != 0) return 1;
        add(&found, sizeof found);
        add(boxes, sizeof boxes[0] * (size_t)found);
""",
    "segment": """        uint8_t mask[{pixels}];
        add(mask, sizeof mask * (size_t)({name}_segment({outputs}, mask) == 0));
""",
}


def driver(cases: Mapping[str, Case]) -> str:
    text = [HEAD, *(f'#include "{name}_task.h"\n' for name in cases), TOOLS, "\nint main(void) {\n"]
    for name, case in cases.items():
        text += ["    state = 7; hash = 5;\n    for (int turn = 0; turn < 20; turn++) {\n"]
        for number, output in enumerate(case.outputs):
            array, real = f"answer_{number}", int(output.dtype.value == "float32")
            text.append(
                f"        static {C_TYPES[output.dtype]} {array}[{prod(output.shape)}];\n        fill({array}, sizeof {array}, {real});\n"
            )
        outputs = ", ".join(f"answer_{number}" for number in range(len(case.outputs)))
        task = case.task
        text += [CALLS[task.kind].format(name=name, classes=task.classes, outputs=outputs, pixels=task.height * task.width), "    }\n"]
        text.append(f'    printf("{name} %08x%08x\\n", (unsigned)(hash >> 32), (unsigned)hash);\n')
    return "".join([*text, "    return 0;\n}\n"])
