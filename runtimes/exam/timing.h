/* How long the package takes: --bench for whole runs, --profile for each call of a run. */
#ifndef MACRO_TIMING_H
#define MACRO_TIMING_H

#include "NAME_process.h"

enum { WARM_UP_RUNS = 3, PROFILE_RUNS = 20, PROFILE_TIMES = 4000000 };

static int ascending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* By nearest rank: the smallest of the sorted samples that is not below `percent` % of them. */
static double percentile(const double *sorted, int count, int percent) {
    return sorted[((int64_t)count * percent + 99) / 100 - 1];
}

/* By Newton: the exam needs no mathematical library. */
static double square_root(double value) {
    double root = value > 1.0 ? value : 1.0;
    for (int i = 0; i < 100; i++) root = 0.5 * (root + value / root);
    return value > 0.0 ? root : 0.0;
}

/* Of a sample; 0 for a single one. */
static double standard_deviation(const double *samples, int count, double mean) {
    double sum = 0.0;
    for (int i = 0; i < count; i++) sum += (samples[i] - mean) * (samples[i] - mean);
    return count > 1 ? square_root(sum / (count - 1)) : 0.0;
}

/* What begins as a first run does: of a model with a state every measured run is the same one. */
static void run_once(struct exam *exam) {
    check(NAME_reset(&exam->instance), "reset");
    check(exam_run(&exam->instance, exam->sizes, exam->tensors), "run");
}

/* The inputs of the first question; zeros where there is none. */
static void prepare(struct exam *exam) {
    if (VECTORS > 0) use_sizes(exam, &exam_vectors[0]);
    for (int i = 0; i < INPUTS; i++) {
        if (VECTORS > 0) memcpy(exam->tensors[i], exam_data() + exam_vectors[0].tensors[i].offset, exam->bytes[i]);
        else memset(exam->tensors[i], 0, exam->bytes[i]);
    }
}

/* A tenth of the time that is then measured, half a second at most. */
static void warm_up(struct exam *exam, double measured) {
    const double end = now() + (measured < 5.0 ? measured : 5.0) * 1e5;
    for (int i = 0; i < WARM_UP_RUNS || now() < end; i++) run_once(exam);
}

/* Prints numbers as a JSON array: `kept` of `count`, evenly taken in their order. */
static void print_array(const double *numbers, int count, int kept) {
    printf("[");
    for (int i = 0; i < kept; i++) printf("%s%.3f", i > 0 ? ", " : "", numbers[(int64_t)i * count / kept]);
    printf("]");
}

static int benchmark(struct exam *exam) {
    const struct options *const options = &exam->options;
    double sum = 0.0, end, start;
    int count = 0;
    prepare(exam);
    run_once(exam);
    const double cold = now() - exam->started;
    double *const samples = (double *)(void *)allocate(MAX_SAMPLES * sizeof(double));
    warm_up(exam, options->bench);
    const long long memory = peak_memory(), first = core_frequency();
    for (end = now() + options->bench * 1e6; count < MAX_SAMPLES && (count < options->runs || now() < end); count++) {
        check(NAME_reset(&exam->instance), "reset");
        start = now();
        check(exam_run(&exam->instance, exam->sizes, exam->tensors), "run");
        samples[count] = now() - start;
        sum += samples[count];
    }
    const long long last = core_frequency();
    double *const sorted = (double *)(void *)allocate((size_t)count * sizeof(double));
    memcpy(sorted, samples, (size_t)count * sizeof(double));
    qsort(sorted, (size_t)count, sizeof sorted[0], ascending);
    const struct {
        const char *name;
        double us;
    } facts[] = {
        {"min", sorted[0]},
        {"mean", sum / count},
        {"p50", percentile(sorted, count, 50)},
        {"p90", percentile(sorted, count, 90)},
        {"p95", percentile(sorted, count, 95)},
        {"p99", percentile(sorted, count, 99)},
        {"std", standard_deviation(sorted, count, sum / count)},
        {"cold", cold},
    };
    const size_t facts_count = sizeof facts / sizeof facts[0], arena = MACRO_ARENA_BYTES_FOR(options->threads);
    const char *const isa = NAME_isa(&exam->instance);
    if (options->json) {
        printf("{\"schema_version\": 1, \"name\": \"NAME\", ");
        print_gpu(exam);
        printf("\"isa\": \"%s\", \"threads\": %d, \"runs\": %d, \"seconds\": %.6f, ", isa, options->threads, count,
               sum * 1e-6);
        for (size_t i = 0; i < facts_count; i++) printf("\"%s_us\": %.3f, ", facts[i].name, facts[i].us);
        printf("\"rss_bytes\": %lld, \"arena_bytes\": %llu, \"frequencies_khz\": ", memory, (unsigned long long)arena);
        if (first > 0 && last > 0) printf("[%lld, %lld]", first, last);
        else printf("[]");
        printf(", \"samples_us\": ");
        print_array(samples, count, options->samples < count ? options->samples : count);
        printf("}\n");
    } else {
        printf("isa %s, %d threads, %d runs in %.3f s\n", isa, options->threads, count, sum * 1e-6);
        for (size_t i = 0; i < facts_count; i++) printf("%-6s%14.3f us\n", facts[i].name, facts[i].us);
        printf("memory%14lld KiB, arena %llu KiB\n", memory / 1024, (unsigned long long)arena / 1024);
        if (first > 0 && last > 0) printf("clock %14lld MHz at first, %lld at last\n", first / 1000, last / 1000);
    }
    free(sorted);
    free(samples);
    return 0;
}

