/* The shaders of NAME as the Metal host reads them, from NAME_metal_source.c. */
#ifndef MACRO_METAL_H
#define MACRO_METAL_H

extern const char *const NAME_metal_names[];  /* of the kernels, in the order of NAME_shaders; then NULL */
extern const char *const NAME_metal_source[]; /* whole lines of Metal source; then NULL */

#endif
