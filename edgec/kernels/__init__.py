"""The template kernels, a file for each: arguments, variants, packing."""

from __future__ import annotations

from edgec.kernels import (
    attention_float,
    conv_float,
    conv_int8_any,
    conv_int8_variants,
    conv_int16,
    depthwise_float,
    depthwise_int8,
    depthwise_int16,
    function_float,
    halves,
    layer_norm_int8,
    multiply_int8,
    pool_average,
    pool_max,
    product_float,
    product_int8,
    rows_codes,
    softmax_int8,
)
from edgec.kernels.attention_float import AttentionFloat
from edgec.kernels.conv_float import ConvFloat
from edgec.kernels.conv_int8 import CONV_INT8_FUNCTION, ConvInt8, ConvInt8Float, ConvInt8Function
from edgec.kernels.conv_int8_any import ConvInt8Any
from edgec.kernels.conv_int16 import ConvInt16
from edgec.kernels.depthwise_float import DepthwiseFloat
from edgec.kernels.depthwise_int8 import DEPTHWISE_INT8_FUNCTION, DepthwiseInt8, DepthwiseInt8Function
from edgec.kernels.depthwise_int16 import DepthwiseInt16
from edgec.kernels.function_float import FunctionFloat, GeluFloat, SwishFloat
from edgec.kernels.halves import HALF_OF
from edgec.kernels.layer_norm_int8 import LayerNormInt8
from edgec.kernels.multiply_int8 import MultiplyInt8
from edgec.kernels.pool_average import PoolAverageFloat, PoolAverageInt8
from edgec.kernels.pool_max import PoolMaxFloat, PoolMaxInt8
from edgec.kernels.product_float import PackFloat, ProductFloat
from edgec.kernels.product_int8 import PackInt8, ProductInt8, ProductInt8Float
from edgec.kernels.rows_codes import RowsCodes4, RowsCodes8
from edgec.kernels.softmax_int8 import SoftmaxInt8
from edgec.kernels.variants import Variant
from edgec.program.arguments import Arguments

# In the order that packages hold them
VARIANTS: dict[type[Arguments], tuple[Variant, ...]] = {
    ConvInt8: conv_int8_variants.VARIANTS,
    **dict.fromkeys(CONV_INT8_FUNCTION.values(), conv_int8_variants.VARIANTS),
    ConvInt8Float: conv_int8_variants.FLOAT_VARIANTS,
    ConvInt8Any: conv_int8_any.VARIANTS,
    DepthwiseInt8: depthwise_int8.VARIANTS,
    **dict.fromkeys(DEPTHWISE_INT8_FUNCTION.values(), depthwise_int8.VARIANTS),
    PackInt8: product_int8.PACK_VARIANTS,
    ProductInt8: product_int8.VARIANTS,
    ProductInt8Float: product_int8.VARIANTS,
    SoftmaxInt8: softmax_int8.VARIANTS,
    LayerNormInt8: layer_norm_int8.VARIANTS,
    MultiplyInt8: multiply_int8.VARIANTS,
    ConvInt16: conv_int16.VARIANTS,
    DepthwiseInt16: depthwise_int16.VARIANTS,
    ConvFloat: conv_float.VARIANTS,
    PackFloat: product_float.PACK_VARIANTS,
    ProductFloat: product_float.VARIANTS,
    AttentionFloat: attention_float.VARIANTS,
    SwishFloat: function_float.VARIANTS,
    GeluFloat: function_float.VARIANTS,
    RowsCodes8: rows_codes.VARIANTS8,
    RowsCodes4: rows_codes.VARIANTS4,
    DepthwiseFloat: depthwise_float.VARIANTS,
    PoolMaxInt8: pool_max.VARIANTS,
    PoolMaxFloat: pool_max.VARIANTS,
    PoolAverageInt8: pool_average.VARIANTS,
    PoolAverageFloat: pool_average.VARIANTS,
    **halves.VARIANTS,
}

__all__ = [
    "CONV_INT8_FUNCTION",
    "DEPTHWISE_INT8_FUNCTION",
    "HALF_OF",
    "VARIANTS",
    "AttentionFloat",
    "ConvFloat",
    "ConvInt8",
    "ConvInt8Any",
    "ConvInt8Float",
    "ConvInt8Function",
    "ConvInt16",
    "DepthwiseFloat",
    "DepthwiseInt8",
    "DepthwiseInt8Function",
    "DepthwiseInt16",
    "FunctionFloat",
    "GeluFloat",
    "LayerNormInt8",
    "MultiplyInt8",
    "PackFloat",
    "PackInt8",
    "PoolAverageFloat",
    "PoolAverageInt8",
    "PoolMaxFloat",
    "PoolMaxInt8",
    "ProductFloat",
    "ProductInt8",
    "ProductInt8Float",
    "RowsCodes4",
    "RowsCodes8",
    "SoftmaxInt8",
    "SwishFloat",
    "Variant",
    "scratch_bytes",
    "work_items",
]  # fmt: skip
