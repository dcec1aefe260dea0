/* The exam of NAME: asks the package questions whose answers are known, times it, or runs it on data of your own.

   NAME_exam [--isa NAME] [--threads N] [--sizes N,...] [--weights FILE] [--json] [--bench SECONDS | --run]

   Without --bench or --run it gives the exam: status 1 when an answer or the weights are wrong. --run reads the inputs
   from standard input, one after the other and as many sets as come, and writes the outputs to standard output. */
#define _POSIX_C_SOURCE 200809L

#include "NAME_exam.h"
#include "NAME_pool.h"
#include "NAME_sha256.h"

#include <stdlib.h>
#include <time.h>
#if defined(__linux__) && defined(__aarch64__)
#include <sys/auxv.h>
#endif

enum { TENSORS = INPUTS + OUTPUTS, MAX_SAMPLES = 1000000, WARM_UP = 3 };

struct options {
    const char *program, *isa, *weights, *sizes;
    int threads, json, run;
    double bench;
};

/* Everything that one process of the exam holds. */
struct exam {
    struct options options;
    NAME_t instance;
    struct NAME_pool *pool;
    unsigned char *arena, *weights, *tensors[TENSORS];
    void *pool_memory;
    int32_t sizes[SIZES + 1];
    size_t bytes[TENSORS];
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

static struct options parse(int argc, char **argv) {
    struct options options = {argv[0], NULL, NULL, NULL, 1, 0, 0, 0.0};
    for (int i = 1; i < argc; i++) {
        const char *const word = argv[i], *const value = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(word, "--json") == 0) {
            options.json = 1;
        } else if (strcmp(word, "--run") == 0) {
            options.run = 1;
        } else if (value == NULL) {
            fail("unknown option, or its value is missing", word);
        } else {
            i++;
            if (strcmp(word, "--isa") == 0) options.isa = value;
            else if (strcmp(word, "--threads") == 0) options.threads = atoi(value);
            else if (strcmp(word, "--bench") == 0) options.bench = atof(value);
            else if (strcmp(word, "--weights") == 0) options.weights = value;
            else if (strcmp(word, "--sizes") == 0) options.sizes = value;
            else fail("unknown option", word);
        }
    }
    if (options.threads < 1 || options.threads > 1024) fail("--threads takes a number from 1 to 1024", "");
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
    const size_t bytes = MACRO_ARENA_BYTES_FOR(exam->options.threads);
    exam->arena = allocate(bytes);
    memset(exam->arena, 0xff, bytes); /* what a tensor holds before it is written must not matter */
    if (MACRO_ARENA_BYTES > 0 && NAME_init(&exam->instance, exam->arena, MACRO_ARENA_BYTES - 1) == MACRO_OK) fail("init accepts an arena that is too small", "");
    check(NAME_init(&exam->instance, exam->arena, bytes), "init");
#if defined(__linux__) && defined(__aarch64__)
    check(NAME_set_features(&exam->instance, getauxval(AT_HWCAP), getauxval(AT_HWCAP2)), "set_features");
#endif
    if (exam->options.isa != NULL) check(NAME_force_isa(&exam->instance, exam->options.isa), exam->options.isa);
    if (exam->options.threads > 1) {
        exam->pool_memory = allocate(MACRO_POOL_BYTES(exam->options.threads));
        exam->pool = NAME_pool_start(exam->pool_memory, MACRO_POOL_BYTES(exam->options.threads), exam->options.threads);
        if (exam->pool == NULL) fail("the thread pool does not start", "");
        check(NAME_set_parallel(&exam->instance, NAME_pool_parallel_for, exam->pool, exam->options.threads), "set_parallel");
    }
    if (exam->options.weights != NULL) load_weights(exam, exam->options.weights);
    else if (NAME_weights_in_use(&exam->instance) == NULL) load_weights(exam, beside(exam->options.program, "../src/" WEIGHTS_FILE));
    for (int i = 0; i < TENSORS; i++) exam->tensors[i] = allocate(exam_ports[i].bytes);
    use_sizes(exam, &exam_vectors[VECTORS]);
}

