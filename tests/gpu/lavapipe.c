/* Dispatches compute shaders on the first Vulkan device, under core and synchronization validation, for tests/gpu/lavapipe.py.
   Functions return NULL, or a text that says what went wrong. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <vulkan/vulkan.h>

enum { REGIONS = 3, BINDINGS = 4, GUARD = 4096, FILL = 0xa5, MOST_STEPS = 4096 };

static VkInstance instance;
static VkPhysicalDevice physical;
static VkDevice device;
static VkQueue queue;
static VkCommandPool pool;
static VkDescriptorSetLayout set_layout;
static VkPipelineLayout layout;
static VkDescriptorPool descriptors;
static VkFence fence;
static char messages[8192], device_name[VK_MAX_PHYSICAL_DEVICE_NAME_SIZE];

#define CHECK(call)                                                             \
    do {                                                                        \
        VkResult result = (call);                                               \
        if (result != VK_SUCCESS) {                                             \
            static char text[256];                                              \
            snprintf(text, sizeof text, "%s: %d", #call, (int)result);          \
            return text;                                                        \
        }                                                                       \
    } while (0)

static VkBool32 VKAPI_PTR note(VkDebugUtilsMessageSeverityFlagBitsEXT severity, VkDebugUtilsMessageTypeFlagsEXT type,
                               const VkDebugUtilsMessengerCallbackDataEXT *data, void *user) {
    size_t used = strlen(messages);
    (void)severity, (void)type, (void)user;
    snprintf(messages + used, sizeof messages - used, "%s\n", data->pMessage);
    return VK_FALSE;
}

const char *gpu_name(void) { return device_name; }
const char *gpu_messages(void) { return messages; }

static const char *open_instance(void) {
    const char *layers[] = {"VK_LAYER_KHRONOS_validation"};
    const char *extensions[] = {VK_EXT_DEBUG_UTILS_EXTENSION_NAME, VK_EXT_VALIDATION_FEATURES_EXTENSION_NAME};
    VkValidationFeatureEnableEXT enabled[] = {VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT};
    VkDebugUtilsMessengerCreateInfoEXT messenger = {
        VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT, NULL, 0,
        VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT,
        VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT, note, NULL};
    VkValidationFeaturesEXT features = {VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT, &messenger, 1, enabled, 0, NULL};
    VkApplicationInfo application = {VK_STRUCTURE_TYPE_APPLICATION_INFO, NULL, "tests", 1, NULL, 0, VK_API_VERSION_1_3};
    VkInstanceCreateInfo info = {VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, &features, 0, &application, 1, layers, 2, extensions};
    VkDebugUtilsMessengerEXT handle;
    CHECK(vkCreateInstance(&info, NULL, &instance));
    PFN_vkCreateDebugUtilsMessengerEXT create =
        (PFN_vkCreateDebugUtilsMessengerEXT)vkGetInstanceProcAddr(instance, "vkCreateDebugUtilsMessengerEXT");
    CHECK(create(instance, &messenger, NULL, &handle));
    return NULL;
}

static const char *open_device(void) {
    uint32_t count = 1;
    float priority = 1;
    VkPhysicalDeviceProperties properties;
    VkPhysicalDeviceVulkan13Features thirteen = {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES};
    VkPhysicalDeviceVulkan12Features twelve = {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES, &thirteen};
    VkPhysicalDeviceVulkan11Features eleven = {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES, &twelve};
    eleven.storageBuffer16BitAccess = VK_TRUE;
    twelve.shaderFloat16 = VK_TRUE;
    thirteen.shaderIntegerDotProduct = VK_TRUE;
    twelve.storageBuffer8BitAccess = VK_TRUE;
    vkEnumeratePhysicalDevices(instance, &count, &physical);
    if (count == 0) return "no Vulkan device";
    vkGetPhysicalDeviceProperties(physical, &properties);
    strcpy(device_name, properties.deviceName);
    VkDeviceQueueCreateInfo queues = {VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, NULL, 0, 0, 1, &priority};
    VkDeviceCreateInfo info = {VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, &eleven, 0, 1, &queues, 0, NULL, 0, NULL, NULL};
    CHECK(vkCreateDevice(physical, &info, NULL, &device));
    vkGetDeviceQueue(device, 0, 0, &queue);
    return NULL;
}

static const char *open_rest(void) {
    VkCommandPoolCreateInfo commands = {VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
    VkFenceCreateInfo fences = {VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    VkDescriptorSetLayoutBinding bindings[BINDINGS];
    VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, BINDINGS * MOST_STEPS};
    VkDescriptorPoolCreateInfo pools = {VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO, NULL, 0, MOST_STEPS, 1, &size};
    for (uint32_t i = 0; i < BINDINGS; i++)
        bindings[i] = (VkDescriptorSetLayoutBinding){i, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, NULL};
    VkDescriptorSetLayoutCreateInfo sets = {VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO, NULL, 0, BINDINGS, bindings};
    CHECK(vkCreateCommandPool(device, &commands, NULL, &pool));
    CHECK(vkCreateFence(device, &fences, NULL, &fence));
    CHECK(vkCreateDescriptorSetLayout(device, &sets, NULL, &set_layout));
    CHECK(vkCreateDescriptorPool(device, &pools, NULL, &descriptors));
    VkPipelineLayoutCreateInfo layouts = {VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO, NULL, 0, 1, &set_layout, 0, NULL};
    CHECK(vkCreatePipelineLayout(device, &layouts, NULL, &layout));
    return NULL;
}

const char *gpu_open(void) {
    const char *wrong = open_instance();
    if (wrong == NULL) wrong = open_device();
    return wrong != NULL ? wrong : open_rest();
}

struct region {
    VkBuffer buffer;
    VkDeviceMemory memory;
    unsigned char *bytes;
};

static uint32_t memory_type(uint32_t allowed) {
    const VkMemoryPropertyFlags wanted = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    VkPhysicalDeviceMemoryProperties properties;
    uint32_t type = 0;
    vkGetPhysicalDeviceMemoryProperties(physical, &properties);
    while (!(allowed >> type & 1) || (properties.memoryTypes[type].propertyFlags & wanted) != wanted) type++;
    return type;
}

/* A region with `size` bytes of data and a guard behind them. */
static const char *make_region(struct region *region, const void *data, size_t size) {
    VkBufferCreateInfo info = {VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, NULL, 0, size + GUARD, VK_BUFFER_USAGE_STORAGE_BUFFER_BIT};
    VkMemoryRequirements needs;
    void *mapped;
    CHECK(vkCreateBuffer(device, &info, NULL, &region->buffer));
    vkGetBufferMemoryRequirements(device, region->buffer, &needs);
    VkMemoryAllocateInfo allocate = {VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, NULL, needs.size, memory_type(needs.memoryTypeBits)};
    CHECK(vkAllocateMemory(device, &allocate, NULL, &region->memory));
    CHECK(vkBindBufferMemory(device, region->buffer, region->memory, 0));
    CHECK(vkMapMemory(device, region->memory, 0, VK_WHOLE_SIZE, 0, &mapped));
    region->bytes = mapped;
    memcpy(region->bytes, data, size);
    memset(region->bytes + size, FILL, GUARD);
    return NULL;
}