/* The observer of a profile: `user` points to the place of this run's times. */
static void note_time(void *user, int32_t call) {
    double *const *const times = (double *const *)user;
    (*times)[call] = now();
}

/* The median time of giving the GPU nothing, as often as was run; 0 without a GPU. `room` is for as many times. */
static double wait_time(struct exam *exam, double *room, int runs) {
    for (int i = 0; i < runs && exam->options.gpu.wanted; i++) {
        const double start = now();
        check(gpu_nothing(&exam->instance), "gpu_nothing");
        room[i] = now() - start;
    }
    if (!exam->options.gpu.wanted) return 0.0;
    qsort(room, (size_t)runs, sizeof room[0], ascending);
    return percentile(room, runs, 50);
}

static void print_profile(struct exam *exam, const double *medians, double wait, int runs) {
    double sum = 0.0;
    if (exam->options.json) {
        printf("{\"schema_version\": 1, \"name\": \"NAME\", ");
        print_gpu(exam);
        if (exam->options.gpu.wanted) printf("\"wait_us\": %.3f, ", wait);
        printf("\"isa\": \"%s\", \"runs\": %d, \"calls_us\": ", NAME_isa(&exam->instance), runs);
        print_array(medians, MACRO_CALLS, MACRO_CALLS);
        printf("}\n");
        return;
    }
    for (int call = 0; call < MACRO_CALLS; call++) sum += medians[call];
    printf("isa %s, %d threads, %d runs\n", NAME_isa(&exam->instance), exam->options.threads, runs);
    if (exam->options.gpu.wanted) printf("GPU calls are given one by one; each holds %.3f us of waiting\n", wait);
    for (int call = 0; call < MACRO_CALLS; call++) {
        printf("%4d  %-40s %12.3f us %5.1f %%\n", call, exam_calls[call], medians[call], sum > 0.0 ? 100.0 * medians[call] / sum : 0.0);
    }
}

static int profile(struct exam *exam) {
    const size_t row = MACRO_CALLS + 1; /* the beginning of each call, and the end of the last */
    const size_t room = PROFILE_TIMES / row;
    const int most = room < PROFILE_RUNS ? PROFILE_RUNS : room < MAX_SAMPLES ? (int)room : MAX_SAMPLES;
    double *const times = (double *)(void *)allocate((size_t)most * row * sizeof(double));
    double *const of_call = (double *)(void *)allocate((size_t)most * sizeof(double));
    double *const medians = (double *)(void *)allocate(MACRO_CALLS * sizeof(double));
    double *place = times, end;
    int runs = 0;
    prepare(exam);
    check(NAME_set_observer(&exam->instance, note_time, &place), "set_observer");
    warm_up(exam, exam->options.profile);
    for (end = now() + exam->options.profile * 1e6; runs < most && (runs < PROFILE_RUNS || now() < end); runs++) {
        place = times + (size_t)runs * row;
        run_once(exam);
    }
    for (size_t call = 0; call < MACRO_CALLS; call++) {
        for (int i = 0; i < runs; i++) of_call[i] = times[(size_t)i * row + call + 1] - times[(size_t)i * row + call];
        qsort(of_call, (size_t)runs, sizeof of_call[0], ascending);
        medians[call] = percentile(of_call, runs, 50);
    }
    print_profile(exam, medians, wait_time(exam, of_call, runs), runs);
    free(medians);
    free(of_call);
    free(times);
    return 0;
}

#endif
