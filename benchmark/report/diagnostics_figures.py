"""What goes into the figures beyond curves: costs, classes, training, t-SNE of codes. Not drawn here."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from benchmark.report.curve_figures import seeds_note
from benchmark.report.display_names import clean, unique_names
from benchmark.report.drawing import Drawing
from benchmark.report.sheets import DatasetColumn, Sheet, at_curve_bits, leading, map_at, methods
from benchmark.report.stored_arrays import StoredArrays
from benchmark.wording import listed

if TYPE_CHECKING:
    import pandas as pd

BINS = 6
STEPS_SHOWN = 200
CLASSES_SHOWN, ITEMS_PER_CLASS = 10, 40


def cost_figure(sheet: Sheet, dataset: DatasetColumn, stored: StoredArrays) -> Drawing | None:
    """Quality against cost, a point per method."""
    import pandas as pd

    cells, bits = at_curve_bits(sheet, dataset)

    if "seconds_fit" not in cells:
        return None
    seconds = cells["seconds_fit"] + cells.get("seconds_encode", 0)
    means = cells.assign(x=seconds.clip(lower=1e-4)).groupby("method")[["x", "map"]].mean()
    families = cells.groupby("method")["family"].first()
    rows = [(name, title, *means.loc[name, ["x", "map"]], families[name]) for name, title in methods(cells)]
    data = pd.DataFrame(rows, columns=["method", "title", "x", "y", "family"]).dropna()
    if data.empty:
        return None
    title = sheet.titled(f"{dataset.label}: quality against cost @ {bits} bits")
    options = {"xlabel": "Seconds to fit and encode", "ylabel": map_at(cells)}
    alt = f"{title}. {map_at(cells)} of each method against seconds to fit and encode."
    note = seeds_note(cells, data)
    return Drawing(f"cost-{dataset.slug}-{sheet.slug}", "cost", title, alt, data, options, note)


def classes_figure(sheet: Sheet, dataset: DatasetColumn, stored: StoredArrays) -> Drawing | None:
    """Quality of each class against its frequency in training."""
    import pandas as pd

    cells, bits = at_curve_bits(sheet, dataset)

    counts = stored.dataset(dataset.revision).get("train_class_counts")
    parts = []
    for name, title in methods(cells):
        scores = stored.mean(cells[cells["method"] == name], "class_ap")
        if counts is None or scores is None or len(scores) != len(counts):
            continue
        known = np.isfinite(scores) & (counts > 0)
        each = pd.DataFrame({"part": "class", "x": counts[known], "y": scores[known]})
        family = cells.loc[cells["method"] == name, "family"].iloc[0]
        parts.append(pd.concat([each, _binned(each)]).assign(method=name, title=title, family=family))
    if not parts:
        return None
    data = pd.concat(parts, ignore_index=True)[["part", "method", "title", "x", "y", "family"]]
    title = sheet.titled(f"{dataset.label}: {map_at(cells)} of a class against its frequency @ {bits} bits")
    log = bool(data["x"].max() > 10 * data["x"].min())
    dots = leading(cells, sheet.highlight)
    options = {"dots": dots, "ylabel": f"{map_at(cells)} of the class", "log": log}
    whose = listed([label for name, label in methods(cells) if name in dots])
    note = (
        f"Lines: means over up to {BINS} groups of classes of like frequency, each at the geometric mean of its "
        f"frequencies; dots: single classes of {whose}. {seeds_note(cells, data)}"
    ).rstrip()
    name = f"classes-{dataset.slug}-{sheet.slug}"
    return Drawing(name, "classes", title, f"{title}. {note}", data, options, note)


def _binned(each: pd.DataFrame) -> pd.DataFrame:
    """Means over groups of classes of like frequency; classes of one frequency stay together."""
    import pandas as pd

    bins = pd.qcut(each["x"], BINS, labels=False, duplicates="drop")
    if bins.isna().all():
        bins = pd.Series(0, index=each.index)
    means = each.assign(x=np.log(each["x"])).groupby(bins)[["x", "y"]].mean()
    return pd.DataFrame({"part": "bin", "x": np.exp(means["x"]), "y": means["y"]})


def training_figure(sheet: Sheet, dataset: DatasetColumn, stored: StoredArrays) -> Drawing | None:
    """Loss and gradient norm along the training of the first seed of each method that recorded them."""
    import pandas as pd

    cells, bits = at_curve_bits(sheet, dataset)

    parts = []
    for name, title in methods(cells):
        first = cells[cells["method"] == name].sort_values("seed").iloc[0]
        history = stored.records[first["key"]].training
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
    title = sheet.titled(f"{dataset.label}: training @ {bits} bits{first_seed_words(cells)}")
    alt = f"{title}. Loss relative to the first and gradient norm against steps for each deep method."
    return Drawing(f"training-{dataset.slug}-{sheet.slug}", "training", title, alt, pd.concat(parts, ignore_index=True))


def first_seed_words(cells: pd.DataFrame) -> str:
    """Of what is shown of one training where there are several."""
    return ", first seed of each method" if cells["seed"].nunique() > 1 else ""


def embedding_figure(sheet: Sheet, dataset: DatasetColumn, stored: StoredArrays) -> Drawing | None:
    """t-SNE of the codes of the highlighted methods."""
    import pandas as pd

    cells, bits = at_curve_bits(sheet, dataset)

    labels = stored.labels(dataset.revision)
    if labels is None:
        return None
    items, of_class = _items_of_ten_classes(labels[1], dataset.revision)
    names = class_names(stored, dataset.revision, labels[1].shape[1])
    codes = {}
    for name, title in methods(cells[cells["method"].isin(leading(cells, sheet.highlight))]):
        packed = stored.codes(cells[cells["method"] == name].sort_values("seed")["key"].iloc[0])
        if packed is not None and len(packed[1]) == len(labels[1]):
            codes[title] = packed[1][items]
    if not codes or len(items) < 10:
        return None
    title = sheet.titled(f"{dataset.label}: t-SNE of codes @ {bits} bits{first_seed_words(cells)}")
    shown = [names[c] for c in of_class]
    options = {"codes": codes, "bits": bits, "class": shown}
    alt = f"{title}, {len(set(shown))} classes, for {' and '.join(codes)}."
    return Drawing(f"tsne-{dataset.slug}-{sheet.slug}", "scatter", title, alt, pd.DataFrame(), options)


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


def class_names(stored: StoredArrays, revision: str, classes: int) -> list[str]:
    """What classes are called; by number where nothing is known or a name is empty."""
    named = stored.dataset(revision).get("class_names")
    known = [""] * classes if named is None or len(named) != classes else named
    return unique_names(clean(name, 40) or f"class {number}" for number, name in enumerate(known))


# What each shows -> how it is made.
DIAGNOSTICS: dict[str, Callable[[Sheet, DatasetColumn, StoredArrays], Drawing | None]] = {
    "costs": cost_figure,
    "classes": classes_figure,
    "training": training_figure,
    "t-SNE": embedding_figure,
}
