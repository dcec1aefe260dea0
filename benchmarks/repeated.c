/* Times one task over and over. Of a package's run: a step that threads could share is handed over with what computes it, and that is done
   here as often as wanted, each time from the same inputs. */
#include <stddef.h>
#include <stdint.h>
#include <time.h>

enum { LINE = 64, MOST_KEPT = 4 };

typedef void (*task_t)(void *argument, int32_t part, int32_t parts);

struct repeated {
    int32_t call, wanted; /* of a run, the one that is under way, and the one that is timed */
    int32_t turns, times;
    double least; /* nanoseconds: of `turns`, the mean of `times` in a row that is least */
    const volatile uint8_t *other; /* what is read before each turn, that caches hold it */
    size_t other_bytes;
    const volatile uint8_t *kept[MOST_KEPT]; /* what is read then */
    size_t kept_bytes[MOST_KEPT];
};

/* A layer that is a function of its own. */
struct layer {
    void (*run)(const void *x, const void *w, const void *bias, const float *scale, void *y);
    const void *x, *w, *bias;
    const float *scale;
    void *y;
};

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void touch(const volatile uint8_t *bytes, size_t count) {
    size_t i;
    for (i = 0; i < count; i += LINE) (void)bytes[i];
}

static void time_task(struct repeated *repeated, task_t task, void *argument) {
    int32_t turn, time, i;
    for (turn = 0; turn < repeated->turns; turn++) {
        double start, mean;
        touch(repeated->other, repeated->other_bytes);
        for (i = 0; i < MOST_KEPT; i++) touch(repeated->kept[i], repeated->kept_bytes[i]);
        start = now();
        for (time = 0; time < repeated->times; time++) task(argument, 0, 1);
        mean = (now() - start) / repeated->times;
        if (mean < repeated->least) repeated->least = mean;
    }
}

static void run_layer(void *argument, int32_t part, int32_t parts) {
    const struct layer *const layer = (const struct layer *)argument;
    (void)part;
    (void)parts;
    layer->run(layer->x, layer->w, layer->bias, layer->scale, layer->y);
}

void time_layer(struct repeated *repeated, struct layer *layer) { time_task(repeated, run_layer, layer); }

/* For NAME_set_observer. */
void begins(void *user, int32_t call) { ((struct repeated *)user)->call = call; }

/* For NAME_set_parallel. */
void repeats(void *user, task_t task, void *argument, int32_t parts) {
    struct repeated *const repeated = (struct repeated *)user;
    (void)parts;
    task(argument, 0, 1);
    if (repeated->call == repeated->wanted) time_task(repeated, task, argument);
}
