/* SHA-256 (FIPS 180-4), of bytes that come in pieces. */
#ifndef EDGEC_SHA256_H
#define EDGEC_SHA256_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { EDGEC_SHA256_BYTES = 32, EDGEC_SHA256_BLOCK = 64 };

struct edgec_sha256 {
    uint32_t state[8];
    uint64_t bytes; /* so far; the last ones, less than a block, wait in `rest` */
    unsigned char rest[EDGEC_SHA256_BLOCK];
};

static inline uint32_t edgec_sha256_rotate(uint32_t x, int n) { return x >> n | x << (32 - n); }

static inline void edgec_sha256_blocks(uint32_t state[8], const unsigned char *p, size_t blocks) {
    static const uint32_t k[64] = {
        0x428a2f98u, 0x71374491u, 0xb5c0fbcfu, 0xe9b5dba5u, 0x3956c25bu, 0x59f111f1u, 0x923f82a4u, 0xab1c5ed5u, 0xd807aa98u, 0x12835b01u, 0x243185beu,
        0x550c7dc3u, 0x72be5d74u, 0x80deb1feu, 0x9bdc06a7u, 0xc19bf174u, 0xe49b69c1u, 0xefbe4786u, 0x0fc19dc6u, 0x240ca1ccu, 0x2de92c6fu, 0x4a7484aau,
        0x5cb0a9dcu, 0x76f988dau, 0x983e5152u, 0xa831c66du, 0xb00327c8u, 0xbf597fc7u, 0xc6e00bf3u, 0xd5a79147u, 0x06ca6351u, 0x14292967u, 0x27b70a85u,
        0x2e1b2138u, 0x4d2c6dfcu, 0x53380d13u, 0x650a7354u, 0x766a0abbu, 0x81c2c92eu, 0x92722c85u, 0xa2bfe8a1u, 0xa81a664bu, 0xc24b8b70u, 0xc76c51a3u,
        0xd192e819u, 0xd6990624u, 0xf40e3585u, 0x106aa070u, 0x19a4c116u, 0x1e376c08u, 0x2748774cu, 0x34b0bcb5u, 0x391c0cb3u, 0x4ed8aa4au, 0x5b9cca4fu,
        0x682e6ff3u, 0x748f82eeu, 0x78a5636fu, 0x84c87814u, 0x8cc70208u, 0x90befffau, 0xa4506cebu, 0xbef9a3f7u, 0xc67178f2u};
    for (; blocks > 0; blocks--, p += EDGEC_SHA256_BLOCK) {
        uint32_t w[64];
        for (int i = 0; i < 16; i++) w[i] = (uint32_t)p[4 * i] << 24 | (uint32_t)p[4 * i + 1] << 16 | (uint32_t)p[4 * i + 2] << 8 | p[4 * i + 3];
        for (int i = 16; i < 64; i++) {
            const uint32_t s0 = edgec_sha256_rotate(w[i - 15], 7) ^ edgec_sha256_rotate(w[i - 15], 18) ^ w[i - 15] >> 3;
            const uint32_t s1 = edgec_sha256_rotate(w[i - 2], 17) ^ edgec_sha256_rotate(w[i - 2], 19) ^ w[i - 2] >> 10;
            w[i] = w[i - 16] + s0 + w[i - 7] + s1;
        }
        uint32_t a = state[0], b = state[1], c = state[2], d = state[3], e = state[4], f = state[5], g = state[6], h = state[7];
        for (int i = 0; i < 64; i++) {
            const uint32_t s1 = edgec_sha256_rotate(e, 6) ^ edgec_sha256_rotate(e, 11) ^ edgec_sha256_rotate(e, 25);
            const uint32_t s0 = edgec_sha256_rotate(a, 2) ^ edgec_sha256_rotate(a, 13) ^ edgec_sha256_rotate(a, 22);
            const uint32_t t1 = h + s1 + ((e & f) ^ (~e & g)) + k[i] + w[i], t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
            h = g, g = f, f = e, e = d + t1;
            d = c, c = b, b = a, a = t1 + t2;
        }
        state[0] += a, state[1] += b, state[2] += c, state[3] += d, state[4] += e, state[5] += f, state[6] += g, state[7] += h;
    }
}

static inline void edgec_sha256_begin(struct edgec_sha256 *hash) {
    static const uint32_t start[8] = {0x6a09e667u, 0xbb67ae85u, 0x3c6ef372u, 0xa54ff53au, 0x510e527fu, 0x9b05688cu, 0x1f83d9abu, 0x5be0cd19u};
    for (int i = 0; i < 8; i++) hash->state[i] = start[i];
    hash->bytes = 0;
}

/* The next `bytes` bytes. */
static inline void edgec_sha256_add(struct edgec_sha256 *hash, const void *data, size_t bytes) {
    const unsigned char *p = (const unsigned char *)data;
    const size_t waiting = (size_t)(hash->bytes % EDGEC_SHA256_BLOCK), room = EDGEC_SHA256_BLOCK - waiting;
    hash->bytes += bytes;
    if (waiting > 0) {
        const size_t part = bytes < room ? bytes : room;
        if (part > 0) memcpy(hash->rest + waiting, p, part);
        if (part < room) return;
        edgec_sha256_blocks(hash->state, hash->rest, 1);
        p += part;
        bytes -= part;
    }
    edgec_sha256_blocks(hash->state, p, bytes / EDGEC_SHA256_BLOCK);
    if (bytes % EDGEC_SHA256_BLOCK > 0) memcpy(hash->rest, p + bytes / EDGEC_SHA256_BLOCK * EDGEC_SHA256_BLOCK, bytes % EDGEC_SHA256_BLOCK);
}

static inline void edgec_sha256_end(struct edgec_sha256 *hash, unsigned char digest[EDGEC_SHA256_BYTES]) {
    static const unsigned char padding[EDGEC_SHA256_BLOCK] = {0x80};
    unsigned char length[8];
    for (int i = 0; i < 8; i++) length[i] = (unsigned char)(hash->bytes * 8 >> (56 - 8 * i));
    const size_t waiting = (size_t)(hash->bytes % EDGEC_SHA256_BLOCK);
    edgec_sha256_add(hash, padding, (waiting < 56 ? 56 : 120) - waiting);
    edgec_sha256_add(hash, length, sizeof length);
    for (int i = 0; i < EDGEC_SHA256_BYTES; i++) digest[i] = (unsigned char)(hash->state[i / 4] >> (24 - 8 * (i % 4)));
}

/* The digest of `bytes` bytes at once. */
static inline void edgec_sha256(const void *data, size_t bytes, unsigned char digest[EDGEC_SHA256_BYTES]) {
    struct edgec_sha256 hash;
    edgec_sha256_begin(&hash);
    edgec_sha256_add(&hash, data, bytes);
    edgec_sha256_end(&hash, digest);
}

/* A digest as 64 hexadecimal digits and a zero. */
static inline void edgec_sha256_text(const unsigned char digest[EDGEC_SHA256_BYTES], char text[2 * EDGEC_SHA256_BYTES + 1]) {
    for (int i = 0; i < 2 * EDGEC_SHA256_BYTES; i++) text[i] = "0123456789abcdef"[i % 2 == 0 ? digest[i / 2] >> 4 : digest[i / 2] & 15];
    text[2 * EDGEC_SHA256_BYTES] = '\0';
}

#endif
