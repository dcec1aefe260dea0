/* Copies of blocks, after the published Block ABI: a copy shares the objects that the block uses. No __block variables. */
#import <Foundation/Foundation.h>

#include <stdlib.h>
#include <string.h>

enum { IS_OBJECT = 3, IS_BLOCK = 7, HAS_HELPERS = 1 << 25, IS_GLOBAL = 1 << 28 };

struct block;
struct descriptor {
    unsigned long reserved, size;
    void (*copy)(struct block *to, const struct block *from);
    void (*dispose)(const struct block *block);
};
struct block {
    void *kind;
    int flags, copies;
    void (*invoke)(void);
    const struct descriptor *descriptor;
};

void *_NSConcreteStackBlock[32], *_NSConcreteGlobalBlock[32];
void *_Block_copy(const void *block);
void _Block_release(const void *block);
void _Block_object_assign(void *to, const void *object, int flags);
void _Block_object_dispose(const void *object, int flags);

void *_Block_copy(const void *argument) {
    const struct block *const block = argument;
    if (block->flags & IS_GLOBAL) return (void *)block;
    struct block *const copy = malloc(block->descriptor->size);
    if (copy == NULL || block->copies != 0) abort(); /* of a copy: never here */
    memcpy(copy, block, block->descriptor->size);
    copy->copies = 1;
    if (block->flags & HAS_HELPERS) block->descriptor->copy(copy, block);
    return copy;
}

void _Block_release(const void *argument) {
    struct block *const block = (struct block *)argument;
    if (block->flags & IS_GLOBAL) return;
    if (block->copies != 1) abort();
    if (block->flags & HAS_HELPERS) block->descriptor->dispose(block);
    free(block);
}

void _Block_object_assign(void *to, const void *object, int flags) {
    if (flags != IS_OBJECT && flags != IS_BLOCK) abort();
    *(const void **)to = flags == IS_OBJECT ? (const void *)[(id)object retain] : _Block_copy(object);
}

void _Block_object_dispose(const void *object, int flags) {
    if (flags == IS_OBJECT) [(id)object release];
    else _Block_release(object);
}
