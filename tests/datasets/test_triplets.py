"""`triplets:FILE`: a list of triplets, every kind of damage to it, and what is learned from it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmark import Split, Splits, evaluate, get_dataset, get_method
from benchmark.commands import main
from benchmark.data.audit import audit
from benchmark.deep import Training
from benchmark.errors import UsageError

TRAINING = Training(train="hash", steps=300, batch=32, learning_rate=0.01, device="cpu")


def arrays(rows: int = 120, classes: int = 4, each: int = 20, **changes: Any) -> dict[str, Any]:
    """Easy classes, and triplets that follow them: two of a class against a third of another."""
    random = np.random.default_rng(0)
    middle, own, held = random.normal(size=(classes, 16)), np.arange(rows) % classes, {}
    for part in ("train", "query", "database"):
        held[f"{part}_features"] = (1.5 * middle[own] + random.normal(size=(rows, 16))).astype(np.float32)
    triplets = [
        (row, random.choice(np.setdiff1d(np.flatnonzero(own == own[row]), row)), random.choice(unlike))
        for row in range(rows)
        for unlike in [np.flatnonzero(own != own[row])]
        for _ in range(each)
    ]  # fmt: skip
    return held | {"query_labels": own, "database_labels": own, "train_triplets": np.array(triplets)} | changes


def saved(folder: Path, **changes: Any) -> str:
    np.savez(folder / "told.npz", **arrays(**changes))
    return f"triplets:{folder / 'told.npz'}"


def test_it_loads_and_tells_what_is_known(tmp_path: Path) -> None:
    dataset = get_dataset(saved(tmp_path))
    dataset.check()
    splits = dataset.load()
    assert (dataset.name, dataset.backbone) == ("told", None)
    assert splits.train.labels is splits.train.similarity is None
    assert splits.train.triplets is not None
    assert len(splits.train.triplets.triplets) == 2400
    assert audit(splits, 5).notes == ["2,400 triplets about 120 of 120 training rows"]


def test_contradictions_are_counted_not_refused(tmp_path: Path) -> None:
    told = np.array([[0, 1, 2], [0, 2, 1], [3, 4, 5], [0, 1, 2]])
    notes = get_dataset(saved(tmp_path, train_triplets=told)).load().notes
    assert notes[1] == "3 triplets are contradicted by another one, j and k exchanged"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"train_triplets": np.array([[0, 1, 2], [0, 1, 120]])}, "row 1 is 0, 1, 120, expected numbers from 0 to 119"),
        ({"train_triplets": np.array([[0, 1, -1]])}, "array train_triplets: row 0 is 0, 1, -1, expected"),
        ({"train_triplets": np.array([[0, 1, 2], [5, 5, 2]])}, "row 1 is 5, 5, 2, expected three different rows"),
        ({"train_triplets": np.array([[0, 1]])}, r"shape \(1, 2\) of int64, expected \(m, 3\) row numbers i, j, k"),
        ({"train_triplets": np.array([[0.0, 1, 2]])}, r"shape \(1, 3\) of float64, expected"),
        ({"train_triplets": np.zeros((0, 3), int)}, r"shape \(0, 3\) of int64, expected"),
    ],
)  # fmt: skip
def test_a_damaged_list_is_one_line(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        get_dataset(saved(tmp_path, **changes)).check()
    assert "\n" not in str(caught.value)


def test_a_missing_array_is_named(tmp_path: Path) -> None:
    held = arrays()
    del held["train_triplets"]
    np.savez(tmp_path / "told.npz", **held)
    with pytest.raises(UsageError, match="lacks train_triplets"):
        get_dataset(f"triplets:{tmp_path / 'told.npz'}").check()


def retrieved(name: str, splits: Splits, train: Split) -> float:
    method = get_method(name)(16, training=TRAINING).fit(train)
    codes = method.encode(splits.query), method.encode(splits.database)
    return evaluate(*codes, splits.query.labels, splits.database.labels, k=50).map


@pytest.mark.parametrize("name", ["dtsh", "dnnh", "dph-triplet"])
def test_a_list_made_of_labels_teaches_nearly_as_much_as_labels(name: str, tmp_path: Path) -> None:
    splits = get_dataset(saved(tmp_path)).load()
    labelled = Split(features=splits.train.features, labels=splits.database.labels)  # rows are in the same order
    from_list, from_labels = retrieved(name, splits, splits.train), retrieved(name, splits, labelled)
    assert from_list > from_labels - 0.05
    assert from_list > 0.7


def test_whoever_needs_pairs_or_labels_is_skipped_with_the_reason(tmp_path: Path) -> None:
    train = get_dataset(saved(tmp_path)).load().train
    assert get_method("dph").unsupported(train, 16) == (
        "learns from similar and dissimilar pairs, but the training split has triplets only"
    )
    assert get_method("sdh").unsupported(train, 16) == (
        "learns from class labels, but the training split has triplets only"
    )
    assert get_method("dtsh").unsupported(train, 16) is None
    assert get_method("lsh").unsupported(train, 16) is None


def test_audit_shows_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", "--datasets", saved(tmp_path)]) == 0
    assert "note: 2,400 triplets about 120 of 120 training rows" in capsys.readouterr().out
