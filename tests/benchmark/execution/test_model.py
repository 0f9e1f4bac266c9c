"""A kept model encodes as its cell did: for every registered method, on features and on images; and bad ones say so."""

from __future__ import annotations

import io
import json
import pickle
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import benchmark
from benchmark import Split, UsageError, get_dataset
from benchmark.data.feature_cache import FeatureSource
from benchmark.deep.profile import Profile, load_profile
from benchmark.evaluation.codes import pack
from benchmark.execution.grid import DatasetChoice, Grid
from benchmark.execution.model import about_model, check_model
from benchmark.execution.model_inputs import inputs_of
from benchmark.execution.options import Options
from benchmark.execution.plan import plan
from benchmark.execution.runner import request_for
from benchmark.execution.store import Damaged, Foreign, Store
from benchmark.execution.worker import method_settings, run_cell
from benchmark.models.state_file import HEADER
from benchmark.registry import builtin_folder, get_method, methods

OURS = [cls.info for cls in methods if cls.info.source.parent == builtin_folder("methods")]
YARDSTICKS = sorted(info.name for info in OURS if info.ranks == "vectors" or info.labels_at_encode)
BUILT_IN = sorted({info.name for info in OURS} - set(YARDSTICKS))
Kept = Callable[..., tuple[Store, str]]


def short(**training: Any) -> Profile:
    quick = load_profile("quick")
    return replace(quick, training=replace(quick.training, steps=5, epochs=0.0, batch=16, device="cpu", **training))


@pytest.fixture
def kept(tmp_path: Path) -> Kept:
    """One cell, run here, with its model in a store; gives the store and the cell's key."""

    def make(method: str, spec: str, profile: Profile | None = None, **choice: Any) -> tuple[Store, str]:
        store, chosen = Store(tmp_path / "results"), DatasetChoice(spec, get_dataset(spec), **choice)
        (planned,) = plan(Grid([method], [chosen], [8], [0], profile or short()), store)
        outcome = run_cell(request_for(planned, store, Options(keep_models=True)))
        assert outcome.record.ok, outcome.record.error
        store.commit(outcome.record, outcome.payload, outcome.model)
        return store, planned.key

    return make


def stored_codes(store: Store, key: str, part: str) -> np.ndarray:
    return store.payload(store.read(key))[f"{part}_codes"]  # type: ignore[arg-type]


def same_codes(store: Store, key: str, part: str, given: Any, **more: Any) -> bool:
    """Whether the model's codes are those that the cell stored."""
    codes = benchmark.load_model(key, store.root, **more).encode(given)
    assert codes.dtype == np.int8
    return np.array_equal(pack(codes), stored_codes(store, key, part))


@pytest.mark.parametrize("method", BUILT_IN)
def test_every_method_encodes_its_database_as_it_did(method: str, kept: Kept, tiny: Path) -> None:
    store, key = kept(method, f"features:{tiny}")
    with np.load(tiny) as rows:
        for part in ("query", "database"):
            assert same_codes(store, key, part, rows[f"{part}_features"])


def test_in_a_fresh_process_too_and_by_words(kept: Kept, tiny: Path) -> None:
    store, keys = None, {}
    for method in ("dph", "ksh"):
        store, keys[method] = kept(method, f"features:{tiny}")
    assert store is not None
    code = (
        "import sys, benchmark, numpy as np\n"
        "rows = np.load(sys.argv[1])['database_features']\n"
        "for name in sys.argv[3:]:\n"
        "    codes = benchmark.load_model(name + ' tiny 8', sys.argv[2]).encode(rows)\n"
        "    print(np.packbits(codes > 0, axis=1).tobytes().hex())\n"
    )
    words = [sys.executable, "-c", code, str(tiny), str(store.root), *keys]
    done = subprocess.run(words, capture_output=True, text=True)
    expected = [stored_codes(store, key, "database").tobytes().hex() for key in keys.values()]
    assert done.stdout.split() == expected, done.stderr


@pytest.mark.parametrize("method", YARDSTICKS)
def test_a_yardstick_has_no_model_and_its_cell_says_why(method: str, kept: Kept, tiny: Path) -> None:
    store, key = kept(method, f"features:{tiny}")
    assert "it is a yardstick of tables alone" in store.read(key).model["reason"]  # type: ignore[union-attr]
    with pytest.raises(UsageError, match="yardstick"):
        benchmark.load_model(key, store.root)


