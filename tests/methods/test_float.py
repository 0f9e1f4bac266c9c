"""Float: features as they are, and a cell of it from one end to the other."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import benchmark
from benchmark import Split, get_method


def test_it_gives_the_scaled_features_at_any_number_of_bits() -> None:
    features = np.random.default_rng(0).normal(3, 1, (50, 6)).astype(np.float32)
    train, query = Split(features=features), Split(features=features[:9] + 1)
    centred = query.features - features.mean(axis=0)
    for bits in (1, 64):
        found = get_method("float")(bits).fit(train).embed(query)
        np.testing.assert_allclose(found, centred / np.linalg.norm(centred, axis=1, keepdims=True), atol=1e-6)


def sets(folder: Path) -> str:
    random = np.random.default_rng(0)
    middle, arrays = random.normal(size=(4, 20)), {}
    for part, rows in (("train", 80), ("query", 20), ("database", 120)):
        arrays[f"{part}_labels"] = np.arange(rows) % 4
        arrays[f"{part}_features"] = 2 * middle[np.arange(rows) % 4] + random.normal(size=(rows, 20))
    np.savez(folder / "rows.npz", **arrays)
    return f"features:{folder / 'rows.npz'}"


@pytest.mark.slow
def test_a_run_with_it_is_stored_verified_and_reported(tmp_path: Path) -> None:
    found = benchmark.run(sets(tmp_path), ["lsh", "itq", "float", "oracle"], bits=[8, 16], results=tmp_path / "r",
                          quiet=True, jobs=1)  # fmt: skip
    frame = found.frame()
    assert (frame["status"] == "ok").all()
    own = frame[frame["method"] == "float"]
    assert own["map"].nunique() == 1
    assert own["precision_at_radius_2"].isna().all()
    assert (own["stored_bits"] == 32 * 20).all()
    assert found.store.verify().sound == 8
    page = found.report(tmp_path / "p").read_text()
    assert "Controls (Float, Oracle) stand apart" in page
    assert "LSH" in page
