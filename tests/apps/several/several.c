/* Asks a model of several sets of shapes the exam's questions through the C that its Swift class calls; prints what is wrong. */
#include "rows_app.h"
#include "rows_questions.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

static int wrong;

static void expect(int good, const char *what) {
    if (!good) printf("%s\n", what);
    wrong += !good;
}

/* Elements of x, mask, y, z and w in each set. */
static const size_t elements[3][5] = {{32, 4, 20, 5, 4}, {256, 32, 160, 10, 32}, {32, 4, 20, 20, 4}};
static const size_t width[5] = {4, 8, 4, 4, 8};

/* What a set has no place for stays as it was. */
static void ask(struct rows_app *app, int32_t question) {
    const int32_t set = rows_question_set(question);
    expect(set >= 1 && set <= 3, "a set");
    for (int32_t i = 0; i < 5; i++) memset(rows_app_tensor(app, i), 0x55, elements[1][i] * width[i]);
    for (int32_t i = 0; i < 2; i++) memcpy(rows_app_tensor(app, i), rows_question(question, i), elements[set - 1][i] * width[i]);
    expect(rows_app_run(app, set) == ROWS_OK, "run");
    for (int32_t i = 0; i < 3; i++) expect(rows_answer_is_right(question, i, rows_app_tensor(app, 2 + i), 0), "answer");
    if (set == 3) expect(rows_app_run(app, 1) == ROWS_OK && !rows_answer_is_right(question, 1, rows_app_tensor(app, 3), 0), "of another set");
    for (int32_t i = 0; i < 5; i++) {
        const unsigned char *const tensor = rows_app_tensor(app, i);
        for (size_t at = elements[set - 1][i] * width[i]; at < elements[1][i] * width[i]; at++) expect(tensor[at] == 0x55, "past the end");
    }
}

int main(void) {
    const int32_t numbers[] = {0, -1, 4, INT_MAX, INT_MIN};
    for (int32_t threads = 1; threads <= 2; threads++) {
        struct rows_app *app;
        expect(rows_app_open(threads, 0, &app) == ROWS_OK, "open");
        for (int32_t i = rows_question_count() - 1; i >= 0; i--) ask(app, i);
        for (int i = 0; i < 5; i++) expect(rows_app_run(app, numbers[i]) == ROWS_BAD_SIZE, "no such set");
        rows_app_close(app);
    }
    expect(rows_question_count() == 6 && rows_app_run(NULL, 1) == ROWS_BAD_ARGUMENT, "nothing");
    printf("%d wrong\n", wrong);
    return wrong != 0;
}
