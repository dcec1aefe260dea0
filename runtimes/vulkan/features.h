/* What a device has besides Vulkan 1.0 compute, and which of the shaders' variants that lets it run. */
#ifndef MACRO_VULKAN_FEATURES_H
#define MACRO_VULKAN_FEATURES_H

#include "NAME_vulkan_host.h"

enum { MOST_EXTENSIONS = 8 };

#define VULKAN_VERSION(major, minor) ((uint32_t)(major) << 22 | (uint32_t)(minor) << 12)

/* The structures of features, chained: read from a device, or given to one that is opened. */
struct features {
    VkPhysicalDevice8BitStorageFeatures bytes;
    VkPhysicalDeviceShaderIntegerDotProductFeatures dot;
    VkPhysicalDevice16BitStorageFeatures halves;
    VkPhysicalDeviceShaderFloat16Int8Features half_math;
};

/* Those of `wanted`, which are set; the first of the chain. */
static void *chain_features(struct features *features, uint32_t wanted) {
    void *first = NULL;
    memset(features, 0, sizeof *features);
#define CHAIN(bits, member, type, flag) \
    features->member.sType = type; \
    if ((wanted & (bits)) != 0) { \
        features->member.flag = 1; \
        features->member.pNext = first; \
        first = &features->member; \
    }
    CHAIN(FEATURE_BYTES, bytes, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_8BIT_STORAGE_FEATURES, storageBuffer8BitAccess)
    CHAIN(FEATURE_DOT4, dot, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_FEATURES, shaderIntegerDotProduct)
    CHAIN(FEATURE_HALF, halves, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES, storageBuffer16BitAccess)
    CHAIN(FEATURE_HALF_MATH, half_math, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES, shaderFloat16)
#undef CHAIN
    return first;
}

/* The extensions that have gpu->features where the version of Vulkan has not yet got them; how many. */
static uint32_t name_extensions(const struct gpu *gpu, const char **names) {
    static const struct {
        uint32_t feature, version;
        const char *name;
    } all[] = {
        {FEATURE_BYTES, VULKAN_VERSION(1, 2), "VK_KHR_8bit_storage"},
        {FEATURE_BYTES, VULKAN_VERSION(1, 2), "VK_KHR_shader_float_controls"},
        {FEATURE_HALF_MATH, VULKAN_VERSION(1, 2), "VK_KHR_shader_float16_int8"},
        {FEATURE_DOT4, VULKAN_VERSION(1, 3), "VK_KHR_shader_integer_dot_product"},
    };
    uint32_t count = 0;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        if ((gpu->features & all[i].feature) != 0 && gpu->version < all[i].version) names[count++] = all[i].name;
    }
    return count;
}

/* FEATURE_ bits of the device, and whether it rounds to nearest even. Structures that it does not know stay as they are, all zero. */
static uint32_t read_features(struct gpu *gpu) {
    const VkFlags arithmetic = VK_SUBGROUP_FEATURE_BASIC_BIT | VK_SUBGROUP_FEATURE_ARITHMETIC_BIT;
    struct features found;
    VkPhysicalDeviceFeatures2 features;
    VkPhysicalDeviceFloatControlsProperties floats;
    VkPhysicalDeviceSubgroupProperties subgroups;
    VkPhysicalDeviceProperties2 properties;
    if (gpu->version < VULKAN_VERSION(1, 1) || gpu->vk.vkGetPhysicalDeviceFeatures2 == NULL || gpu->vk.vkGetPhysicalDeviceProperties2 == NULL) return 0;
    memset(&features, 0, sizeof features);
    features.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
    features.pNext = chain_features(&found, ~(uint32_t)0);
    found.bytes.storageBuffer8BitAccess = found.dot.shaderIntegerDotProduct = 0;
    found.halves.storageBuffer16BitAccess = found.half_math.shaderFloat16 = 0;
    memset(&subgroups, 0, sizeof subgroups);
    subgroups.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES;
    memset(&floats, 0, sizeof floats);
    floats.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FLOAT_CONTROLS_PROPERTIES;
    floats.pNext = &subgroups;
    memset(&properties, 0, sizeof properties);
    properties.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
    properties.pNext = &floats;
    gpu->vk.vkGetPhysicalDeviceFeatures2(gpu->physical, &features);
    gpu->vk.vkGetPhysicalDeviceProperties2(gpu->physical, &properties);
    gpu->rounds_to_even = floats.shaderRoundingModeRTEFloat32;
    const int has_subgroups = (subgroups.supportedStages & VK_SHADER_STAGE_COMPUTE_BIT) != 0 && (subgroups.supportedOperations & arithmetic) == arithmetic;
    return (found.bytes.storageBuffer8BitAccess && gpu->rounds_to_even ? FEATURE_BYTES : 0) | (found.dot.shaderIntegerDotProduct ? FEATURE_DOT4 : 0)
           | (has_subgroups ? FEATURE_SUBGROUPS : 0) | (found.halves.storageBuffer16BitAccess ? FEATURE_HALF : 0)
           | (found.half_math.shaderFloat16 ? FEATURE_HALF_MATH : 0);
}

/* Each shader in the last of its variants that the device has the features of, and none after the one that options.variant names. */
static int choose_shaders(struct gpu *gpu) {
    const uint32_t has = read_features(gpu);
    uint32_t last = VARIANTS - 1;
    if (gpu->options.variant != NULL) {
        last = 0;
        while (last < VARIANTS && strcmp(NAME_variants[last].name, gpu->options.variant) != 0) last++;
        if (last == VARIANTS) return MACRO_BAD_ARGUMENT;
        if ((NAME_variants[last].needs & ~has) != 0) return MACRO_GPU_UNFIT;
    }
    for (const struct NAME_spirv *code = NAME_spirv; code->shader != SHADERS; code++) {
        if (code->variant <= last && (NAME_variants[code->variant].needs & ~has) == 0) gpu->chosen[code->shader] = code;
    }
    for (int i = 0; i < SHADERS; i++) gpu->features |= NAME_variants[gpu->chosen[i]->variant].needs;
    gpu->form = FORMS > 1 && (gpu->features & FEATURE_HALF) != 0;
    return MACRO_OK;
}

#endif
