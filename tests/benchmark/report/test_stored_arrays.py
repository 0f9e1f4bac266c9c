"""Stored arrays: read once, averaged over seeds, and what is lost costs itself only."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from benchmark.evaluation.metrics import evaluate
from benchmark.report.record_frame import record_frame
from benchmark.report.stored_arrays import StoredArrays


def stored_of(synthetic: Any) -> StoredArrays:
    return StoredArrays(synthetic.store, list(synthetic.store.records()))


def payload_of(synthetic: Any, key: str) -> Any:
    return next(path for path in synthetic.store.cells.glob(f"{key}*.npz"))


def test_curves_are_those_of_the_payload_and_codes_are_not_kept(synthetic) -> None:
    record = synthetic.cell("itq", "nus-mini", 16)
    stored = stored_of(synthetic)
    with np.load(payload_of(synthetic, record.key)) as arrays:
        for name, array in stored.of(record.key).items():
            np.testing.assert_array_equal(array, arrays[name])
        query, database = stored.codes(record.key) or ((), ())
        np.testing.assert_array_equal(query, arrays["query_codes"])
        np.testing.assert_array_equal(database, arrays["database_codes"])
    assert "query_codes" not in stored.of(record.key)


def test_a_payload_is_read_once(synthetic) -> None:
    record = synthetic.cell("itq", "nus-mini", 16)
    stored = stored_of(synthetic)
    before = stored.of(record.key)
    payload_of(synthetic, record.key).unlink()
    assert stored.of(record.key) is before


def test_a_lost_payload_or_data_set_is_empty_not_an_error(synthetic) -> None:
    record = synthetic.cell("itq", "nus-mini", 16)
    payload_of(synthetic, record.key).unlink()
    stored = stored_of(synthetic)
    assert stored.of(record.key) == {}
    assert stored.codes(record.key) is None
    assert stored.dataset("never seen") == {}
    assert stored.labels("never seen") is None


def test_what_is_no_row_of_numbers_is_treated_as_lost(synthetic) -> None:
    record = synthetic.cell("itq", "nus-mini", 16)
    odd = {"ap": np.ones((2, 2)), "recall": np.array(["a"]), "precision": np.array([]), "n": np.array([1, 2])}
    stored = stored_of(synthetic)
    stored.store = type("Odd", (), {"payload": lambda self, record: odd})()
    assert list(stored.of(record.key)) == ["n"]


def test_the_mean_is_over_the_cells_that_have_it_unless_all_must(synthetic) -> None:
    records = [synthetic.cell("itq", "nus-mini", 16, seed) for seed in range(3)]
    table = record_frame(records)
    arrays = [stored_of(synthetic).of(record.key)["ap"] for record in records]
    found = stored_of(synthetic).mean(table, "ap", of_all=True)
    np.testing.assert_allclose(found, (arrays[0] + arrays[1] + arrays[2]) / 3)
    payload_of(synthetic, records[0].key).unlink()
    np.testing.assert_allclose(stored_of(synthetic).mean(table, "ap"), (arrays[1] + arrays[2]) / 2)
    assert stored_of(synthetic).mean(table, "ap", of_all=True) is None
    assert stored_of(synthetic).mean(table, "nothing of this name") is None


def test_curves_of_two_lengths_have_no_mean(synthetic) -> None:
    records = [synthetic.cell("itq", "nus-mini", bits) for bits in (16, 32)]
    assert stored_of(synthetic).mean(record_frame(records), "precision_at_radius") is None


def test_labels_are_unpacked_to_the_classes_there_are(synthetic) -> None:
    synthetic.cell("itq", "nus-mini", 16)
    query, database = stored_of(synthetic).labels("rev-nus-mini") or ((), ())
    np.testing.assert_array_equal(query, np.eye(12, dtype=bool)[np.arange(60) % 12])
    np.testing.assert_array_equal(database, np.eye(12, dtype=bool)[np.sort(np.arange(300) % 12)])


def test_chance_of_a_group_is_the_score_of_codes_that_are_all_alike(synthetic) -> None:
    record = synthetic.cell("itq", "nus-mini", 16)
    stored = stored_of(synthetic)
    query, database = stored.labels(record.revision) or ((), ())
    alike = evaluate(np.ones((60, 8)), np.ones((300, 8)), query, database, 100)
    expected = alike.group_map(record.audit["groups"])
    found = stored.chance_by_group(record_frame([record]))
    assert found == pytest.approx(expected)
    assert set(found) == {"head", "middle", "tail"}


def test_by_seed_keeps_seeds_apart_and_averages_over_lengths(synthetic) -> None:
    for bits in (16, 32):
        for seed in (0, 1):
            synthetic.cell("itq", "nus-mini", bits, seed)
    records = list(synthetic.store.records())
    cells, stored = record_frame(records), StoredArrays(synthetic.store, records)
    found = stored.by_seed(cells, "ap")
    assert found is not None
    for seed in (0, 1):
        own = [stored.of(key)["ap"] for key in cells.loc[cells["seed"] == seed, "key"]]
        assert np.allclose(found[seed], (own[0] + own[1]) / 2)
    uneven = stored.by_seed(cells.iloc[:3], "ap")  # one length lacks a seed: nothing is known of their spread
    assert uneven is not None
    parts = {
        bits: [stored.of(key)["ap"] for key in cells.iloc[:3].loc[cells["bits"] == bits, "key"]] for bits in (16, 32)
    }
    assert sorted(map(len, parts.values())) == [1, 2]  # no length counts for more because it has more seeds
    assert np.allclose(uneven, [np.mean([np.mean(own, axis=0) for own in parts.values()], axis=0)])
