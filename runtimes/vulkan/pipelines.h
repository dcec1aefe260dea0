/* Shaders made ready to run, and the commands that run them, recorded once. */
#ifndef MACRO_VULKAN_PIPELINES_H
#define MACRO_VULKAN_PIPELINES_H

#include "NAME_vulkan_code.h"
#include "NAME_vulkan_memory.h"

/* Every shader has the same bindings. */
static int make_layout(struct gpu *gpu) {
    VkDescriptorSetLayoutBinding bindings[BINDINGS];
    VkDescriptorSetLayoutCreateInfo sets;
    VkPipelineLayoutCreateInfo info;
    memset(bindings, 0, sizeof bindings);
    for (uint32_t i = 0; i < BINDINGS; i++) {
        bindings[i].binding = i;
        bindings[i].descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
        bindings[i].descriptorCount = 1;
        bindings[i].stageFlags = VK_SHADER_STAGE_COMPUTE_BIT;
    }
    memset(&sets, 0, sizeof sets);
    sets.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO;
    sets.bindingCount = BINDINGS;
    sets.pBindings = bindings;
    VkResult result = gpu->vk.vkCreateDescriptorSetLayout(gpu->device, &sets, NULL, &gpu->set_layout);
    if (result != VK_SUCCESS) {
        gpu->set_layout = 0;
        return status_of(result, MACRO_GPU_MEMORY);
    }
    memset(&info, 0, sizeof info);
    info.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO;
    info.setLayoutCount = 1;
    info.pSetLayouts = &gpu->set_layout;
    result = gpu->vk.vkCreatePipelineLayout(gpu->device, &info, NULL, &gpu->layout);
    if (result != VK_SUCCESS) gpu->layout = 0;
    return status_of(result, MACRO_GPU_MEMORY);
}

/* The set of a shader: its views, each in its region. */
static VkResult make_set(struct gpu *gpu, int shader) {
    static const int regions[BINDINGS] = {REGION_ARENA, REGION_ARENA, REGION_WEIGHTS, REGION_IO};
    const struct NAME_view *const views = NAME_shaders[shader].views[gpu->form];
    VkDescriptorBufferInfo ranges[BINDINGS];
    VkDescriptorSetAllocateInfo sets;
    VkWriteDescriptorSet write;
    memset(&sets, 0, sizeof sets);
    sets.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO;
    sets.descriptorPool = gpu->descriptors;
    sets.descriptorSetCount = 1;
    sets.pSetLayouts = &gpu->set_layout;
    const VkResult result = gpu->vk.vkAllocateDescriptorSets(gpu->device, &sets, &gpu->sets[shader]);
    if (result != VK_SUCCESS) return result;
    for (int i = 0; i < BINDINGS; i++) {
        ranges[i].buffer = gpu->regions[regions[i]].buffer;
        ranges[i].offset = views[i].offset;
        ranges[i].range = views[i].bytes;
    }
    memset(&write, 0, sizeof write);
    write.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET;
    write.dstSet = gpu->sets[shader];
    write.descriptorCount = BINDINGS;
    write.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
    write.pBufferInfo = ranges;
    gpu->vk.vkUpdateDescriptorSets(gpu->device, 1, &write, 0, NULL);
    return VK_SUCCESS;
}

static int make_descriptors(struct gpu *gpu) {
    VkDescriptorPoolSize size;
    VkDescriptorPoolCreateInfo info;
    size.type = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
    size.descriptorCount = SHADERS * BINDINGS;
    memset(&info, 0, sizeof info);
    info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO;
    info.maxSets = SHADERS;
    info.poolSizeCount = 1;
    info.pPoolSizes = &size;
    VkResult result = gpu->vk.vkCreateDescriptorPool(gpu->device, &info, NULL, &gpu->descriptors);
    if (result != VK_SUCCESS) gpu->descriptors = 0;
    for (int i = 0; i < SHADERS && result == VK_SUCCESS; i++) result = make_set(gpu, i);
    return status_of(result, MACRO_GPU_MEMORY);
}

/* Constants by their ids: whether floats round to nearest even, and where the views begin, in words; from FIRST_NUMBER on a shader's own. */
enum { CONSTANTS = 1 + BINDINGS, FIRST_NUMBER = 16, MOST_NUMBERS = 240 };

static VkResult make_pipeline(struct gpu *gpu, int shader, VkShaderModule module) {
    const uint32_t *const own = &NAME_numbers[NAME_numbers_start[shader]];
    const uint32_t count = CONSTANTS + NAME_numbers_start[shader + 1] - NAME_numbers_start[shader];
    uint32_t numbers[CONSTANTS + MOST_NUMBERS];
    VkSpecializationMapEntry entries[CONSTANTS + MOST_NUMBERS];
    VkSpecializationInfo constants;
    VkComputePipelineCreateInfo info;
    numbers[0] = gpu->rounds_to_even;
    for (int i = 0; i < BINDINGS; i++) numbers[1 + i] = NAME_shaders[shader].views[gpu->form][i].offset / 4;
    for (uint32_t i = 0; i < count; i++) {
        if (i >= CONSTANTS) numbers[i] = own[i - CONSTANTS];
        entries[i].constantID = i < CONSTANTS ? i : FIRST_NUMBER + i - CONSTANTS;
        entries[i].offset = i * (uint32_t)sizeof numbers[0];
        entries[i].size = sizeof numbers[0];
    }
    constants.mapEntryCount = count;
    constants.pMapEntries = entries;
    constants.dataSize = count * sizeof numbers[0];
    constants.pData = numbers;
    memset(&info, 0, sizeof info);
    info.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
    info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
    info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
    info.stage.module = module;
    info.stage.pName = "main";
    info.stage.pSpecializationInfo = &constants;
    info.layout = gpu->layout;
    const VkResult result = gpu->vk.vkCreateComputePipelines(gpu->device, gpu->cache, 1, &info, NULL, &gpu->pipelines[shader]);
    if (result != VK_SUCCESS) gpu->pipelines[shader] = 0;
    return result;
}

