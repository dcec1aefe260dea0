/* The weights as the GPU has them: those of the package and, behind them, what its shaders read as halves. */
#ifndef MACRO_GPU_HALVES_H
#define MACRO_GPU_HALVES_H

#include <string.h>

#include "NAME_gpu_tables.h"
#include "NAME_internal.h"

/* `to` has MACRO_GPU_WEIGHTS_BYTES. Numbers beyond the range of halves become its ends. */
static void NAME_copy_weights(unsigned char *to, const unsigned char *weights) {
    const float most = 65504.0f;
    memcpy(to, weights, MACRO_WEIGHTS_BYTES);
    for (const struct NAME_half_weights *item = NAME_half_weights; item->count > 0; item++) {
        for (size_t i = 0; i < item->count; i++) {
            float value;
            memcpy(&value, weights + item->from + i * sizeof value, sizeof value);
            value *= item->scale;
            const uint16_t half = edgec_float_to_half(value > most ? most : value < -most ? -most : value);
            memcpy(to + item->to + i * sizeof half, &half, sizeof half);
        }
    }
}

#endif
