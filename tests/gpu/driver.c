/* Does with NAME on GPUs what its arguments say, and says what came of it, a line for each.

   instance=N          the words after it are about instance N of two (0)
   variant= cache= device= timeout= verify= cpu= messages=   options of the next starts
   fail=N  the Nth segment from now on fails, once, though the GPU does not
   start, stop, device, run (prints whether every answer of the exam came out right), reset, weights (other memory, same contents), weights=N (the first N bytes differ), cycle=N */
#define _POSIX_C_SOURCE 200809L

#include "NAME_exam.h"
#include "NAME_gpu.h"
#define SCALAR_BEGIN
#define SCALAR_END
#include "NAME_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static NAME_t instances[2];
static void *memories[2];
static int messages, until;
static const struct NAME_offload *whole;

static void note(void *user, const char *text) {
    (void)user;
    messages++;
    printf("message %s\n", text);
}

static void *allocate(size_t bytes) {
    void *memory = NULL;
    if (posix_memalign(&memory, MACRO_ARENA_ALIGNMENT, bytes) != 0) exit(3);
    memset(memory, 0xa5, bytes);
    return memory;
}

static int run_or_fail(void *user, int32_t first, int32_t end) {
    return --until == 0 ? MACRO_GPU_LOST : whole->run(user, first, end);
}

static void fail_later(NAME_t *instance, int segments) {
    static struct NAME_offload failing;
    if (instance->offload != &failing) whole = instance->offload;
    failing = *whole;
    failing.run = run_or_fail;
    instance->offload = &failing;
    until = segments;
}

static void run(NAME_t *instance) {
    int status = MACRO_OK, good = 1;
    for (int i = 0; i < VECTORS && status == MACRO_OK; i++) {
        const struct exam_vector *const vector = &exam_vectors[i];
        unsigned char *tensors[INPUTS + OUTPUTS];
        for (int j = 0; j < INPUTS + OUTPUTS; j++) {
            tensors[j] = (unsigned char *)allocate(vector->tensors[j].bytes);
            if (j < INPUTS) memcpy(tensors[j], exam_data() + vector->tensors[j].offset, vector->tensors[j].bytes);
        }
        if (vector->anew) NAME_reset(instance);
        status = exam_run(instance, vector->sizes, tensors);
        for (int j = 0; j < INPUTS + OUTPUTS; j++) {
            if (j >= INPUTS && memcmp(tensors[j], exam_data() + vector->tensors[j].offset, vector->tensors[j].bytes) != 0) good = 0;
            free(tensors[j]);
        }
    }
    printf("run %s%s\n", NAME_strerror(status), status != MACRO_OK ? "" : good ? " right" : " wrong");
}

static void do_word(const char *word, int *index, struct NAME_gpu_options *options) {
    NAME_t *const instance = &instances[*index];
    const char *const equals = strchr(word, '='), *const value = equals != NULL ? equals + 1 : "";
    const size_t length = equals != NULL ? (size_t)(equals - word) : strlen(word);
#define IS(name) (length == strlen(name) && strncmp(word, name, length) == 0)
    if (IS("instance")) *index = atoi(value);
    else if (IS("variant")) options->variant = value;
    else if (IS("cache")) options->cache_path = value;
    else if (IS("device")) options->device = atoi(value);
    else if (IS("timeout")) options->timeout_seconds = atof(value);
    else if (IS("verify")) options->verify = atoi(value);
    else if (IS("cpu")) options->cpu_on_failure = atoi(value);
    else if (IS("messages")) options->message = atoi(value) ? note : NULL;
    else if (IS("start")) printf("start %s\n", NAME_strerror(NAME_gpu_start(instance, memories[*index], MACRO_GPU_BYTES, options)));
    else if (IS("small")) printf("start %s\n", NAME_strerror(NAME_gpu_start(instance, memories[*index], MACRO_GPU_BYTES - 1, options)));
    else if (IS("shifted")) printf("start %s\n", NAME_strerror(NAME_gpu_start(instance, (char *)memories[*index] + 16, MACRO_GPU_BYTES, options)));
    else if (IS("stop")) NAME_gpu_stop(instance);
    else if (IS("name")) printf("name %s\n", NAME_gpu_device(instance));
    else if (IS("run")) run(instance);
    else if (IS("reset")) NAME_reset(instance);
    else if (IS("fail")) fail_later(instance, atoi(value));
    else if (IS("weights")) {
        void *const weights = allocate(MACRO_WEIGHTS_BYTES);
        memcpy(weights, NAME_weights_in_use(instance), MACRO_WEIGHTS_BYTES);
        for (int i = 0; i < atoi(value); i++) ((unsigned char *)weights)[i] ^= 5;
        NAME_set_weights_unchecked(instance, weights, MACRO_WEIGHTS_BYTES); /* lost when the program ends */
    } else if (IS("cycle")) {
        int good = 0;
        for (int i = 0; i < atoi(value); i++) {
            good += NAME_gpu_start(instance, memories[*index], MACRO_GPU_BYTES, options) == MACRO_OK;
            NAME_gpu_stop(instance);
        }
        printf("cycle %d\n", good);
    } else {
        fprintf(stderr, "driver: %s?\n", word);
        exit(2);
    }
}

int main(int argc, char **argv) {
    struct NAME_gpu_options options;
    void *arenas[2];
    int index = 0;
    memset(&options, 0, sizeof options);
    for (int i = 0; i < 2; i++) {
        arenas[i] = allocate(MACRO_ARENA_BYTES);
        memories[i] = allocate(MACRO_GPU_BYTES);
        if (NAME_init(&instances[i], arenas[i], MACRO_ARENA_BYTES) != MACRO_OK) return 4;
    }
    for (int i = 1; i < argc; i++) do_word(argv[i], &index, &options);
    for (int i = 0; i < 2; i++) {
        NAME_gpu_stop(&instances[i]);
        free(memories[i]);
        free(arenas[i]);
    }
    printf("messages %d\n", messages);
    return 0;
}
