/* NAME on an Apple GPU: the shaders of NAME_metal_source.c through Metal, behind the functions of NAME_gpu.h.

   Compiles with ARC and without. All that an instance holds is in the caller's memory: Metal's objects as pointers that
   own one reference each, which NAME_gpu_stop gives up. */
#import <Foundation/Foundation.h>
#import <Metal/Metal.h>

#include <TargetConditionals.h>
#include <string.h>

#include "NAME_gpu_halves.h"
#include "NAME_gpu_verify.h"
#include "NAME_metal.h"

/* Take over what a method called new... or copy... returned; take a share in what any other returned. CFRelease ends both. */
#if __has_feature(objc_arc)
#define OWNED(object) CFBridgingRetain(object)
#define SHARED(object) CFBridgingRetain(object)
#define AS(type, pointer) ((__bridge type)(pointer))
#define RELEASE_SEMAPHORE(semaphore) (void)(semaphore)
#else
#define OWNED(object) ((CFTypeRef)(object))
#define SHARED(object) CFRetain((CFTypeRef)(object))
#define AS(type, pointer) ((type)(pointer))
#define RELEASE_SEMAPHORE(semaphore) dispatch_release(semaphore)
#endif

enum { PLAIN, SIMDGROUPS }; /* forms of NAME_metal_kernels */

static const double default_timeout_seconds = 10.0;
static const char *const variants[] = {"metal", "simdgroups"};
static const NSUInteger threads_of_simdgroup = 32; /* what its matrices take */

struct gpu {
    struct NAME_offload offload;
    struct NAME_gpu_options options;
    NAME_t *instance;
    CFTypeRef device, queue, arena, weights, io;
    CFTypeRef pipelines[SHADERS + 1];
    const struct NAME_metal_kernel *kernels; /* of the pipelines */
    const struct NAME_pieces *pieces;
    int quiet;          /* what fails now has another way to go */
    const void *copied; /* the weights that are in the buffer */
    int late;           /* commands that ran out of time may still be writing */
    char name[128];     /* of the device */
};

typedef char MACRO_GPU_BYTES_are_enough[sizeof(struct gpu) <= MACRO_GPU_BYTES ? 1 : -1];

static int fail(const struct gpu *gpu, int status, const char *what, NSString *detail) {
    const char *const why = detail != nil ? [detail UTF8String] : NULL;
    NSString *const text = [NSString stringWithFormat:@"%s: %s", what, why != NULL ? why : NAME_strerror(status)];
    if (gpu->options.message != NULL && !gpu->quiet) gpu->options.message(gpu->options.user, [text UTF8String]);
    return status;
}

static void let_go(CFTypeRef *object) {
    if (*object != NULL) CFRelease(*object);
    *object = NULL;
}

/* 0: the system's own choice. Else the n-th device of a Mac; other systems have one. */
static CFTypeRef choose_device(int number) {
    if (number == 0) return OWNED(MTLCreateSystemDefaultDevice());
    CFTypeRef chosen = NULL;
#if TARGET_OS_OSX
    CFTypeRef all = OWNED(MTLCopyAllDevices());
    NSArray<id<MTLDevice>> *const devices = AS(NSArray *, all);
    if ((NSUInteger)number <= [devices count]) chosen = SHARED([devices objectAtIndex:(NSUInteger)number - 1]);
    let_go(&all);
#else
    if (number == 1) chosen = OWNED(MTLCreateSystemDefaultDevice());
#endif
    return chosen;
}

static int open_device(struct gpu *gpu) {
    gpu->device = choose_device(gpu->options.device);
    if (gpu->device == NULL) return fail(gpu, MACRO_NO_GPU, "Metal", @"no device");
    id<MTLDevice> device = AS(id<MTLDevice>, gpu->device);
    strncpy(gpu->name, [[device name] UTF8String], sizeof gpu->name - 1);
    gpu->queue = OWNED([device newCommandQueue]);
    return gpu->queue != NULL ? MACRO_OK : fail(gpu, MACRO_GPU_MEMORY, "command queue", nil);
}

/* Simdgroups that share registers and multiply matrices: A14, M1 and later, where Metal's language has both. */
static int has_simdgroups(const struct gpu *gpu) {
#if defined(__MAC_11_0) || defined(__IPHONE_14_0)
    if (@available(macOS 11.0, iOS 14.0, *)) return [AS(id<MTLDevice>, gpu->device) supportsFamily:MTLGPUFamilyApple7];
#endif
    (void)gpu;
    return 0;
}

