"""coco: MS-COCO 2014, 80 categories, as the paper uses it.

Under the data root: published lists train.txt, test.txt and database.txt (or HashNet's database_hashnet.txt,
whose queries are inside it: see `audit`), in coco/ or beside the images; or the official annotations, from
which the paper's protocol is drawn: unlabelled images dropped, 50 queries per category, the rest database.
MAP@5000.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from benchmark import UsageError, register_dataset
from benchmark.data import (
    MultiLabelDataset,
    MultiLabelSizes,
    OfficialImages,
    Piece,
    first_file,
    images_under,
    read_bytes,
)

SITE = "http://images.cocodataset.org"
PARTS = {"train2014": (82_783, "13 GB"), "val2014": (40_504, "6 GB")}

# Columns of the published lists, in alphabetical order: images of a column show what its name says.
NAMES = tuple(
    name.strip()
    for name in """
airplane, apple, backpack, banana, baseball bat, baseball glove, bear, bed, bench, bicycle, bird, boat, book, bottle,
bowl, broccoli, bus, cake, car, carrot, cat, cell phone, chair, clock, couch, cow, cup, dining table, dog, donut,
elephant, fire hydrant, fork, frisbee, giraffe, hair drier, handbag, horse, hot dog, keyboard, kite, knife, laptop,
microwave, motorcycle, mouse, orange, oven, parking meter, person, pizza, potted plant, refrigerator, remote,
sandwich, scissors, sheep, sink, skateboard, skis, snowboard, spoon, sports ball, stop sign, suitcase, surfboard,
teddy bear, tennis racket, tie, toaster, toilet, toothbrush, traffic light, train, truck, tv, umbrella, vase,
wine glass, zebra
""".split(",")  # noqa: SIM905
)


@register_dataset("coco", title="MS-COCO", stand_in="coco-mini")
class Coco(MultiLabelDataset):
    r"""The paper's MS-COCO.

    @inproceedings{lin2014coco, title={{Microsoft COCO}: Common Objects in Context}, author={Lin, Tsung-Yi and Maire,
      Michael and Belongie, Serge and Hays, James and Perona, Pietro and Ramanan, Deva and Doll{\'a}r, Piotr and
      Zitnick, C. Lawrence}, booktitle={European Conference on Computer Vision}, year={2014}}
    """

    classes = 80
    folders = ("coco", "COCO", "mscoco", "MSCOCO", "data/coco")
    list_names = {
        "train": ("train.txt",),
        "query": ("test.txt", "query.txt"),
        "database": ("database.txt", "database_hashnet.txt"),
    }
    listed_names = NAMES
    named_lists = (
        "632908b8e52503ff5c6841adfa9256e98dd7061c55ad0fd447c8d1fe0b0914fc",  # train.txt
        "58b28701ba5d9501d25052bfb424d1dd4fea0d6aed709cf52c50a9f7be09f653",  # test.txt
    )
    images_from = f"{SITE}/zips/train2014.zip and {SITE}/zips/val2014.zip"
    protocols = {"paper": MultiLabelSizes(queries_per_class=50, train_size=10_000, unlabelled="drop")}

    def pieces(self) -> list[Piece]:
        found = []
        for part, (images, size) in PARTS.items():
            archive = f"{SITE}/annotations/annotations_trainval2014.zip"
            what = f"annotations/instances_{part}.json"
            found.append(Piece(what, self._annotations(part), "241 MB zipped with its twin", archive))
            named = sum(f"_{part}_" in name for name in images_under(self.root).by_name)
            folder = self.root if named else None
            found.append(Piece(f"{part}/", folder, size, f"{SITE}/zips/{part}.zip", named, images))
        return found

    def _annotations(self, part: str) -> Path | None:
        name = f"instances_{part}.json"
        return first_file(self.root, self.folders, [f"annotations/{name}", name])

    def sources(self) -> list[Path]:
        return [path for path in map(self._annotations, PARTS) if path]

    def collect(self) -> OfficialImages:
        """Both annotation files as one table; columns are the categories in the order of their ids."""
        entries: list[str] = []
        read: list[Path] = []
        tables: list[np.ndarray] = []
        names: dict[int, str] = {}
        for part in PARTS:
            path = self._annotations(part)
            if path is None:
                raise UsageError(f"coco: instances_{part}.json is missing under {self.root}")
            read.append(path)
            categories, images, pairs = _read_annotations(path)
            if names and names != categories:
                raise UsageError(f"annotations {path}: other categories than in its twin")
            names = categories
            rows = {number: row for row, number in enumerate(images)}
            columns = {number: column for column, number in enumerate(sorted(names))}
            labels = np.zeros((len(images), len(names)), bool)
            for image, category in pairs:
                if image not in rows or category not in columns:
                    raise UsageError(f"annotations {path}: image {image} or category {category} is not described")
                labels[rows[image], columns[category]] = True
            entries += [f"{part}/{name}" for name in images.values()]
            tables.append(labels)
        class_names = [names[number] for number in sorted(names)]
        return OfficialImages(entries, np.concatenate(tables), class_names, read[-1])


def _read_annotations(path: Path) -> tuple[dict[int, str], dict[int, str], list[tuple[int, int]]]:
    """Category id -> name, image id -> file name, and the pairs (image id, category id)."""
    try:
        told = json.loads(read_bytes("annotations", path))
    except json.JSONDecodeError as error:
        raise UsageError(f"annotations {path} line {error.lineno}: no valid JSON ({error.msg}); is it whole?") from None
    except UnicodeDecodeError:
        raise UsageError(f"annotations {path}: not UTF-8 text") from None
    try:
        categories = {int(one["id"]): str(one["name"]) for one in told["categories"]}
        images = {int(one["id"]): str(one["file_name"]) for one in told["images"]}
        pairs = [(int(one["image_id"]), int(one["category_id"])) for one in told["annotations"]]
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise UsageError(f"annotations {path}: not in the format of COCO instances ({error!r})") from None
    names = list(categories.values())
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice or len(names) != len(told["categories"]):
        raise UsageError(f"annotations {path}: category '{twice or 'id'}' is described twice")
    if len(images) != len(told["images"]):
        raise UsageError(f"annotations {path}: an image id is used twice")
    return categories, images, pairs
