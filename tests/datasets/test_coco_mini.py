"""coco-mini: three labels per image, one of them everywhere; the same on every machine, pixel by pixel."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from benchmark import get_dataset
from benchmark.contracts import Splits

# sha256 of the first 256 query and database images, all labels and the training rows' names. It changes only with
# the generator; a machine on which it differs does not run the same benchmark.
PIXELS = "9218f518cc3e37d15cd3cdf3157fae7f229646c91297f44472aa21e5b7335ba8"


@pytest.fixture(scope="module")
def splits() -> Splits:
    return get_dataset("coco-mini").load()


def test_identical_on_every_machine(splits: Splits) -> None:
    digest = hashlib.sha256()
    for part in (splits.query, splits.database):
        digest.update(np.stack([part.images[i] for i in range(256)]).tobytes())
        digest.update(np.packbits(part.labels).tobytes())
    digest.update("\n".join(splits.train.ids).encode())
    assert digest.hexdigest() == PIXELS


def test_coco_has_three_labels_and_one_dominant_class(splits: Splits) -> None:
    shares = splits.database.labels.mean(0)
    assert len(shares) == 80
    assert splits.database.labels.sum(1).mean() == pytest.approx(2.93, abs=0.1)
    assert splits.database.labels.any(1).all()
    assert shares.max() == pytest.approx(0.547, abs=0.03)
    assert np.sort(shares)[-2] < 0.2
