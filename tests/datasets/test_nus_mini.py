"""nus-mini: a long tail, and a fifth without a label; the same on every machine, pixel by pixel."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from benchmark import get_dataset
from benchmark.contracts import Splits

# sha256 of the first 256 query and database images, all labels and the training rows' names. It changes only with
# the generator; a machine on which it differs does not run the same benchmark.
PIXELS = "af110ee660a386c2ef9f6fa00bb2047f3f28fee37fe26670da838bb77cee62ab"


@pytest.fixture(scope="module")
def splits() -> Splits:
    return get_dataset("nus-mini").load()


def test_identical_on_every_machine(splits: Splits) -> None:
    digest = hashlib.sha256()
    for part in (splits.query, splits.database):
        digest.update(np.stack([part.images[i] for i in range(256)]).tobytes())
        digest.update(np.packbits(part.labels).tobytes())
    digest.update("\n".join(splits.train.ids).encode())
    assert digest.hexdigest() == PIXELS


def test_nus_is_long_tailed_with_a_fifth_unlabelled(splits: Splits) -> None:
    for part in (splits.train, splits.database):
        assert (~part.labels.any(1)).mean() == pytest.approx(0.22, abs=0.03)
        assert part.labels.sum(1).mean() == pytest.approx(1.89, abs=0.1)
    counts = np.sort(splits.database.labels.sum(0))
    assert len(counts) == 81
    assert counts[-1] / np.median(counts) > 15
    assert splits.class_names[-1] == "grey"
