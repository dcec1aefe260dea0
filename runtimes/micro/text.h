/* Words in and out of the exam of NAME, through the debugger, without a C library and without doubles. */
#ifndef MACRO_TEXT_H
#define MACRO_TEXT_H

#include "NAME_board.h"
#include "NAME_sha256.h"
#include "semihosting.h"

enum { LINE = 1024 };

static int32_t input, output, errors;
static char line[LINE], waiting[256];
static const char *rest = line;
static size_t held;

/* A file of the host where it has one, else the debugger's console. */
static int32_t stream(const char *path, uint32_t length, uint32_t mode) {
    const int32_t file = host_open(path, length, mode);
    return file >= 0 ? file : host_open(":tt", 3, mode);
}

static void open_streams(void) {
    input = stream("/dev/stdin", 10, MODE_READ);
    output = stream("/dev/stdout", 11, MODE_APPEND);
    errors = stream("/dev/stderr", 11, MODE_APPEND);
    if (!host_arguments(line, sizeof line)) line[0] = '\0';
    while (*rest != '\0' && *rest != ' ') rest++; /* the program's own name */
}

static void flush(void) {
    if (held > 0) host_write(output, waiting, held);
    held = 0;
}

static void put(const char *text) {
    for (; *text != '\0'; text++) {
        if (held == sizeof waiting) flush();
        waiting[held++] = *text;
    }
}

static void put_bytes(const void *data, size_t count) {
    flush();
    host_write(output, data, count);
}

__attribute__((noreturn)) static void fail(const char *what, const char *detail) {
    flush();
    output = errors;
    put("NAME_exam: "), put(what), put(detail[0] != '\0' ? ": " : ""), put(detail), put("\n");
    flush();
    host_exit(1);
}

/* Bytes read; fewer than asked for at the end alone. */
static size_t get(void *data, size_t count) {
    size_t got = 0;
    while (got < count) {
        const int32_t left = host_read(input, (char *)data + got, count - got);
        if (left < 0 || (size_t)left >= count - got) break;
        got = count - (size_t)left;
    }
    return got;
}

static int same(const char *a, const char *b) {
    while (*a != '\0' && *a == *b) a++, b++;
    return *a == *b;
}

static int alike(const void *a, const void *b, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (((const unsigned char *)a)[i] != ((const unsigned char *)b)[i]) return 0;
    }
    return 1;
}

/* The next word of the command line; 0 at its end. */
static int next_word(char *word, size_t size) {
    size_t length = 0;
    while (*rest == ' ') rest++;
    memset(word, 0, size);
    for (; *rest != '\0' && *rest != ' '; rest++) {
        if (length + 1 < size) word[length++] = *rest;
    }
    return length > 0;
}

static uint64_t digits(const char **text) {
    uint64_t value = 0;
    for (; **text >= '0' && **text <= '9' && value < 100000000u; ++*text) value = value * 10u + (uint64_t)(**text - '0');
    return value;
}

static uint64_t whole_number(const char *text) {
    const char *end = text;
    const uint64_t value = digits(&end);
    if (end == text || *end != '\0') fail("no number", text);
    return value;
}

/* Seconds as 2 or 0.25, in ticks of the clock. */
static uint64_t ticks_of(const char *text) {
    const char *end = text;
    uint64_t ticks = digits(&end) * CLOCK_HZ, unit = CLOCK_HZ;
    if (*end == '.') {
        for (end++; *end >= '0' && *end <= '9'; end++) ticks += (uint64_t)(*end - '0') * (unit /= 10u);
    }
    if (end == text || *end != '\0' || ticks == 0) fail("no seconds", text);
    return ticks;
}

static void put_number(uint64_t value) {
    char text[21];
    size_t place = sizeof text - 1;
    text[place] = '\0';
    do text[--place] = (char)('0' + value % 10u);
    while ((value /= 10u) > 0);
    put(text + place);
}

/* Thousandths, or millionths, of something. */
static void put_decimal(uint64_t value, uint64_t unit) {
    put_number(value / unit);
    put(".");
    for (uint64_t part = value % unit; unit > 1u; part %= unit) put_number(part / (unit /= 10u));
}

static void put_us(uint64_t ticks) { put_decimal(ticks * 1000u * 1000u / (CLOCK_HZ / 1000u), 1000u); }
static void put_seconds(uint64_t ticks) { put_decimal(ticks * 1000u / (CLOCK_HZ / 1000u), 1000000u); }

/* A difference as a share, to nine places. */
static void put_share(float share) {
    put_number(share < 4.0f ? (uint64_t)(uint32_t)(share * 1e9f) : share < 4e9f ? (uint64_t)(uint32_t)share : 4000000000u);
    put(share < 4.0f ? "e-9" : "");
}

/* The float near a double that is normal, zero or beyond all floats. */
static float nearby(const unsigned char *data) {
    uint64_t bits;
    float value;
    memcpy(&bits, data, sizeof bits);
    const int32_t exponent = (int32_t)(bits >> 52 & 2047u) - 1023 + 127;
    const uint32_t sign = (uint32_t)(bits >> 63) << 31, fraction = (uint32_t)(bits >> 29 & 0x7fffffu);
    const int nan = (bits & 0x7fffffffffffffffu) > 0x7ff0000000000000u;
    const uint32_t single = sign | (nan ? 0x7fc00000u : exponent <= 0 ? 0u : exponent >= 255 ? 0x7f800000u : (uint32_t)exponent << 23 | fraction);
    memcpy(&value, &single, sizeof value);
    return value;
}

static uint64_t square_root(uint64_t value) {
    uint64_t root = 0;
    for (uint64_t bit = (uint64_t)1 << 31; bit > 0; bit >>= 1) {
        if ((root + bit) * (root + bit) <= value) root += bit;
    }
    return root;
}

/* The first so many letters of the SHA-256. */
static void put_hash(const void *data, size_t count, int letters) {
    unsigned char digest[EDGEC_SHA256_BYTES];
    char text[2 * EDGEC_SHA256_BYTES + 1];
    edgec_sha256(data, count, digest);
    edgec_sha256_text(digest, text);
    text[letters] = '\0';
    put(text);
}

static int is_hash(const void *data, size_t count, const char *hash) {
    unsigned char digest[EDGEC_SHA256_BYTES];
    char text[2 * EDGEC_SHA256_BYTES + 1];
    edgec_sha256(data, count, digest);
    edgec_sha256_text(digest, text);
    return same(text, hash);
}

#endif