static const char *end_region(struct region *region, void *data, size_t size) {
    const char *wrong = NULL;
    for (size_t i = 0; i < GUARD; i++)
        if (region->bytes[size + i] != FILL) wrong = "a shader wrote behind the end of a region";
    memcpy(data, region->bytes, size);
    vkDestroyBuffer(device, region->buffer, NULL);
    vkFreeMemory(device, region->memory, NULL);
    return wrong;
}

struct step {
    const uint32_t *code;
    size_t code_bytes;
    uint32_t grid[3];
    uint32_t wait; /* for the steps before it */
    uint32_t views[BINDINGS][2]; /* offset and bytes of what it sees of the regions; no bytes: all of a region */
};

static const char *make_set(const struct step *step, const struct region *regions, VkDescriptorSet *set) {
    static const int region_of[BINDINGS] = {0, 0, 1, 2};
    VkDescriptorSetAllocateInfo allocate = {VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO, NULL, descriptors, 1, &set_layout};
    CHECK(vkAllocateDescriptorSets(device, &allocate, set));
    for (uint32_t i = 0; i < BINDINGS; i++) {
        VkDescriptorBufferInfo range = {regions[region_of[i]].buffer, step->views[i][0], step->views[i][1] ? step->views[i][1] : VK_WHOLE_SIZE};
        VkWriteDescriptorSet write = {VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET, NULL, *set, i, 0, 1, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, NULL, &range, NULL};
        vkUpdateDescriptorSets(device, 1, &write, 0, NULL);
    }
    return NULL;
}