static void close_exam(struct exam *exam) {
    if (exam->pool != NULL) NAME_pool_stop(exam->pool);
    for (int i = 0; i < TENSORS; i++) free(exam->tensors[i]);
    free(exam->pool_memory);
    free(exam->weights);
    free(exam->arena);
}

static double value_at(const unsigned char *data, enum exam_type type, size_t index) {
    float single;
    double value;
    if (type == EXAM_FLOAT) {
        memcpy(&single, data + 4 * index, sizeof single);
        return single;
    }
    memcpy(&value, data + 8 * index, sizeof value);
    return value;
}

/* Largest difference / largest magnitude expected; infinite where only one of the two is a number, or infinities differ. */
static double difference(const unsigned char *got, const unsigned char *expected, size_t bytes, enum exam_type type) {
    const size_t count = bytes / (type == EXAM_FLOAT ? 4 : 8);
    double worst = 0.0, largest = 0.0;
    for (size_t i = 0; i < count; i++) {
        const double a = value_at(got, type, i), b = value_at(expected, type, i);
        const double apart = a > b ? a - b : b - a, magnitude = b < 0.0 ? -b : b;
        if (a == b || (a != a && b != b)) {
            if (magnitude > largest && magnitude - magnitude == 0.0) largest = magnitude;
            continue;
        }
        if (!(apart - apart == 0.0)) return 1e300;
        if (apart > worst) worst = apart;
        if (magnitude > largest) largest = magnitude;
    }
    return worst == 0.0 ? 0.0 : worst / (largest > 1e-30 ? largest : 1e-30);
}

/* Asks one question; prints a line about it, or a JSON object. */
static int ask(struct exam *exam, int index) {
    const struct exam_vector *const vector = &exam_vectors[index];
    char hash[65];
    int passed = 1;
    use_sizes(exam, vector);
    for (int i = 0; i < INPUTS; i++) memcpy(exam->tensors[i], exam_data() + vector->tensors[i].offset, exam->bytes[i]);
    for (int i = INPUTS; i < TENSORS; i++) memset(exam->tensors[i], 0x5a, exam_ports[i].bytes);
    check(exam_run(&exam->instance, exam->sizes, exam->tensors), "run");
    if (exam->options.json) printf("%s\n  {\"index\": %d, \"outputs\": [", index > 0 ? "," : "", index);
    for (int i = INPUTS; i < TENSORS; i++) {
        const unsigned char *const got = exam->tensors[i], *const expected = exam_data() + vector->tensors[i].offset;
        const int exact = exam_ports[i].exact || exam_ports[i].type == EXAM_BYTES;
        const double apart = exact ? (double)(memcmp(got, expected, exam->bytes[i]) != 0) : difference(got, expected, exam->bytes[i], exam_ports[i].type);
        const int good = exact ? apart == 0.0 : apart <= TOLERANCE;
        passed = passed && good;
        sha256(got, exam->bytes[i], hash);
        if (exam->options.json) {
            printf("%s{\"exact\": %s, \"passed\": %s, \"difference\": %.9g, \"sha256\": \"%s\"}", i > INPUTS ? ", " : "", exact ? "true" : "false", good ? "true" : "false", apart, hash);
        } else {
            printf("vector %d  %-24s %s  ", index, exam_ports[i].name, good ? "ok  " : "WRONG");
            if (exact) printf("%s  sha256 %.16s\n", good ? "exact" : "bytes differ", hash);
            else printf("difference %.3g, limit %.3g\n", apart, (double)TOLERANCE);
        }
    }
    if (exam->options.json) printf("], \"passed\": %s}", passed ? "true" : "false");
    return passed;
}

