/* Starts a program on a Cortex-M without a system: memory, floating-point unit, and a clock that counts the processor's own. */
#include "NAME_board.h"
#include "semihosting.h"

#define SYSTEM(address) (*(volatile uint32_t *)(uintptr_t)(address))
#define TICK_CONTROL SYSTEM(0xE000E010u)
#define TICK_RELOAD SYSTEM(0xE000E014u)
#define TICK_VALUE SYSTEM(0xE000E018u)

enum { TICKS = 1 << 24 }; /* the clock counts down through 24 bits */

/* From board.ld. */
extern uint32_t board_stack_end[], board_data_source[], board_data[], board_data_end[], board_zeroes[], board_zeroes_end[];

int main(void);
void board_start(void);
void board_reset(void);
void board_fault(void);
void board_tick(void);

static volatile uint32_t wraps;

void board_tick(void) { wraps++; }

void board_fault(void) {
    static const char words[] = "the processor stopped at a fault\n";
    const int32_t errors = host_open("/dev/stderr", 11, MODE_APPEND);
    host_write(errors < 0 ? host_open(":tt", 3, MODE_APPEND) : errors, words, sizeof words - 1);
    host_exit(1);
}

uint32_t board_used_bytes(void) { return (uint32_t)((uintptr_t)board_stack_end - (uintptr_t)board_data); }

uint64_t board_ticks(void) {
    uint32_t before, value;
    do {
        before = wraps;
        value = TICK_VALUE;
    } while (before != wraps);
    return (uint64_t)before * TICKS + (TICKS - 1 - value);
}

__attribute__((used, noreturn)) void board_start(void) {
    const uint32_t *from = board_data_source;
    for (volatile uint32_t *to = board_data; to < board_data_end; to++) *to = *from++;
    for (volatile uint32_t *to = board_zeroes; to < board_zeroes_end; to++) *to = 0;
    TICK_RELOAD = TICKS - 1;
    TICK_VALUE = 0;
    TICK_CONTROL = 7; /* of the processor's clock, with an interrupt when it wraps */
    host_exit(main());
}

/* Nothing that a compiler makes may come before the floating-point unit, and Helium, are there. */
__attribute__((naked)) void board_reset(void) {
    __asm__ volatile(
        "ldr r0, =0xE000ED88\n\tldr r1, [r0]\n\torr r1, r1, #0xF00000\n\tstr r1, [r0]\n\tdsb\n\tisb\n\t"
        "ldr r0, =board_stack_end\n\tmov sp, r0\n\tbl board_start\n\t.ltorg");
}

typedef void (*handler)(void);
__attribute__((used, section(".vectors"))) const handler board_vectors[16] = {
    (handler)(uintptr_t)board_stack_end, board_reset, board_fault, board_fault, board_fault, board_fault, board_fault, board_fault,
    board_fault, board_fault, board_fault, board_fault, board_fault, board_fault, board_fault, board_tick};
