/* Foundation and libdispatch, as far as the Metal host uses them, on a GNU runtime, with true reference counts. */
#import <Foundation/Foundation.h>
#import "fake.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#import "foundation.h"

id class_createInstance(Class type, size_t extra);
id object_dispose(id object);
size_t class_getInstanceSize(Class type);

static __thread struct pool {
    struct pool *outer;
    id objects[4096];
    int count;
} *pool;

/* The count stands behind the instance, so that constant strings are laid out as the compiler does it. */
static int *owners(id object) {
    return (int *)((char *)object + (class_getInstanceSize(((NSObject *)object)->kind) + 15) / 16 * 16);
}

@implementation NSObject
+ (instancetype)alloc {
    NSObject *const object = class_createInstance(self, 32);
    *owners(object) = 1;
    __atomic_add_fetch(&fake_metal.alive, 1, __ATOMIC_SEQ_CST);
    return object;
}
+ (instancetype)new {
    return [[self alloc] init];
}
- (instancetype)init {
    return self;
}
- (instancetype)retain {
    __atomic_add_fetch(owners(self), 1, __ATOMIC_SEQ_CST);
    return self;
}
- (oneway void)release {
    const int left = __atomic_sub_fetch(owners(self), 1, __ATOMIC_SEQ_CST);
    if (left < 0) abort();
    if (left == 0) [self dealloc];
}
- (instancetype)autorelease {
    if (pool == NULL || pool->count == 4096) abort(); /* a leak on a Mac */
    pool->objects[pool->count++] = self;
    return self;
}
- (void)dealloc {
    __atomic_sub_fetch(&fake_metal.alive, 1, __ATOMIC_SEQ_CST);
    object_dispose(self);
}
@end

/* What clang makes @autoreleasepool of. */
@interface NSAutoreleasePool : NSObject {
    struct pool *mine;
}
- (void)drain;
@end

@implementation NSAutoreleasePool
- (instancetype)init {
    mine = calloc(1, sizeof *mine);
    mine->outer = pool;
    pool = mine;
    return self;
}
- (void)drain {
    if (pool != mine) abort();
    for (int i = 0; i < mine->count; i++) [mine->objects[i] release];
    pool = mine->outer;
    free(mine);
    [self release];
}
@end

CFTypeRef CFRetain(CFTypeRef object) {
    if (object == NULL) abort();
    return [(id)object retain];
}

void CFRelease(CFTypeRef object) {
    if (object == NULL) abort();
    [(id)object release];
}

@implementation NSString
+ (instancetype)stringWithUTF8String:(const char *)bytes {
    NSMutableString *const string = [[[NSMutableString alloc] init] autorelease];
    [string appendBytes:bytes];
    return (id)string;
}
+ (instancetype)stringWithFormat:(NSString *)format, ... {
    char buffer[4096];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(buffer, sizeof buffer, [format UTF8String], arguments);
    va_end(arguments);
    return [self stringWithUTF8String:buffer];
}
- (const char *)UTF8String {
    abort();
}
@end

/* Part of the program: it counts nothing. */
@implementation NSConstantString
- (instancetype)retain {
    return self;
}
- (oneway void)release {
}
- (const char *)UTF8String {
    return characters;
}
@end

@implementation NSMutableString
- (void)appendBytes:(const char *)bytes {
    const size_t more = strlen(bytes);
    text = realloc(text, length + more + 1);
    memcpy(text + length, bytes, more + 1);
    length += more;
}
- (void)appendString:(NSString *)string {
    [self appendBytes:[string UTF8String]];
}
- (const char *)UTF8String {
    return text != NULL ? text : "";
}
- (void)dealloc {
    free(text);
    [super dealloc];
}
@end

@implementation NSArray
- (instancetype)initWithObject:(id (*)(NSUInteger))make count:(NSUInteger)number {
    count = number;
    for (NSUInteger i = 0; i < number; i++) objects[i] = make(i);
    return self;
}
- (NSUInteger)count {
    return count;
}
- (id)objectAtIndex:(NSUInteger)index {
    if (index >= count) abort();
    return objects[index];
}
- (void)dealloc {
    for (NSUInteger i = 0; i < count; i++) [objects[i] release];
    [super dealloc];
}
@end

@implementation NSError
- (instancetype)initWithCode:(NSInteger)number {
    code = number;
    return self;
}
- (NSInteger)code {
    return code;
}
- (NSString *)localizedDescription {
    return [NSString stringWithFormat:@"fake error %d", (int)code];
}
@end

@interface Semaphore : NSObject <OS_dispatch_semaphore> {
@public
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    intptr_t value;
}
@end

@implementation Semaphore
- (void)dealloc {
    pthread_mutex_destroy(&mutex);
    pthread_cond_destroy(&changed);
    [super dealloc];
}
@end

dispatch_time_t dispatch_time(dispatch_time_t when, int64_t delta) {
    struct timespec now;
    (void)when;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec + (uint64_t)delta;
}

dispatch_semaphore_t dispatch_semaphore_create(intptr_t value) {
    Semaphore *const made = [[Semaphore alloc] init];
    pthread_mutex_init(&made->mutex, NULL);
    pthread_cond_init(&made->changed, NULL);
    made->value = value;
    return made;
}

intptr_t dispatch_semaphore_wait(dispatch_semaphore_t waited, dispatch_time_t timeout) {
    Semaphore *const semaphore = (Semaphore *)waited;
    const struct timespec end = {(time_t)(timeout / 1000000000u), (long)(timeout % 1000000000u)};
    int late = 0;
    pthread_mutex_lock(&semaphore->mutex);
    while (semaphore->value == 0 && late != ETIMEDOUT) late = pthread_cond_timedwait(&semaphore->changed, &semaphore->mutex, &end);
    if (semaphore->value > 0) {
        semaphore->value--;
        late = 0;
    }
    pthread_mutex_unlock(&semaphore->mutex);
    return late;
}

intptr_t dispatch_semaphore_signal(dispatch_semaphore_t signalled) {
    Semaphore *const semaphore = (Semaphore *)signalled;
    pthread_mutex_lock(&semaphore->mutex);
    semaphore->value++;
    pthread_cond_signal(&semaphore->changed);
    pthread_mutex_unlock(&semaphore->mutex);
    return 0;
}
