"""Does `tune` rank settings as unseen rows do? `python performance/folds.py`, on the data of ../shared/data.

For each method a few settings are trained on every fold, and the rows held out are looked for in three databases: the
rows kept, those held out with them, and both, which is what `tune` does. The same settings are trained on all training
rows, and database rows that are no training rows are looked for among the others: what `tune` should have known. No
query is touched. Printed are the scores (MAP over classes), and for each database Spearman's correlation with the
truth, and the true score of the setting that it would choose.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from real_data import WRITTEN, write
from scipy.stats import spearmanr

from benchmark import Split, Splits
from benchmark.errors import TrainingFailed
from benchmark.evaluation.counting import Counts, count
from benchmark.evaluation.metrics import score_counts
from benchmark.execution.grid import Cell, choose_datasets, make_grid
from benchmark.execution.options import Options
from benchmark.execution.plan import plan_cells
from benchmark.execution.runner import request_for
from benchmark.execution.search_space import draws, search_space
from benchmark.execution.store import tune_store
from benchmark.execution.worker import build_method, checked_splits, held_out, use_threads
from benchmark.registry import get_method

FOLDS, ASKED = 3, 5  # rows of each class that are looked for among unseen ones
DATABASES = ("kept", "held", "both")


def macro(counts: Counts, k: int) -> float:
    return float(score_counts(counts, k=k).macro_map)


def coded(method: Any, split: Split) -> tuple[np.ndarray, np.ndarray]:
    return method.encode(split.visible(method.info.input, "nothing")), split.required_labels()


def fitted(info: Any, request: Any, train: Split) -> Any:
    return build_method(info, request).fit(train.visible(info.input, info.needs))


def fold_scores(info: Any, request: Any, train: Split, k: int) -> list[float]:
    """MAP over classes by database, mean over folds."""
    found = []
    for part in range(FOLDS):
        splits = held_out(Splits(train, train, train), (part, FOLDS), request.identity)
        method = fitted(info, request, splits.train)
        held, kept = coded(method, splits.query), coded(method, splits.train)
        databases = count(held[0], [kept], held[1]), count(held[0], [held], held[1]).without_own()
        both = count(held[0], [held, kept], held[1]).without_own()
        found.append([macro(one, k) for one in (*databases, both)])
    return np.mean(found, axis=0).tolist()


def true_score(info: Any, request: Any, splits: Splits, k: int) -> float:
    """MAP over classes of database rows that are no training rows, looked for among all others."""
    codes, labels = coded(fitted(info, request, splits.train), splits.database)
    rows, owned = np.asarray(splits.database.features), labels.argmax(axis=1)
    trained = {row.tobytes() for row in np.ascontiguousarray(splits.train.features)}
    unseen = [number for number, row in enumerate(np.ascontiguousarray(rows)) if row.tobytes() not in trained]
    order = np.random.default_rng(1).permutation(unseen)
    asked = np.concatenate([order[owned[order] == one][:ASKED] for one in range(labels.shape[1])])
    others = np.setdiff1d(np.arange(len(rows)), asked)
    return macro(count(codes[asked], codes[others], labels[asked], labels[others]), k)


def measured(choice: Any, name: str, bits: int, settings: int, folder: Path) -> np.ndarray:
    """(settings, kept, held, both and the truth), the defaults first; a setting that diverges is left out."""
    grid, store = make_grid([choice], [name], [bits], [0], "quick"), tune_store(folder)
    info, training, rows = get_method(name).info, grid.profile.training, []
    for setting in draws(info, training, search_space(info, training, {}), settings)[:settings]:
        (planned,) = plan_cells([Cell(info, {}, choice, bits, 0, grid.profile, setting)], store)
        request = request_for(planned, store, Options())
        dataset, splits, _ = checked_splits(info, request)
        k = int(dataset.map_cutoff or len(splits.database))
        try:
            row = [*fold_scores(info, request, splits.train, k), true_score(info, request, splits, k)]
        except TrainingFailed as failure:
            print(f"{name:9}{bits:4}  {failure}", flush=True)
            continue
        print(f"{name:9}{bits:4}  " + "  ".join(f"{value:.4f}" for value in row) + f"  {setting}", flush=True)
        rows.append(row)
    return np.array(rows)


def told(name: str, found: np.ndarray) -> None:
    truth = found[:, -1]
    for place, database in enumerate(DATABASES):
        rank = spearmanr(found[:, place], truth)[0]
        chosen = truth[found[:, place].argmax()]
        print(f"{name}, {database}: Spearman {rank:.2f}, chosen {chosen:.4f}, best {truth.max():.4f}")


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--methods", nargs="+", default=["dph", "dsh", "hashnet", "dhn"])
    parser.add_argument("--datasets", nargs="+", default=["tiny-skewed"], choices=WRITTEN)
    parser.add_argument("--bits", nargs="+", type=int, default=[16])
    parser.add_argument("--settings", type=int, default=8)
    parser.add_argument("--sets", type=Path, default=Path("results/sets"), help="where the data sets are written")
    parser.add_argument("--results", type=Path, default=Path("results/folds"))
    given = parser.parse_args(words)
    use_threads(1)
    print(f"method   bits  {'  '.join(f'{one:6}' for one in DATABASES)}  truth")
    for choice in choose_datasets([f"features:{write(name, given.sets)}" for name in given.datasets]):
        for bits in given.bits:
            rows = [measured(choice, name, bits, given.settings, given.results) for name in given.methods]
            for name, found in zip(given.methods, rows, strict=True):
                told(f"{choice.label} {name} {bits}", found)
            told(f"{choice.label} all {bits}", np.concatenate(rows))


if __name__ == "__main__":
    main()
