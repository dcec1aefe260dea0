"""Words of GLSL, of MSL and of the preludes that a Program might use as the names of its variables."""

from __future__ import annotations

RESERVED = frozenset((
    "active", "arena", "attribute", "bool", "break", "buffer", "case", "char", "common", "const", "constant", "continue", "default",
    "device", "discard", "do", "double", "else", "enum", "extern", "false", "filter", "fixed", "flat", "float", "for", "fragment",
    "goto", "group", "half", "highp", "if", "in", "inline", "input", "int", "interface", "invariant", "io", "item", "kernel", "lane",
    "layout", "local", "long", "lowp", "main", "mediump", "namespace", "noise", "out", "output", "partition", "patch", "precise",
    "precision", "private", "public", "readonly", "resource", "return", "sample", "sampler", "shared", "short", "signed", "sizeof",
    "smooth", "static", "struct", "subroutine", "superp", "switch", "template", "this", "thread", "threadgroup", "true", "typedef",
    "uint", "uniform", "union", "unsigned", "using", "varying", "vertex", "void", "volatile", "weights", "while", "word",
    "place", "number", "turn", "count", "wide", "float_parts", "int_parts", "writeonly",
    "abs", "acos", "all", "any", "asin", "atan", "ceil", "clamp", "cos", "cross", "degrees", "distance", "dot", "equal", "exp", "floor",
    "fma", "fract", "inverse", "length", "log", "max", "min", "mix", "mod", "normalize", "not", "pow", "radians", "reflect", "refract",
    "round", "sign", "sin", "sqrt", "step", "tan", "tanh", "transpose", "trunc", "add_even", "multiply_even", "float_even",
    "zero_times", "zero_over", "less_itself", "over_itself", "requantize", "pack4", "dot4", "sine", "assembled",
))  # fmt: skip
