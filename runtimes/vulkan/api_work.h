/* The rest of what NAME uses of Vulkan: descriptors, commands and all functions. */
#ifndef MACRO_VULKAN_API_WORK_H
#define MACRO_VULKAN_API_WORK_H

#include "NAME_vulkan_api.h"

typedef struct VkComputePipelineCreateInfo {
    VkStructureType sType;
    const void *pNext;
    VkFlags flags;
    VkPipelineShaderStageCreateInfo stage;
    VkPipelineLayout layout;
    VkPipeline basePipelineHandle;
    int32_t basePipelineIndex;
} VkComputePipelineCreateInfo;

typedef struct VkPipelineCacheCreateInfo {
    VkStructureType sType;
    const void *pNext;
    VkFlags flags;
    size_t initialDataSize;
    const void *pInitialData;
} VkPipelineCacheCreateInfo;

typedef struct VkPipelineCacheHeaderVersionOne {
    uint32_t headerSize;
    uint32_t headerVersion;
    uint32_t vendorID;
    uint32_t deviceID;
    uint8_t pipelineCacheUUID[VK_UUID_SIZE];
} VkPipelineCacheHeaderVersionOne;

typedef struct VkDescriptorSetLayoutBinding {
    uint32_t binding;
    uint32_t descriptorType;
    uint32_t descriptorCount;
    VkFlags stageFlags;
    const void *pImmutableSamplers;
} VkDescriptorSetLayoutBinding;

typedef struct VkDescriptorSetLayoutCreateInfo {
    VkStructureType sType;
    const void *pNext;
    VkFlags flags;
    uint32_t bindingCount;
    const VkDescriptorSetLayoutBinding *pBindings;
} VkDescriptorSetLayoutCreateInfo;

typedef struct VkPipelineLayoutCreateInfo {
    VkStructureType sType;
    const void *pNext;
    VkFlags flags;
    uint32_t setLayoutCount;
    const VkDescriptorSetLayout *pSetLayouts;
    uint32_t pushConstantRangeCount;
    const void *pPushConstantRanges;
} VkPipelineLayoutCreateInfo;

typedef struct VkDescriptorPoolSize {
    uint32_t type;
    uint32_t descriptorCount;
} VkDescriptorPoolSize;

typedef struct VkDescriptorPoolCreateInfo {
    VkStructureType sType;
    const void *pNext;
    VkFlags flags;
    uint32_t maxSets;
    uint32_t poolSizeCount;
    const VkDescriptorPoolSize *pPoolSizes;
} VkDescriptorPoolCreateInfo;

typedef struct VkDescriptorSetAllocateInfo {
    VkStructureType sType;
    const void *pNext;
    VkDescriptorPool descriptorPool;
    uint32_t descriptorSetCount;
    const VkDescriptorSetLayout *pSetLayouts;
} VkDescriptorSetAllocateInfo;

typedef struct VkDescriptorBufferInfo {
    VkBuffer buffer;
    VkDeviceSize offset;
    VkDeviceSize range;
} VkDescriptorBufferInfo;

typedef struct VkWriteDescriptorSet {
    VkStructureType sType;
    const void *pNext;
    VkDescriptorSet dstSet;
    uint32_t dstBinding;
    uint32_t dstArrayElement;
    uint32_t descriptorCount;
    uint32_t descriptorType;
    const void *pImageInfo;
    const VkDescriptorBufferInfo *pBufferInfo;
    const void *pTexelBufferView;
} VkWriteDescriptorSet;

typedef struct VkCommandPoolCreateInfo {
    VkStructureType sType;
    const void *pNext;
    VkFlags flags;
    uint32_t queueFamilyIndex;
} VkCommandPoolCreateInfo;

typedef struct VkCommandBufferAllocateInfo {
    VkStructureType sType;
    const void *pNext;
    VkCommandPool commandPool;
    uint32_t level;
    uint32_t commandBufferCount;
} VkCommandBufferAllocateInfo;

typedef struct VkCommandBufferBeginInfo {
    VkStructureType sType;
    const void *pNext;
    VkFlags flags;
    const void *pInheritanceInfo;
} VkCommandBufferBeginInfo;

typedef struct VkMemoryBarrier {
    VkStructureType sType;
    const void *pNext;
    VkFlags srcAccessMask;
    VkFlags dstAccessMask;
} VkMemoryBarrier;

typedef struct VkFenceCreateInfo {
    VkStructureType sType;
    const void *pNext;
    VkFlags flags;
} VkFenceCreateInfo;

typedef struct VkSubmitInfo {
    VkStructureType sType;
    const void *pNext;
    uint32_t waitSemaphoreCount;
    const void *pWaitSemaphores;
    const VkFlags *pWaitDstStageMask;
    uint32_t commandBufferCount;
    const VkCommandBuffer *pCommandBuffers;
    uint32_t signalSemaphoreCount;
    const void *pSignalSemaphores;
} VkSubmitInfo;

