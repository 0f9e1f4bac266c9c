"""What goes into the figures beyond curves: costs, classes, training, ranks, sweeps, t-SNE. Not drawn here."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmark.evaluation.statistics import cliques, critical_difference
from benchmark.report.figures import Drawing
from benchmark.report.frame import Dataset, Sheet, curve_bits, methods, scored
from benchmark.report.payloads import Payloads
from benchmark.report.tables import cutoff, rank_scores

if TYPE_CHECKING:
    import pandas as pd

BINS = 6
STEPS_SHOWN = 200
CLASSES_SHOWN, ITEMS_PER_CLASS = 10, 60
SYMBOLS = {"inv_epsilon": "1/ε", "gamma": "γ", "beta": "β"}


def at_curve_bits(sheet: Sheet, dataset: Dataset) -> tuple[pd.DataFrame, int]:
    """Scored cells of a data set at the bits its curves are shown at."""
    cells = scored(sheet.of(dataset))
    bits = curve_bits(cells)
    return cells[cells["bits"] == bits], bits


def leading(cells: pd.DataFrame) -> list[str]:
    """The two methods shown side by side: the paper's DPH and HashNet, else the two of highest MAP."""
    known = set(cells["method"])
    if {"dph", "hashnet"} <= known:
        return ["dph", "hashnet"]
    order = cells.groupby("method")["map"].mean().sort_values(ascending=False, kind="stable")
    return [str(method) for method in order.index[:2]]


def dataset_insights(sheet: Sheet, dataset: Dataset, payloads: Payloads) -> list[Drawing]:
    """Figures of one data set that are no curve of the paper's three."""
    cells, bits = at_curve_bits(sheet, dataset)
    stem = f"{dataset.slug}-{sheet.slug}"
    made = [
        _cost(cells, dataset, bits, stem),
        _classes(cells, dataset, bits, stem, payloads),
        _training(cells, dataset, bits, stem, payloads),
        _embedding(cells, dataset, bits, stem, payloads),
    ]
    return [drawing for drawing in made if drawing is not None]


def _cost(cells: pd.DataFrame, dataset: Dataset, bits: int, stem: str) -> Drawing | None:
    import pandas as pd

    if "seconds_fit" not in cells:
        return None
    seconds = cells["seconds_fit"] + cells.get("seconds_encode", 0)
    means = cells.assign(x=seconds.clip(lower=1e-4)).groupby("method")[["x", "map"]].mean()
    rows = [(name, title, means.loc[name, "x"], means.loc[name, "map"]) for name, title in methods(cells)]
    data = pd.DataFrame(rows, columns=["method", "title", "x", "y"]).dropna()
    title = f"{dataset.label}: quality against cost @ {bits} bits"
    options = {"xlabel": "Seconds to fit and encode", "ylabel": f"MAP@{cutoff(cells)}"}
    alt = f"{title}. MAP of each method against seconds to fit and encode."
    return Drawing(f"cost-{stem}", "cost", title, alt, data, options)


def _classes(cells: pd.DataFrame, dataset: Dataset, bits: int, stem: str, payloads: Payloads) -> Drawing | None:
    import pandas as pd

    counts = payloads.dataset(dataset.revision).get("train_class_counts")
    parts = []
    for name, title in methods(cells):
        scores = payloads.mean(cells[cells["method"] == name], "class_ap")
        if counts is None or scores is None or len(scores) != len(counts):
            continue
        known = np.isfinite(scores) & (counts > 0)
        each = pd.DataFrame({"part": "class", "x": counts[known], "y": scores[known]})
        parts.append(pd.concat([each, _binned(each)]).assign(method=name, title=title))
    if not parts:
        return None
    data = pd.concat(parts, ignore_index=True)[["part", "method", "title", "x", "y"]]
    title = f"{dataset.label}: MAP of a class against its frequency @ {bits} bits"
    log = bool(data["x"].max() > 10 * data["x"].min())
    options = {"dots": leading(cells), "ylabel": f"MAP@{cutoff(cells)} of the class", "log": log}
    alt = f"{title}. Lines are means over classes of like frequency, dots single classes of the two leading methods."
    return Drawing(f"classes-{stem}", "classes", title, alt, data, options)


