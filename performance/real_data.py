"""Deep methods on real data: `python performance/real_data.py {features,images,files,lists}`, read from ../shared/data.

`features` trains hash layers on given features of Tiny-ImageNet (100 classes, skewed) and COCO and prints MAP with its
head, middle and tail classes, mean and standard deviation over seeds. `images` fine-tunes a backbone end to end and
puts its MAP beside that of the same backbone frozen. `files` writes the sets as `features:` takes them, for whole runs
(`run_all.py --datasets features:DIR/tiny-skewed.npz --tune`). `lists` writes images as `lists:` takes them: those of
Tiny-ImageNet, and with `--cifar10 FILE.npz` (images, labels, in the official order) those of CIFAR-10. The protocols
are those of ../shared/data/README.md.
"""

from __future__ import annotations

import argparse
import dataclasses
import io
import itertools
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from benchmark import Split, Splits, evaluate, get_method
from benchmark.data.audit import class_groups
from benchmark.deep import Training, load_profile
from benchmark.deep.assembly import image_transform
from benchmark.deep.backbones import load_backbone
from benchmark.deep.network import Normalise
from benchmark.deep.network_inputs import ImageRows
from benchmark.deep.trainer import outputs
from benchmark.evaluation.codes import health
from benchmark.seeds import generator

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
CUTOFF = {"tiny100": 1000, "coco": 5000}
GROUPS = ("head", "middle", "tail")
WRITTEN = ("tiny-skewed", "tiny-balanced", "coco", "cifar10")
FULL = ("tiny-full-skewed", "tiny-full-zipf", "coco-full")
ZIPF = 0.99  # of the long-tail papers, where the largest class has a hundred times the rows of the smallest


@dataclass(frozen=True)
class Jpegs:
    """Rows of one file of concatenated JPEGs, decoded when asked for."""

    data: np.ndarray
    offset: np.ndarray
    rows: np.ndarray

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int, /) -> np.ndarray:
        row = self.rows[index]
        content = self.data[self.offset[row] : self.offset[row + 1]].tobytes()
        return np.asarray(Image.open(io.BytesIO(content)).convert("RGB"))


def load(name: str, source: str, seed: int) -> Splits:
    """The splits of "tiny100" or "coco" with "features_lite0", "features_alexnet" or "images"."""
    with np.load(DATA / f"{name}_{source}.npz") as archive:
        arrays = {key: archive[key] for key in archive.files}
    label, split = arrays["label"], arrays["split"]
    if name == "tiny100":
        database = np.flatnonzero(split == 1)
        chosen = {"train": skewed(label, database, seed), "query": np.flatnonzero(split == 0), "database": database}
    else:
        chosen = {"train": np.flatnonzero(split == 1), "query": np.flatnonzero(split == 0)}
        chosen["database"] = np.flatnonzero(split >= 1)
    return Splits(**{part: rows_of(arrays, label, rows) for part, rows in chosen.items()})


def rows_of(arrays: dict[str, np.ndarray], label: np.ndarray, rows: np.ndarray) -> Split:
    if "feature" in arrays:
        return Split(features=arrays["feature"][rows].astype(np.float32), labels=label[rows])
    return Split(images=Jpegs(arrays["jpeg"], arrays["offset"], rows), labels=label[rows])


def skewed(label: np.ndarray, database: np.ndarray, seed: int) -> np.ndarray:
    """The paper's training set scaled down: 1 class with all its rows, 9 with about 46, 90 with 1 to 12."""
    random = generator("tiny100 skewed", seed)
    classes = random.permutation(label.max() + 1)
    sizes = [len(database), *random.integers(42, 51, 9), *random.integers(1, 13, len(classes) - 10)]
    return drawn(label, database, classes, sizes, random)


def full_skewed(label: np.ndarray, database: np.ndarray, seed: int) -> np.ndarray:
    """The paper's proportions of 500 rows a class: 1 class with all, 9 with about 158, 90 with 7 to 31."""
    random = generator("tiny100 full skewed", seed)
    classes = random.permutation(label.max() + 1)
    sizes = [len(database), *random.integers(148, 169, 9), *random.integers(7, 32, len(classes) - 10)]
    return drawn(label, database, classes, sizes, random)