typedef struct VkDebugUtilsMessengerCallbackDataEXT {
    VkStructureType sType;
    const void *pNext;
    VkFlags flags;
    const char *pMessageIdName;
    int32_t messageIdNumber;
    const char *pMessage;
    uint32_t queueLabelCount;
    const void *pQueueLabels;
    uint32_t cmdBufLabelCount;
    const void *pCmdBufLabels;
    uint32_t objectCount;
    const void *pObjects;
} VkDebugUtilsMessengerCallbackDataEXT;

typedef VkBool32(VKAPI_PTR *PFN_vkDebugUtilsMessengerCallbackEXT)(uint32_t severity, VkFlags types, const VkDebugUtilsMessengerCallbackDataEXT *data, void *user);

typedef struct VkDebugUtilsMessengerCreateInfoEXT {
    VkStructureType sType;
    const void *pNext;
    VkFlags flags;
    VkFlags messageSeverity;
    VkFlags messageType;
    PFN_vkDebugUtilsMessengerCallbackEXT pfnUserCallback;
    void *pUserData;
} VkDebugUtilsMessengerCreateInfoEXT;

/* Functions: X(name, result, parameters). Allocators are always NULL here. */
typedef void(VKAPI_PTR *PFN_vkVoidFunction)(void);
typedef PFN_vkVoidFunction(VKAPI_PTR *PFN_vkGetInstanceProcAddr)(VkInstance instance, const char *name);
typedef VkResult(VKAPI_PTR *PFN_vkEnumerateInstanceVersion)(uint32_t *version);
typedef VkResult(VKAPI_PTR *PFN_vkCreateInstance)(const VkInstanceCreateInfo *info, const void *allocator, VkInstance *instance);

#define VULKAN_INSTANCE_FUNCTIONS(X) \
    X(vkDestroyInstance, void, (VkInstance instance, const void *allocator)) \
    X(vkEnumeratePhysicalDevices, VkResult, (VkInstance instance, uint32_t *count, VkPhysicalDevice *devices)) \
    X(vkGetPhysicalDeviceProperties, void, (VkPhysicalDevice device, VkPhysicalDeviceProperties *properties)) \
    X(vkGetPhysicalDeviceMemoryProperties, void, (VkPhysicalDevice device, VkPhysicalDeviceMemoryProperties *properties)) \
    X(vkGetPhysicalDeviceQueueFamilyProperties, void, (VkPhysicalDevice device, uint32_t *count, VkQueueFamilyProperties *families)) \
    X(vkCreateDevice, VkResult, (VkPhysicalDevice physical, const VkDeviceCreateInfo *info, const void *allocator, VkDevice *device)) \
    X(vkGetDeviceProcAddr, PFN_vkVoidFunction, (VkDevice device, const char *name))

/* Not there before Vulkan 1.1, or without VK_EXT_debug_utils. */
#define VULKAN_OPTIONAL_FUNCTIONS(X) \
    X(vkGetPhysicalDeviceFeatures2, void, (VkPhysicalDevice device, VkPhysicalDeviceFeatures2 *features)) \
    X(vkGetPhysicalDeviceProperties2, void, (VkPhysicalDevice device, VkPhysicalDeviceProperties2 *properties)) \
    X(vkCreateDebugUtilsMessengerEXT, VkResult, (VkInstance instance, const VkDebugUtilsMessengerCreateInfoEXT *info, const void *allocator, VkDebugUtilsMessengerEXT *messenger)) \
    X(vkDestroyDebugUtilsMessengerEXT, void, (VkInstance instance, VkDebugUtilsMessengerEXT messenger, const void *allocator))

