/* A plugin of qemu-user 7.2 (interface 1) that tells how often each block of translated instructions ran between marks. The guest marks by
   the system call getppid with MAGIC and a number, which it returns from at once. For each mark, in the file that the argument out=FILE
   names: `mark NUMBER`, then `ADDRESS INSTRUCTIONS TIMES` of each block that ran since the one before. One thread. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of qemu's interface, what is used here: not every system has the header. */
typedef uint64_t qemu_plugin_id_t;
struct qemu_info;
struct qemu_plugin_tb;
enum { QEMU_PLUGIN_INLINE_ADD_U64 };
int qemu_plugin_version __attribute__((visibility("default"))) = 1;
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *tb);
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id, void (*told)(qemu_plugin_id_t id, struct qemu_plugin_tb *tb));
void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb *tb, int operation, void *counter, uint64_t step);
void qemu_plugin_register_vcpu_syscall_cb(qemu_plugin_id_t id, void (*told)(qemu_plugin_id_t id, unsigned cpu, int64_t number, uint64_t a1, uint64_t a2,
                                                                             uint64_t a3, uint64_t a4, uint64_t a5, uint64_t a6, uint64_t a7,
                                                                             uint64_t a8));

enum { MAGIC = 0x45444745, GETPPID = 173, GETPPID_32 = 64, CHUNK = 4096, MOST_CHUNKS = 4096 };

/* They stay where they are, for translated code counts in them. */
static struct block {
    uint64_t address, instructions, times, told;
} *chunks[MOST_CHUNKS];
static size_t blocks;
static FILE *out;

static void translated(qemu_plugin_id_t id, struct qemu_plugin_tb *tb) {
    struct block **const chunk = &chunks[blocks / CHUNK];
    struct block *block;
    (void)id;
    if (blocks / CHUNK == MOST_CHUNKS) abort();
    if (!*chunk && !(*chunk = calloc(CHUNK, sizeof **chunk))) abort();
    block = &(*chunk)[blocks++ % CHUNK];
    block->address = qemu_plugin_tb_vaddr(tb);
    block->instructions = qemu_plugin_tb_n_insns(tb);
    qemu_plugin_register_vcpu_tb_exec_inline(tb, QEMU_PLUGIN_INLINE_ADD_U64, &block->times, 1);
}

static void called(qemu_plugin_id_t id, unsigned cpu, int64_t number, uint64_t magic, uint64_t mark, uint64_t a3, uint64_t a4, uint64_t a5,
                   uint64_t a6, uint64_t a7, uint64_t a8) {
    size_t i;
    (void)id, (void)cpu, (void)a3, (void)a4, (void)a5, (void)a6, (void)a7, (void)a8;
    if ((number != GETPPID && number != GETPPID_32) || magic != MAGIC) return;
    fprintf(out, "mark %" PRIu64 "\n", mark);
    for (i = 0; i < blocks; i++) {
        struct block *const block = &chunks[i / CHUNK][i % CHUNK];
        if (block->times != block->told)
            fprintf(out, "%" PRIx64 " %" PRIu64 " %" PRIu64 "\n", block->address, block->instructions, block->times - block->told);
        block->told = block->times;
    }
    fflush(out);
}

__attribute__((visibility("default"))) int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info *info, int count, char **arguments) {
    (void)info;
    if (count != 1 || strncmp(arguments[0], "out=", 4) || !(out = fopen(arguments[0] + 4, "w"))) return 1;
    qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
    qemu_plugin_register_vcpu_syscall_cb(id, called);
    return 0;
}
