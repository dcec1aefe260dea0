/* NAME on a GPU through Vulkan: starting, running and stopping. */
#include "NAME_gpu_halves.h"
#include "NAME_gpu_verify.h"
#include "NAME_vulkan_cache.h"
#include "NAME_vulkan_device.h"
#include "NAME_vulkan_features.h"
#include "NAME_vulkan_memory.h"
#include "NAME_vulkan_pipelines.h"

static const double default_timeout_seconds = 10.0;

/* Waits until the GPU has done what it was given. */
static int finish(struct gpu *gpu) {
    VkResult result = gpu->vk.vkWaitForFences(gpu->device, 1, &gpu->fence, 1, gpu->timeout);
    if (result == VK_SUCCESS) result = gpu->vk.vkResetFences(gpu->device, 1, &gpu->fence);
    const int status = status_of(result, MACRO_GPU_LOST);
    gpu->pending = status != MACRO_OK && status != MACRO_GPU_LOST;
    return status;
}

/* The offload's `run`. A GPU that was lost or is late does nothing any more: late work still uses the same memory. */
static int run_segment(void *user, int32_t first, int32_t end) {
    struct gpu *const gpu = (struct gpu *)user;
    VkSubmitInfo submit;
    const struct NAME_segment *const segments = gpu->pieces->segments;
    int segment = 0;
    if (gpu->failed != MACRO_OK) return gpu->failed;
    while (segments[segment].first != first || segments[segment].end != end) {
        if (segment++ == gpu->pieces->count) return MACRO_BAD_ARGUMENT;
    }
    if (gpu->weights != gpu->instance->weights) {
        gpu->weights = gpu->instance->weights;
        NAME_copy_weights(gpu->regions[REGION_WEIGHTS].bytes, gpu->weights);
    }
    memset(&submit, 0, sizeof submit);
    submit.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
    submit.commandBufferCount = 1;
    submit.pCommandBuffers = &gpu->commands[segment];
    int status = status_of(gpu->vk.vkQueueSubmit(gpu->queue, 1, &submit, gpu->fence), MACRO_GPU_LOST);
    if (status == MACRO_OK) status = finish(gpu);
    if (status == MACRO_GPU_LOST || gpu->pending) gpu->failed = status;
    return status;
}

static void release_device(struct gpu *gpu) {
    gpu->vk.vkDestroyFence(gpu->device, gpu->fence, NULL);
    gpu->vk.vkDestroyCommandPool(gpu->device, gpu->pool, NULL);
    for (int i = 0; i < SHADERS; i++) gpu->vk.vkDestroyPipeline(gpu->device, gpu->pipelines[i], NULL);
    gpu->vk.vkDestroyPipelineCache(gpu->device, gpu->cache, NULL);
    gpu->vk.vkDestroyPipelineLayout(gpu->device, gpu->layout, NULL);
    gpu->vk.vkDestroyDescriptorPool(gpu->device, gpu->descriptors, NULL);
    gpu->vk.vkDestroyDescriptorSetLayout(gpu->device, gpu->set_layout, NULL);
    for (int i = 0; i < REGIONS; i++) {
        gpu->vk.vkDestroyBuffer(gpu->device, gpu->regions[i].buffer, NULL);
        gpu->vk.vkFreeMemory(gpu->device, gpu->regions[i].memory, NULL);
    }
    gpu->vk.vkDestroyDevice(gpu->device, NULL);
}

/* After this nobody calls the caller's function for messages. */
static void release_messenger(struct gpu *gpu) {
    if (gpu->messenger != 0 && gpu->vk.vkDestroyDebugUtilsMessengerEXT != NULL) gpu->vk.vkDestroyDebugUtilsMessengerEXT(gpu->vulkan, gpu->messenger, NULL);
}

/* Gives everything back, but for a GPU that is still at work after one more time-out: what it may write to must stay. */
static void release(struct gpu *gpu) {
    if (gpu->pending) finish(gpu);
    if (gpu->pending) {
        release_messenger(gpu);
        return;
    }
    if (gpu->device != NULL) release_device(gpu);
    release_messenger(gpu); /* it heard what layers say of a device that is released */
    if (gpu->vulkan != NULL) gpu->vk.vkDestroyInstance(gpu->vulkan, NULL);
    if (gpu->library != NULL) dlclose(gpu->library);
}