def _binned(each: pd.DataFrame) -> pd.DataFrame:
    """Means over groups of classes of like frequency; classes of one frequency stay together."""
    import pandas as pd

    bins = pd.qcut(each["x"], BINS, labels=False, duplicates="drop")
    if bins.isna().all():
        bins = pd.Series(0, index=each.index)
    means = each.assign(x=np.log(each["x"])).groupby(bins)[["x", "y"]].mean()
    return pd.DataFrame({"part": "bin", "x": np.exp(means["x"]), "y": means["y"]})


def _training(cells: pd.DataFrame, dataset: Dataset, bits: int, stem: str, payloads: Payloads) -> Drawing | None:
    import pandas as pd

    parts = []
    for name, title in methods(cells):
        first = cells[cells["method"] == name].sort_values("seed").iloc[0]
        history = payloads.records[first["key"]].training
        loss = np.asarray(history.get("loss") or [], float)
        if len(loss) < 2 or not loss[0]:
            continue
        norm = np.asarray(history.get("gradient_norm") or [], float)
        norm = norm if len(norm) == len(loss) else np.full(len(loss), np.nan)
        steps = np.asarray(history.get("step") or range(len(loss)))
        shown = np.unique(np.linspace(0, len(loss) - 1, STEPS_SHOWN).astype(int))
        columns = {"x": steps[shown], "loss": loss[shown] / loss[0], "gradient_norm": norm[shown]}
        parts.append(pd.DataFrame({"method": name, "title": title, **columns}))
    if not parts:
        return None
    title = f"{dataset.label}: training @ {bits} bits"
    alt = f"{title}. Loss relative to the first and gradient norm against steps for each deep method."
    return Drawing(f"training-{stem}", "training", title, alt, pd.concat(parts, ignore_index=True))


def _embedding(cells: pd.DataFrame, dataset: Dataset, bits: int, stem: str, payloads: Payloads) -> Drawing | None:
    import pandas as pd

    labels = payloads.labels(dataset.revision)
    if labels is None:
        return None
    items, of_class = _items_of_ten_classes(labels[1], dataset.revision)
    names = class_names(payloads, dataset.revision, labels[1].shape[1])
    codes = {}
    for name, title in methods(cells[cells["method"].isin(leading(cells))]):
        stored = payloads.codes(cells[cells["method"] == name].sort_values("seed")["key"].iloc[0])
        if stored is not None and len(stored[1]) == len(labels[1]):
            codes[title] = stored[1][items]
    if not codes or len(items) < 10:
        return None
    title = f"{dataset.label}: t-SNE of codes @ {bits} bits"
    shown = [names[c] for c in of_class]
    options = {"codes": codes, "bits": bits, "class": shown}
    alt = f"{title}, {len(set(shown))} classes, for {' and '.join(codes)}."
    return Drawing(f"tsne-{stem}", "scatter", title, alt, pd.DataFrame(), options)


