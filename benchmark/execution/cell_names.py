"""What people call a cell: `dph coco-mini 64 bits seed 0`, parts of that, or a part of its key; and which is meant."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from benchmark.errors import UsageError
from benchmark.execution.record import Record

SHOWN = 4  # cells that a message names, where words mean several


def cell_label(method: str, chosen: Mapping[str, Any], dataset: str, bits: int, seed: int) -> str:
    """For people: `dph gamma=0.5 coco-mini 32 bits seed 0`; settings by name, so that a run and its records agree."""
    told = [f"{name}={value:.4g}" if isinstance(value, float) else f"{name}={value}" for name, value in chosen.items()]
    return " ".join([method, *sorted(told), dataset, f"{bits} bits seed {seed}"])


def label_of(record: Record) -> str:
    """What a run calls the cell, with the options of its data set where it has some."""
    cell = record.cell
    chosen = {**cell.get("tuned", {}), **cell.get("params", {})}
    options = sorted(f"{name}={value}" for name, value in record.asked.get("options", {}).items())
    return cell_label(cell["method"], chosen, " ".join([cell["dataset"], *options]), cell["bits"], cell["seed"])


def is_called(text: str, key: str, label: str) -> bool:
    """Whether words mean this cell: a part of its key or label, or beginnings of words of the label, in their order."""
    return text in key or text in label or _in_order(text.split(), label.split())


def _in_order(words: Iterable[str], label: Iterable[str]) -> bool:
    left = iter(label)
    return all(any(part.startswith(word) for part in left) for word in words)


def cells_called(text: str, labels: Mapping[str, str]) -> list[str]:
    """The keys of the cells that words mean best, of `labels`, key -> label: `dph` is not `dph-f` where both are."""
    found = [key for key, label in labels.items() if is_called(text, key, label)]
    exact = {key: len(set(text.split()) & set(labels[key].split())) for key in found}
    return [key for key in found if exact[key] == max(exact.values())]


def cell_called(text: str, labels: Mapping[str, str], where: object) -> str:
    """The key of the one cell that words mean."""
    found = cells_called(text, labels)
    if len(found) == 1:
        return found[0]
    if not found:
        some = next(iter(labels.values()), None)
        known = f"cells there are called like '{some}'" if some else "there is no cell"
        raise UsageError(f"no cell of {where} matches '{text}'; {known}")
    shown = ", ".join(f"'{labels[key]}' ({key[:12]})" for key in found[:SHOWN])
    more = f" and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
    raise UsageError(f"'{text}' means {len(found)} cells of {where}: {shown}{more}; say more, or give the key")
