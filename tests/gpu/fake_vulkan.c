/* A Vulkan that computes nothing and fails where it is told to, as libvulkan.so.1 for tests of the host.

   FAKE_FAULTS   "vkQueueSubmit:-4:2-3,...": what a function returns, from its 2nd call to its 3rd (-: to the last; none: always)
   FAKE_DEVICES  their types, "4,1,2" (2)            FAKE_VERSION  of Vulkan, in its last digit: 3 is 1.3 (3)
   FAKE_BYTES, FAKE_EVEN, FAKE_DOT, FAKE_HALF  features, 0 or 1 (1)   FAKE_INVOCATIONS  of a group at most (256)
   FAKE_MISSING  a function that is not there                   FAKE_RANGE  bytes of a buffer at most        FAKE_QUEUE  flags of the second family
   FAKE_REPORT   a file that gets, when the library is unloaded, a line of what was never destroyed, and one of how often functions were called */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vulkan/vulkan.h>

enum { KINDS = 64 };

static struct {
    const char *name;
    int calls;
} counts[KINDS];
static int live, early;

static const char *setting(const char *name, const char *otherwise) {
    const char *const value = getenv(name);
    return value != NULL ? value : otherwise;
}

static int count(const char *name) {
    int i = 0;
    while (counts[i].name != NULL && strcmp(counts[i].name, name) != 0) i++;
    counts[i].name = name;
    return ++counts[i].calls;
}

static VkResult fault(const char *name) {
    const int call = count(name);
    for (const char *text = setting("FAKE_FAULTS", ""); *text != '\0'; text += strcspn(text, ","), text += *text == ',') {
        int result = 0, first = 1, last = 1 << 30;
        const size_t length = strcspn(text, ":");
        if (length != strlen(name) || strncmp(text, name, length) != 0) continue;
        sscanf(text + length, ":%d:%d-%d", &result, &first, &last);
        if (call >= first && call <= last) return (VkResult)result;
    }
    return VK_SUCCESS;
}

static void *make(void) {
    live++;
    return malloc(16);
}

static void drop(void *object) {
    live -= object != NULL;
    free(object);
}

__attribute__((destructor)) static void report(void) {
    FILE *const file = getenv("FAKE_REPORT") != NULL ? fopen(getenv("FAKE_REPORT"), "a") : NULL;
    if (file == NULL) return;
    fprintf(file, "live %d early %d", live, early);
    for (int i = 0; i < KINDS && counts[i].name != NULL; i++) fprintf(file, " %s %d", counts[i].name, counts[i].calls);
    fprintf(file, "\n");
    fclose(file);
}

#define MAKE(kind, info) \
    static VkResult create##kind(VkDevice device, const info *i, const VkAllocationCallbacks *a, Vk##kind *object) { \
        const VkResult result = fault("vkCreate" #kind); \
        (void)device, (void)i, (void)a; \
        if (result == VK_SUCCESS) *object = (Vk##kind)make(); \
        else memset(object, 0x7f, sizeof *object); /* nobody may look at it */ \
        return result; \
    }
#define DROP(kind) \
    static void destroy##kind(VkDevice device, Vk##kind object, const VkAllocationCallbacks *a) { \
        (void)device, (void)a; \
        drop(object); \
    }
