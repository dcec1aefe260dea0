/* One process of the exam of NAME: its options, and all that it holds: instance, threads, weights and tensors. */
#ifndef MACRO_PROCESS_H
#define MACRO_PROCESS_H

#include "NAME_exam.h"
#include "NAME_exam_gpu.h"
#include "NAME_machine.h"
#include "NAME_pool.h"

#include <limits.h>

enum { TENSORS = INPUTS + OUTPUTS, MAX_SAMPLES = 1000000, MAX_THREADS = 1024, MAX_SECONDS = 86400, MAX_DEVICES = 16 };

struct options {
    const char *program, *isa, *weights, *sizes, *cores;
    int threads, blocks, least, json, run, isas, files, runs, samples;
    double bench, profile; /* seconds, 0: no */
    struct gpu_choice gpu;
};

struct exam {
    struct options options;
    NAME_t instance;
    struct NAME_pool *pool;
    struct gpu_exam gpu;
    unsigned char *arena, *weights, *tensors[TENSORS];
    void *pool_memory;
    int32_t sizes[SIZES + 1];
    size_t bytes[TENSORS];
    double started; /* when main began */
};

static void fail(const char *what, const char *detail) {
    fprintf(stderr, "NAME_exam: %s%s%s\n", what, detail[0] != '\0' ? ": " : "", detail);
    exit(1);
}

static void check(int status, const char *what) {
    if (status != MACRO_OK) fail(what, NAME_strerror(status));
}

static unsigned char *allocate(size_t bytes) {
    void *memory = NULL;
    if (posix_memalign(&memory, MACRO_ARENA_ALIGNMENT, bytes > 0 ? bytes : 1) != 0) fail("out of memory", "");
    return (unsigned char *)memory;
}

static int whole_number(const char *option, const char *text, int least, int most) {
    char message[80], *end = NULL;
    const long value = strtol(text, &end, 10);
    if (end == text || *end != '\0' || value < least || value > most) {
        snprintf(message, sizeof message, "%s takes a number from %d to %d, not", option, least, most);
        fail(message, text);
    }
    return (int)value;
}

static double seconds(const char *option, const char *text) {
    char message[80], *end = NULL;
    const double value = strtod(text, &end);
    if (end == text || *end != '\0' || !(value > 0.0 && value <= MAX_SECONDS)) {
        snprintf(message, sizeof message, "%s takes seconds, more than 0 and at most %d, not", option, MAX_SECONDS);
        fail(message, text);
    }
    return value;
}

static struct options parse(int argc, char **argv) {
    struct options options = {argv[0], NULL, NULL, NULL, NULL, 1, 0, -1, 0, 0, 0, 0, 1, 0, 0.0, 0.0, {0, 0, 0, 0, 0, NULL, NULL}};
    for (int i = 1; i < argc; i++) {
        const char *const word = argv[i], *const value = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(word, "--json") == 0) {
            options.json = 1;
        } else if (strcmp(word, "--run") == 0) {
            options.run = 1;
        } else if (strcmp(word, "--isas") == 0) {
            options.isas = 1;
        } else if (strcmp(word, "--files") == 0) {
            options.files = 1;
        } else if (strcmp(word, "--gpu") == 0) {
            options.gpu.wanted = 1;
        } else if (strcmp(word, "--gpu-verify") == 0) {
            options.gpu.verify = 1;
        } else if (strcmp(word, "--gpu-name") == 0) {
            options.gpu.name = 1;
        } else if (value == NULL) {
            fail("unknown option, or its value is missing", word);
        } else {
            i++;
            if (strcmp(word, "--isa") == 0) options.isa = value;
            else if (strcmp(word, "--threads") == 0) options.threads = whole_number(word, value, 1, MAX_THREADS);
            else if (strcmp(word, "--blocks") == 0) options.blocks = whole_number(word, value, 1, MACRO_MAX_BLOCKS);
            else if (strcmp(word, "--least") == 0) options.least = whole_number(word, value, 0, INT_MAX);
            else if (strcmp(word, "--cores") == 0) options.cores = value;
            else if (strcmp(word, "--bench") == 0) options.bench = seconds(word, value);
            else if (strcmp(word, "--runs") == 0) options.runs = whole_number(word, value, 1, MAX_SAMPLES);
            else if (strcmp(word, "--samples") == 0) options.samples = whole_number(word, value, 0, MAX_SAMPLES);
            else if (strcmp(word, "--profile") == 0) options.profile = seconds(word, value);
            else if (strcmp(word, "--weights") == 0) options.weights = value;
            else if (strcmp(word, "--sizes") == 0) options.sizes = value;
            else if (strcmp(word, "--gpu-device") == 0) options.gpu.device = whole_number(word, value, 1, MAX_DEVICES);
            else if (strcmp(word, "--gpu-variant") == 0) options.gpu.variant = value;
            else if (strcmp(word, "--gpu-cache") == 0) options.gpu.cache_path = value;
            else fail("unknown option", word);
        }
    }
    options.gpu.apart = options.profile > 0.0;
    if ((options.run != 0) + (options.bench > 0.0) + (options.profile > 0.0) > 1) fail("give one of --run, --bench and --profile", "");
    return options;
}

