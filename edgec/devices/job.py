"""One job: packages on one board, from the first connection to the verdict."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from edgec.devices.connection import Exchange
from edgec.devices.device import Device
from edgec.devices.gates import Gates
from edgec.devices.measure import Options
from edgec.results import Accuracy, Record

if TYPE_CHECKING:
    from edgec.devices.parcel import Parcel


class Judge(Protocol):
    """Streams samples to a package that runs in `--run` mode on a board, and compares its answers with those of the float model."""

    def __call__(self, package: str, exchange: Exchange) -> Accuracy:
        """package: PackageFacts.sha256."""


@dataclass(frozen=True)
class Task:
    """Everything a job needs, so that it can be sent to another host (by pickling, where dask does it).

    parcels: the first is the base that the others are compared with. owner: who holds the board's lock meanwhile, in words.
    """

    device: Device
    parcels: tuple[Parcel, ...]
    options: Options
    gates: Gates
    judge: Judge | None
    owner: str


def run_task(task: Task) -> list[Record]:
    raise NotImplementedError
