/* Asks the example model the exam's questions through the C that its Swift class calls; prints what is wrong. With an argument there is a GPU. */
#include "digits_app.h"
#include "digits_picture.h"
#include "digits_questions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int wrong;

static void expect(int good, const char *what) {
    if (!good) printf("%s\n", what);
    wrong += !good;
}

static void ask(int32_t gpu, int32_t threads, int on_gpu) {
    struct digits_app *app;
    struct digits_class best[12];
    expect(digits_app_open(threads, gpu, &app) == DIGITS_OK, "open");
    for (int32_t i = 0; i < digits_question_count(); i++) {
        memcpy(digits_app_tensor(app, 0), digits_question(i, 0), DIGITS_INPUT_IMAGE_BYTES);
        expect(digits_app_run(app) == DIGITS_OK, "run");
        expect(digits_answer_is_right(i, 0, digits_app_tensor(app, 1), on_gpu), "answer");
        ((unsigned char *)digits_app_tensor(app, 1))[2] ^= 1;
        expect(!digits_answer_is_right(i, 0, digits_app_tensor(app, 1), 0), "another answer is wrong");
    }
    expect(digits_app_classify(app, 12, best) == DIGITS_OK && best[0].score >= best[9].score, "classify");
    expect(digits_app_tensor(app, -1) == NULL && digits_app_tensor(app, 2) == NULL, "no such tensor");
    expect((strcmp(digits_app_device(app), "none") != 0) == on_gpu && strcmp(digits_app_isa(app), "none") != 0, "isa");
    digits_app_close(app);
}

int main(int count, char **arguments) {
    struct digits_app *app = (struct digits_app *)&wrong;
    (void)arguments;
    ask(0, 1, 0);
    ask(1, 3, count > 1);
    expect(digits_question_count() > 0, "questions");
    expect(digits_app_open(0, 0, &app) == DIGITS_BAD_ARGUMENT && app == NULL, "no threads");
    expect(digits_app_open(DIGITS_APP_THREADS + 1, 0, &app) == DIGITS_BAD_ARGUMENT, "too many threads");
    expect(digits_app_open(1, 0, NULL) == DIGITS_BAD_ARGUMENT && digits_app_run(NULL) == DIGITS_BAD_ARGUMENT, "nothing");
    expect(strcmp(digits_app_strerror(DIGITS_APP_NO_MEMORY), "there is not enough memory") == 0, "words");
    expect(strcmp(digits_app_strerror(DIGITS_BAD_SIZE), digits_strerror(DIGITS_BAD_SIZE)) == 0, "the package's words");
    digits_app_close(NULL);
    printf("%d wrong\n", wrong);
    return wrong != 0;
}