/* `file` as seen from the folder of `program`. */
static const char *beside(const char *program, const char *file) {
    static char path[4096];
    const char *const slash = strrchr(program, '/');
    snprintf(path, sizeof path, "%.*s%s", slash == NULL ? 0 : (int)(slash - program) + 1, program, file);
    return path;
}

static void load_weights(struct exam *exam, const char *path) {
    FILE *const file = fopen(path, "rb");
    if (file == NULL) fail("cannot open the weights, give them with --weights", path);
    exam->weights = allocate(MACRO_WEIGHTS_BYTES);
    if (fread(exam->weights, 1, MACRO_WEIGHTS_BYTES, file) != MACRO_WEIGHTS_BYTES) fail("the weights are too short", path);
    fclose(file);
    check(NAME_set_weights(&exam->instance, exam->weights, MACRO_WEIGHTS_BYTES), "set_weights");
}

static void use_sizes(struct exam *exam, const struct exam_vector *vector) {
    for (int i = 0; i < SIZES + 1; i++) exam->sizes[i] = vector->sizes[i];
    for (int i = 0; i < TENSORS; i++) exam->bytes[i] = vector->tensors[i].bytes;
}

static void open_exam(struct exam *exam) {
    const struct options *const options = &exam->options;
    const size_t bytes = MACRO_ARENA_BYTES_FOR(options->threads);
    const char *const refusal = options->cores != NULL ? stay_on_cores(options->cores) : NULL;
    if (refusal != NULL) {
        fprintf(stderr, "NAME_exam: cannot run on cores %s: %s\n", options->cores, refusal);
        exit(1);
    }
    exam->arena = allocate(bytes);
    /* What a tensor holds before it is written must not matter; a cold start is timed as an application has it. */
    if (options->bench == 0.0) memset(exam->arena, 0xff, bytes);
    if (MACRO_ARENA_BYTES > 0 && NAME_init(&exam->instance, exam->arena, MACRO_ARENA_BYTES - 1) == MACRO_OK) fail("init accepts an arena that is too small", "");
    check(NAME_init(&exam->instance, exam->arena, bytes), "init");
    check(exam_features(&exam->instance), "set_features");
    if (options->isa != NULL) check(NAME_force_isa(&exam->instance, options->isa), options->isa);
    if (options->threads > 1) {
        exam->pool_memory = allocate(MACRO_POOL_BYTES(options->threads));
        exam->pool = NAME_pool_start(exam->pool_memory, MACRO_POOL_BYTES(options->threads), options->threads);
        if (exam->pool == NULL) fail("the thread pool does not start", "");
        check(NAME_pool_serve(exam->pool, &exam->instance), "pool_serve");
        /* times are those of an application; answers are asked of every thread, however small the model */
        const int32_t least = options->least >= 0 ? options->least : options->bench > 0.0 || options->profile > 0.0 ? -1 : 0;
        check(NAME_set_shares(&exam->instance, options->blocks > 0 ? options->blocks : NAME_pool_blocks(exam->pool), least), "set_shares");
    }
    if (options->weights != NULL) load_weights(exam, options->weights);
    else if (NAME_weights_in_use(&exam->instance) == NULL) load_weights(exam, beside(options->program, "../src/" WEIGHTS_FILE));
    for (int i = 0; i < TENSORS; i++) exam->tensors[i] = allocate(exam_ports[i].bytes);
    use_sizes(exam, &exam_vectors[VECTORS]);
    const char *const no_gpu = options->gpu.wanted ? open_gpu(&exam->gpu, &exam->instance, &options->gpu) : NULL;
    if (no_gpu != NULL) fail("cannot use a GPU", no_gpu);
}

/* `"gpu": NAME, ` in the JSON of an exam that uses one. */
static void print_gpu(const struct exam *exam) {
    if (!exam->options.gpu.wanted) return;
    printf("\"gpu\": \"");
    for (const char *text = gpu_name(&exam->instance); *text != '\0'; text++) {
        if (*text == '"' || *text == '\\') putchar('\\');
        putchar((unsigned char)*text < 32 ? ' ' : *text);
    }
    printf("\", ");
}

/* Whether nobody had anything to say about the use of a GPU. */
static int close_exam(struct exam *exam) {
    const int silent = close_gpu(&exam->gpu, &exam->instance);
    if (exam->pool != NULL) NAME_pool_stop(exam->pool);
    for (int i = 0; i < TENSORS; i++) free(exam->tensors[i]);
    free(exam->pool_memory);
    free(exam->weights);
    free(exam->arena);
    return silent;
}

#endif