/* The embedded source, compiled so that every operation is a binary32 operation with one rounding. */
static CFTypeRef compile(const struct gpu *gpu, int form, NSError **error) {
    CFTypeRef held_text = OWNED([[NSMutableString alloc] init]), held_options = OWNED([[MTLCompileOptions alloc] init]);
    NSMutableString *const text = AS(NSMutableString *, held_text);
    MTLCompileOptions *const options = AS(MTLCompileOptions *, held_options);
    if (form == SIMDGROUPS) [text appendString:@"#define SIMDGROUPS\n"];
    for (const char *const *piece = NAME_metal_source; *piece != NULL; piece++) [text appendString:[NSString stringWithUTF8String:*piece]];
#if defined(__MAC_15_0) || defined(__IPHONE_18_0)
    if (@available(macOS 15.0, iOS 18.0, *)) {
        options.mathMode = MTLMathModeSafe;
        options.mathFloatingPointFunctions = MTLMathFloatingPointFunctionsPrecise;
    } else
#endif
    {
        options.fastMathEnabled = NO;
    }
    CFTypeRef library = OWNED([AS(id<MTLDevice>, gpu->device) newLibraryWithSource:text options:options error:error]);
    let_go(&held_options);
    let_go(&held_text);
    return library;
}

/* One pipeline. Its thread groups must fit what the device grants this kernel. */
static int make_pipeline(struct gpu *gpu, CFTypeRef library, int number) {
    const struct NAME_metal_kernel *const kernel = &gpu->kernels[number];
    const char *const name = kernel->name;
    id<MTLDevice> device = AS(id<MTLDevice>, gpu->device);
    NSError *error = nil;
    if ([device maxThreadgroupMemoryLength] < kernel->shared_bytes) return fail(gpu, MACRO_GPU_UNFIT, name, @"needs more threadgroup memory than the device has");
    CFTypeRef function = OWNED([AS(id<MTLLibrary>, library) newFunctionWithName:[NSString stringWithUTF8String:name]]);
    if (function == NULL) return fail(gpu, MACRO_GPU_SHADER, name, @"is not in the library");
    gpu->pipelines[number] = OWNED([device newComputePipelineStateWithFunction:AS(id<MTLFunction>, function) error:&error]);
    let_go(&function);
    if (gpu->pipelines[number] == NULL) return fail(gpu, MACRO_GPU_SHADER, name, [error localizedDescription]);
    const NSUInteger most = [AS(id<MTLComputePipelineState>, gpu->pipelines[number]) maxTotalThreadsPerThreadgroup];
    const NSUInteger threads = (NSUInteger)kernel->group[0] * kernel->group[1] * kernel->group[2];
    const NSUInteger together = [AS(id<MTLComputePipelineState>, gpu->pipelines[number]) threadExecutionWidth];
    if (gpu->kernels == NAME_metal_kernels[SIMDGROUPS] && together != threads_of_simdgroup) return fail(gpu, MACRO_GPU_UNFIT, name, @"needs simdgroups of 32 threads");
    return threads <= most ? MACRO_OK : fail(gpu, MACRO_GPU_UNFIT, name, @"needs more threads in a group than the device grants");
}

static void release_pipelines(struct gpu *gpu) {
    for (int i = 0; i < SHADERS; i++) let_go(&gpu->pipelines[i]);
}

static int make_form(struct gpu *gpu, int form) {
    NSError *error = nil;
    CFTypeRef library = compile(gpu, form, &error);
    int status = MACRO_OK;
    gpu->kernels = NAME_metal_kernels[form];
    if (library == NULL) return fail(gpu, MACRO_GPU_SHADER, "shaders", [error localizedDescription]);
    for (int number = 0; number < SHADERS && status == MACRO_OK; number++) status = make_pipeline(gpu, library, number);
    let_go(&library);
    return status;
}

/* With simdgroups where the device has them. When the driver refuses these, the start goes on without, unless they were asked for. */
static int make_pipelines(struct gpu *gpu) {
    const char *const variant = gpu->options.variant;
    const int asked = variant != NULL && strcmp(variant, variants[SIMDGROUPS]) == 0;
    if ((variant != NULL && !asked) || !has_simdgroups(gpu)) return asked ? fail(gpu, MACRO_GPU_UNFIT, variant, nil) : make_form(gpu, PLAIN);
    gpu->quiet = !asked;
    const int status = make_form(gpu, SIMDGROUPS);
    gpu->quiet = 0;
    if (status == MACRO_OK || asked) return status;
    release_pipelines(gpu);
    return make_form(gpu, PLAIN);
}

