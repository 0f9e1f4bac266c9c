"""voc2012: PASCAL VOC 2012, the 11,540 images of trainval, 20 classes.

Under the data root: published lists train.txt, test.txt and database.txt, in voc2012/ or beside the images; or the
official VOCdevkit/VOC2012, from which the protocol is drawn: 1,000 queries and 4,000 training images, whatever their
classes; the database is the rest, without the training rows: 6,540. MAP@all. An image has a class where
ImageSets/Main says 1; 0 (difficult to see) does not count.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmark import UsageError, register_dataset
from benchmark.data import (
    MultiLabelDataset,
    MultiLabelSizes,
    OfficialImages,
    Piece,
    first_file,
    read_text,
)

SITE = "http://host.robots.ox.ac.uk/pascal/VOC/voc2012/VOCtrainval_11-May-2012.tar"
ENDING = "_trainval.txt"


@register_dataset("voc2012", title="VOC 2012")
class Voc2012(MultiLabelDataset):
    """PASCAL VOC 2012; columns are the classes in the order of the alphabet.

    @article{everingham2010voc, title={The Pascal Visual Object Classes (VOC) Challenge}, author={Everingham, Mark and
      Van Gool, Luc and Williams, Christopher K. I. and Winn, John and Zisserman, Andrew},
      journal={International Journal of Computer Vision}, year={2010}}
    """

    classes = 20
    map_cutoff = 0
    folders = ("VOCdevkit/VOC2012", "VOC2012", "voc2012", "voc2012/VOCdevkit/VOC2012", "data/voc2012")
    list_names = {"train": ("train.txt",), "query": ("test.txt", "query.txt"), "database": ("database.txt",)}
    images_from = SITE
    protocols = {"6540": MultiLabelSizes(queries=1000, train_size=4000, train_in_database=False)}  # DeepHash-pytorch

    def pieces(self) -> list[Piece]:
        sets, images = self._sets(), first_file(self.root, self.folders, ["JPEGImages"])
        files = None if sets is None else len(self.sources())
        return [
            Piece(
                f"VOCdevkit/VOC2012/ImageSets/Main/*{ENDING}", sets, "2 GB with the images", SITE, files, self.classes
            ),
            Piece("VOCdevkit/VOC2012/JPEGImages/", images, "2 GB", SITE),
        ]

    def _sets(self) -> Path | None:
        return first_file(self.root, self.folders, ["ImageSets/Main"])

    def sources(self) -> list[Path]:
        folder = self._sets()
        return [] if folder is None else sorted(folder.glob(f"?*{ENDING}"))

    def collect(self) -> OfficialImages:
        files = self.sources()
        if len(files) != self.classes:
            raise UsageError(f"voc2012: {self._sets()} has {len(files)} of {self.classes} files *{ENDING}")
        names, first = _read_values(files[0])
        columns = [first]
        for path in files[1:]:
            others, values = _read_values(path)
            if others != names:
                raise UsageError(f"image set {path} names other images than {files[0].name}, or in another order")
            columns.append(values)
        entries = [f"JPEGImages/{name}.jpg" for name in names]
        classes = [path.name.removesuffix(ENDING) for path in files]
        return OfficialImages(entries, np.stack(columns, axis=1) == 1, classes, files[0])


def _read_values(path: Path) -> tuple[list[str], np.ndarray]:
    """Per line an image and 1 (it has the class), 0 (one that is difficult to see) or -1."""
    names, values = [], []
    for line, text in enumerate(read_text("image set", path).split("\n"), 1):
        words = text.split()
        if not words:
            continue
        if len(words) != 2 or words[1] not in ("1", "0", "-1"):
            raise UsageError(f"image set {path} line {line}: '{text.strip()}', expected an image and 1, 0 or -1")
        names.append(words[0])
        values.append(int(words[1]))
    return names, np.array(values)
