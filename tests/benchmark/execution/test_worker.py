"""One cell: it runs on what was planned, gets what was given, and says so."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmark import Split, Splits, evaluate, get_dataset, register_dataset, register_method
from benchmark.deep.profile import load_profile
from benchmark.evaluation.codes import unpack
from benchmark.execution import worker
from benchmark.execution.grid import DatasetChoice, Grid
from benchmark.execution.options import Options
from benchmark.execution.plan import plan
from benchmark.execution.record import ARRAYS, METRICS
from benchmark.execution.request import Request
from benchmark.execution.runner import request_for
from benchmark.execution.store import Store
from benchmark.execution.worker import GIVEN, checked_splits, held_out, prepare_data, run_cell
from benchmark.registry import get_method, methods


@pytest.fixture
def request_of(tmp_path: Path) -> Any:
    def make(spec: str, method: str = "lsh", **choice: Any) -> Request:
        chosen = DatasetChoice(spec, get_dataset(spec), **choice)
        store = Store(tmp_path / "results")
        (planned,) = plan(Grid([method], [chosen], [8], [0], load_profile("quick")), store)
        return request_for(planned, store, Options())

    return make


def test_a_cell_runs(request_of: Any, tiny: Path) -> None:
    outcome = run_cell(request_of(f"features:{tiny}"))
    assert outcome.record.ok
    assert outcome.record.asked["dataset"] == f"features:{tiny}"
    assert set(outcome.payload) >= {"query_codes", "database_codes", "ap", "precision_at_radius", "class_ap"}


def rewritten(path: Path) -> None:
    """The same file with other rows."""
    with np.load(path) as stored:
        arrays = {name: stored[name] for name in stored.files}
    np.savez(path, **(arrays | {"train_features": arrays["train_features"] + 1}))


def test_data_replaced_after_planning_is_not_stored_under_the_old_revision(
    request_of: Any, tiny: Path, tmp_path: Path
) -> None:
    """A3: also what another machine finds under the same path."""
    path = tmp_path / "mine.npz"
    shutil.copyfile(tiny, path)
    request = request_of(f"features:{path}")
    rewritten(path)
    record = run_cell(request).record
    assert record.status == "failed"
    assert "data here differs from what was planned (dataset.revision)" in record.error["message"]


def test_data_replaced_while_it_is_read_is_noticed_too(
    request_of: Any, tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A3: between the check and the reading."""
    path = tmp_path / "mine.npz"
    shutil.copyfile(tiny, path)
    request = request_of(f"features:{path}")
    cls = type(get_dataset(f"features:{path}"))
    plain = cls.load

    def replaced(self: Any) -> Splits:
        rewritten(path)
        return plain(self)

    monkeypatch.setattr(cls, "load", replaced)
    assert "data here differs" in run_cell(request).record.error["message"]


@pytest.mark.parametrize("part", ["map_cutoff", "weights"])
def test_another_cut_off_or_other_weights_are_noticed(request_of: Any, tiny: Path, part: str) -> None:
    """A3: everything that the key says of the data."""
    request = request_of(f"features:{tiny}")
    parts = dict(request.parts)
    if part == "weights":
        parts["weights"] = "others"
    else:
        parts["dataset"] = {**parts["dataset"], "map_cutoff": 7}
    assert part in run_cell(replace(request, parts=parts)).record.error["message"]


@register_method("test-trained", title="Trained", family="control")
class Trained:
    """Random planes, with a training and so with the weights of a backbone."""

    def __init__(self, bits: int, seed: int = 0, *, training: Any = None) -> None:
        self.bits = bits

    def fit(self, train: Split) -> None:
        pass

    def encode(self, split: Split) -> np.ndarray:
        return np.where(split.features[:, np.arange(self.bits) % split.features.shape[1]] > 0, 1, -1)


