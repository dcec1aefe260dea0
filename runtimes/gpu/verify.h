/* The same question to the GPU and to the processor. */
#ifndef MACRO_GPU_VERIFY_H
#define MACRO_GPU_VERIFY_H

#include "NAME_gpu.h"
#include "NAME_gpu_tables.h"
#include "NAME_internal.h"

/* Fixed pseudo-random numbers: bytes of all values, floats in [-1, 1), other integers 0, which are good indices. */
static void invent(unsigned char *data, const struct NAME_port *port) {
    uint32_t state = 12345;
    memset(data, 0, port->bytes);
    for (size_t i = 0; i < port->bytes; i += port->element_bytes) {
        state = state * 1664525u + 1013904223u;
        const double value = (double)(int32_t)state / 2147483648.0;
        const float single = (float)value;
        if (port->kind == PORT_BYTES) data[i] = (unsigned char)(state >> 24);
        if (port->kind == PORT_BOOL) data[i] = (unsigned char)(state >> 31);
        const uint16_t half = edgec_float_to_half(single);
        const uint16_t bfloat = edgec_float_to_bfloat(single);
        if (port->kind == PORT_HALF) memcpy(data + i, &half, sizeof half);
        if (port->kind == PORT_BFLOAT) memcpy(data + i, &bfloat, sizeof bfloat);
        if (port->kind == PORT_FLOAT) memcpy(data + i, &single, sizeof single);
        if (port->kind == PORT_DOUBLE) memcpy(data + i, &value, sizeof value);
    }
}

static double number_at(const unsigned char *data, enum NAME_port_kind kind) {
    float single;
    double value;
    if (kind == PORT_HALF || kind == PORT_BFLOAT) {
        uint16_t half;
        memcpy(&half, data, sizeof half);
        return kind == PORT_HALF ? edgec_half_to_float(half) : edgec_bfloat_to_float(half);
    }
    if (kind == PORT_FLOAT) {
        memcpy(&single, data, sizeof single);
        return single;
    }
    memcpy(&value, data, sizeof value);
    return value;
}

static int agree(const unsigned char *got, const unsigned char *expected, const struct NAME_port *port) {
    double worst = 0.0, largest = 0.0;
    if (memcmp(got, expected, port->bytes) == 0) return 1;
    if (port->exact) return 0;
    for (size_t i = 0; i < port->bytes; i += port->element_bytes) {
        const double a = number_at(got + i, port->kind), b = number_at(expected + i, port->kind);
        const double apart = a > b ? a - b : b - a, magnitude = b < 0.0 ? -b : b;
        if (magnitude - magnitude == 0.0 && magnitude > largest) largest = magnitude;
        if (a == b || (a != a && b != b)) continue;
        if (!(apart - apart == 0.0)) return 0;
        if (apart > worst) worst = apart;
    }
    return worst <= NAME_gpu_tolerance * largest;
}

/* Runs the whole network with the offload and without, from the start each time; MACRO_GPU_UNFIT when the answers differ.
   `memory`: 2 * MACRO_GPU_IO_BYTES. */
static int NAME_gpu_compare(NAME_t *instance, const struct NAME_offload *offload, unsigned char *memory) {
    unsigned char *tensors[2][PORTS];
    memset(memory, 0x5a, 2 * (size_t)MACRO_GPU_IO_BYTES);
    for (int i = 0; i < PORTS; i++) {
        tensors[0][i] = memory + NAME_ports[i].offset;
        tensors[1][i] = NAME_ports[i].is_input ? tensors[0][i] : tensors[0][i] + MACRO_GPU_IO_BYTES;
        if (NAME_ports[i].is_input) invent(tensors[0][i], &NAME_ports[i]);
    }
    instance->offload = offload;
    int status = NAME_reset(instance);
    if (status == MACRO_OK) status = NAME_gpu_run(instance, tensors[0]);
    instance->offload = NULL;
    if (status == MACRO_OK) status = NAME_reset(instance);
    if (status == MACRO_OK) status = NAME_gpu_run(instance, tensors[1]);
    if (status == MACRO_OK) status = NAME_reset(instance);
    for (int i = 0; i < PORTS && status == MACRO_OK; i++) {
        if (!agree(tensors[0][i], tensors[1][i], &NAME_ports[i])) status = MACRO_GPU_UNFIT;
    }
    return status;
}

#endif
