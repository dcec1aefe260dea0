/* Compiled shaders in a file between one start and the next. */
#ifndef MACRO_VULKAN_CACHE_H
#define MACRO_VULKAN_CACHE_H

#include "NAME_vulkan_memory.h"

enum { MOST_CACHE_BYTES = 1 << 28, MOST_PATH = 4096 };

/* What stands before the driver's data: a file that was cut short or changed is not shown to the driver. */
struct cache_head {
    char mark[8];
    uint64_t bytes, hash;
};

static const char cache_mark[8] = {'e', 'd', 'g', 'e', 'c', 'p', 'c', '1'};

/* FNV-1a, never 0. */
static uint64_t hash_of(const unsigned char *data, size_t bytes) {
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < bytes; i++) hash = (hash ^ data[i]) * 0x100000001b3u;
    return hash != 0 ? hash : 1;
}

/* Whether the data are this device's, by the header that Vulkan defines. */
static int is_ours(const struct gpu *gpu, const unsigned char *data, size_t bytes) {
    VkPipelineCacheHeaderVersionOne head;
    if (bytes < sizeof head) return 0;
    memcpy(&head, data, sizeof head);
    return head.headerSize == sizeof head && head.headerVersion == VK_PIPELINE_CACHE_HEADER_VERSION_ONE && head.vendorID == gpu->properties.vendorID &&
           head.deviceID == gpu->properties.deviceID && memcmp(head.pipelineCacheUUID, gpu->properties.pipelineCacheUUID, VK_UUID_SIZE) == 0;
}

static VkResult create_cache(struct gpu *gpu, const unsigned char *data, size_t bytes) {
    VkPipelineCacheCreateInfo info;
    memset(&info, 0, sizeof info);
    info.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO;
    info.initialDataSize = bytes;
    info.pInitialData = data;
    const VkResult result = gpu->vk.vkCreatePipelineCache(gpu->device, &info, NULL, &gpu->cache);
    if (result != VK_SUCCESS) gpu->cache = 0;
    return result;
}

/* Reads what the file holds for this device; leaves the cache alone where there is no such file, or a wrong one. */
static void read_cache(struct gpu *gpu, FILE *file) {
    struct cache_head head;
    VkDeviceMemory memory;
    unsigned char *data;
    if (fread(&head, sizeof head, 1, file) != 1 || memcmp(head.mark, cache_mark, sizeof cache_mark) != 0) return;
    if (head.bytes == 0 || head.bytes > MOST_CACHE_BYTES || borrow(gpu, (size_t)head.bytes, &memory, &data) != MACRO_OK) return;
    const size_t bytes = fread(data, 1, (size_t)head.bytes, file);
    if (bytes == head.bytes && hash_of(data, bytes) == head.hash && is_ours(gpu, data, bytes) && create_cache(gpu, data, bytes) == VK_SUCCESS) gpu->cache_hash = head.hash;
    gpu->vk.vkFreeMemory(gpu->device, memory, NULL);
}

static int open_cache(struct gpu *gpu) {
    FILE *const file = gpu->options.cache_path != NULL ? fopen(gpu->options.cache_path, "rb") : NULL;
    if (file != NULL) {
        read_cache(gpu, file);
        fclose(file);
    }
    return gpu->cache != 0 ? MACRO_OK : status_of(create_cache(gpu, NULL, 0), MACRO_GPU_MEMORY);
}

/* A file appears complete or not at all. */
static void write_file(const char *path, const struct cache_head *head, const unsigned char *data) {
    char aside[MOST_PATH];
    const int length = snprintf(aside, sizeof aside, "%s.new", path);
    FILE *const file = length > 0 && length < MOST_PATH ? fopen(aside, "wb") : NULL;
    if (file == NULL) return;
    int good = fwrite(head, sizeof *head, 1, file) == 1 && fwrite(data, 1, (size_t)head->bytes, file) == head->bytes;
    good = fclose(file) == 0 && good;
    if (!good || rename(aside, path) != 0) remove(aside);
}

/* Writes the cache where it holds something new. That it cannot be written is no error: the next start takes longer, that is all. */
static int save_cache(struct gpu *gpu) {
    struct cache_head head;
    VkDeviceMemory memory;
    unsigned char *data;
    size_t bytes = 0;
    if (gpu->options.cache_path == NULL || gpu->vk.vkGetPipelineCacheData(gpu->device, gpu->cache, &bytes, NULL) != VK_SUCCESS) return MACRO_OK;
    if (bytes == 0 || bytes > MOST_CACHE_BYTES || borrow(gpu, bytes, &memory, &data) != MACRO_OK) return MACRO_OK;
    if (gpu->vk.vkGetPipelineCacheData(gpu->device, gpu->cache, &bytes, data) == VK_SUCCESS) {
        memcpy(head.mark, cache_mark, sizeof cache_mark);
        head.bytes = bytes;
        head.hash = hash_of(data, bytes);
        if (head.hash != gpu->cache_hash) write_file(gpu->options.cache_path, &head, data);
    }
    gpu->vk.vkFreeMemory(gpu->device, memory, NULL);
    return MACRO_OK;
}

#endif
