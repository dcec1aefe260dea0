/* Finding Vulkan, a device of it, and what that device can do. */
#ifndef MACRO_VULKAN_DEVICE_H
#define MACRO_VULKAN_DEVICE_H

#include <dlfcn.h>

#include "NAME_vulkan_features.h"

enum { MOST_DEVICES = 16, MOST_FAMILIES = 32 };
enum { VIEW_ALIGNMENT = 256 }; /* of the views in the tables */

static int open_library(struct gpu *gpu) {
    static const char *const names[] = {"libvulkan.so.1", "libvulkan.so"};
    for (size_t i = 0; i < sizeof names / sizeof names[0] && gpu->library == NULL; i++) gpu->library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (gpu->library == NULL) return MACRO_NO_GPU;
    void *const found = dlsym(gpu->library, "vkGetInstanceProcAddr");
    if (found == NULL) return MACRO_NO_GPU;
    memcpy(&gpu->find, &found, sizeof found); /* C has no cast from data to functions */
    return MACRO_OK;
}

static VkBool32 VKAPI_PTR pass_on(uint32_t severity, VkFlags types, const VkDebugUtilsMessengerCallbackDataEXT *data, void *user) {
    const struct gpu *const gpu = (const struct gpu *)user;
    (void)severity;
    (void)types;
    gpu->options.message(gpu->options.user, data->pMessage);
    return 0;
}

static VkResult create_instance(struct gpu *gpu, const VkDebugUtilsMessengerCreateInfoEXT *messenger) {
    static const char *const extensions[] = {"VK_EXT_debug_utils"};
    PFN_vkCreateInstance create = (PFN_vkCreateInstance)gpu->find(NULL, "vkCreateInstance");
    VkApplicationInfo application;
    VkInstanceCreateInfo info;
    if (create == NULL) return VK_ERROR_INITIALIZATION_FAILED;
    memset(&application, 0, sizeof application);
    application.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
    application.pApplicationName = "NAME";
    application.pEngineName = "edgec";
    application.apiVersion = gpu->version;
    memset(&info, 0, sizeof info);
    info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
    info.pNext = messenger;
    info.pApplicationInfo = &application;
    info.enabledExtensionCount = messenger != NULL;
    info.ppEnabledExtensionNames = extensions;
    return create(&info, NULL, &gpu->vulkan);
}

static int load_instance_functions(struct gpu *gpu) {
    int missing = 0;
#define FIND(name, result, parameters) gpu->vk.name = (result(VKAPI_PTR *) parameters)gpu->find(gpu->vulkan, #name);
#define FIND_ALL(name, result, parameters) FIND(name, result, parameters) missing += gpu->vk.name == NULL;
    VULKAN_OPTIONAL_FUNCTIONS(FIND)
    VULKAN_INSTANCE_FUNCTIONS(FIND_ALL)
#undef FIND_ALL
#undef FIND
    if (missing == 0) return MACRO_OK;
    gpu->vulkan = NULL; /* what cannot be destroyed */
    return MACRO_NO_GPU;
}

static int open_instance(struct gpu *gpu) {
    const PFN_vkEnumerateInstanceVersion ask = (PFN_vkEnumerateInstanceVersion)gpu->find(NULL, "vkEnumerateInstanceVersion");
    VkDebugUtilsMessengerCreateInfoEXT messenger;
    VkResult result = VK_ERROR_EXTENSION_NOT_PRESENT;
    gpu->version = VULKAN_VERSION(1, 0);
    if (ask != NULL && ask(&gpu->version) != VK_SUCCESS) gpu->version = VULKAN_VERSION(1, 0);
    if (gpu->version > VULKAN_VERSION(1, 3)) gpu->version = VULKAN_VERSION(1, 3);
    memset(&messenger, 0, sizeof messenger);
    messenger.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT;
    messenger.messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT;
    messenger.messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT;
    messenger.pfnUserCallback = pass_on;
    messenger.pUserData = gpu;
    if (gpu->options.message != NULL) result = create_instance(gpu, &messenger);
    if (result == VK_ERROR_EXTENSION_NOT_PRESENT) result = create_instance(gpu, NULL);
    if (result != VK_SUCCESS) {
        gpu->vulkan = NULL;
        return status_of(result, MACRO_NO_GPU);
    }
    const int status = load_instance_functions(gpu);
    if (status != MACRO_OK || gpu->options.message == NULL || gpu->vk.vkCreateDebugUtilsMessengerEXT == NULL) return status;
    return status_of(gpu->vk.vkCreateDebugUtilsMessengerEXT(gpu->vulkan, &messenger, NULL, &gpu->messenger), MACRO_NO_GPU);
}