@pytest.mark.parametrize(("method", "train"), [("lsh", "last"), ("dph", "last"), ("dph", "hash"), ("csq", "all")])
def test_images_become_features_as_in_the_cell(
    method: str, train: str, kept: Kept, make_lab: Any, tmp_path: Path
) -> None:
    """By the small network at each depth: its features, its trunk's, and as part of what was trained."""
    lab = make_lab(tmp_path)
    folder = lab.lists(str(lab.pictures("pics", noisy=True).relative_to(tmp_path)))
    store, key = kept(method, f"lists:{folder}", short(train=train), backbone="mini-cnn")
    paths = [line.split()[0] for line in (folder / "database.txt").read_text().splitlines()]
    assert same_codes(store, key, "database", [folder / path for path in paths])
    assert same_codes(store, key, "database", get_dataset(f"lists:{folder}").load().database)
    model = benchmark.load_model(key, store.root)
    one_by_one = [model.encode(folder / path) for path in paths[:3]]
    assert np.array_equal(np.concatenate(one_by_one), model.encode([folder / path for path in paths[:3]]))
    picture = Image.open(folder / paths[0]).convert("RGB")
    assert picture.size == (model.info["side"],) * 2
    larger = [picture.resize((50, 70)), picture.resize((91, 64))]  # photographs come in all sizes
    smaller = [one.resize(picture.size, Image.Resampling.BILINEAR) for one in larger]
    assert np.array_equal(model.encode(larger), model.encode(smaller))


def test_what_a_model_says_of_itself(kept: Kept, tiny: Path) -> None:
    store, key = kept("lsh", f"features:{tiny}")
    model = benchmark.load_model("lsh tiny 8", store.root)
    assert (model.bits, model.method, model.dataset, model.key) == (8, "lsh", "tiny", key)
    assert model.info["cell"]["seed"] == 0
    assert (model.takes_features, model.takes_images) == (True, False)
    described = store.read(key).model  # type: ignore[union-attr]
    assert described["bytes"] == (store.models / described["file"]).stat().st_size


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (np.zeros((3, 7)), "features of 7 columns, expected 8"),
        (np.zeros((1, 4, 4, 3), np.uint8), "nobody knows how to make them of images"),
        (Split(images=[np.zeros((4, 4, 3), np.uint8)]), "nobody knows how to make them of images"),  # type: ignore[arg-type]
    ],
)
def test_rows_of_another_kind_are_refused(given: Any, told: str, kept: Kept, tiny: Path) -> None:
    store, key = kept("lsh", f"features:{tiny}")
    with pytest.raises(UsageError, match=told):
        benchmark.load_model(key, store.root).encode(given)


@pytest.mark.parametrize("method", ["lsh", "itq", "dph"])
@pytest.mark.parametrize("value", [np.nan, -np.inf, 1e300])
def test_features_that_are_no_numbers_are_refused_by_every_model(
    method: str, value: float, kept: Kept, tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("benchmark.execution.model.ROWS_AT_ONCE", 3)
    store, key = kept(method, f"features:{tiny}")
    features = np.zeros((9, 8))
    features[[4, 7], 2] = value
    model = benchmark.load_model(key, store.root)
    told = r"not finite \(as float32\) in 2 of 9 rows, first is row 4; mend"
    for encode in (model.encode, lambda rows: model.check_takes(inputs_of(rows))):  # the second: before any work
        with pytest.raises(UsageError, match=told):
            encode(features)
    assert len(model.encode(features[:0])) == 0


def test_a_damaged_or_lost_model_says_how_to_get_it_back(kept: Kept, tiny: Path) -> None:
    store, key = kept("lsh", f"features:{tiny}")
    file = next(store.models.iterdir())
    file.write_bytes(file.read_bytes()[:-1] + b"?")
    with pytest.raises(UsageError, match=f"does not match the hash.*keep {key[:12]}"):
        benchmark.load_model(key, store.root)
    file.unlink()
    with pytest.raises(UsageError, match=f"not there any more.*keep {key[:12]}"):
        benchmark.load_model(key, store.root)


def with_header(**header: Any) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, **{HEADER: np.frombuffer(json.dumps(header).encode(), np.uint8)})  # type: ignore[arg-type]
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("content", "told", "fault"),
    [
        (pickle.dumps({"x": 1}), "cannot be read", Damaged),
        (with_header(format=1, about={}, state={"is": "tensor", "number": 3}), "cannot be read", Damaged),
        (with_header(format=0, about={}, state={}), "has format 0, this version reads 1", Foreign),
    ],
    ids=["a pickle", "an array is missing", "another format"],
)
def test_a_model_whose_hash_is_right_but_that_cannot_be_read_is_damaged(
    content: bytes, told: str, fault: type[Damaged], kept: Kept, tiny: Path
) -> None:
    store, key = kept("lsh", f"features:{tiny}")
    record = store.read(key)
    assert record is not None
    check_model(record, store)
    store.commit(record, store.payload(record), content)
    with pytest.raises(Damaged, match=told) as caught:
        check_model(record, store)
    assert type(caught.value) is fault


