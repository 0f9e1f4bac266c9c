"""Retrieved items: the top 10 of every method for a few queries drawn at random, with images where they can be had.

Serves the figure of retrieved images and the browser of the page. Ties in distance are broken by one fixed random
order of the database, the same for every method.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmark.report.diagnostics_figures import class_names, first_seed_words
from benchmark.report.drawing import Drawing
from benchmark.report.sheets import DatasetColumn, Sheet, at_curve_bits, leading, methods
from benchmark.report.stored_arrays import StoredArrays

if TYPE_CHECKING:
    import pandas as pd

TOP = 10
QUERIES = 8
IN_FIGURE = 3
THUMBNAIL = 96  # pixels: longer sides are scaled down


@dataclass(frozen=True, eq=False)
class Gallery:
    """What two methods can be compared on by eye. Items are row numbers of the database."""

    dataset: DatasetColumn
    sheet: Sheet
    bits: int
    queries: list[int]
    methods: list[tuple[str, str]]
    lead: list[str]
    items: dict[str, np.ndarray]  # method -> (queries, TOP)
    hits: dict[str, np.ndarray]  # method -> (queries, TOP) bool
    query_names: list[str]
    item_names: dict[int, str]
    query_images: dict[int, np.ndarray]  # empty where images cannot be had
    item_images: dict[int, np.ndarray]
    why_no_images: str = ""
    of_seed: str = ""  # where there are several


def gallery_of(sheet: Sheet, dataset: DatasetColumn, stored: StoredArrays) -> Gallery | None:
    """The retrievals of one data set; None where codes or labels were not kept."""
    cells, bits = at_curve_bits(sheet, dataset)
    labels = stored.labels(dataset.revision)
    if labels is None:
        return None
    queries = _draw_queries(labels[0], dataset.revision)
    items = _retrievals(cells, queries, len(labels[1]), stored)
    if not items or not queries:
        return None
    hits = {m: (labels[0][queries][:, None] & labels[1][found]).any(axis=2) for m, found in items.items()}
    names = class_names(stored, dataset.revision, labels[0].shape[1])
    wanted = sorted({int(item) for found in items.values() for item in found.ravel()})
    query_images, item_images, reason = _images(dataset, queries, wanted, stored.at_hand)
    return Gallery(
        dataset=dataset,
        sheet=sheet,
        bits=bits,
        queries=queries,
        methods=[(name, title) for name, title in methods(cells) if name in items],
        lead=[name for name in leading(cells, sheet.highlight) if name in items],
        items=items,
        hits=hits,
        query_names=[_named(labels[0][query], names) for query in queries],
        item_names={item: _named(labels[1][item], names) for item in wanted},
        query_images=query_images,
        item_images=item_images,
        why_no_images=reason,
        of_seed=first_seed_words(cells),
    )


def _draw_queries(labels: np.ndarray, revision: str) -> list[int]:
    """Queries at random, no two alike in their first label, so that they show different things."""
    rng = np.random.default_rng(list(revision.encode()))
    seen: dict[int, int] = {}
    for query in rng.permutation(np.flatnonzero(labels.any(axis=1))):
        seen.setdefault(int(labels[query].argmax()), int(query))
        if len(seen) == QUERIES:
            break
    return list(seen.values())


def _retrievals(cells: pd.DataFrame, queries: list[int], size: int, stored: StoredArrays) -> dict[str, np.ndarray]:
    order = np.random.default_rng(0).permutation(size)
    found = {}
    for name, _ in methods(cells):
        packed = stored.codes(cells[cells["method"] == name].sort_values("seed")["key"].iloc[0])
        if packed is not None and len(packed[1]) == size and max(queries, default=0) < len(packed[0]):
            found[name] = np.stack([nearest(packed[0][query], packed[1], order) for query in queries])
    return found


def nearest(query: np.ndarray, database: np.ndarray, order: np.ndarray, top: int = TOP) -> np.ndarray:
    """The `top` rows of packed codes nearest to a packed code; of equals the one first in `order`."""
    distance = np.bitwise_count(database ^ query).sum(axis=1, dtype=np.int64)
    rank = distance * len(order) + order
    top = min(top, len(rank))
    first = np.argpartition(rank, top - 1)[:top]
    return np.asarray(first[np.argsort(rank[first])])


def _named(labels: np.ndarray, names: list[str]) -> str:
    own = [names[c] for c in np.flatnonzero(labels)]
    return ", ".join(own[:4]) + (f" + {len(own) - 4}" if len(own) > 4 else "") or "no label"


Pictures = dict[int, np.ndarray]


def _images(
    dataset: DatasetColumn, queries: list[int], items: list[int], at_hand: Mapping[str, Any]
) -> tuple[Pictures, Pictures, str]:
    """Images of queries and items, and why there are none."""
    from benchmark.registry import get_dataset

    try:
        if dataset.revision not in at_hand and ":" in dataset.name:
            return {}, {}, "the data set is not at hand; name it by --datasets"
        found: Any = at_hand.get(dataset.revision) or get_dataset(dataset.name)
        if found.revision != dataset.revision:
            return {}, {}, "the data set at hand is another revision"
        splits = found.load()
        if splits.query.images is None or splits.database.images is None:
            return {}, {}, "the data set has features only"
        return _decode(splits.query.images, queries), _decode(splits.database.images, items), ""
    except Exception as error:  # a plugin may fail in any way; that costs the images, not the report
        return {}, {}, f"the data set cannot be loaded here ({type(error).__name__}: {error})"


def _decode(images: Any, rows: list[int]) -> Pictures:
    from PIL import Image

    decoded = {}
    for row, image in zip(rows, _few(images, rows), strict=True):
        if max(image.shape[:2]) > THUMBNAIL:
            small = Image.fromarray(image)
            small.thumbnail((THUMBNAIL, THUMBNAIL))
            image = np.asarray(small)
        decoded[row] = image
    return decoded


def _few(images: Any, rows: list[int]) -> Iterable[np.ndarray]:
    """Images of these rows: at once where the data set can make them without their neighbours."""
    return images.few(rows) if hasattr(images, "few") else (np.asarray(images[row]) for row in rows)


def retrieval_figure(shown: Gallery, stem: str) -> Drawing | None:
    """Top 10 of the highlighted methods for the first few queries; None without images."""
    import pandas as pd

    if not shown.item_images or not shown.lead:
        return None
    titles = dict(shown.methods)
    images: dict[str, np.ndarray] = {}
    queries, table = [], []
    for place, query in enumerate(shown.queries[:IN_FIGURE]):
        name, rows = shown.query_names[place], []
        images[f"q{query}"] = shown.query_images[query]
        for method in shown.lead:
            items, hits = shown.items[method][place].tolist(), shown.hits[method][place].tolist()
            images |= {f"d{item}": shown.item_images[item] for item in items}
            rows.append({"title": titles[method], "items": [f"d{item}" for item in items], "hits": hits})
            for rank, (item, hit) in enumerate(zip(items, hits, strict=True), start=1):
                table.append((query, name, method, rank, item, shown.item_names[item], hit))
        queries.append({"image": f"q{query}", "name": name, "rows": rows})
    data = pd.DataFrame(table, columns=["query", "query_labels", "method", "rank", "item", "item_labels", "hit"])
    what = f"{shown.dataset.label}: top {TOP} @ {shown.bits} bits{shown.of_seed}"
    title = shown.sheet.titled(f"{what}; solid green: hits, right: P@{TOP}")
    alt = f"{title}. {len(queries)} queries drawn at random, {' and '.join(titles[m] for m in shown.lead)}."
    return Drawing(f"top10-{stem}", "retrieved", title, alt, data, {"images": images, "queries": queries})
