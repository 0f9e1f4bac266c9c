"""imagenet-mini: the skew of the paper's training set; the same on every machine, pixel by pixel."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from benchmark import get_dataset
from benchmark.contracts import Splits

# sha256 of the first 256 query and database images, all labels and the training rows' names. It changes only with
# the generator; a machine on which it differs does not run the same benchmark.
PIXELS = "56dfe40f87e25f4755804759bedf0df283e63f159fce4d353dfb92c29367cc1c"


@pytest.fixture(scope="module")
def splits() -> Splits:
    return get_dataset("imagenet-mini").load()


def test_identical_on_every_machine(splits: Splits) -> None:
    digest = hashlib.sha256()
    for part in (splits.query, splits.database):
        digest.update(np.stack([part.images[i] for i in range(256)]).tobytes())
        digest.update(np.packbits(part.labels).tobytes())
    digest.update("\n".join(splits.train.ids).encode())
    assert digest.hexdigest() == PIXELS


def test_imagenet_is_skewed_as_in_the_paper(splits: Splits) -> None:
    counts = np.sort(splits.train.labels.sum(0))[::-1]
    shares = counts / counts.sum()
    assert shares[0] == pytest.approx(0.13, abs=0.005)
    assert shares[1:10] == pytest.approx(np.full(9, 0.0411), rel=0.1)
    assert shares[10:].mean() == pytest.approx(0.0056, rel=0.05)
    assert (splits.query.labels.sum(0) == 10).all()
    assert (splits.database.labels.sum(1) == 1).all()
    assert (np.diff(splits.database.labels.argmax(1)) >= 0).all()
    assert splits.database.labels.shape[1] == 100
