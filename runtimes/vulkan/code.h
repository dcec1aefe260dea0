/* Shaders' SPIR-V, unpacked from what NAME_shaders.c has of it. */
#ifndef MACRO_VULKAN_CODE_H
#define MACRO_VULKAN_CODE_H

#include "NAME_vulkan_host.h"

enum { HEADER_WORDS = 5, OPCODES = 128, OPERANDS = 8 };

/* Seven bits a byte, the lower ones first; the last byte has no eighth bit. */
static uint32_t next_number(const uint8_t **from) {
    uint32_t number = 0, shift = 0;
    do {
        number |= (uint32_t)(**from & 0x7f) << shift;
        shift += 7;
    } while ((*(*from)++ & 0x80) != 0);
    return number;
}

/* An instruction is its opcode times 8 plus the number of its operands (7: and how many more follows), then each operand as the difference
   from the one at the same place of the last such instruction, with the sign as the lowest bit. */
static void unpack_code(const struct NAME_code *code, uint32_t *words) {
    const uint8_t *from = code->packed;
    uint32_t last[OPCODES][OPERANDS];
    uint32_t *const end = words + code->words;
    memset(last, 0, sizeof last);
    for (int i = 0; i < HEADER_WORDS; i++) *words++ = next_number(&from);
    while (words < end) {
        const uint32_t head = next_number(&from), opcode = head / 8;
        const uint32_t count = head % 8 < 7 ? head % 8 : 7 + next_number(&from);
        *words++ = (count + 1) << 16 | opcode;
        for (uint32_t i = 0; i < count; i++) {
            const uint32_t number = next_number(&from);
            uint32_t *const same = &last[opcode % OPCODES][i % OPERANDS];
            *same += number >> 1 ^ (0 - (number & 1));
            *words++ = *same;
        }
    }
}

#endif
