/* The exam of NAME for a processor without a system: the same questions, options and answers as those of the program that other packages
   have. It talks to a debugger, or to an emulator, through semihosting.

   NAME_exam [--isa NAME] [--threads 1] [--json] [--bench SECONDS [--runs N] [--samples N] | --profile SECONDS | --run [--sizes N]] [--isas]

   Time is that of the processor's clock; where QEMU counts instructions (-icount shift=0), a microsecond is a thousand of them. */
#include "NAME_exam.h"
#include "NAME_sha256.h"
#include "NAME_text.h"

enum { TENSORS = INPUTS + OUTPUTS, MOST_SAMPLES = 200, PROFILE_RUNS = 5, WARM_UP_RUNS = 1 };

static struct {
    int json, run, isas, runs, samples;
    int32_t set; /* of shapes */
    uint64_t bench, profile; /* ticks */
    char isa[32];
} options = {0, 0, 0, 1, 0, 1, 0, 0, ""};

/* What an application has for itself: an arena, and the tensors that it gives and gets. */
static unsigned char arena[MACRO_ARENA_BYTES + 1] __attribute__((aligned(MACRO_ARENA_ALIGNMENT)));
static unsigned char memory[TENSOR_BYTES] __attribute__((aligned(MACRO_ARENA_ALIGNMENT)));
static unsigned char *tensors[TENSORS];
static size_t bytes[TENSORS];
static int32_t sizes[SIZES + 1];
static NAME_t instance;

static void check(int status, const char *what) {
    if (status != MACRO_OK) fail(what, NAME_strerror(status));
}

static void parse(void) {
    char word[32], value[32];
    while (next_word(word, sizeof word)) {
        if (same(word, "--json")) options.json = 1;
        else if (same(word, "--run")) options.run = 1;
        else if (same(word, "--isas")) options.isas = 1;
        else if (!next_word(value, sizeof value)) fail("unknown option, or its value is missing", word);
        else if (same(word, "--isa")) memcpy(options.isa, value, sizeof value);
        else if (same(word, "--bench")) options.bench = ticks_of(value);
        else if (same(word, "--profile")) options.profile = ticks_of(value);
        else if (same(word, "--runs")) options.runs = (int)whole_number(value);
        else if (same(word, "--samples")) options.samples = (int)whole_number(value);
        else if (SIZES > 0 && same(word, "--sizes")) options.set = (int32_t)whole_number(value);
        else if (same(word, "--threads") && same(value, "1")) continue;
        else fail("there is one thread, and no such option", word);
    }
}

static void use(const struct exam_vector *vector) {
    for (int i = 0; i < SIZES; i++) sizes[i] = vector->sizes[i];
    for (int i = 0; i < TENSORS; i++) bytes[i] = vector->tensors[i].bytes;
    for (int i = 0; i < INPUTS; i++) memcpy(tensors[i], exam_data() + vector->tensors[i].offset, bytes[i]);
}

static void open_exam(void) {
    size_t place = 0;
    for (int i = 0; i < TENSORS; i++) {
        tensors[i] = memory + place;
        place += (exam_ports[i].bytes + 63u) & ~(size_t)63u;
    }
    memset(arena, 0xff, sizeof arena); /* what a tensor holds before it is written must not matter */
    if (MACRO_ARENA_BYTES > 0 && NAME_init(&instance, arena, MACRO_ARENA_BYTES - 1) == MACRO_OK) fail("init accepts an arena that is too small", "");
    check(NAME_init(&instance, arena, MACRO_ARENA_BYTES), "init");
    if (options.isa[0] != '\0') check(NAME_force_isa(&instance, options.isa), options.isa);
}

/* An element of floats of any type, or of integers that rounding moves, as a float: the comparison needs no doubles, which many of these processors lack. */
static float number(const unsigned char *data, enum exam_type type, size_t index) {
    uint16_t half;
    float single;
    data += index * exam_bytes_of(type);
    if (type == EXAM_DOUBLE) return nearby(data);
    if (type >= EXAM_INT8) return (float)exam_whole(data, type);
    if (type == EXAM_FLOAT) {
        memcpy(&single, data, sizeof single);
        return single;
    }
    memcpy(&half, data, sizeof half);
    return exam_single(half, type);
}

