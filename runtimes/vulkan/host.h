/* The Vulkan host of NAME: all that it holds, in memory of the caller's, and the files it is made of. */
#ifndef MACRO_VULKAN_HOST_H
#define MACRO_VULKAN_HOST_H

#include <stdio.h>
#include <string.h>

#include "NAME_gpu.h"
#include "NAME_gpu_tables.h"
#include "NAME_internal.h"
#include "NAME_vulkan_api_work.h"

enum { REGION_ARENA, REGION_WEIGHTS, REGION_IO, REGIONS }; /* the storage buffers */

struct region {
    VkBuffer buffer;
    VkDeviceMemory memory;
    unsigned char *bytes; /* as the processor sees it */
};

struct gpu {
    struct NAME_offload offload;
    NAME_t *instance;
    const unsigned char *weights; /* that the GPU has a copy of */
    struct NAME_gpu_options options;
    struct vulkan vk;
    void *library;
    PFN_vkGetInstanceProcAddr find;
    uint32_t version; /* of Vulkan, that the instance and then the device speaks */
    VkInstance vulkan;
    VkDebugUtilsMessengerEXT messenger;
    VkPhysicalDevice physical;
    VkPhysicalDeviceProperties properties;
    VkPhysicalDeviceMemoryProperties memory_types;
    uint32_t family; /* of the queue */
    VkBool32 rounds_to_even;
    const struct NAME_spirv *chosen[SHADERS + 1]; /* of each shader, in the best variant that the device can run */
    uint32_t features;                            /* that these need */
    int form;                                     /* that tensors are stored in: an index of views */
    VkDevice device;
    VkQueue queue;
    struct region regions[REGIONS];
    VkDescriptorSetLayout set_layout;
    VkDescriptorPool descriptors;
    VkDescriptorSet sets[SHADERS + 1]; /* of each shader: its views of the regions */
    VkPipelineLayout layout;
    VkPipelineCache cache;
    uint64_t cache_hash; /* of what was read from the file */
    VkPipeline pipelines[SHADERS + 1];
    VkCommandPool pool;
    const struct NAME_pieces *pieces;
    VkCommandBuffer commands[SHADERS + 1]; /* of each piece; then of nothing */
    VkFence fence;
    uint64_t timeout; /* nanoseconds */
    int pending;      /* work was submitted, and its fence was not seen signaled */
    int failed;       /* MACRO_GPU_LOST or MACRO_GPU_TIMEOUT, from then on */
};

typedef char MACRO_GPU_BYTES_are_enough[sizeof(struct gpu) <= MACRO_GPU_BYTES ? 1 : -1];

/* A result of Vulkan's as a status of the package; `otherwise` is for those that mean different things in different places. */
static int status_of(VkResult result, int otherwise) {
    switch (result) {
    case VK_SUCCESS: return MACRO_OK;
    case VK_ERROR_OUT_OF_HOST_MEMORY:
    case VK_ERROR_OUT_OF_DEVICE_MEMORY:
    case VK_ERROR_MEMORY_MAP_FAILED:
    case VK_ERROR_TOO_MANY_OBJECTS: return MACRO_GPU_MEMORY;
    case VK_ERROR_DEVICE_LOST: return MACRO_GPU_LOST;
    case VK_TIMEOUT:
    case VK_NOT_READY: return MACRO_GPU_TIMEOUT;
    default: return otherwise;
    }
}

#endif