static int verify(struct gpu *gpu) {
    VkDeviceMemory memory;
    unsigned char *data;
    gpu->offload.arena = gpu->regions[REGION_ARENA].bytes;
    gpu->offload.io = gpu->regions[REGION_IO].bytes;
    if (!gpu->options.verify) return MACRO_OK;
    int status = borrow(gpu, 2 * (size_t)MACRO_GPU_IO_BYTES, &memory, &data);
    if (status != MACRO_OK) return status;
    status = NAME_gpu_compare(gpu->instance, &gpu->offload, data);
    gpu->vk.vkFreeMemory(gpu->device, memory, NULL);
    return status;
}

/* All that a start does, in its order. */
static const struct start_step {
    const char *name;
    int (*act)(struct gpu *gpu);
} start_steps[] = {
    {"loading Vulkan", open_library},
    {"opening Vulkan", open_instance},
    {"choosing a device", choose_device},
    {"choosing the shaders", choose_shaders},
    {"checking the device's limits", check_limits},
    {"opening the device", open_device},
    {"making buffers", make_regions},
    {"making the layout", make_layout},
    {"making descriptors", make_descriptors},
    {"opening the pipeline cache", open_cache},
    {"making pipelines", make_pipelines},
    {"saving the pipeline cache", save_cache},
    {"recording commands", record},
    {"comparing with the processor", verify},
};

static int run_steps(struct gpu *gpu) {
    for (size_t i = 0; i < sizeof start_steps / sizeof start_steps[0]; i++) {
        const int status = start_steps[i].act(gpu);
        char text[160];
        if (status == MACRO_OK) continue;
        snprintf(text, sizeof text, "%s: %s", start_steps[i].name, NAME_strerror(status));
        if (gpu->options.message != NULL) gpu->options.message(gpu->options.user, text);
        return status;
    }
    return MACRO_OK;
}

int NAME_gpu_start(NAME_t *instance, void *memory, size_t bytes, const struct NAME_gpu_options *options) {
    struct gpu *const gpu = (struct gpu *)memory;
    if (instance == NULL || memory == NULL || bytes < MACRO_GPU_BYTES) return MACRO_BAD_ARGUMENT;
    if ((uintptr_t)memory % MACRO_ARENA_ALIGNMENT != 0) return MACRO_ARENA_MISALIGNED;
    if (instance->kernels == NULL) return MACRO_NOT_INITIALIZED;
    if (instance->weights == NULL) return MACRO_NO_WEIGHTS;
    NAME_gpu_stop(instance);
    if (SEGMENTS == 0) return MACRO_GPU_UNFIT;
    memset(gpu, 0, sizeof *gpu);
    gpu->instance = instance;
    if (options != NULL) gpu->options = *options;
    if (gpu->options.timeout_seconds == 0.0) gpu->options.timeout_seconds = default_timeout_seconds;
    if (!(gpu->options.timeout_seconds > 0.0 && gpu->options.timeout_seconds <= 1e9) || gpu->options.device < 0) return MACRO_BAD_ARGUMENT;
    gpu->timeout = (uint64_t)(gpu->options.timeout_seconds * 1e9);
    gpu->offload.user = gpu;
    gpu->pieces = &NAME_pieces[gpu->options.apart != 0];
    gpu->offload.segment_end = gpu->pieces->segment_end;
    gpu->offload.run = run_segment;
    const int status = run_steps(gpu);
    gpu->offload.cpu_on_failure = gpu->options.cpu_on_failure;
    if (status == MACRO_OK) instance->offload = &gpu->offload;
    else release(gpu);
    return status;
}

void NAME_gpu_stop(NAME_t *instance) {
    if (instance == NULL || instance->offload == NULL) return;
    struct gpu *const gpu = (struct gpu *)instance->offload->user;
    instance->offload = NULL;
    release(gpu);
}

const char *NAME_gpu_device(const NAME_t *instance) {
    if (instance == NULL || instance->offload == NULL) return "none";
    return ((const struct gpu *)instance->offload->user)->properties.deviceName;
}