/* Largest difference / largest magnitude expected; huge where only one of the two is a number, or infinities differ. */
static float difference(const unsigned char *got, const unsigned char *expected, size_t length, enum exam_type type) {
    float worst = 0.0f, largest = 0.0f;
    for (size_t i = 0; i < length / exam_bytes_of(type); i++) {
        const float a = number(got, type, i), b = number(expected, type, i), apart = a > b ? a - b : b - a, magnitude = b < 0.0f ? -b : b;
        if (a == b || (a != a && b != b)) {
            if (magnitude > largest && magnitude - magnitude == 0.0f) largest = magnitude;
            continue;
        }
        if (!(apart - apart == 0.0f)) return 1e30f;
        if (apart > worst) worst = apart;
        if (magnitude > largest) largest = magnitude;
    }
    return worst == 0.0f ? 0.0f : worst / (largest > 1e-30f ? largest : 1e-30f);
}

static int ask(int index) {
    const struct exam_vector *const vector = &exam_vectors[index];
    int passed = 1;
    if (vector->anew) check(NAME_reset(&instance), "reset");
    for (int i = INPUTS; i < TENSORS; i++) memset(tensors[i], 0x5a, exam_ports[i].bytes);
    use(vector);
    check(exam_run(&instance, sizes, tensors), "run");
    if (options.json) put(index > 0 ? ",\n  {\"index\": " : "\n  {\"index\": "), put_number((uint64_t)index), put(", \"outputs\": [");
    for (int i = INPUTS; i < TENSORS; i++) {
        const unsigned char *const expected = exam_data() + vector->tensors[i].offset;
        const int exact = exam_ports[i].exact;
        const float apart = exact ? (float)!alike(tensors[i], expected, bytes[i]) : difference(tensors[i], expected, bytes[i], exam_ports[i].type);
        const float limit = nearby((const unsigned char *)&exam_limits[index][i - INPUTS]);
        const int good = exact ? apart == 0.0f : apart <= limit;
        passed = passed && good;
        if (options.json) {
            put(i > INPUTS ? ", {\"exact\": " : "{\"exact\": "), put(exact ? "true" : "false"), put(", \"passed\": "), put(good ? "true" : "false");
            put(", \"difference\": "), put_share(apart), put(", \"sha256\": \""), put_hash(tensors[i], bytes[i], 64), put("\"}");
        } else {
            put("vector "), put_number((uint64_t)index), put("  "), put(exam_ports[i].name), put(good ? "  ok     " : "  WRONG  ");
            if (exact) put(good ? "exact" : "bytes differ"), put("  sha256 "), put_hash(tensors[i], bytes[i], 16);
            else put("difference "), put_share(apart), put(", limit "), put_share(limit);
            put("\n");
        }
    }
    if (options.json) put("], \"passed\": "), put(passed ? "true}" : "false}");
    return passed;
}

static int examine(void) {
    const void *const used = NAME_weights_in_use(&instance);
    const int weights = is_hash(used, MACRO_WEIGHTS_BYTES, WEIGHTS_SHA256);
    int passed = weights;
    if (options.json) put("{\"schema_version\": 1, \"name\": \"NAME\", \"vectors\": [");
    for (int i = 0; i < VECTORS; i++) passed = ask(i) && passed;
    if (options.json) {
        put("],\n \"weights_sha256\": \""), put_hash(used, MACRO_WEIGHTS_BYTES, 64), put("\", \"weights_passed\": "), put(weights ? "true" : "false");
        put(", \"isa\": \""), put(NAME_isa(&instance)), put("\", \"threads\": 1, \"passed\": "), put(passed ? "true}\n" : "false}\n");
    } else {
        put("weights   "), put(weights ? "ok     sha256 " : "WRONG  sha256 "), put_hash(used, MACRO_WEIGHTS_BYTES, 16), put("\n");
        put(passed ? "passed: " : "FAILED: "), put_number(VECTORS), put(" vectors, isa "), put(NAME_isa(&instance)), put(", 1 threads\n");
    }
    return passed ? 0 : 1;
}

static uint64_t run_once(void) {
    check(NAME_reset(&instance), "reset");
    const uint64_t start = board_ticks();
    check(exam_run(&instance, sizes, tensors), "run");
    return board_ticks() - start;
}

static void sort(uint64_t *numbers, int count) {
    for (int i = 1; i < count; i++) {
        const uint64_t number = numbers[i];
        int place = i;
        for (; place > 0 && numbers[place - 1] > number; place--) numbers[place] = numbers[place - 1];
        numbers[place] = number;
    }
}

static void fact(const char *name, uint64_t ticks) {
    put(options.json ? "\"" : ""), put(name), put(options.json ? "_us\": " : "  "), put_us(ticks), put(options.json ? ", " : " us\n");
}

/* By nearest rank. */
static uint64_t percentile(const uint64_t *sorted, int count, int percent) { return sorted[(count * percent + 99) / 100 - 1]; }