def test_weights_replaced_while_a_method_trains_are_noticed(request_of: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A3: a deep method reads them when it is fitted, after the data were compared with the plan."""
    request = request_of("test-both", "test-trained", backbone="mini-cnn")
    assert run_cell(request).record.ok
    monkeypatch.setattr(worker, "weights_id", lambda *_: "those of another file")
    record = run_cell(request).record
    assert record.status == "failed"
    assert "data here differs from what was planned (weights)" in record.error["message"]


class Pictures:
    """Grey canvases, all alike: whoever computes features from them finds nothing."""

    def __init__(self, size: int) -> None:
        self.size = size

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, index: int, /) -> np.ndarray:
        return np.full((32, 32, 3), 128, np.uint8)


@register_dataset("test-both", title="Both")
class Both:
    """Features and images together."""

    name = title = "test-both"
    map_cutoff, protocol, revision, miniature, backbone = 20, "made", "1", False, "mini-cnn"

    def __init__(self, argument: str | None = None, *, data_root: Path | None = None) -> None:
        pass

    def check(self) -> None:
        pass

    def load(self) -> Splits:
        rng, labels = np.random.default_rng(0), np.arange(40) % 4
        centres = rng.normal(size=(4, 8))

        def split() -> Split:
            rows = (centres[labels] + 0.1 * rng.normal(size=(40, 8))).astype(np.float32)
            return Split(features=rows, images=Pictures(40), labels=labels)

        return Splits(split(), split(), split())


def test_given_features_win_for_methods_on_features_and_the_record_says_so(request_of: Any) -> None:
    """A10: they were silently replaced by features of a backbone."""
    request = request_of("test-both", backbone="mini-cnn")
    _, splits, _ = checked_splits(get_method("lsh").info, request)
    assert splits.query.features.shape[1] == 8
    assert GIVEN in prepare_data(request).notes
    assert GIVEN in run_cell(request).record.audit["notes"]


def test_a_method_on_images_without_training_gets_images_under_every_profile(request_of: Any) -> None:
    """`check` gave it images; a run under `quick` gave it features cut out of a backbone, and it died of that."""

    @register_method("test-pixels-only", title="X", input="images")
    class PixelsOnlyMethod:
        def fit(self, train: Split) -> None:
            self.middle = np.median(self._rows(train), axis=0)

        def encode(self, split: Split) -> np.ndarray:
            return np.where(self._rows(split) > self.middle, 1, -1)

        def _rows(self, split: Split) -> np.ndarray:
            return np.stack([split.images[row].ravel()[: self.bits] for row in range(len(split))])

    try:
        request = request_of("coco-mini", "test-pixels-only", backbone="mini-cnn")
        assert request.profile.training.train != "all"
        info = PixelsOnlyMethod.info  # type: ignore[attr-defined]
        _, splits, _ = checked_splits(info, request)
        assert all(split.images is not None and split.features is None for split in splits.parts().values())
    finally:
        methods._plugins.pop("test-pixels-only")


def test_metrics_and_arrays_of_a_record_are_those_of_the_table(request_of: Any) -> None:
    outcome = run_cell(request_of("test-both", backbone="mini-cnn"))
    assert set(outcome.record.metrics) == set(METRICS)
    assert set(outcome.payload) == set(ARRAYS)


def test_a_row_held_out_asks_for_all_other_training_rows(request_of: Any, tiny: Path) -> None:
    """Those held out with it included: of a real database most rows are seen by no training."""
    request = replace(request_of(f"features:{tiny}"), fold=(1, 3))
    outcome = run_cell(request)
    dataset, splits, _ = checked_splits(get_method("lsh").info, request)
    codes = [unpack(outcome.payload[f"{name}_codes"], 8) for name in ("query", "database")]
    labels = splits.query.required_labels(), splits.train.required_labels()
    assert [len(part) for part in codes] == [len(part) for part in labels]
    everything = np.concatenate(codes), np.concatenate(labels)
    found: dict[int, list[float]] = {}
    for row in range(len(codes[0])):
        others = np.arange(len(everything[0])) != row
        one = codes[0][row : row + 1], everything[0][others], labels[0][row : row + 1], everything[1][others]
        for owned in np.flatnonzero(labels[0][row]):
            found.setdefault(int(owned), []).append(evaluate(*one, k=dataset.map_cutoff).map)
    expected = np.mean([np.mean(values) for values in found.values()])
    assert outcome.record.metrics["map_macro"] == pytest.approx(expected)


def test_folds_share_no_row_lose_none_and_have_every_class_alike() -> None:
    rows = np.arange(50, dtype=np.float32).reshape(-1, 1)
    classes = np.repeat([0, 1, 2], [30, 14, 6])
    train = Split(features=rows, labels=classes)
    held = []
    for part in range(3):
        one = held_out(Splits(train, train, train), (part, 3), {"dataset": "any", "seed": 0})
        assert one.train.features is not None
        assert one.query.features is not None
        assert one.database is one.train
        both = np.concatenate([one.train.features, one.query.features])
        assert sorted(both[:, 0]) == list(range(50))
        counts = np.bincount(classes[one.query.features[:, 0].astype(int)], minlength=3)
        assert (np.abs(counts - np.array([10, 14 / 3, 2])) < 1).all()
        held.append(one.query.features)
    assert sorted(np.concatenate(held)[:, 0]) == list(range(50))


def test_features_given_for_some_splits_only_are_not_silently_replaced(
    request_of: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A10: they neither win nor lose."""
    whole = Both.load

    def some(self: Both) -> Splits:
        splits = whole(self)
        return replace(splits, query=replace(splits.query, features=None))

    monkeypatch.setattr(Both, "load", some)
    record = run_cell(request_of("test-both", backbone="mini-cnn")).record
    assert record.status == "failed"
    assert "gives features, but none for query" in record.error["message"]


def test_a_data_set_that_loads_something_else_is_told(request_of: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Both, "load", lambda self: None)
    record = run_cell(request_of("test-both", backbone="mini-cnn")).record
    assert "load() returned a NoneType, expected Splits" in record.error["message"]
