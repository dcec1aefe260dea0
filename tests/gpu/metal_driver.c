/* Starts, runs twice and stops a package with one input and one output on the fake Metal, and prints a JSON object of what happened.

   Arguments are NAME=NUMBER: an option of the start, or PHASE.FAULT=NUMBER, where the phase in which the fake shall begin to
   have the fault is start, first or second (run). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "NAME.h"
#include "NAME_gpu.h"
#include "fake.h"

enum { INSTANCES = 2 };

static struct {
    const char *name;
    int *value;
} faults[] = {
    {"devices", &fake_metal.devices},         {"no_queue", &fake_metal.no_queue},
    {"no_commands", &fake_metal.no_commands}, {"no_encoder", &fake_metal.no_encoder},
    {"bad_source", &fake_metal.bad_source},   {"bad_pipeline", &fake_metal.bad_pipeline},
    {"missing_function", &fake_metal.missing_function}, {"missing_buffer", &fake_metal.missing_buffer},
    {"most_threads", &fake_metal.most_threads}, {"most_shared", &fake_metal.most_shared},
    {"most_bytes", &fake_metal.most_bytes},   {"error", &fake_metal.error},
    {"delay_ms", &fake_metal.delay_ms},       {"backwards", &fake_metal.backwards},
    {"idle", &fake_metal.idle},
};

static double option(int count, char **words, const char *name, double otherwise) {
    const size_t length = strlen(name);
    for (int i = 1; i < count; i++) {
        if (strncmp(words[i], name, length) == 0 && words[i][length] == '=') return atof(words[i] + length + 1);
    }
    return otherwise;
}

static void begin(int count, char **words, const char *phase) {
    char name[64];
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        snprintf(name, sizeof name, "%s.%s", phase, faults[i].name);
        *faults[i].value = (int)option(count, words, name, *faults[i].value);
    }
}

static void *aligned(size_t bytes) {
    void *memory = NULL;
    if (posix_memalign(&memory, MACRO_ARENA_ALIGNMENT, bytes) != 0) abort();
    return memset(memory, 0x5a, bytes);
}

static int messages;
static char message[512];

static void listen(void *user, const char *text) {
    if (user != message) abort();
    messages++;
    snprintf(message, sizeof message, "%s", text);
}

static void try_run(NAME_t *instance, const char *phase, unsigned char *memory, const unsigned char *expected) {
    unsigned char *const input = memory, *const output = memory + INPUT_BYTES;
    memset(output, 0x5a, OUTPUT_BYTES);
    const int status = NAME_run(instance, (const void *)input, (void *)output);
    printf("\"%s\": [%d, %s], ", phase, status, memcmp(output, expected, OUTPUT_BYTES) == 0 ? "true" : "false");
}

int main(int count, char **words) {
    NAME_t models[INSTANCES];
    void *arenas[INSTANCES], *memory[INSTANCES];
    unsigned char *const tensors = aligned(INPUT_BYTES + OUTPUT_BYTES + 64), *const expected = aligned(OUTPUT_BYTES);
    struct NAME_gpu_options options;
    memset(&options, 0, sizeof options);
    options.device = (int)option(count, words, "device", 0);
    options.verify = (int)option(count, words, "verify", 0);
    options.cpu_on_failure = (int)option(count, words, "cpu_on_failure", 0);
    options.apart = (int)option(count, words, "apart", 0);
    options.timeout_seconds = option(count, words, "timeout", 0);
    options.variant = option(count, words, "other_variant", 0) != 0 ? "dot4" : NULL;
    options.message = listen;
    options.user = message;
    for (size_t i = 0; i < INPUT_BYTES / sizeof(float); i++) ((float *)(void *)tensors)[i] = (float)((i * 37 + 11) % 101) / 50.0f - 1.0f;
    for (int i = 0; i < INSTANCES; i++) {
        arenas[i] = aligned(MACRO_ARENA_BYTES);
        memory[i] = aligned(MACRO_GPU_BYTES + 64);
        if (NAME_init(&models[i], arenas[i], MACRO_ARENA_BYTES) != MACRO_OK) abort();
    }
    if (NAME_run(&models[1], (const void *)tensors, (void *)expected) != MACRO_OK) abort();
    begin(count, words, "start");
    const size_t bytes = (size_t)option(count, words, "bytes", MACRO_GPU_BYTES);
    const int status = NAME_gpu_start(&models[0], (char *)memory[0] + (int)option(count, words, "shift", 0), bytes, &options);
    printf("{\"start\": %d, \"device\": \"%s\", ", status, NAME_gpu_device(&models[0]));
    if (status == MACRO_OK && option(count, words, "restart", 0) != 0 && NAME_gpu_start(&models[0], memory[0], MACRO_GPU_BYTES, &options) != MACRO_OK) abort();
    if (option(count, words, "both", 0) != 0 && NAME_gpu_start(&models[1], memory[1], MACRO_GPU_BYTES, &options) != MACRO_OK) abort();
    begin(count, words, "first");
    try_run(&models[0], "first", tensors, expected);
    if (option(count, words, "both", 0) != 0) NAME_gpu_stop(&models[1]);
    printf("\"nothing\": %d, ", NAME_gpu_nothing(&models[0]));
    void *const zeros = memset(aligned(MACRO_WEIGHTS_BYTES), 0, MACRO_WEIGHTS_BYTES);
    if (option(count, words, "other_weights", 0) != 0) {
        for (int i = 0; i < INSTANCES; i++) {
            if (NAME_set_weights_unchecked(&models[i], zeros, MACRO_WEIGHTS_BYTES) != MACRO_OK) abort();
        }
        if (NAME_run(&models[1], (const void *)tensors, (void *)expected) != MACRO_OK) abort();
    }
    begin(count, words, "second");
    try_run(&models[0], "second", tensors, expected);
    NAME_gpu_stop(&models[0]);
    NAME_gpu_stop(&models[0]);
    try_run(&models[0], "stopped", tensors, expected);
    fake_metal_wait();
    printf("\"alive\": %d, \"safe_math\": %d, \"command_buffers\": %d, \"barriers\": %d, \"dispatches\": %d, \"pipelines\": %d, ", fake_metal.alive,
           fake_metal.safe_math, fake_metal.command_buffers, fake_metal.barriers, fake_metal.dispatches, fake_metal.pipelines);
    printf("\"messages\": %d, \"message\": \"%s\"}\n", messages, message);
    if (fake_metal.source != NULL && option(count, words, "show_source", 0) != 0) fputs(fake_metal.source, stderr);
    for (int i = 0; i < INSTANCES; i++) free(arenas[i]), free(memory[i]);
    free(tensors), free(expected), free(zeros), free(fake_metal.source);
    return 0;
}