/* The pipelines of all shaders that have code number `code`, which is unpacked to `words`. */
static VkResult make_pipelines_of(struct gpu *gpu, uint32_t code, uint32_t *words) {
    VkShaderModuleCreateInfo info;
    VkShaderModule module = 0;
    VkResult result = VK_SUCCESS;
    memset(&info, 0, sizeof info);
    info.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
    info.codeSize = NAME_codes[code].words * sizeof words[0];
    info.pCode = words;
    for (int i = 0; i < SHADERS && result == VK_SUCCESS; i++) {
        if (gpu->chosen[i]->code != code) continue;
        if (module == 0) {
            unpack_code(&NAME_codes[code], words);
            result = gpu->vk.vkCreateShaderModule(gpu->device, &info, NULL, &module);
            if (result != VK_SUCCESS) return result;
        }
        result = make_pipeline(gpu, i, module);
    }
    gpu->vk.vkDestroyShaderModule(gpu->device, module, NULL);
    return result;
}

static int make_pipelines(struct gpu *gpu) {
    VkDeviceMemory memory;
    unsigned char *words;
    const int status = borrow(gpu, NAME_most_words * sizeof(uint32_t), &memory, &words);
    VkResult result = VK_SUCCESS;
    if (status != MACRO_OK) return status;
    for (uint32_t code = 0; NAME_codes[code].packed != NULL && result == VK_SUCCESS; code++) {
        result = make_pipelines_of(gpu, code, (uint32_t *)(void *)words);
    }
    gpu->vk.vkFreeMemory(gpu->device, memory, NULL);
    return status_of(result, MACRO_GPU_SHADER);
}

static void wait_for(const struct gpu *gpu, VkCommandBuffer commands, VkFlags before, VkFlags after, VkFlags written, VkFlags used) {
    VkMemoryBarrier barrier;
    memset(&barrier, 0, sizeof barrier);
    barrier.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
    barrier.srcAccessMask = written;
    barrier.dstAccessMask = used;
    gpu->vk.vkCmdPipelineBarrier(commands, before, after, 0, 1, &barrier, 0, NULL, 0, NULL);
}

static int record_segment(struct gpu *gpu, const struct NAME_segment *segment, VkCommandBuffer commands) {
    const VkFlags shader = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, host = VK_PIPELINE_STAGE_HOST_BIT;
    const VkFlags both = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT;
    VkCommandBufferBeginInfo begin;
    memset(&begin, 0, sizeof begin);
    begin.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
    const VkResult result = gpu->vk.vkBeginCommandBuffer(commands, &begin);
    if (result != VK_SUCCESS) return status_of(result, MACRO_GPU_MEMORY);
    wait_for(gpu, commands, shader | host, shader, VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_HOST_WRITE_BIT, both);
    for (int i = segment->shader; i < segment->shader + (segment->end - segment->first); i++) {
        const uint32_t *const grid = NAME_shaders[i].grid;
        if (NAME_shaders[i].waits) wait_for(gpu, commands, shader, shader, VK_ACCESS_SHADER_WRITE_BIT, both);
        gpu->vk.vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, gpu->layout, 0, 1, &gpu->sets[i], 0, NULL);
        gpu->vk.vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, gpu->pipelines[i]);
        gpu->vk.vkCmdDispatch(commands, grid[0], grid[1], grid[2]);
    }
    wait_for(gpu, commands, shader, host, VK_ACCESS_SHADER_WRITE_BIT, VK_ACCESS_HOST_READ_BIT | VK_ACCESS_HOST_WRITE_BIT);
    return status_of(gpu->vk.vkEndCommandBuffer(commands), MACRO_GPU_MEMORY);
}

static int record(struct gpu *gpu) {
    VkCommandPoolCreateInfo pool;
    VkCommandBufferAllocateInfo buffers;
    VkFenceCreateInfo fence;
    memset(&pool, 0, sizeof pool);
    pool.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
    pool.queueFamilyIndex = gpu->family;
    VkResult result = gpu->vk.vkCreateCommandPool(gpu->device, &pool, NULL, &gpu->pool);
    if (result != VK_SUCCESS) {
        gpu->pool = 0;
        return status_of(result, MACRO_GPU_MEMORY);
    }
    memset(&buffers, 0, sizeof buffers);
    buffers.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
    buffers.commandPool = gpu->pool;
    buffers.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
    buffers.commandBufferCount = (uint32_t)gpu->pieces->count + 1;
    result = gpu->vk.vkAllocateCommandBuffers(gpu->device, &buffers, gpu->commands);
    if (result != VK_SUCCESS) return status_of(result, MACRO_GPU_MEMORY);
    memset(&fence, 0, sizeof fence);
    fence.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO;
    result = gpu->vk.vkCreateFence(gpu->device, &fence, NULL, &gpu->fence);
    if (result != VK_SUCCESS) {
        gpu->fence = 0;
        return status_of(result, MACRO_GPU_MEMORY);
    }
    for (int i = 0; i <= gpu->pieces->count; i++) {
        const int status = record_segment(gpu, &gpu->pieces->segments[i], gpu->commands[i]);
        if (status != MACRO_OK) return status;
    }
    return MACRO_OK;
}

#endif
