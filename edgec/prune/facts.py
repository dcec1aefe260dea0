"""What was removed, and what it costs: facts alone, for tables, pages and JSON."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PrunedLayer:
    """A layer and how many channels it had and has."""

    node: str
    operator: str
    before: int
    after: int


@dataclass(frozen=True)
class PruningReport:
    """asked: the share of the multiply-accumulates that was to go; macs, parameters: the shares that went. samples: that judged;

    apart: whether nothing was fitted to them. sqnr (dB) and agreement (share of samples with the same best class; None for a network
    without scores of classes): of the pruned network's outputs against the original's, both in float, the worst output. plain: SQNR
    of the values that stand for the outputs when channels are just left out and no weight is fitted; fitted: the same as it is now.
    whole: layers that keep all channels, and why.
    """

    macs: float
    parameters: float
    samples: int
    sqnr: float
    agreement: float | None
    layers: tuple[PrunedLayer, ...]
    whole: dict[str, str]
    asked: float = 0.0
    apart: bool = False
    plain: float = 0.0
    fitted: float = 0.0

    @property
    def warning(self) -> str:
        """What it means for the user."""
        alike = "" if self.agreement is None else f", the same best class in {self.agreement:.0%}"
        found = f"SQNR {self.sqnr:.1f} dB{alike}"
        return f"pruning without training costs accuracy ({found} against the original): train model.pruned.onnx further, or prune less"
