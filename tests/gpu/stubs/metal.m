/* Metal, as far as the host uses it: records what it is asked, runs kernels that were compiled for the CPU on a thread of its own, and
   fails where the test wants it to. */
#import <Metal/Metal.h>
#import "fake.h"
#import "foundation.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct fake_metal fake_metal = {.devices = 1, .most_threads = 1024, .most_shared = 32768, .most_bytes = 1 << 30, .threads_of_simdgroup = 32};
static int running;

/* Counts down to the one that shall fail. */
static int fails(int *countdown) { return *countdown > 0 && --*countdown == 0; }

static NSError *failure(NSInteger code) { return [[[NSError alloc] initWithCode:code] autorelease]; }

void fake_metal_wait(void) {
    const struct timespec moment = {0, 1000000};
    while (__atomic_load_n(&running, __ATOMIC_SEQ_CST) > 0) nanosleep(&moment, NULL);
}

@implementation MTLCompileOptions
- (instancetype)init {
    fake_metal.safe_math = 0;
    return self;
}
- (void)setFastMathEnabled:(BOOL)fast {
    fake_metal.safe_math = fast ? 0 : 2;
}
- (BOOL)fastMathEnabled {
    return fake_metal.safe_math != 2;
}
#ifndef OLD_SDK
- (void)setMathMode:(MTLMathMode)mode {
    fake_metal.safe_math = mode == MTLMathModeSafe;
}
- (MTLMathMode)mathMode {
    return MTLMathModeSafe;
}
- (void)setMathFloatingPointFunctions:(MTLMathFloatingPointFunctions)functions {
    if (functions != MTLMathFloatingPointFunctionsPrecise) abort();
}
- (MTLMathFloatingPointFunctions)mathFloatingPointFunctions {
    return MTLMathFloatingPointFunctionsPrecise;
}
#endif
@end

@interface Function : NSObject <MTLFunction> {
@public
    const struct fake_kernel *kernel;
    int form;
}
@end
@implementation Function
@end

@interface Pipeline : NSObject <MTLComputePipelineState> {
@public
    const struct fake_kernel *kernel;
    int form;
}
@end
@implementation Pipeline
- (NSUInteger)maxTotalThreadsPerThreadgroup {
    return (NSUInteger)fake_metal.most_threads;
}
- (NSUInteger)threadExecutionWidth {
    return (NSUInteger)fake_metal.threads_of_simdgroup;
}
@end

@interface Buffer : NSObject <MTLBuffer> {
@public
    void *bytes;
    NSUInteger length;
}
@end
@implementation Buffer
- (void *)contents {
    return bytes;
}
- (NSUInteger)length {
    return length;
}
- (void)dealloc {
    free(bytes);
    [super dealloc];
}
@end

@interface Library : NSObject <MTLLibrary> {
@public
    int form;
}
@end
@implementation Library
- (id<MTLFunction>)newFunctionWithName:(NSString *)name {
    const struct fake_kernel *kernel = fake_kernels;
    while (kernel->name != NULL && strcmp(kernel->name, [name UTF8String]) != 0) kernel++;
    if (kernel->name == NULL || fails(&fake_metal.missing_function)) return nil;
    Function *const function = [[Function alloc] init];
    function->kernel = kernel;
    function->form = form;
    return function;
}
@end

struct dispatch {
    Pipeline *pipeline;
    Buffer *buffers[3];
    int grid[3], group[3];
    int barrier;
};

@interface Commands : NSObject <MTLCommandBuffer> {
@public
    struct dispatch list[4096];
    int count, ended_encoding;
    MTLCommandBufferHandler handler;
    MTLCommandBufferStatus state;
    NSError *wrong;
}
@end

@interface Encoder : NSObject <MTLComputeCommandEncoder> {
@public
    Commands *commands;
    struct dispatch next;
}
@end

