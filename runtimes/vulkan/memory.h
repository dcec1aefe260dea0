/* Memory that the GPU and the processor both see. */
#ifndef MACRO_VULKAN_MEMORY_H
#define MACRO_VULKAN_MEMORY_H

#include "NAME_vulkan_host.h"

/* The memory type that suits best of those in `allowed`, or -1. Coherent mapped memory it is always; `first` is what it should be too, and
   then the other one of near to the GPU (VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT) and quick to read for the processor (_HOST_CACHED_BIT). */
static int best_memory_type(const struct gpu *gpu, uint32_t allowed, VkFlags first) {
    const VkFlags needed = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    const VkFlags good = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT | VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
    int best = -1, best_rank = -1;
    for (uint32_t i = 0; i < gpu->memory_types.memoryTypeCount && i < VK_MAX_MEMORY_TYPES; i++) {
        const VkFlags flags = gpu->memory_types.memoryTypes[i].propertyFlags;
        const int rank = 2 * ((flags & first) != 0) + ((flags & good & ~first) != 0);
        if ((allowed >> i & 1) == 0 || (flags & needed) != needed || rank <= best_rank) continue;
        best = (int)i;
        best_rank = rank;
    }
    return best;
}

/* Allocates and maps; where one kind of memory is used up, tries the next best. */
static int allocate(struct gpu *gpu, VkDeviceSize bytes, uint32_t allowed, VkFlags first, VkDeviceMemory *memory, unsigned char **mapped) {
    int status = MACRO_GPU_MEMORY;
    for (int type = best_memory_type(gpu, allowed, first); type >= 0; type = best_memory_type(gpu, allowed, first)) {
        VkMemoryAllocateInfo info;
        void *data = NULL;
        memset(&info, 0, sizeof info);
        info.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
        info.allocationSize = bytes;
        info.memoryTypeIndex = (uint32_t)type;
        allowed &= ~((uint32_t)1 << type);
        VkResult result = gpu->vk.vkAllocateMemory(gpu->device, &info, NULL, memory);
        if (result == VK_SUCCESS) {
            result = gpu->vk.vkMapMemory(gpu->device, *memory, 0, VK_WHOLE_SIZE, 0, &data);
            if (result == VK_SUCCESS) {
                *mapped = (unsigned char *)data;
                return MACRO_OK;
            }
            gpu->vk.vkFreeMemory(gpu->device, *memory, NULL);
        }
        *memory = 0;
        status = status_of(result, MACRO_GPU_MEMORY);
        if (status != MACRO_GPU_MEMORY) break;
    }
    return status;
}

static int make_region(struct gpu *gpu, int which, VkDeviceSize bytes, VkFlags first) {
    struct region *const region = &gpu->regions[which];
    VkBufferCreateInfo info;
    VkMemoryRequirements needs;
    memset(&info, 0, sizeof info);
    info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
    info.size = bytes;
    info.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT;
    info.sharingMode = VK_SHARING_MODE_EXCLUSIVE;
    VkResult result = gpu->vk.vkCreateBuffer(gpu->device, &info, NULL, &region->buffer);
    if (result != VK_SUCCESS) {
        region->buffer = 0;
        return status_of(result, MACRO_GPU_MEMORY);
    }
    gpu->vk.vkGetBufferMemoryRequirements(gpu->device, region->buffer, &needs);
    const int status = allocate(gpu, needs.size, needs.memoryTypeBits, first, &region->memory, &region->bytes);
    if (status != MACRO_OK) return status;
    return status_of(gpu->vk.vkBindBufferMemory(gpu->device, region->buffer, region->memory, 0), MACRO_GPU_MEMORY);
}

/* The arena, the weights and the caller's tensors. The arena is near the GPU where no step of the processor's reads it. */
static int make_regions(struct gpu *gpu) {
    int status = make_region(gpu, REGION_ARENA, MACRO_GPU_ARENA_BYTES, STEPS_OF_CPU > 0 ? VK_MEMORY_PROPERTY_HOST_CACHED_BIT : VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT);
    if (status == MACRO_OK) status = make_region(gpu, REGION_WEIGHTS, MACRO_GPU_WEIGHTS_BYTES, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT);
    if (status == MACRO_OK) status = make_region(gpu, REGION_IO, MACRO_GPU_IO_BYTES, VK_MEMORY_PROPERTY_HOST_CACHED_BIT);
    return status;
}

/* Memory of the driver's for a moment's need: this host has none of its own. */
static int borrow(struct gpu *gpu, size_t bytes, VkDeviceMemory *memory, unsigned char **mapped) {
    return allocate(gpu, bytes > 0 ? bytes : 1, ~(uint32_t)0, VK_MEMORY_PROPERTY_HOST_CACHED_BIT, memory, mapped);
}

#endif
