"""`--log tensorboard:DIR`: the history that a record keeps of a training, as curves that TensorBoard draws.

They are written when a cell is committed, from its record alone: nothing of a training, of its key or of its numbers
depends on whether anybody watches. The package is optional: nothing here imports it before it is needed.
"""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Iterator
from pathlib import Path

from benchmark.errors import UsageError
from benchmark.execution.cell_names import label_of
from benchmark.execution.places import check_writable
from benchmark.execution.record import Record

KIND = "tensorboard"
LONGEST_NAME = 200  # letters of a folder's; file systems take 255 bytes
EVENTS = "events.out.tfevents.*"  # how TensorBoard calls its files


def check_log(text: str) -> Path:
    """The folder that `tensorboard:DIR` names; UsageError where curves could not be written there."""
    kind, _, folder = text.partition(":")
    if kind != KIND:
        raise UsageError(f"--log {text}: expected {KIND}:DIR, e.g. --log {KIND}:runs")
    if not folder:
        raise UsageError(f"--log {text}: it needs a folder behind the colon, e.g. --log {KIND}:runs")
    if importlib.util.find_spec(KIND) is None:
        raise UsageError(f"--log {text}: needs the package {KIND}: pip install 'hashbench[{KIND}]'")
    check_writable("--log", Path(folder), "folder")
    return Path(folder)


def write_log(folder: Path, record: Record) -> None:
    """The curves of one cell into a folder of its own, in place of those of an earlier run of it."""
    curves = [*_curves(record)]
    if not curves:
        return
    from torch.utils.tensorboard import SummaryWriter

    target = folder / cell_folder(record)
    for old in target.glob(EVENTS):
        old.unlink()
    with SummaryWriter(str(target)) as writer:
        for name, step, value in curves:
            writer.add_scalar(name, value, step)


def cell_folder(record: Record) -> str:
    """'dph coco-mini 64 bits seed 0 1a2b3c4d': its name for people, and what tells it from others of that name."""
    name = "".join(letter if letter.isprintable() and letter not in "/\\" else "_" for letter in label_of(record))
    return f"{name[:LONGEST_NAME]} {record.key[:8]}"


def _curves(record: Record) -> Iterator[tuple[str, int, float]]:
    """Name, step and value of every number in the lists of a history; `step`, where there is one, counts the rest."""
    steps = record.training.get("step")
    for name, values in record.training.items():
        if name == "step" or not isinstance(values, list):
            continue
        at = steps if isinstance(steps, list) and len(steps) == len(values) else range(len(values))
        for step, value in zip(at, values, strict=True):
            if isinstance(value, (int, float)) and math.isfinite(value):
                yield name, int(step), float(value)