@implementation Encoder
- (void)setComputePipelineState:(id<MTLComputePipelineState>)state {
    next.pipeline = (Pipeline *)state;
}
- (void)setBuffer:(id<MTLBuffer>)buffer offset:(NSUInteger)offset atIndex:(NSUInteger)index {
    if (offset != 0 || index > 2) abort();
    next.buffers[index] = (Buffer *)buffer;
}
- (void)memoryBarrierWithScope:(MTLBarrierScope)scope {
    if (scope != MTLBarrierScopeBuffers) abort();
    next.barrier = 1;
    fake_metal.barriers++;
}
- (void)dispatchThreadgroups:(MTLSize)groups threadsPerThreadgroup:(MTLSize)threads {
    if (commands->ended_encoding || next.pipeline == nil || commands->count == 4096) abort();
    struct dispatch *const dispatch = &commands->list[commands->count++];
    *dispatch = next;
    const NSUInteger numbers[2][3] = {{groups.width, groups.height, groups.depth}, {threads.width, threads.height, threads.depth}};
    for (int i = 0; i < 3; i++) {
        dispatch->grid[i] = (int)numbers[0][i];
        dispatch->group[i] = (int)numbers[1][i];
    }
    [dispatch->pipeline retain];
    for (int i = 0; i < 3; i++) [dispatch->buffers[i] retain];
    next.barrier = 0;
    fake_metal.dispatches++;
}
- (void)endEncoding {
    commands->ended_encoding = 1;
}
@end

static void run_dispatch(const struct dispatch *dispatch) {
    unsigned char *bytes[3];
    long sizes[3];
    char why[256] = "";
    for (int i = 0; i < 3; i++) {
        bytes[i] = dispatch->buffers[i]->bytes;
        sizes[i] = (long)dispatch->buffers[i]->length;
    }
    const struct fake_kernel *const kernel = dispatch->pipeline->kernel;
    const int form = dispatch->pipeline->form;
    fake_metal.with_simdgroups += form;
    if (fake_metal.idle || kernel->run[form](dispatch->group, dispatch->grid, fake_metal.order, bytes, sizes, why) == 0) return;
    fprintf(stderr, "%s: %s\n", kernel->name, why);
    abort();
}

static void run_all(const Commands *commands) {
    for (int first = 0, end; first < commands->count; first = end) {
        for (end = first + 1; end < commands->count && !commands->list[end].barrier; end++) continue;
        for (int i = 0; i < end - first; i++) run_dispatch(&commands->list[fake_metal.backwards ? end - 1 - i : first + i]);
    }
}

static void *gpu_thread(void *argument) {
    Commands *const commands = argument;
    const struct timespec delay = {fake_metal.delay_ms / 1000, fake_metal.delay_ms % 1000 * 1000000l};
    nanosleep(&delay, NULL);
    @autoreleasepool {
        if (fake_metal.error == 0) run_all(commands);
        if (fake_metal.error != 0) commands->wrong = [failure(fake_metal.error) retain];
        commands->state = fake_metal.error == 0 ? MTLCommandBufferStatusCompleted : MTLCommandBufferStatusError;
        if (commands->handler != NULL) commands->handler(commands);
        [commands release];
    }
    __atomic_sub_fetch(&running, 1, __ATOMIC_SEQ_CST);
    return NULL;
}

@implementation Commands
- (MTLCommandBufferStatus)status {
    return state;
}
- (NSError *)error {
    return wrong;
}
- (id<MTLComputeCommandEncoder>)computeCommandEncoderWithDispatchType:(MTLDispatchType)type {
    if (type != MTLDispatchTypeConcurrent) abort();
    if (fake_metal.no_encoder) return nil;
    Encoder *const encoder = [[[Encoder alloc] init] autorelease];
    encoder->commands = self;
    return encoder;
}
- (void)addCompletedHandler:(MTLCommandBufferHandler)block {
    if (state != MTLCommandBufferStatusNotEnqueued || handler != NULL) abort();
    handler = _Block_copy((const void *)block);
}
- (void)commit {
    pthread_t thread;
    if (!ended_encoding || state != MTLCommandBufferStatusNotEnqueued) abort();
    state = MTLCommandBufferStatusCommitted;
    __atomic_add_fetch(&running, 1, __ATOMIC_SEQ_CST);
    [self retain];
    if (pthread_create(&thread, NULL, gpu_thread, self) != 0) abort();
    pthread_detach(thread);
}
- (void)dealloc {
    if (state == MTLCommandBufferStatusCommitted) abort();
    for (int i = 0; i < count; i++) {
        [list[i].pipeline release];
        for (int j = 0; j < 3; j++) [list[i].buffers[j] release];
    }
    if (handler != NULL) _Block_release((const void *)handler);
    [wrong release];
    [super dealloc];
}
@end