#define OBJECT(kind) \
    MAKE(kind, Vk##kind##CreateInfo) \
    DROP(kind)
OBJECT(Buffer)
OBJECT(ShaderModule)
OBJECT(DescriptorSetLayout)
OBJECT(PipelineLayout)
OBJECT(PipelineCache)
OBJECT(DescriptorPool)
OBJECT(CommandPool)
OBJECT(Fence)
DROP(Pipeline)

static VkResult enumerateInstanceVersion(uint32_t *version) {
    *version = VK_MAKE_API_VERSION(0, 1, (uint32_t)atoi(setting("FAKE_VERSION", "3")), 0);
    return fault("vkEnumerateInstanceVersion");
}

static VkResult createInstance(const VkInstanceCreateInfo *info, const VkAllocationCallbacks *a, VkInstance *instance) {
    const VkResult result = fault("vkCreateInstance");
    (void)a;
    if (info->enabledExtensionCount > 0) return VK_ERROR_EXTENSION_NOT_PRESENT;
    if (result == VK_SUCCESS) *instance = (VkInstance)make();
    return result;
}

static void destroyInstance(VkInstance instance, const VkAllocationCallbacks *a) {
    (void)a;
    early += live > 1;
    drop(instance);
}

static VkResult enumeratePhysicalDevices(VkInstance instance, uint32_t *count, VkPhysicalDevice *devices) {
    uint32_t found = 0;
    (void)instance;
    for (const char *text = setting("FAKE_DEVICES", "2"); *text != '\0' && found < *count; text += text[1] == ',' ? 2 : 1) devices[found++] = (VkPhysicalDevice)text;
    *count = found;
    return fault("vkEnumeratePhysicalDevices");
}

static void getPhysicalDeviceProperties(VkPhysicalDevice device, VkPhysicalDeviceProperties *properties) {
    VkPhysicalDeviceLimits *const limits = &properties->limits;
    memset(properties, 0, sizeof *properties);
    properties->apiVersion = VK_MAKE_API_VERSION(0, 1, (uint32_t)atoi(setting("FAKE_VERSION", "3")), 99);
    properties->vendorID = 77;
    properties->deviceType = (VkPhysicalDeviceType)(*(const char *)device - '0');
    snprintf(properties->deviceName, sizeof properties->deviceName, "fake \"%d\"", (int)properties->deviceType);
    limits->maxStorageBufferRange = (uint32_t)atoi(setting("FAKE_RANGE", "134217728"));
    limits->maxComputeSharedMemorySize = 16384;
    limits->maxComputeWorkGroupInvocations = (uint32_t)atoi(setting("FAKE_INVOCATIONS", "256"));
    for (int i = 0; i < 3; i++) {
        limits->maxComputeWorkGroupSize[i] = 256;
        limits->maxComputeWorkGroupCount[i] = 65535;
    }
}

static void getPhysicalDeviceProperties2(VkPhysicalDevice device, VkPhysicalDeviceProperties2 *properties) {
    getPhysicalDeviceProperties(device, &properties->properties);
    for (VkBaseOutStructure *next = properties->pNext; next != NULL; next = next->pNext) {
        if (next->sType != VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FLOAT_CONTROLS_PROPERTIES) continue;
        ((VkPhysicalDeviceFloatControlsProperties *)next)->shaderRoundingModeRTEFloat32 = (VkBool32)atoi(setting("FAKE_EVEN", "1"));
    }
}

static void getPhysicalDeviceFeatures2(VkPhysicalDevice device, VkPhysicalDeviceFeatures2 *features) {
    (void)device;
    for (VkBaseOutStructure *next = features->pNext; next != NULL; next = next->pNext) {
        if (next->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_8BIT_STORAGE_FEATURES) {
            ((VkPhysicalDevice8BitStorageFeatures *)next)->storageBuffer8BitAccess = (VkBool32)atoi(setting("FAKE_BYTES", "1"));
        }
        if (next->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES) {
            ((VkPhysicalDevice16BitStorageFeatures *)next)->storageBuffer16BitAccess = (VkBool32)atoi(setting("FAKE_HALF", "1"));
        }
        if (next->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_FEATURES) {
            ((VkPhysicalDeviceShaderIntegerDotProductFeatures *)next)->shaderIntegerDotProduct = (VkBool32)atoi(setting("FAKE_DOT", "1"));
        }
    }
}

/* A card's: its own memory, the machine's, and a window of its own that the processor sees. */
static void getPhysicalDeviceMemoryProperties(VkPhysicalDevice device, VkPhysicalDeviceMemoryProperties *properties) {
    const VkFlags mapped = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    const VkFlags types[] = {VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, mapped, mapped | VK_MEMORY_PROPERTY_HOST_CACHED_BIT, mapped | VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT};
    (void)device;
    memset(properties, 0, sizeof *properties);
    properties->memoryHeapCount = 1;
    properties->memoryTypeCount = 4;
    for (int i = 0; i < 4; i++) properties->memoryTypes[i].propertyFlags = types[i];
}

static void getPhysicalDeviceQueueFamilyProperties(VkPhysicalDevice device, uint32_t *count, VkQueueFamilyProperties *families) {
    (void)device;
    memset(families, 0, 2 * sizeof *families);
    families[0].queueCount = families[1].queueCount = 1;
    families[0].queueFlags = VK_QUEUE_TRANSFER_BIT;
    families[1].queueFlags = (VkFlags)atoi(setting("FAKE_QUEUE", "2"));
    *count = 2;
}

static VkResult createDevice(VkPhysicalDevice physical, const VkDeviceCreateInfo *info, const VkAllocationCallbacks *a, VkDevice *device) {
    const VkResult result = info->pQueueCreateInfos[0].queueFamilyIndex == 1 ? fault("vkCreateDevice") : VK_ERROR_UNKNOWN;
    (void)physical, (void)a;
    count(info->enabledExtensionCount > 0 ? "extensions" : "no extensions");
    if (result == VK_SUCCESS) *device = (VkDevice)make();
    return result;
}

static void destroyDevice(VkDevice device, const VkAllocationCallbacks *a) {
    (void)a;
    early += live > 2;
    drop(device);
}

static void getDeviceQueue(VkDevice device, uint32_t family, uint32_t index, VkQueue *queue) {
    (void)device, (void)family, (void)index;
    *queue = (VkQueue)&live;
}

static void getBufferMemoryRequirements(VkDevice device, VkBuffer buffer, VkMemoryRequirements *needs) {
    (void)device, (void)buffer;
    needs->size = 1 << 20;
    needs->alignment = 64;
    needs->memoryTypeBits = 15;
}

/* Memory is larger than the object by what is mapped. FAKE_FAULTS knows it by its type too: "memory 3". */
static VkResult allocateMemory(VkDevice device, const VkMemoryAllocateInfo *info, const VkAllocationCallbacks *a, VkDeviceMemory *memory) {
    static const char *const names[] = {"memory 0", "memory 1", "memory 2", "memory 3"};
    VkResult result = fault("vkAllocateMemory");
    (void)device, (void)a;
    if (result == VK_SUCCESS) result = fault(names[info->memoryTypeIndex]);
    if (result != VK_SUCCESS) return result;
    live++;
    *memory = (VkDeviceMemory)aligned_alloc(64, (info->allocationSize + 63) / 64 * 64);
    memset((void *)*memory, 0x5c, (size_t)info->allocationSize);
    return VK_SUCCESS;
}

static void freeMemory(VkDevice device, VkDeviceMemory memory, const VkAllocationCallbacks *a) {
    (void)device, (void)a;
    drop(memory);
}

static VkResult mapMemory(VkDevice device, VkDeviceMemory memory, VkDeviceSize offset, VkDeviceSize size, VkFlags flags, void **data) {
    (void)device, (void)offset, (void)size, (void)flags;
    *data = memory;
    return fault("vkMapMemory");
}

static VkResult bindBufferMemory(VkDevice device, VkBuffer buffer, VkDeviceMemory memory, VkDeviceSize offset) {
    (void)device, (void)buffer, (void)memory, (void)offset;
    return fault("vkBindBufferMemory");
}

static VkResult createComputePipelines(VkDevice device, VkPipelineCache cache, uint32_t n, const VkComputePipelineCreateInfo *infos, const VkAllocationCallbacks *a, VkPipeline *pipelines) {
    const VkResult result = fault("vkCreateComputePipelines");
    (void)device, (void)cache, (void)n, (void)infos, (void)a;
    pipelines[0] = result == VK_SUCCESS ? (VkPipeline)make() : VK_NULL_HANDLE;
    return result;
}

static VkResult getPipelineCacheData(VkDevice device, VkPipelineCache cache, size_t *size, void *data) {
    const uint32_t head[] = {32, 1, 77, 0, 0, 0, 0, 0, 1234};
    const VkResult result = fault("vkGetPipelineCacheData");
    (void)device, (void)cache;
    if (data != NULL) memcpy(data, head, sizeof head);
    *size = sizeof head;
    return result;
}

static VkResult allocateDescriptorSets(VkDevice device, const VkDescriptorSetAllocateInfo *info, VkDescriptorSet *sets) {
    (void)device, (void)info;
    sets[0] = (VkDescriptorSet)&live;
    return fault("vkAllocateDescriptorSets");
}

static VkResult allocateCommandBuffers(VkDevice device, const VkCommandBufferAllocateInfo *info, VkCommandBuffer *buffers) {
    (void)device;
    for (uint32_t i = 0; i < info->commandBufferCount; i++) buffers[i] = (VkCommandBuffer)&live;
    return fault("vkAllocateCommandBuffers");
}

static void nothing(void) {}
static VkResult beginCommandBuffer(void) { return fault("vkBeginCommandBuffer"); }
static VkResult endCommandBuffer(void) { return fault("vkEndCommandBuffer"); }
static VkResult queueSubmit(void) { return fault("vkQueueSubmit"); }
static VkResult waitForFences(void) { return fault("vkWaitForFences"); }
static VkResult resetFences(void) { return fault("vkResetFences"); }

static PFN_vkVoidFunction find(void *parent, const char *name);
PFN_vkVoidFunction vkGetInstanceProcAddr(VkInstance instance, const char *name);

PFN_vkVoidFunction vkGetInstanceProcAddr(VkInstance instance, const char *name) {
    return find(instance, name);
}

static PFN_vkVoidFunction getDeviceProcAddr(VkDevice device, const char *name) {
    return find(device, name);
}

static PFN_vkVoidFunction find(void *parent, const char *name) {
    static const struct {
        const char *name;
        PFN_vkVoidFunction function;
    } all[] = {
#define KNOWN(vulkan, function) {vulkan, (PFN_vkVoidFunction)function}
        KNOWN("vkEnumerateInstanceVersion", enumerateInstanceVersion), KNOWN("vkCreateInstance", createInstance), KNOWN("vkDestroyInstance", destroyInstance),
        KNOWN("vkEnumeratePhysicalDevices", enumeratePhysicalDevices), KNOWN("vkGetPhysicalDeviceProperties", getPhysicalDeviceProperties),
        KNOWN("vkGetPhysicalDeviceProperties2", getPhysicalDeviceProperties2), KNOWN("vkGetPhysicalDeviceFeatures2", getPhysicalDeviceFeatures2),
        KNOWN("vkGetPhysicalDeviceMemoryProperties", getPhysicalDeviceMemoryProperties), KNOWN("vkGetDeviceProcAddr", getDeviceProcAddr),
        KNOWN("vkGetPhysicalDeviceQueueFamilyProperties", getPhysicalDeviceQueueFamilyProperties), KNOWN("vkCreateDevice", createDevice),
        KNOWN("vkDestroyDevice", destroyDevice), KNOWN("vkGetDeviceQueue", getDeviceQueue), KNOWN("vkCreateBuffer", createBuffer),
        KNOWN("vkDestroyBuffer", destroyBuffer), KNOWN("vkGetBufferMemoryRequirements", getBufferMemoryRequirements),
        KNOWN("vkAllocateMemory", allocateMemory), KNOWN("vkFreeMemory", freeMemory), KNOWN("vkMapMemory", mapMemory),
        KNOWN("vkBindBufferMemory", bindBufferMemory), KNOWN("vkCreateShaderModule", createShaderModule), KNOWN("vkDestroyShaderModule", destroyShaderModule),
        KNOWN("vkCreateDescriptorSetLayout", createDescriptorSetLayout), KNOWN("vkDestroyDescriptorSetLayout", destroyDescriptorSetLayout),
        KNOWN("vkCreatePipelineLayout", createPipelineLayout), KNOWN("vkDestroyPipelineLayout", destroyPipelineLayout),
        KNOWN("vkCreateComputePipelines", createComputePipelines), KNOWN("vkDestroyPipeline", destroyPipeline),
        KNOWN("vkCreatePipelineCache", createPipelineCache), KNOWN("vkGetPipelineCacheData", getPipelineCacheData),
        KNOWN("vkDestroyPipelineCache", destroyPipelineCache), KNOWN("vkCreateDescriptorPool", createDescriptorPool),
        KNOWN("vkDestroyDescriptorPool", destroyDescriptorPool), KNOWN("vkAllocateDescriptorSets", allocateDescriptorSets),
        KNOWN("vkUpdateDescriptorSets", nothing), KNOWN("vkCreateCommandPool", createCommandPool), KNOWN("vkDestroyCommandPool", destroyCommandPool),
        KNOWN("vkAllocateCommandBuffers", allocateCommandBuffers), KNOWN("vkBeginCommandBuffer", beginCommandBuffer),
        KNOWN("vkEndCommandBuffer", endCommandBuffer), KNOWN("vkCmdBindPipeline", nothing), KNOWN("vkCmdBindDescriptorSets", nothing),
        KNOWN("vkCmdDispatch", nothing), KNOWN("vkCmdPipelineBarrier", nothing), KNOWN("vkQueueSubmit", queueSubmit), KNOWN("vkCreateFence", createFence),
        KNOWN("vkDestroyFence", destroyFence), KNOWN("vkWaitForFences", waitForFences), KNOWN("vkResetFences", resetFences),
    };
    (void)parent;
    if (strcmp(name, setting("FAKE_MISSING", "")) == 0) return NULL;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        if (strcmp(name, all[i].name) == 0) return all[i].function;
    }
    return NULL;
}
