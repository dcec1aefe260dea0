/* The files around the exam program of NAME: whether they are those of the list that came with them. */
#ifndef MACRO_FILES_H
#define MACRO_FILES_H

#include "NAME_process.h"
#include "NAME_sha256.h"

enum { FILES_NAMED = 8, FILES_PATH = 1024, FILES_LINE = 2048, FILES_BLOCK = 65536 };

struct files {
    int checked, wrong;
    char list[2 * EDGEC_SHA256_BYTES + 1];    /* the hash of the last list that was read */
    char named[FILES_NAMED][FILES_PATH]; /* the first that are wrong */
};

/* Whether a file has so many bytes and this hash. */
static int is_file(const char *path, long long bytes, const char *sha256) {
    static unsigned char block[FILES_BLOCK];
    unsigned char digest[EDGEC_SHA256_BYTES];
    char text[2 * EDGEC_SHA256_BYTES + 1];
    struct edgec_sha256 hash;
    long long found = 0;
    FILE *const file = fopen(path, "rb");
    if (file == NULL) return 0;
    edgec_sha256_begin(&hash);
    for (size_t got = fread(block, 1, sizeof block, file); got > 0; got = fread(block, 1, sizeof block, file)) {
        edgec_sha256_add(&hash, block, got);
        found += (long long)got;
    }
    const int read = !ferror(file);
    fclose(file);
    edgec_sha256_end(&hash, digest);
    edgec_sha256_text(digest, text);
    return read && found == bytes && strcmp(text, sha256) == 0;
}

/* The path in a line `  "PATH": {`; 0 for any other line, and for a path that leads out. */
static int row_path(const char *line, char *path) {
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.+@/-";
    if (strncmp(line, "  \"", 3) != 0) return 0;
    const size_t length = strspn(line + 3, letters);
    if (length == 0 || length >= FILES_PATH || strcmp(line + 3 + length, "\": {") != 0) return 0;
    memcpy(path, line + 3, length);
    path[length] = '\0';
    return path[0] != '/' && strncmp(path, "../", 3) != 0 && strstr(path, "/../") == NULL;
}

static void check_row(const char *program, const char *path, long long bytes, const char *sha256, struct files *files) {
    char place[FILES_PATH + 4];
    snprintf(place, sizeof place, "../%s", path);
    files->checked++;
    if (is_file(beside(program, place), bytes, sha256)) return;
    if (files->wrong < FILES_NAMED) memcpy(files->named[files->wrong], path, strlen(path) + 1);
    files->wrong++;
}

/* Checks every row of a list as edgec writes it; 0 where there is no such list. */
static int check_list(const char *program, const char *list, struct files *files) {
    char line[FILES_LINE], path[FILES_PATH] = "", sha256[2 * EDGEC_SHA256_BYTES + 1] = "";
    unsigned char digest[EDGEC_SHA256_BYTES];
    struct edgec_sha256 hash;
    long long bytes = -1;
    int begins = 1, inside = 0; /* a line; 1 within the list, 2 behind it */
    FILE *const file = fopen(beside(program, list), "rb");
    if (file == NULL) return 0;
    edgec_sha256_begin(&hash);
    while (fgets(line, sizeof line, file) != NULL) {
        size_t length = strlen(line);
        const int whole = begins;
        edgec_sha256_add(&hash, line, length);
        begins = length > 0 && line[length - 1] == '\n';
        while (length > 0 && (line[length - 1] == '\n' || line[length - 1] == ',')) line[--length] = '\0';
        if (!whole || inside == 2) continue;
        if (inside == 0) inside = strcmp(line, " \"files\": {") == 0 ? 1 : strcmp(line, " \"files\": {}") == 0 ? 2 : 0;
        else if (strcmp(line, " }") == 0) inside = 2;
        else if (path[0] == '\0' && row_path(line, path)) bytes = -1, sha256[0] = '\0';
        else if (path[0] != '\0' && sscanf(line, "   \"bytes\": %lld", &bytes) == 1) continue;
        else if (path[0] != '\0' && sscanf(line, "   \"sha256\": \"%64[0-9a-f]\"", sha256) == 1) continue;
        else if (path[0] != '\0' && strcmp(line, "   \"executable\": true") == 0) continue;
        else if (path[0] != '\0' && strcmp(line, "  }") == 0) check_row(program, path, bytes, sha256, files), path[0] = '\0';
        else fail("the list of files cannot be read", list);
    }
    fclose(file);
    if (inside != 2) fail("the list of files cannot be read", list);
    edgec_sha256_end(&hash, digest);
    edgec_sha256_text(digest, files->list);
    return 1;
}

/* By the list of what came to a board, else by those of a package where it was built. */
static void check_files(const char *program, struct files *files) {
    if (check_list(program, "../files.json", files)) return;
    if (!check_list(program, "../manifest.json", files)) fail("there is no list of files", "files.json");
    check_list(program, "../build.json", files);
}

/* Says what was found; in JSON as members of an object. */
static void print_files(const struct files *files, int json) {
    const int named = files->wrong < FILES_NAMED ? files->wrong : FILES_NAMED;
    if (!json) {
        printf("files     %s  %d checked\n", files->wrong == 0 ? "ok  " : "WRONG", files->checked);
        for (int i = 0; i < named; i++) printf("          %s is missing, or was changed\n", files->named[i]);
        return;
    }
    printf("\"list_sha256\": \"%s\", \"files_checked\": %d, \"files_passed\": %s, \"files_changed\": [", files->list, files->checked,
           files->wrong == 0 ? "true" : "false");
    for (int i = 0; i < named; i++) printf("%s\"%s\"", i > 0 ? ", " : "", files->named[i]);
    printf("], ");
}

#endif