static int examine(struct exam *exam) {
    char hash[65];
    int passed;
    sha256(NAME_weights_in_use(&exam->instance), MACRO_WEIGHTS_BYTES, hash);
    const int weights = strcmp(hash, WEIGHTS_SHA256) == 0;
    passed = weights;
    if (exam->options.json) printf("{\"schema_version\": 1, \"name\": \"NAME\", \"vectors\": [");
    for (int i = 0; i < VECTORS; i++) passed = ask(exam, i) && passed;
    if (exam->options.json) {
        printf("],\n \"weights_sha256\": \"%s\", \"weights_passed\": %s, \"isa\": \"%s\", \"threads\": %d, \"passed\": %s}\n", hash, weights ? "true" : "false",
               NAME_isa(&exam->instance), exam->options.threads, passed ? "true" : "false");
    } else {
        printf("weights   %s  sha256 %.16s\n", weights ? "ok  " : "WRONG", hash);
        printf("%s: %d vectors, isa %s, %d threads\n", passed ? "passed" : "FAILED", VECTORS, NAME_isa(&exam->instance), exam->options.threads);
    }
    return passed ? 0 : 1;
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec * 1e-3;
}

static int ascending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int benchmark(struct exam *exam) {
    double *const samples = (double *)(void *)allocate(MAX_SAMPLES * sizeof(double));
    double sum = 0.0, end, start;
    int count = 0;
    if (VECTORS > 0) use_sizes(exam, &exam_vectors[0]);
    for (int i = 0; i < INPUTS; i++) {
        if (VECTORS > 0) memcpy(exam->tensors[i], exam_data() + exam_vectors[0].tensors[i].offset, exam->bytes[i]);
        else memset(exam->tensors[i], 0, exam->bytes[i]);
    }
    for (int i = 0; i < WARM_UP; i++) check(exam_run(&exam->instance, exam->sizes, exam->tensors), "run");
    for (end = now() + exam->options.bench * 1e6; count < MAX_SAMPLES && (count == 0 || now() < end); count++) {
        start = now();
        check(exam_run(&exam->instance, exam->sizes, exam->tensors), "run");
        samples[count] = now() - start;
        sum += samples[count];
    }
    qsort(samples, (size_t)count, sizeof samples[0], ascending);
    const double p50 = samples[count / 2], p90 = samples[(int)((int64_t)count * 9 / 10)];
    if (exam->options.json) {
        printf("{\"schema_version\": 1, \"name\": \"NAME\", \"isa\": \"%s\", \"threads\": %d, \"runs\": %d, ", NAME_isa(&exam->instance), exam->options.threads, count);
        printf("\"min_us\": %.3f, \"p50_us\": %.3f, \"mean_us\": %.3f, \"p90_us\": %.3f}\n", samples[0], p50, sum / count, p90);
    } else {
        printf("isa %s, %d threads, %d runs: min %.1f us, p50 %.1f us, mean %.1f us, p90 %.1f us\n", NAME_isa(&exam->instance), exam->options.threads, count,
               samples[0], p50, sum / count, p90);
    }
    free(samples);
    return 0;
}

/* Largest sizes, or those of --sizes; the bytes of each tensor are then what the Program says. */
static void read_sizes(struct exam *exam) {
    const char *text = exam->options.sizes;
    for (int i = 0; i < SIZES && text != NULL; i++) {
        char *end = NULL;
        exam->sizes[i] = (int32_t)strtol(text, &end, 10);
        text = *end == ',' ? end + 1 : NULL;
    }
    exam_bytes(exam->sizes, exam->bytes);
}

static int run_sets(struct exam *exam) {
    read_sizes(exam);
    for (;;) {
        for (int i = 0; i < INPUTS; i++) {
            const size_t got = fread(exam->tensors[i], 1, exam->bytes[i], stdin);
            if (i == 0 && got == 0 && feof(stdin)) return 0;
            if (got != exam->bytes[i]) fail("standard input ends within a set of inputs", exam_ports[i].name);
        }
        check(exam_run(&exam->instance, exam->sizes, exam->tensors), "run");
        for (int i = INPUTS; i < TENSORS; i++) {
            if (fwrite(exam->tensors[i], 1, exam->bytes[i], stdout) != exam->bytes[i]) fail("cannot write", exam_ports[i].name);
        }
        fflush(stdout);
        if (INPUTS == 0) return 0;
    }
}

int main(int argc, char **argv) {
    static struct exam exam;
    int status;
    exam.options = parse(argc, argv);
    open_exam(&exam);
    status = exam.options.run ? run_sets(&exam) : exam.options.bench > 0.0 ? benchmark(&exam) : examine(&exam);
    close_exam(&exam);
    return status;
}