def zipf(label: np.ndarray, database: np.ndarray, seed: int) -> np.ndarray:
    """As the long-tail papers have it: of classes in an order of chance the i-th has floor(500 i^-ZIPF) rows."""
    random = generator("tiny100 full zipf", seed)
    classes = random.permutation(label.max() + 1)
    largest = np.bincount(label[database]).max()
    sizes = [int(largest * rank**-ZIPF) for rank in range(1, len(classes) + 1)]
    return drawn(label, database, classes, sizes, random)


def drawn(
    label: np.ndarray, database: np.ndarray, classes: np.ndarray, sizes: Iterable[int], random: np.random.Generator
) -> np.ndarray:
    """So many rows of each class, in the order of the file."""
    parts = []
    for chosen, size in zip(classes, sizes, strict=True):
        rows = random.permutation(database[label[database] == chosen])
        parts.append(rows[:size])
    return np.sort(np.concatenate(parts))


def balanced(label: np.ndarray, database: np.ndarray, each: int, seed: int) -> np.ndarray:
    """So many rows of every class: with 50, as many in all as the other sets have for training."""
    random = generator("tiny100 balanced", seed)
    classes = [random.permutation(database[label[database] == one])[:each] for one in range(label.max() + 1)]
    return np.sort(np.concatenate(classes))


def score(method: Any, splits: Splits, cutoff: int) -> dict[str, float]:
    """MAP@k in all and by group of classes, for a fitted method."""
    codes = {name: method.encode(part.visible("images", "nothing")) for name, part in splits.parts().items()}
    query, database = splits.query.labels, splits.database.labels
    scores = evaluate(codes["query"], codes["database"], query, database, k=cutoff)
    assert splits.train.labels is not None
    groups = scores.group_map(class_groups(splits.train.labels.sum(axis=0)))
    return {"all": scores.map, **groups, "constant": health(codes["database"])["constant_bits"]}


def run(name: str, splits: Splits, method: str, bits: int, seed: int, training: Training) -> dict[str, float]:
    """Fit and score one method."""
    start = time.perf_counter()
    fitted = get_method(method)(bits=bits, seed=seed, training=training).fit(
        splits.train.visible("images", "similarity")
    )
    seconds = time.perf_counter() - start
    return {**score(fitted, splits, CUTOFF[name]), "seconds": seconds}


def cell(values: Iterable[float]) -> str:
    values = np.asarray(list(values))
    return f"{values.mean():.3f} ± {values.std(ddof=1) if len(values) > 1 else 0:.3f}"


def print_row(first: list[str], results: list[dict[str, float]]) -> None:
    columns = ("all", *GROUPS, "constant", "seconds")
    print("| " + " | ".join(first + [cell(result[key] for result in results) for key in columns]) + " |", flush=True)


def print_head(first: list[str]) -> None:
    titles = [*first, "MAP", *GROUPS, "constant bits", "fit seconds"]
    print("| " + " | ".join(titles) + " |\n" + "|---" * len(titles) + "|")


def features(arguments: argparse.Namespace) -> None:
    """Hash layers on given features."""
    training = dataclasses.replace(load_profile("quick").training, train="hash")
    for name in arguments.datasets:
        print(f"\n{name}, {arguments.features}, MAP@{CUTOFF[name]} (expected ties), {arguments.seeds} seeds")
        print_head(["bits", "method"])
        sources = [load(name, arguments.features, seed) for seed in range(arguments.seeds)]
        for bits, method in itertools.product(arguments.bits, arguments.methods):
            results = [run(name, splits, method, bits, seed, training) for seed, splits in enumerate(sources)]
            print_row([str(bits), method], results)


