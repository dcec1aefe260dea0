/* The exam of NAME: asks the package questions whose answers are known, times it, or runs it on data of your own.

   NAME_exam [--isa NAME] [--threads N [--blocks N] [--least N]] [--cores N,...] [--sizes N,...] [--weights FILE] [--json] [--files]
             [--bench SECONDS [--runs N] [--samples N] | --profile SECONDS | --run]
             [--gpu [--gpu-device N] [--gpu-variant NAME] [--gpu-cache FILE] [--gpu-verify] [--gpu-name]] [--isas]

   Without --bench, --profile or --run it gives the exam: status 1 when an answer or the weights are wrong. --run reads
   the inputs from standard input, one after the other and as many sets as come, and writes the outputs to standard output; a set
   without inputs is any byte.
   --blocks and --least are the arguments of NAME_set_shares. Without them blocks are what the pool finds right for the cores, and
   --bench and --profile leave small steps to one thread, as applications do, where all others give every thread a share.
   --gpu runs on the GPU what the package has for one, and fails where it cannot, or where validation layers have something to say.
   --files also checks the files around the program against the list that came with them: files.json on a board, else manifest.json
   and build.json. --isas names the vocabularies of the package that this processor can run, one a line. */
#if defined(__linux__)
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* to choose cores */
#endif
#elif defined(__APPLE__)
#define _DARWIN_C_SOURCE /* to tell the memory in use */
#else
#define _POSIX_C_SOURCE 200809L
#endif

#include "NAME_files.h"
#include "NAME_process.h"
#include "NAME_sha256.h"
#include "NAME_timing.h"

/* Largest difference / largest magnitude expected; infinite where only one of the two is a number, or infinities differ. */
static double difference(const unsigned char *got, const unsigned char *expected, size_t bytes, enum exam_type type) {
    const size_t count = bytes / exam_bytes_of(type);
    double worst = 0.0, largest = 0.0;
    for (size_t i = 0; i < count; i++) {
        const double a = exam_number(got, type, i), b = exam_number(expected, type, i);
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

/* The SHA-256 of these bytes as text. */
static void sha256(const void *data, size_t bytes, char text[2 * EDGEC_SHA256_BYTES + 1]) {
    unsigned char digest[EDGEC_SHA256_BYTES];
    edgec_sha256(data, bytes, digest);
    edgec_sha256_text(digest, text);
}

/* What a float output of a question may be off by. */
static double limit(const struct options *options, int index, int tensor) {
    return (options->gpu.wanted ? exam_gpu_limits : exam_limits)[index][tensor - INPUTS];
}

/* Asks one question; prints a line about it, or a JSON object. */
static int ask(struct exam *exam, int index) {
    const struct exam_vector *const vector = &exam_vectors[index];
    char hash[65];
    int passed = 1;
    use_sizes(exam, vector);
    if (vector->anew) check(NAME_reset(&exam->instance), "reset");
    for (int i = 0; i < INPUTS; i++) memcpy(exam->tensors[i], exam_data() + vector->tensors[i].offset, exam->bytes[i]);
    for (int i = INPUTS; i < TENSORS; i++) memset(exam->tensors[i], 0x5a, exam_ports[i].bytes);
    check(exam_run(&exam->instance, exam->sizes, exam->tensors), "run");
    if (exam->options.json) printf("%s\n  {\"index\": %d, \"outputs\": [", index > 0 ? "," : "", index);
    for (int i = INPUTS; i < TENSORS; i++) {
        const unsigned char *const got = exam->tensors[i], *const expected = exam_data() + vector->tensors[i].offset;
        const int exact = exam_ports[i].exact;
        const double apart = exact ? (double)(memcmp(got, expected, exam->bytes[i]) != 0) : difference(got, expected, exam->bytes[i], exam_ports[i].type);
        const int good = exact ? apart == 0.0 : apart <= limit(&exam->options, index, i);
        passed = passed && good;
        sha256(got, exam->bytes[i], hash);
        if (exam->options.json) {
            printf("%s{\"exact\": %s, \"passed\": %s, \"difference\": %.9g, \"sha256\": \"%s\"}", i > INPUTS ? ", " : "", exact ? "true" : "false", good ? "true" : "false", apart, hash);
        } else {
            printf("vector %d  %-24s %s  ", index, exam_ports[i].name, good ? "ok  " : "WRONG");
            if (exact) printf("%s  sha256 %.16s\n", good ? "exact" : "bytes differ", hash);
            else printf("difference %.3g, limit %.3g\n", apart, limit(&exam->options, index, i));
        }
    }
    if (exam->options.json) printf("], \"passed\": %s}", passed ? "true" : "false");
    return passed;
}

static int examine(struct exam *exam) {
    static struct files files;
    char hash[65];
    int passed;
    if (exam->options.files) check_files(exam->options.program, &files);
    sha256(NAME_weights_in_use(&exam->instance), MACRO_WEIGHTS_BYTES, hash);
    const int weights = strcmp(hash, WEIGHTS_SHA256) == 0;
    passed = weights && files.wrong == 0;
    if (exam->options.json) printf("{\"schema_version\": 1, \"name\": \"NAME\", \"vectors\": [");
    for (int i = 0; i < VECTORS; i++) passed = ask(exam, i) && passed;
    if (exam->options.json) {
        printf("],\n \"weights_sha256\": \"%s\", \"weights_passed\": %s, \"isa\": \"%s\", \"threads\": %d, ", hash, weights ? "true" : "false",
               NAME_isa(&exam->instance), exam->options.threads);
        print_gpu(exam);
        if (exam->options.files) print_files(&files, 1);
        printf("\"passed\": %s}\n", passed ? "true" : "false");
    } else {
        if (exam->options.files) print_files(&files, 0);
        printf("weights   %s  sha256 %.16s\n", weights ? "ok  " : "WRONG", hash);
        printf("%s: %d vectors, isa %s, %d threads\n", passed ? "passed" : "FAILED", VECTORS, NAME_isa(&exam->instance), exam->options.threads);
    }
    return passed ? 0 : 1;
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
        if (INPUTS == 0 && getchar() == EOF) return 0;
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
    }
}

static int list_vocabularies(NAME_t *instance) {
    for (size_t i = 0; i < sizeof exam_vocabularies / sizeof exam_vocabularies[0]; i++) {
        if (NAME_force_isa(instance, exam_vocabularies[i]) == MACRO_OK) puts(exam_vocabularies[i]);
    }
    return fflush(stdout) != 0;
}

int main(int argc, char **argv) {
    static struct exam exam;
    int status;
    exam.started = now();
    exam.options = parse(argc, argv);
    open_exam(&exam);
    if (exam.options.gpu.name) status = puts(gpu_name(&exam.instance)) < 0;
    else if (exam.options.isas) status = list_vocabularies(&exam.instance);
    else if (exam.options.run) status = run_sets(&exam);
    else if (exam.options.bench > 0.0) status = benchmark(&exam);
    else if (exam.options.profile > 0.0) status = profile(&exam);
    else status = examine(&exam);
    return close_exam(&exam) && status == 0 ? 0 : 1;
}