@interface Queue : NSObject <MTLCommandQueue>
@end
@implementation Queue
- (id<MTLCommandBuffer>)commandBuffer {
    if (fake_metal.no_commands) return nil;
    fake_metal.command_buffers++;
    return [[[Commands alloc] init] autorelease];
}
@end

@interface Device : NSObject <MTLDevice> {
@public
    NSUInteger number;
}
@end
@implementation Device
- (NSString *)name {
    return [NSString stringWithFormat:@"Fake GPU %d", (int)number];
}
- (NSUInteger)maxThreadgroupMemoryLength {
    return (NSUInteger)fake_metal.most_shared;
}
- (NSUInteger)maxBufferLength {
    return (NSUInteger)fake_metal.most_bytes;
}
- (BOOL)supportsFamily:(MTLGPUFamily)family {
    return family >= MTLGPUFamilyApple6 && family <= 1000 + fake_metal.family;
}
- (id<MTLCommandQueue>)newCommandQueue {
    return fake_metal.no_queue ? nil : [[Queue alloc] init];
}
- (id<MTLBuffer>)newBufferWithLength:(NSUInteger)length options:(MTLResourceOptions)options {
    if (options != MTLResourceStorageModeShared || length == 0) abort();
    if (fails(&fake_metal.missing_buffer)) return nil;
    Buffer *const buffer = [[Buffer alloc] init];
    buffer->bytes = calloc(1, length);
    buffer->length = length;
    return buffer;
}
- (id<MTLLibrary>)newLibraryWithSource:(NSString *)source options:(MTLCompileOptions *)options error:(NSError **)error {
    if (options == nil) abort();
    free(fake_metal.source);
    fake_metal.source = strdup([source UTF8String]);
    const int form = strncmp(fake_metal.source, "#define SIMDGROUPS\n", 19) == 0;
    const int bad = fake_metal.bad_source || (form && fake_metal.bad_simdgroups);
    if (bad) *error = failure(3);
    if (bad) return nil;
    Library *const library = [[Library alloc] init];
    library->form = form;
    return library;
}
- (id<MTLComputePipelineState>)newComputePipelineStateWithFunction:(id<MTLFunction>)function error:(NSError **)error {
    if (fails(&fake_metal.bad_pipeline)) {
        *error = failure(2);
        return nil;
    }
    Pipeline *const pipeline = [[Pipeline alloc] init];
    pipeline->kernel = ((Function *)function)->kernel;
    pipeline->form = ((Function *)function)->form;
    fake_metal.pipelines++;
    return pipeline;
}
@end

static id make_device(NSUInteger number) {
    Device *const device = [[Device alloc] init];
    device->number = number;
    return device;
}

id<MTLDevice> MTLCreateSystemDefaultDevice(void) { return fake_metal.devices > 0 ? make_device(0) : nil; }

NSArray<id<MTLDevice>> *MTLCopyAllDevices(void) { return [[NSArray alloc] initWithObject:make_device count:(NSUInteger)fake_metal.devices]; }

static void tell(void) { fprintf(stderr, "with simdgroups: %d of %d\n", fake_metal.with_simdgroups, fake_metal.dispatches); }

static int number(const char *name, int otherwise) { return getenv(name) != NULL ? atoi(getenv(name)) : otherwise; }

/* For programs that know nothing of the fake. */
__attribute__((constructor)) static void choose(void) {
    fake_metal.backwards = getenv("FAKE_BACKWARDS") != NULL;
    fake_metal.idle = getenv("FAKE_IDLE") != NULL;
    fake_metal.order = (unsigned)number("FAKE_ORDER", 0);
    fake_metal.family = number("FAKE_FAMILY", 0);
    fake_metal.bad_simdgroups = number("FAKE_BAD_SIMDGROUPS", 0);
    fake_metal.threads_of_simdgroup = number("FAKE_THREADS_OF_SIMDGROUP", 32);
    if (getenv("FAKE_TELL") != NULL) atexit(tell);
}