/* Memory that both processors see. It is Metal's, not the caller's, so that commands which ran out of time never write
   into memory that the caller has taken back. */
static CFTypeRef make_buffer(const struct gpu *gpu, size_t bytes) {
    id<MTLDevice> device = AS(id<MTLDevice>, gpu->device);
    if (bytes > [device maxBufferLength]) return NULL;
    CFTypeRef buffer = OWNED([device newBufferWithLength:bytes options:MTLResourceStorageModeShared]);
    if (buffer != NULL && [AS(id<MTLBuffer>, buffer) contents] == NULL) let_go(&buffer);
    return buffer;
}

static int make_buffers(struct gpu *gpu) {
    gpu->arena = make_buffer(gpu, MACRO_GPU_ARENA_BYTES);
    gpu->weights = make_buffer(gpu, MACRO_GPU_WEIGHTS_BYTES);
    gpu->io = make_buffer(gpu, MACRO_GPU_IO_BYTES);
    if (gpu->arena == NULL || gpu->weights == NULL || gpu->io == NULL) return fail(gpu, MACRO_GPU_MEMORY, "buffers", nil);
    gpu->offload.arena = (unsigned char *)[AS(id<MTLBuffer>, gpu->arena) contents];
    gpu->offload.io = (unsigned char *)[AS(id<MTLBuffer>, gpu->io) contents];
    return MACRO_OK;
}

static void encode(const struct gpu *gpu, id<MTLComputeCommandEncoder> encoder, int first, int end) {
    const CFTypeRef buffers[] = {gpu->arena, gpu->weights, gpu->io};
    for (NSUInteger i = 0; i < 3; i++) [encoder setBuffer:AS(id<MTLBuffer>, buffers[i]) offset:0 atIndex:i];
    for (int number = first; number < end; number++) {
        const struct NAME_metal_kernel *const kernel = &gpu->kernels[number];
        if (NAME_shaders[number].waits) [encoder memoryBarrierWithScope:MTLBarrierScopeBuffers];
        [encoder setComputePipelineState:AS(id<MTLComputePipelineState>, gpu->pipelines[number])];
        [encoder dispatchThreadgroups:MTLSizeMake(kernel->grid[0], kernel->grid[1], kernel->grid[2])
                threadsPerThreadgroup:MTLSizeMake(kernel->group[0], kernel->group[1], kernel->group[2])];
    }
    [encoder endEncoding];
}

/* What became of commands that have ended. */
static int outcome(const struct gpu *gpu, id<MTLCommandBuffer> commands) {
    NSError *const error = [commands error];
    if ([commands status] == MTLCommandBufferStatusCompleted) return MACRO_OK;
    int status = MACRO_GPU_LOST;
    if (error != nil && [error code] == MTLCommandBufferErrorTimeout) status = MACRO_GPU_TIMEOUT;
    if (error != nil && [error code] == MTLCommandBufferErrorOutOfMemory) status = MACRO_GPU_MEMORY;
    return fail(gpu, status, "commands", [error localizedDescription]);
}

/* Shaders first .. end - 1 as one command buffer. */
static int run_shaders(struct gpu *gpu, int first, int end) {
    id<MTLCommandBuffer> commands = [AS(id<MTLCommandQueue>, gpu->queue) commandBuffer];
    id<MTLComputeCommandEncoder> encoder = [commands computeCommandEncoderWithDispatchType:MTLDispatchTypeConcurrent];
    if (encoder == nil) return fail(gpu, MACRO_GPU_MEMORY, "commands", nil);
    encode(gpu, encoder, first, end);
    dispatch_semaphore_t ended = dispatch_semaphore_create(0);
    if (ended == NULL) return fail(gpu, MACRO_GPU_MEMORY, "semaphore", nil);
    [commands addCompletedHandler:^(id<MTLCommandBuffer> done) {
      (void)done;
      dispatch_semaphore_signal(ended);
    }];
    [commands commit];
    const int64_t patience = (int64_t)(gpu->options.timeout_seconds * 1e9);
    gpu->late = dispatch_semaphore_wait(ended, dispatch_time(DISPATCH_TIME_NOW, patience)) != 0;
    RELEASE_SEMAPHORE(ended); /* the handler has a share of its own */
    return gpu->late ? fail(gpu, MACRO_GPU_TIMEOUT, "commands", nil) : outcome(gpu, commands);
}