def _items_of_ten_classes(labels: np.ndarray, revision: str) -> tuple[np.ndarray, np.ndarray]:
    """Items that carry exactly one of ten classes drawn at random from the well-filled half, and that class."""
    rng = np.random.default_rng(list(revision.encode()))
    frequency = labels.sum(axis=0)
    filled = np.argsort(-frequency, kind="stable")[: max(CLASSES_SHOWN, labels.shape[1] // 2)]
    chosen = np.sort(rng.permutation(filled)[:CLASSES_SHOWN])
    single = np.flatnonzero(labels[:, chosen].sum(axis=1) == 1)
    single = rng.permutation(single)
    of_class = chosen[labels[single][:, chosen].argmax(axis=1)]
    kept = [single[of_class == c][:ITEMS_PER_CLASS] for c in chosen]
    items = np.concatenate(kept)
    return items, np.repeat(chosen, [len(part) for part in kept])


def class_names(payloads: Payloads, revision: str, classes: int) -> list[str]:
    stored = payloads.dataset(revision).get("class_names")
    if stored is None or len(stored) != classes:
        return [f"class {number}" for number in range(classes)]
    return [str(name) for name in stored]


def rank_figure(sheet: Sheet) -> list[Drawing]:
    """The critical-difference diagram of a sheet with at least three methods and two data sets."""
    import pandas as pd

    rows, datasets, by_set = rank_scores(sheet)
    if len(rows) < 3 or len(datasets) < 2:
        return []
    mean = by_set.mean(axis=0)
    gap = critical_difference(len(rows), len(datasets))
    groups = [[float(mean[g].min()), float(mean[g].max())] for g in cliques(mean, gap)]
    data = pd.DataFrame([(m, t, r) for (m, t), r in zip(rows, mean, strict=True)], columns=["method", "title", "rank"])
    title = f"Mean ranks over {len(datasets)} data sets{' (miniatures)' if sheet.miniature else ''}"
    alt = f"{title}; bars join methods within the critical difference {gap:.2f}."
    return [Drawing(f"cd-{sheet.slug}", "critical", title, alt, data, {"groups": groups, "gap": gap})]


def sensitivity_figures(sheet: Sheet) -> list[Drawing]:
    """One figure per swept parameter: MAP against its values on every data set."""
    import pandas as pd

    swept: dict[tuple[str, str], list[tuple[Any, ...]]] = {}
    for dataset in sheet.datasets():
        for method, parameter, rows in _sweeps(sheet, dataset):
            swept.setdefault((method, parameter), []).extend(rows)
    drawings = []
    for (method, parameter), rows in swept.items():
        data = pd.DataFrame(rows, columns=["dataset", "title", "bits", "x", "y", "std", "default"])
        label = SYMBOLS.get(parameter, parameter.replace("_", " "))
        title = f"{data['title'].iloc[0]}: sensitivity to {label} @ {data['bits'].iloc[0]} bits"
        log = bool(data["x"].min() > 0 and data["x"].max() >= 10 * data["x"].min())
        k = cutoff(sheet.cells)
        options = {"xlabel": label, "ylabel": "MAP@k" if "," in k else f"MAP@{k}", "log": log}
        name = f"sensitivity-{method}-{parameter.replace('_', '-')}-{sheet.slug}"
        drawings.append(Drawing(name, "sensitivity", title, f"{title}. One line per data set.", data, options))
    return drawings


def _sweeps(sheet: Sheet, dataset: Dataset) -> Iterator[tuple[str, str, list[tuple[Any, ...]]]]:
    """(method, parameter, rows of the figure) for each parameter with at least two numeric values."""
    cells, bits = at_curve_bits(sheet, dataset) if len(scored(sheet.of(dataset))) else (sheet.cells.iloc[:0], 0)
    single = [(index, json.loads(params)) for index, params in cells["params"].items() if params]
    found: dict[tuple[str, str], dict[float, list[Any]]] = {}
    for index, params in single:
        (parameter, value), *others = params.items()
        if not others and isinstance(value, (int, float)) and not isinstance(value, bool):
            found.setdefault((cells.at[index, "method"], parameter), {}).setdefault(float(value), []).append(index)
    for (method, parameter), values in found.items():
        usual = cells[(cells["method"] == method) & (cells["params"] == "")]
        default = default_value(method, parameter)
        if default is not None and len(usual):
            values[default] = list(usual.index)
        rows = []
        for value, indices in sorted(values.items()):
            scores = cells.loc[indices, "map"].astype(float)
            spread = float(scores.std()) if len(scores) > 1 else None
            title = cells.at[indices[0], "title"]
            rows.append((dataset.label, title, bits, value, float(scores.mean()), spread, value == default))
        if len(rows) > 1:
            yield method, parameter, rows


def default_value(method: str, parameter: str) -> float | None:
    """What a cell without the parameter was run with; None where the method is not at hand."""
    from benchmark.errors import UsageError
    from benchmark.registry import get_method

    try:
        value = get_method(method).info.parameters.get(parameter)
    except UsageError:
        return None
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None