static int benchmark(void) {
    static uint64_t samples[MOST_SAMPLES], sorted[MOST_SAMPLES];
    uint64_t sum = 0;
    int count = 0;
    use(&exam_vectors[0]);
    const uint64_t first = run_once(), cold = board_ticks();
    (void)first;
    for (int i = 0; i < WARM_UP_RUNS; i++) run_once();
    for (const uint64_t end = board_ticks() + options.bench; count < MOST_SAMPLES && (count < options.runs || board_ticks() < end); count++)
        sum += samples[count] = run_once();
    memcpy(sorted, samples, sizeof sorted);
    sort(sorted, count);
    const uint64_t mean = sum / (uint64_t)count;
    uint64_t squares = 0;
    for (int i = 0; i < count; i++) squares += (samples[i] - mean) * (samples[i] - mean);
    if (options.json) put("{\"schema_version\": 1, \"name\": \"NAME\", \"isa\": \""), put(NAME_isa(&instance)), put("\", \"threads\": 1, ");
    else put("isa "), put(NAME_isa(&instance)), put(", 1 threads, "), put_number((uint64_t)count), put(" runs\n");
    fact("min", sorted[0]), fact("mean", mean), fact("p50", percentile(sorted, count, 50)), fact("p90", percentile(sorted, count, 90));
    fact("p95", percentile(sorted, count, 95)), fact("p99", percentile(sorted, count, 99));
    fact("std", count > 1 ? square_root(squares / (uint64_t)(count - 1)) : 0), fact("cold", cold);
    if (options.json) {
        put("\"runs\": "), put_number((uint64_t)count), put(", \"seconds\": "), put_seconds(sum);
        put(", \"rss_bytes\": "), put_number(board_used_bytes()), put(", \"arena_bytes\": "), put_number(MACRO_ARENA_BYTES);
        put(", \"frequencies_khz\": [], \"samples_us\": [");
        const int kept = options.samples < count ? options.samples : count;
        for (int i = 0; i < kept; i++) put(i > 0 ? ", " : ""), put_us(samples[i * count / kept]);
        put("]}\n");
    }
    return 0;
}

static uint64_t times[PROFILE_RUNS][MACRO_CALLS + 1];

static void note_time(void *user, int32_t call) { times[*(int *)user][call] = board_ticks(); }

static int profile(void) {
    int run = 0;
    use(&exam_vectors[0]);
    check(NAME_set_observer(&instance, note_time, &run), "set_observer");
    for (; run < PROFILE_RUNS; run++) run_once();
    if (options.json) put("{\"schema_version\": 1, \"name\": \"NAME\", \"isa\": \""), put(NAME_isa(&instance)), put("\", \"runs\": 5, \"calls_us\": [");
    for (int call = 0; call < MACRO_CALLS; call++) {
        uint64_t took[PROFILE_RUNS];
        for (int i = 0; i < PROFILE_RUNS; i++) took[i] = times[i][call + 1] - times[i][call];
        sort(took, PROFILE_RUNS);
        if (options.json && call > 0) put(", ");
        put_us(took[PROFILE_RUNS / 2]);
        if (!options.json) put(" us  "), put(exam_calls[call]), put("\n");
    }
    if (options.json) put("]}\n");
    return 0;
}

/* Sets of inputs from standard input, one after the other, each any byte where there are no inputs; the outputs to standard output. */
static int run_sets(void) {
    char any;
    use(&exam_vectors[VECTORS]);
    sizes[0] = options.set;
    exam_bytes(sizes, bytes);
    for (;;) {
        if (INPUTS == 0 && get(&any, 1) == 0) return 0;
        for (int i = 0; i < INPUTS; i++) {
            const size_t got = get(tensors[i], bytes[i]);
            if (i == 0 && got == 0) return 0;
            if (got != bytes[i]) fail("standard input ends within a set of inputs", exam_ports[i].name);
        }
        check(exam_run(&instance, sizes, tensors), "run");
        for (int i = INPUTS; i < TENSORS; i++) put_bytes(tensors[i], bytes[i]);
        flush();
    }
}

static int list_vocabularies(void) {
    for (size_t i = 0; i < sizeof exam_vocabularies / sizeof exam_vocabularies[0]; i++) {
        if (NAME_force_isa(&instance, exam_vocabularies[i]) == MACRO_OK) put(exam_vocabularies[i]), put("\n");
    }
    return 0;
}

int main(void) {
    int status;
    open_streams();
    parse();
    open_exam();
    if (options.isas) status = list_vocabularies();
    else if (options.run) status = run_sets();
    else if (options.bench > 0) status = benchmark();
    else if (options.profile > 0) status = profile();
    else status = examine();
    flush();
    return status;
}