/* The offload's `run`. After a time-out nothing runs any more, since the late commands use the same buffers. */
static int run_segment(void *user, int32_t first, int32_t end) {
    struct gpu *const gpu = (struct gpu *)user;
    if (gpu->late) return MACRO_GPU_TIMEOUT;
    const struct NAME_segment *segment = gpu->pieces->segments;
    while (segment->first != first || segment->end != end) {
        if (segment++ == gpu->pieces->segments + gpu->pieces->count) return MACRO_BAD_ARGUMENT;
    }
    @autoreleasepool {
        if (gpu->copied != gpu->instance->weights) {
            gpu->copied = gpu->instance->weights;
            NAME_copy_weights((unsigned char *)[AS(id<MTLBuffer>, gpu->weights) contents], (const unsigned char *)gpu->copied);
        }
        return run_shaders(gpu, segment->shader, segment->shader + (end - first));
    }
}

static int verify(struct gpu *gpu) {
    if (!gpu->options.verify) return MACRO_OK;
    CFTypeRef buffer = make_buffer(gpu, 2 * (size_t)MACRO_GPU_IO_BYTES);
    if (buffer == NULL) return fail(gpu, MACRO_GPU_MEMORY, "verification", nil);
    const int status = NAME_gpu_compare(gpu->instance, &gpu->offload, (unsigned char *)[AS(id<MTLBuffer>, buffer) contents]);
    let_go(&buffer);
    return status == MACRO_OK ? status : fail(gpu, status, "verification", nil);
}

static void release_all(struct gpu *gpu) {
    CFTypeRef *const others[] = {&gpu->io, &gpu->weights, &gpu->arena, &gpu->queue, &gpu->device};
    release_pipelines(gpu);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) let_go(others[i]);
}

/* What the caller asks for, checked; zeros are defaults. */
static int take_options(struct gpu *gpu, const struct NAME_gpu_options *options) {
    if (options != NULL) gpu->options = *options;
    const char *const variant = gpu->options.variant;
    if (gpu->options.timeout_seconds == 0.0) gpu->options.timeout_seconds = default_timeout_seconds;
    if (!(gpu->options.timeout_seconds > 0.0 && gpu->options.timeout_seconds <= 1e9) || gpu->options.device < 0) return MACRO_BAD_ARGUMENT;
    return variant == NULL || strcmp(variant, variants[PLAIN]) == 0 || strcmp(variant, variants[SIMDGROUPS]) == 0 ? MACRO_OK : MACRO_BAD_ARGUMENT;
}

int NAME_gpu_start(NAME_t *instance, void *memory, size_t bytes, const struct NAME_gpu_options *options) {
    static int (*const steps[])(struct gpu *) = {open_device, make_pipelines, make_buffers, verify};
    struct gpu *const gpu = (struct gpu *)memory;
    if (instance == NULL || memory == NULL || bytes < MACRO_GPU_BYTES) return MACRO_BAD_ARGUMENT;
    if ((uintptr_t)memory % MACRO_ARENA_ALIGNMENT != 0) return MACRO_ARENA_MISALIGNED;
    if (instance->kernels == NULL) return MACRO_NOT_INITIALIZED;
    if (instance->weights == NULL) return MACRO_NO_WEIGHTS;
    NAME_gpu_stop(instance);
    if (SEGMENTS == 0) return MACRO_GPU_UNFIT;
    memset(gpu, 0, sizeof *gpu);
    gpu->instance = instance;
    gpu->offload.user = gpu;
    gpu->offload.run = run_segment;
    int status = take_options(gpu, options);
    gpu->pieces = &NAME_pieces[gpu->options.apart != 0];
    gpu->offload.segment_end = gpu->pieces->segment_end;
    @autoreleasepool {
        for (size_t i = 0; i < sizeof steps / sizeof steps[0] && status == MACRO_OK; i++) status = steps[i](gpu);
        if (status != MACRO_OK) release_all(gpu);
    }
    gpu->offload.cpu_on_failure = gpu->options.cpu_on_failure;
    if (status == MACRO_OK) instance->offload = &gpu->offload;
    return status;
}

/* Commands that ran out of time keep what they use until they end. */
void NAME_gpu_stop(NAME_t *instance) {
    if (instance == NULL || instance->offload == NULL) return;
    struct gpu *const gpu = (struct gpu *)instance->offload->user;
    instance->offload = NULL;
    @autoreleasepool {
        release_all(gpu);
    }
}

const char *NAME_gpu_device(const NAME_t *instance) {
    if (instance == NULL || instance->offload == NULL) return "none";
    return ((const struct gpu *)instance->offload->user)->name;
}