static const char *make_pipeline(const struct step *step, uint32_t rounds_to_even, VkPipeline *pipeline) {
    VkShaderModule module;
    VkShaderModuleCreateInfo info = {VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, NULL, 0, step->code_bytes, step->code};
    uint32_t numbers[1 + BINDINGS] = {rounds_to_even};
    VkSpecializationMapEntry entries[1 + BINDINGS];
    VkSpecializationInfo special = {1 + BINDINGS, entries, sizeof numbers, numbers};
    for (uint32_t i = 0; i <= BINDINGS; i++) {
        entries[i] = (VkSpecializationMapEntry){i, i * 4, 4};
        if (i > 0) numbers[i] = step->views[i - 1][0] / 4;
    }
    CHECK(vkCreateShaderModule(device, &info, NULL, &module));
    VkComputePipelineCreateInfo create = {
        VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO, NULL, 0,
        {VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO, NULL, 0, VK_SHADER_STAGE_COMPUTE_BIT, module, "main", &special},
        layout, VK_NULL_HANDLE, 0};
    CHECK(vkCreateComputePipelines(device, VK_NULL_HANDLE, 1, &create, NULL, pipeline));
    vkDestroyShaderModule(device, module, NULL);
    return NULL;
}

static const char *dispatch(const struct step *steps, uint32_t count, uint32_t rounds_to_even, const struct region *regions) {
    static VkPipeline pipelines[MOST_STEPS];
    VkDescriptorSet set;
    VkCommandBuffer buffer;
    VkCommandBufferAllocateInfo allocate = {VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, NULL, pool, VK_COMMAND_BUFFER_LEVEL_PRIMARY, 1};
    VkCommandBufferBeginInfo begin = {VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    VkMemoryBarrier barrier = {VK_STRUCTURE_TYPE_MEMORY_BARRIER, NULL, VK_ACCESS_SHADER_WRITE_BIT, VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT};
    if (count > MOST_STEPS) return "too many steps";
    CHECK(vkAllocateCommandBuffers(device, &allocate, &buffer));
    CHECK(vkBeginCommandBuffer(buffer, &begin));
    vkResetDescriptorPool(device, descriptors, 0);
    for (uint32_t i = 0; i < count; i++) {
        const char *wrong = make_pipeline(&steps[i], rounds_to_even, &pipelines[i]);
        if (wrong == NULL) wrong = make_set(&steps[i], regions, &set);
        if (wrong != NULL) return wrong;
        vkCmdBindDescriptorSets(buffer, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 1, &set, 0, NULL);
        if (steps[i].wait)
            vkCmdPipelineBarrier(buffer, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, 0, 1, &barrier, 0, NULL, 0, NULL);
        vkCmdBindPipeline(buffer, VK_PIPELINE_BIND_POINT_COMPUTE, pipelines[i]);
        vkCmdDispatch(buffer, steps[i].grid[0], steps[i].grid[1], steps[i].grid[2]);
    }
    barrier.dstAccessMask = VK_ACCESS_HOST_READ_BIT;
    vkCmdPipelineBarrier(buffer, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &barrier, 0, NULL, 0, NULL);
    CHECK(vkEndCommandBuffer(buffer));
    VkSubmitInfo submit = {VK_STRUCTURE_TYPE_SUBMIT_INFO, NULL, 0, NULL, NULL, 1, &buffer, 0, NULL};
    CHECK(vkQueueSubmit(queue, 1, &submit, fence));
    CHECK(vkWaitForFences(device, 1, &fence, VK_TRUE, 60000000000ull));
    CHECK(vkResetFences(device, 1, &fence));
    vkFreeCommandBuffers(device, pool, 1, &buffer);
    for (uint32_t i = 0; i < count; i++) vkDestroyPipeline(device, pipelines[i], NULL);
    return NULL;
}

/* Runs the steps one after the other in one command buffer; data[i] is what region i holds, before and after. */
const char *gpu_run(const struct step *steps, uint32_t count, uint32_t rounds_to_even, void *const *data, const size_t *sizes) {
    struct region regions[REGIONS];
    const char *wrong = NULL;
    messages[0] = 0;
    for (uint32_t i = 0; i < REGIONS && wrong == NULL; i++) wrong = make_region(&regions[i], data[i], sizes[i]);
    if (wrong == NULL) wrong = dispatch(steps, count, rounds_to_even, regions);
    if (wrong != NULL) return wrong;
    for (uint32_t i = 0; i < REGIONS; i++) {
        const char *end = end_region(&regions[i], data[i], sizes[i]);
        if (end != NULL) wrong = end;
    }
    return wrong;
}