def test_code_that_has_changed_since_is_refused_unless_asked_for(
    kept: Kept, tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, key = kept("lsh", f"features:{tiny}")
    monkeypatch.setattr("benchmark.execution.model.plugin_sources", lambda cls: {"plugin": "other"})
    with pytest.raises(UsageError, match=r"code has changed since its model was kept \(code\."):
        benchmark.load_model(key, store.root)
    with np.load(tiny) as rows:
        assert same_codes(store, key, "query", rows["query_features"], stale=True)


@pytest.mark.parametrize("method", ["lsh", "dhn"])
def test_a_model_names_weights_as_the_user_did_wherever_its_worker_had_them(
    method: str, make_lab: Any, tmp_path: Path, monkeypatch: Any
) -> None:
    """Dask sends what a worker does not see: the paths of that machine are of no use here."""
    lab = make_lab(tmp_path)
    lab.pictures("pics", noisy=True)
    spec = f"lists:{lab.lists('pics')}"
    (tmp_path / "weights.pth").write_bytes(b"ours")
    chosen = DatasetChoice(spec, get_dataset(spec), backbone="mini-cnn")
    (planned,) = plan(Grid([method], [chosen], [8], [0], short()), Store(tmp_path / "results"))
    ours = request_for(planned, Store(tmp_path / "results"), Options(keep_models=True))
    asked = {**ours.asked, "weights": str(tmp_path / "weights.pth")}
    theirs = replace(ours, asked=asked, weights="/received/weights.pth")
    info = get_method(method).info
    settings = method_settings(info, theirs)
    source = FeatureSource("mini-cnn", theirs.weights)
    about = about_model(theirs, settings, 0, source, Split(features=np.zeros((1, 2))), None)
    assert "received" not in str(about)
    assert about["features_of"]["weights"] == asked["weights"]
    assert not about["training"] or about["training"]["weights"] == asked["weights"]


def test_weights_that_are_others_now_are_refused(kept: Kept, make_lab: Any, tmp_path: Path, monkeypatch: Any) -> None:
    lab = make_lab(tmp_path)
    lab.pictures("pics", noisy=True)
    folder = lab.lists("pics")
    store, key = kept("lsh", f"lists:{folder}", backbone="mini-cnn")
    monkeypatch.setattr("benchmark.deep.mini_cnn.RECIPE_HASH", "another")
    with pytest.raises(UsageError, match=r"weights mini-cnn are mini-cnn:another, but the model .* was made with"):
        benchmark.load_model(key, store.root).encode(folder)


def test_a_broken_image_is_named(kept: Kept, make_lab: Any, tmp_path: Path) -> None:
    lab = make_lab(tmp_path)
    lab.pictures("pics", noisy=True)
    store, key = kept("lsh", f"lists:{lab.lists('pics')}", backbone="mini-cnn")
    (tmp_path / "pics" / "x.png").write_bytes(b"no image")
    with pytest.raises(UsageError, match=r"x\.png is no image"):
        benchmark.load_model(key, store.root).encode(tmp_path / "pics")


def test_a_method_that_cannot_be_kept_leaves_its_cell_ok_and_says_why(kept: Kept, tiny: Path) -> None:
    from benchmark import register_method

    @register_method("test-unkept", title="Unkept")
    class Holds:
        bits: int
        seed: int

        def fit(self, train: Split) -> None:
            self.thing = object()

        def encode(self, split: Split) -> np.ndarray:
            return np.ones((len(split), self.bits), np.int8)

    try:
        store, key = kept("test-unkept", f"features:{tiny}")
        with pytest.raises(UsageError, match=r"its model was not kept: method test-unkept: attribute `thing`"):
            benchmark.load_model(key, store.root)
        assert store.read(key).ok  # type: ignore[union-attr]
    finally:
        methods._plugins.pop("test-unkept")