#define VULKAN_DEVICE_FUNCTIONS(X) \
    X(vkDestroyDevice, void, (VkDevice device, const void *allocator)) \
    X(vkGetDeviceQueue, void, (VkDevice device, uint32_t family, uint32_t index, VkQueue *queue)) \
    X(vkCreateBuffer, VkResult, (VkDevice device, const VkBufferCreateInfo *info, const void *allocator, VkBuffer *buffer)) \
    X(vkDestroyBuffer, void, (VkDevice device, VkBuffer buffer, const void *allocator)) \
    X(vkGetBufferMemoryRequirements, void, (VkDevice device, VkBuffer buffer, VkMemoryRequirements *needs)) \
    X(vkAllocateMemory, VkResult, (VkDevice device, const VkMemoryAllocateInfo *info, const void *allocator, VkDeviceMemory *memory)) \
    X(vkFreeMemory, void, (VkDevice device, VkDeviceMemory memory, const void *allocator)) \
    X(vkMapMemory, VkResult, (VkDevice device, VkDeviceMemory memory, VkDeviceSize offset, VkDeviceSize size, VkFlags flags, void **data)) \
    X(vkBindBufferMemory, VkResult, (VkDevice device, VkBuffer buffer, VkDeviceMemory memory, VkDeviceSize offset)) \
    X(vkCreateShaderModule, VkResult, (VkDevice device, const VkShaderModuleCreateInfo *info, const void *allocator, VkShaderModule *module)) \
    X(vkDestroyShaderModule, void, (VkDevice device, VkShaderModule module, const void *allocator)) \
    X(vkCreateDescriptorSetLayout, VkResult, (VkDevice device, const VkDescriptorSetLayoutCreateInfo *info, const void *allocator, VkDescriptorSetLayout *layout)) \
    X(vkDestroyDescriptorSetLayout, void, (VkDevice device, VkDescriptorSetLayout layout, const void *allocator)) \
    X(vkCreatePipelineLayout, VkResult, (VkDevice device, const VkPipelineLayoutCreateInfo *info, const void *allocator, VkPipelineLayout *layout)) \
    X(vkDestroyPipelineLayout, void, (VkDevice device, VkPipelineLayout layout, const void *allocator)) \
    X(vkCreateComputePipelines, VkResult, (VkDevice device, VkPipelineCache cache, uint32_t count, const VkComputePipelineCreateInfo *infos, const void *allocator, VkPipeline *pipelines)) \
    X(vkDestroyPipeline, void, (VkDevice device, VkPipeline pipeline, const void *allocator)) \
    X(vkCreatePipelineCache, VkResult, (VkDevice device, const VkPipelineCacheCreateInfo *info, const void *allocator, VkPipelineCache *cache)) \
    X(vkGetPipelineCacheData, VkResult, (VkDevice device, VkPipelineCache cache, size_t *size, void *data)) \
    X(vkDestroyPipelineCache, void, (VkDevice device, VkPipelineCache cache, const void *allocator)) \
    X(vkCreateDescriptorPool, VkResult, (VkDevice device, const VkDescriptorPoolCreateInfo *info, const void *allocator, VkDescriptorPool *pool)) \
    X(vkDestroyDescriptorPool, void, (VkDevice device, VkDescriptorPool pool, const void *allocator)) \
    X(vkAllocateDescriptorSets, VkResult, (VkDevice device, const VkDescriptorSetAllocateInfo *info, VkDescriptorSet *sets)) \
    X(vkUpdateDescriptorSets, void, (VkDevice device, uint32_t writes, const VkWriteDescriptorSet *write, uint32_t copies, const void *copy)) \
    X(vkCreateCommandPool, VkResult, (VkDevice device, const VkCommandPoolCreateInfo *info, const void *allocator, VkCommandPool *pool)) \
    X(vkDestroyCommandPool, void, (VkDevice device, VkCommandPool pool, const void *allocator)) \
    X(vkAllocateCommandBuffers, VkResult, (VkDevice device, const VkCommandBufferAllocateInfo *info, VkCommandBuffer *buffers)) \
    X(vkBeginCommandBuffer, VkResult, (VkCommandBuffer buffer, const VkCommandBufferBeginInfo *info)) \
    X(vkEndCommandBuffer, VkResult, (VkCommandBuffer buffer)) \
    X(vkCmdBindPipeline, void, (VkCommandBuffer buffer, uint32_t point, VkPipeline pipeline)) \
    X(vkCmdBindDescriptorSets, void, (VkCommandBuffer buffer, uint32_t point, VkPipelineLayout layout, uint32_t first, uint32_t count, const VkDescriptorSet *sets, uint32_t offsets, const uint32_t *offset)) \
    X(vkCmdDispatch, void, (VkCommandBuffer buffer, uint32_t x, uint32_t y, uint32_t z)) \
    X(vkCmdPipelineBarrier, void, (VkCommandBuffer buffer, VkFlags before, VkFlags after, VkFlags flags, uint32_t memories, const VkMemoryBarrier *memory, uint32_t buffers, const void *buffer_barriers, uint32_t images, const void *image_barriers)) \
    X(vkQueueSubmit, VkResult, (VkQueue queue, uint32_t count, const VkSubmitInfo *submits, VkFence fence)) \
    X(vkCreateFence, VkResult, (VkDevice device, const VkFenceCreateInfo *info, const void *allocator, VkFence *fence)) \
    X(vkDestroyFence, void, (VkDevice device, VkFence fence, const void *allocator)) \
    X(vkWaitForFences, VkResult, (VkDevice device, uint32_t count, const VkFence *fences, VkBool32 all, uint64_t nanoseconds)) \
    X(vkResetFences, VkResult, (VkDevice device, uint32_t count, const VkFence *fences))

/* Every function that an instance and its device have. */
struct vulkan {
#define VULKAN_MEMBER(name, result, parameters) result(VKAPI_PTR *name) parameters;
    VULKAN_INSTANCE_FUNCTIONS(VULKAN_MEMBER)
    VULKAN_OPTIONAL_FUNCTIONS(VULKAN_MEMBER)
    VULKAN_DEVICE_FUNCTIONS(VULKAN_MEMBER)
#undef VULKAN_MEMBER
};

#endif
