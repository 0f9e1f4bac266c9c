"""The order the literature reports, on real features: a method that breaks it is broken until explained."""

import numpy as np
import pytest

from benchmark import Split, evaluate, get_method


@pytest.fixture(scope="module")
def tiny100(shared_data):
    """Balanced Tiny-100: all 15,000 training images are database and training set, the 5,000 of val are queries."""
    with np.load(shared_data / "tiny100_features_lite0.npz") as file:
        features, label, part = file["feature"].astype(np.float32), file["label"], file["split"]
    return [Split(features=features[part == p], labels=label[part == p]) for p in (1, 0)]


def map_at_1000(name, bits, train, query):
    method = get_method(name)(bits, seed=0)
    method.fit(train.visible(method.info.input, method.info.needs))
    codes = [method.encode(Split(features=split.features)) for split in (query, train)]
    return evaluate(*codes, query.labels, train.labels, k=1000).map


def test_itq_is_well_above_lsh_and_sh_and_sdh_above_itq(tiny100):
    lsh, sh, itq, sdh = (map_at_1000(name, 64, *tiny100) for name in ("lsh", "sh", "itq", "sdh"))
    assert itq > 1.5 * lsh
    assert itq > 1.1 * sh
    assert sdh > 1.3 * itq
