"""Writes networks that nobody tuned edgec for into a folder, as torch exports them, with random weights.

    VENV/bin/python benchmarks/exports.py FOLDER [--only vit_tiny ...]

Needs torch, timm and onnx: `python -m venv VENV && VENV/bin/pip install torch torchvision timm onnx`. Nothing in the project needs the
files; benchmarks/peers.py measures them.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from importlib import import_module
from itertools import pairwise
from pathlib import Path

import torch
from torch import Tensor, nn

OPSET = 17
try:
    import_module("torchvision")
except RuntimeError:  # one that is for another torch has no library of its own, and fails without these
    for name in ("nms", "qnms"):
        torch.library.define(f"torchvision::{name}", "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")

PICTURE = (1, 3, 224, 224)


def timm(name: str) -> nn.Module:
    import timm

    return timm.create_model(name, pretrained=False, exportable=True)


class Encoder(nn.Module):
    """As speech recognizers have it: two convolutions over a spectrogram of 80 bands, positions, blocks of attention."""

    def __init__(self, frames: int, width: int, heads: int, blocks: int, stride: int = 2) -> None:
        super().__init__()
        self.first = nn.Conv1d(80, width, 3, padding=1)
        self.second = nn.Conv1d(width, width, 3, stride=stride, padding=1)
        self.positions = nn.Parameter(torch.randn(1, frames // stride, width) * 0.02)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(blocks))
        self.norm = nn.LayerNorm(width)

    def forward(self, spectrum: Tensor) -> Tensor:
        value = nn.functional.gelu(self.second(nn.functional.gelu(self.first(spectrum)))).transpose(1, 2) + self.positions
        for block in self.blocks:
            value = block(value)
        return self.norm(value)


class Block(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads, self.size = heads, width // heads
        self.before, self.after = nn.LayerNorm(width), nn.LayerNorm(width)
        self.query, self.key, self.value = nn.Linear(width, width), nn.Linear(width, width, bias=False), nn.Linear(width, width)
        self.out = nn.Linear(width, width)
        self.dense = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, value: Tensor) -> Tensor:
        value = value + self.attended(self.before(value))
        return value + self.dense(self.after(value))

    def attended(self, value: Tensor) -> Tensor:
        batch, count, width = value.shape
        query, key, content = (
            one(value).view(batch, count, self.heads, self.size).transpose(1, 2) for one in (self.query, self.key, self.value)
        )
        shares = torch.softmax(query @ key.transpose(2, 3) * self.size**-0.5, dim=-1)
        return self.out((shares @ content).transpose(1, 2).reshape(batch, count, width))


def doubled(inputs: int, outputs: int) -> nn.Sequential:
    layers: list[nn.Module] = []
    for channels in (inputs, outputs):
        layers += [nn.Conv2d(channels, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU()]
    return nn.Sequential(*layers)


class UNet(nn.Module):
    """Three levels; the way up doubles by ConvTranspose and reads what the way down left."""

    def __init__(self, width: int = 16) -> None:
        super().__init__()
        widths = [width * 2**level for level in range(4)]
        self.down = nn.ModuleList(doubled(a, b) for a, b in zip([3, *widths], widths, strict=False))
        self.up = nn.ModuleList(nn.ConvTranspose2d(b, a, 2, stride=2) for a, b in pairwise(widths))
        self.join = nn.ModuleList(doubled(2 * a, a) for a in widths[:-1])
        self.head = nn.Conv2d(width, 2, 1)

    def forward(self, value: Tensor) -> Tensor:
        kept: list[Tensor] = []
        for index, level in enumerate(self.down):
            value = level(value if index == 0 else nn.functional.max_pool2d(value, 2))
            kept.append(value)
        for level in range(2, -1, -1):
            value = self.join[level](torch.cat([kept[level], self.up[level](value)], dim=1))
        return self.head(value)


class WaveNet(nn.Module):
    """Dilated gated convolutions over a waveform; all that the blocks skip is added up."""

    def __init__(self, width: int = 32, blocks: int = 10) -> None:
        super().__init__()
        self.first, self.head = nn.Conv1d(1, width, 1), nn.Conv1d(width, 1, 1)
        self.wide = nn.ModuleList(nn.Conv1d(width, 2 * width, 3, padding=2**block, dilation=2**block) for block in range(blocks))
        self.narrow = nn.ModuleList(nn.Conv1d(width, width, 1) for _ in range(blocks))

    def forward(self, wave: Tensor) -> Tensor:
        value = self.first(wave)
        skipped = torch.zeros_like(value)
        for wide, narrow in zip(self.wide, self.narrow, strict=True):
            content, gate = wide(value).chunk(2, dim=1)
            found = narrow(torch.tanh(content) * torch.sigmoid(gate))
            value, skipped = value + found, skipped + found
        return self.head(torch.relu(skipped))


# name -> (how to make it, the shape of its input)
NETWORKS: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...]]] = {
    "vit_tiny": (partial(timm, "vit_tiny_patch16_224"), PICTURE),
    "whisper_encoder": (partial(Encoder, 1000, 256, 4, 4), (1, 80, 1000)),
    "mobilevit_xxs": (partial(timm, "mobilevit_xxs"), (1, 3, 256, 256)),
    "unet": (UNet, (1, 3, 128, 128)),
    "wavenet": (WaveNet, (1, 1, 2048)),
    "efficientnet_b0": (partial(timm, "efficientnet_b0"), PICTURE),
    "mobilenet_v3_small": (partial(timm, "mobilenetv3_small_100"), PICTURE),
    "resnet18": (partial(timm, "resnet18"), PICTURE),
    "mobilenetv4_small": (partial(timm, "mobilenetv4_conv_small"), PICTURE),
    "swin_t": (partial(timm, "swin_tiny_patch4_window7_224"), PICTURE),
    "long_encoder": (partial(Encoder, 5000, 128, 4, 4, stride=1), (1, 80, 5000)),
}


def export(name: str, folder: Path) -> Path:
    """Batch norms get gains and statistics first, as training would leave them, so that no activation vanishes."""
    make, shape = NETWORKS[name]
    torch.manual_seed(0)
    network = make().train()
    for module in network.modules():
        if isinstance(module, nn.BatchNorm2d):
            nn.init.uniform_(module.weight, 0.5, 1.5)
            nn.init.normal_(module.bias, 0.0, 0.1)
    with torch.no_grad():
        for _ in range(2):
            network(torch.randn(2, *shape[1:]))
    path = folder / f"{name}.onnx"
    words = {"input_names": ["input"], "output_names": ["output"], "opset_version": OPSET, "dynamo": False}
    torch.onnx.export(network.eval(), (torch.randn(shape),), str(path), **words)
    return path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", nargs="+", choices=NETWORKS, default=[name for name in NETWORKS if name != "long_encoder"])
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    for name in options.only:
        path = export(name, options.folder)
        print(f"{path}: {path.stat().st_size / 1e6:.1f} MB", flush=True)


if __name__ == "__main__":
    main()