def images(arguments: argparse.Namespace) -> None:
    """A backbone fine-tuned end to end beside the same one frozen."""
    weights = {"alexnet": "weights_alexnet_conv.npz", "squeezenet1_1": "weights_squeezenet1_1.npz"}
    frozen = dataclasses.replace(
        load_profile("quick").training,
        train="hash",
        backbone=arguments.backbone,
        weights=str(DATA / weights[arguments.backbone]),
        partial_weights=arguments.backbone == "alexnet",
        resize=arguments.size + arguments.size // 8,
        crop=arguments.size,
        encode_batch=128,
    )
    whole = dataclasses.replace(
        frozen,
        train="all",
        augment=True,
        steps=arguments.steps,
        batch=arguments.batch,
        learning_rate=arguments.learning_rate,
        decay_every=max(1, arguments.steps // 3),
    )
    for name in arguments.datasets:
        splits = thinned(load(name, "images", 0), arguments.thin)
        given = with_features(splits, frozen)
        sizes = {part: len(rows) for part, rows in splits.parts().items()}
        print(f"\n{name}, {arguments.backbone} at {arguments.size} pixels, {sizes}, MAP@{CUTOFF[name]} (expected ties)")
        print_head(["bits", "method", "trained"])
        for bits, method in itertools.product(arguments.bits, arguments.methods):
            print_row([str(bits), method, "hash layer"], [run(name, given, method, bits, 0, frozen)])
            print_row([str(bits), method, "everything"], [run(name, splits, method, bits, 0, whole)])


def thinned(splits: Splits, every: int) -> Splits:
    """Every so manieth query and database row: a processor encodes images slowly."""
    query, database = (part.take(np.arange(0, len(part), every)) for part in (splits.query, splits.database))
    return Splits(splits.train, query, database)


def with_features(splits: Splits, training: Training) -> Splits:
    """The same rows with the frozen backbone's features instead of images, computed once for all methods."""
    from torch import nn

    assert training.backbone is not None
    backbone = load_backbone(training.backbone, training.weights, training.partial_weights)
    transform = image_transform(backbone.transform, training)
    module = nn.Sequential(Normalise(transform), backbone.trunk, backbone.last)
    features = {
        name: Split(features=outputs(module, ImageRows(part.images, transform), training), labels=part.labels)
        for name, part in splits.parts().items()
        if part.images is not None
    }
    return Splits(**features)


def files(arguments: argparse.Namespace) -> None:
    """The sets as files of features."""
    for name in (*WRITTEN, *FULL):
        print(write(name, arguments.out), flush=True)


def write(name: str, folder: Path) -> Path:
    """One of the sets as a file that `features:` takes, unless it is there."""
    path = folder / f"{name}.npz"
    if path.exists():
        return path
    folder.mkdir(parents=True, exist_ok=True)
    feature, label, rows, cutoff = cifar10() if name == "cifar10" else full(name) if "-full" in name else small(name)
    arrays = {f"{part}_features": feature[chosen] for part, chosen in rows.items()}
    arrays |= {f"{part}_labels": label[chosen] for part, chosen in rows.items()}
    half = path.with_suffix(".part")
    with half.open("wb") as handle:  # whoever stops it half way finds no half a set under its name
        np.savez(handle, map_cutoff=cutoff, **arrays)
    return half.replace(path)


Rows = tuple[np.ndarray, np.ndarray, dict[str, np.ndarray], int]  # features, labels, rows of each part, cut-off


def small(name: str) -> Rows:
    """Of 1,280 columns, at a part of the paper's size."""
    source = "coco" if name == "coco" else "tiny100"
    with np.load(DATA / f"{source}_features_lite0.npz") as archive:
        feature, label, split = (archive[key] for key in ("feature", "label", "split"))
    database = np.flatnonzero(split >= 1)
    train = {
        "coco": lambda: np.flatnonzero(split == 1),
        "tiny-skewed": lambda: skewed(label, database, 0),
        "tiny-balanced": lambda: balanced(label, database, 50, 0),
    }[name]()
    return feature, label, {"train": train, "query": np.flatnonzero(split == 0), "database": database}, CUTOFF[source]


def full(name: str) -> Rows:
    """Of 256 columns, at the paper's size: COCO by its published lists, and all rows of Tiny-100."""
    source = "coco" if name == "coco-full" else "tiny100"
    with np.load(DATA / f"{source}_full_features_lite0.npz") as archive:
        feature, label, split = archive["feature"] * archive["scale"], archive["label"], archive["split"]
    rows = {"query": np.flatnonzero(split == 0), "database": np.flatnonzero(split == (2 if source == "coco" else 1))}
    if source == "coco":  # no training row is in the database, as the published lists have it
        label, train = np.unpackbits(label, axis=1, count=80), np.flatnonzero(split == 1)
    else:
        draw = {"tiny-full-skewed": full_skewed, "tiny-full-zipf": zipf}[name]
        train = draw(label, rows["database"], 0)
    return feature.astype(np.float16), label, {"train": train, **rows}, CUTOFF[source]


def cifar10() -> Rows:
    """100 queries a class, 500 training rows a class from the rest, the rest and those as database."""
    with np.load(DATA / "cifar10_features_lite0.npz") as archive:
        feature, label = (archive["feature"] * archive["scale"]).astype(np.float16), archive["label"]
    return feature, label, cifar10_rows(label), 1000


def cifar10_rows(label: np.ndarray) -> dict[str, np.ndarray]:
    random = generator("cifar10 queries and training rows", 0)
    order = [random.permutation(np.flatnonzero(label == one)) for one in range(10)]
    query, train = (np.sort(np.concatenate([own[part] for own in order])) for part in (slice(100), slice(100, 600)))
    return {"train": train, "query": query, "database": np.setdiff1d(np.arange(len(label)), query)}


def lists(arguments: argparse.Namespace) -> None:
    """The images of the sets, as files with lists of them."""
    print(write_lists("tiny100-images", arguments.out, *tiny_images()), flush=True)
    if arguments.cifar10:
        print(write_lists("cifar10-images", arguments.out, *cifar10_images(arguments.cifar10)))


Pictures = tuple[Iterable[tuple[str, bytes]], np.ndarray, dict[str, np.ndarray]]  # name and file of each, labels, rows


def tiny_images() -> Pictures:
    """JPEGs as they are; the training rows are those of tiny-skewed."""
    with np.load(DATA / "tiny100_images.npz") as archive:
        jpeg, offset, label, split = (archive[key] for key in ("jpeg", "offset", "label", "split"))
    database = np.flatnonzero(split == 1)
    rows = {"train": skewed(label, database, 0), "query": np.flatnonzero(split == 0), "database": database}
    found = ((f"{row:05}.jpg", jpeg[offset[row] : offset[row + 1]].tobytes()) for row in range(len(label)))
    return found, label, rows


def cifar10_images(file: Path) -> Pictures:
    """PNGs of the official rows, split as the features are."""
    with np.load(file) as archive:
        image, label = archive["images"], archive["labels"]
    return ((f"{row:05}.png", png(pixels)) for row, pixels in enumerate(image)), label, cifar10_rows(label)


def png(pixels: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "PNG", compress_level=1)
    return buffer.getvalue()


def write_lists(name: str, folder: Path, pictures: Iterable[tuple[str, bytes]], label: Any, rows: Any) -> Path:
    """A folder that `lists:` takes, unless it is there: pictures first, lists last."""
    out, names = folder / name, []
    if (out / "train.txt").exists():
        return out
    (out / "images").mkdir(parents=True, exist_ok=True)
    for number, (file, content) in enumerate(pictures):
        (out / "images" / file).write_bytes(content)
        names.append(f"images/{file}")
        if number % 10_000 == 9_999:
            print(f"{name}: {number + 1:,} pictures", flush=True)
    for part in ("database", "query", "train"):
        (out / f"{part}.txt").write_text("".join(f"{names[row]} {label[row]}\n" for row in rows[part]))
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=("features", "images", "files", "lists"))
    parser.add_argument("--datasets", nargs="+", default=["tiny100", "coco"], choices=CUTOFF)
    parser.add_argument("--methods", nargs="+", default=["dph", "hashnet", "dhn"])
    parser.add_argument("--bits", nargs="+", type=int, default=[16, 64])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--features", default="features_lite0", choices=("features_lite0", "features_alexnet"))
    parser.add_argument("--backbone", default="squeezenet1_1", choices=("squeezenet1_1", "alexnet"))
    parser.add_argument("--size", type=int, default=64, help="pixels shown to the backbone")
    parser.add_argument("--thin", type=int, default=1, help="score every so manieth query and database image")
    parser.add_argument("--steps", type=int, default=100, help="of end-to-end training")
    parser.add_argument("--batch", type=int, default=64, help="images in each stream of end-to-end training")
    parser.add_argument("--learning-rate", type=float, default=0.001, help="of the backbone, end to end")
    parser.add_argument("--out", type=Path, default=Path("results/sets"), help="folder for `files` and `lists`")
    parser.add_argument("--cifar10", type=Path, metavar="FILE.npz", help="for `lists`: images and labels of CIFAR-10")
    arguments = parser.parse_args()
    if not DATA.is_dir():
        parser.error(
            f"there is no {DATA}: these sets are read from shared/data beside the checkout; put it there first"
        )
    {"features": features, "images": images, "files": files, "lists": lists}[arguments.action](arguments)


if __name__ == "__main__":
    main()