/* The first family of queues that computes, or -1. */
static int compute_family(const struct gpu *gpu, VkPhysicalDevice device) {
    VkQueueFamilyProperties families[MOST_FAMILIES];
    uint32_t count = MOST_FAMILIES;
    gpu->vk.vkGetPhysicalDeviceQueueFamilyProperties(device, &count, families);
    for (uint32_t i = 0; i < count && i < MOST_FAMILIES; i++) {
        if ((families[i].queueFlags & VK_QUEUE_COMPUTE_BIT) != 0 && families[i].queueCount > 0) return (int)i;
    }
    return -1;
}

/* The device that options.device names, or the best one: a card, then a part of the processor, then any other; software comes last. */
static int choose_device(struct gpu *gpu) {
    static const int ranks[] = {2, 4, 5, 3, 1}; /* of VK_PHYSICAL_DEVICE_TYPE_OTHER, _INTEGRATED_GPU, _DISCRETE_GPU, _VIRTUAL_GPU, _CPU */
    VkPhysicalDevice devices[MOST_DEVICES];
    uint32_t count = MOST_DEVICES;
    int best = 0;
    const VkResult result = gpu->vk.vkEnumeratePhysicalDevices(gpu->vulkan, &count, devices);
    if (result != VK_SUCCESS && result != VK_INCOMPLETE) return status_of(result, MACRO_NO_GPU);
    for (uint32_t i = 0; i < count && i < MOST_DEVICES; i++) {
        VkPhysicalDeviceProperties properties;
        const int family = compute_family(gpu, devices[i]);
        gpu->vk.vkGetPhysicalDeviceProperties(devices[i], &properties);
        const int rank = properties.deviceType <= VK_PHYSICAL_DEVICE_TYPE_CPU ? ranks[properties.deviceType] : ranks[0];
        if (family < 0 || rank <= best || (gpu->options.device > 0 && gpu->options.device != (int)i + 1)) continue;
        best = rank;
        gpu->physical = devices[i];
        gpu->properties = properties;
        gpu->family = (uint32_t)family;
    }
    if (best == 0) return MACRO_NO_GPU;
    gpu->vk.vkGetPhysicalDeviceMemoryProperties(gpu->physical, &gpu->memory_types);
    if (gpu->version > gpu->properties.apiVersion) gpu->version = gpu->properties.apiVersion;
    return MACRO_OK;
}

/* Whether every shader keeps to the device's limits. */
static int check_limits(struct gpu *gpu) {
    const VkPhysicalDeviceLimits *const limits = &gpu->properties.limits;
    if (limits->minStorageBufferOffsetAlignment > VIEW_ALIGNMENT) return MACRO_GPU_UNFIT;
    for (int i = 0; i < SHADERS; i++) {
        const struct NAME_shader *const shader = &NAME_shaders[i];
        int fits = shader->shared_bytes <= limits->maxComputeSharedMemorySize;
        for (int axis = 0; axis < 3; axis++) {
            fits = fits && shader->group[axis] <= limits->maxComputeWorkGroupSize[axis] && shader->grid[axis] <= limits->maxComputeWorkGroupCount[axis];
        }
        for (int view = 0; view < BINDINGS; view++) {
            if (shader->views[gpu->form][view].bytes > limits->maxStorageBufferRange) return MACRO_GPU_MEMORY;
        }
        if (!fits || shader->group[0] * shader->group[1] * shader->group[2] > limits->maxComputeWorkGroupInvocations) return MACRO_GPU_UNFIT;
    }
    return MACRO_OK;
}

static int open_device(struct gpu *gpu) {
    static const float priority = 1.0f;
    const char *extensions[MOST_EXTENSIONS];
    struct features features;
    VkDeviceQueueCreateInfo queue;
    VkDeviceCreateInfo info;
    int missing = 0;
    memset(&queue, 0, sizeof queue);
    queue.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
    queue.queueFamilyIndex = gpu->family;
    queue.queueCount = 1;
    queue.pQueuePriorities = &priority;
    memset(&info, 0, sizeof info);
    info.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
    info.queueCreateInfoCount = 1;
    info.pQueueCreateInfos = &queue;
    info.ppEnabledExtensionNames = extensions;
    if (gpu->features != 0) info.pNext = chain_features(&features, gpu->features);
    info.enabledExtensionCount = name_extensions(gpu, extensions);
    const VkResult result = gpu->vk.vkCreateDevice(gpu->physical, &info, NULL, &gpu->device);
    if (result != VK_SUCCESS) {
        gpu->device = NULL;
        return status_of(result, MACRO_GPU_UNFIT);
    }
#define FIND(name, result, parameters) gpu->vk.name = (result(VKAPI_PTR *) parameters)gpu->vk.vkGetDeviceProcAddr(gpu->device, #name); missing += gpu->vk.name == NULL;
    VULKAN_DEVICE_FUNCTIONS(FIND)
#undef FIND
    if (missing > 0) {
        gpu->device = NULL;
        return MACRO_NO_GPU;
    }
    gpu->vk.vkGetDeviceQueue(gpu->device, gpu->family, 0, &gpu->queue);
    return MACRO_OK;
}

#endif
