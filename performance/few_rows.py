"""Why class-based methods that lead the literature do not on few frozen rows: `python performance/few_rows.py`.

On rows of Tiny-ImageNet that are no queries (100 classes, 256 principal components, from ../shared/data) each method is
trained by its defaults with 33, 100 and 300 rows of every class, and by several weight decays with 33. Printed are MAP
of held-out rows among the training rows and others, and which part of the bits of training rows, and of rows unseen,
agrees with the code of their class (the majority of its training rows).
"""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Sequence

import numpy as np
from real_data import CUTOFF, full

from benchmark import Split, as_multi_hot, evaluate, get_method
from benchmark.deep import load_profile
from benchmark.seeds import generator

METHODS = ("csq", "dpn", "orthohash", "hyp2", "greedyhash", "hashnet", "dpsh", "dph")
ROWS, DECAYS = (33, 100, 300), (0.2, 2.0, 20.0)
QUERIES = 20  # of a class
Dealt = tuple[Split, Split, Split]  # training rows, queries, further rows of the database


def dealt(each: int) -> Dealt:
    """So many training rows of a class, 20 queries, and 80 rows that are neither, out of the database."""
    feature, label, rows, _ = full("tiny-full-skewed")
    random, hot = generator("few rows", 0), as_multi_hot(label, int(label.max()) + 1)
    order = [random.permutation(rows["database"][label[rows["database"]] == one]) for one in range(hot.shape[1])]
    parts = [np.concatenate([own[piece] for own in order]) for piece in (slice(each), slice(400, 420), slice(420, 500))]
    train, query, unseen = (Split(features=feature[part].astype(np.float32), labels=hot[part]) for part in parts)
    return train, query, unseen


def line(method: str, bits: int, decay: float | None, parts: Dealt) -> str:
    """One training."""
    training = dataclasses.replace(load_profile("quick").training, train="hash")
    if decay is not None:
        training = dataclasses.replace(training, weight_decay=decay)
    fitted = get_method(method)(bits=bits, seed=0, training=training).fit(parts[0])
    train, query, unseen = (np.where(fitted.encode(part.visible("images", "nothing")) > 0, 1, -1) for part in parts)
    labels = [np.asarray(part.labels) for part in parts]
    database = np.concatenate([train, unseen]), np.concatenate([labels[0], labels[2]])
    score = evaluate(query, database[0], labels[1], database[1], k=CUTOFF["tiny100"]).map
    centres = np.where(labels[0].T.astype(int) @ train >= 0, 1, -1)
    agree = [(codes == centres[hot.argmax(axis=1)]).mean() for codes, hot in ((train, labels[0]), (unseen, labels[2]))]
    return f"{score:.3f} | {agree[0]:.2f} | {agree[1]:.2f}"


def show(title: str, methods: Sequence[str], bits: int, decay: float | None, parts: Dealt) -> None:
    print(f"\n{title}\n\n| method | MAP | training rows agree | unseen rows agree |\n|---|---|---|---|", flush=True)
    for method in methods:
        print(f"| {method} | {line(method, bits, decay, parts)} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--methods", nargs="+", default=list(METHODS))
    parser.add_argument("--bits", type=int, default=64)
    parser.add_argument("--rows", nargs="+", type=int, default=list(ROWS), help="of a class, up to 400")
    given = parser.parse_args()
    for each in given.rows:
        show(f"{each} rows of a class", given.methods, given.bits, None, dealt(each))
    for decay in DECAYS:
        show(f"{ROWS[0]} rows, weight decay {decay:g}", given.methods, given.bits, decay, dealt(ROWS[0]))


if __name__ == "__main__":
    main()
