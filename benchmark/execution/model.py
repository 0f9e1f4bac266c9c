"""A fitted method that was kept: the file that a cell leaves, and what encodes by it afterwards.

`benchmark.load_model("dph coco 64").encode(images)` gives the codes that the cell itself would have given: by the same
parameters, backbone, weights and transform. Loading runs nothing that the file holds; the code is that of the
registered method, and must be what it was.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from benchmark.contracts import Images, MethodInfo, Split
from benchmark.data.feature_cache import FeatureSource
from benchmark.deep.backbones import Backbone, transform_of
from benchmark.deep.profile import Training
from benchmark.errors import UsageError
from benchmark.execution.cell_names import cell_called, cells_called, label_of
from benchmark.execution.fingerprint import differences, pipeline_sources, plugin_sources
from benchmark.execution.model_inputs import GivenImages, ModelRows, chunk_features, decoded_chunk, inputs_of
from benchmark.execution.record import Record
from benchmark.execution.request import Request
from benchmark.execution.store import Damaged, Foreign, Store
from benchmark.models.learned import Unkept, keep_learned, restore_learned
from benchmark.models.state_file import OtherFormat, check_state, read_state, state_bytes
from benchmark.program import typed
from benchmark.registry import get_method

IMAGES_AT_ONCE = 256  # as the feature cache has it: whole batches, and little is lost when a process dies
ROWS_AT_ONCE = 16384  # of features that are looked at: they may lie in a file that is larger than the memory


# Keeping


def model_bytes(method: Any, settings: Mapping[str, Any], about: Mapping[str, Any], probe: Split) -> bytes:
    """The file of a fitted method that was built with these settings; Unkept where what would be restored from it
    encodes the rows of `probe` differently, or nothing can be restored."""
    info: MethodInfo = method.info
    if info.ranks == "vectors" or info.labels_at_encode:
        what = "has no codes" if info.ranks == "vectors" else "encodes labels, which rows of your own do not have"
        raise Unkept(f"method {info.name} {what}: it is a yardstick of tables alone")

    def build() -> Any:
        return get_method(info.name)(method.bits, about["seed"], **settings)

    content = state_bytes(about, keep_learned(method, build))
    twin = build()
    restore_learned(twin, read_state(content, info.name)[1])
    if not np.array_equal(method.encode(probe), twin.encode(probe)):
        told = f"method {info.name}: what was kept of it encodes differently"
        raise Unkept(f"{told}; give it keep() and restore(kept) that hold all that encode needs")
    return content


def about_model(
    request: Request,
    settings: Mapping[str, Any],
    seed: int,
    source: FeatureSource | None,
    seen: Split,
    side: int | None,
) -> dict[str, Any]:
    """What a model's file says of itself: enough to build the method again, and to make its input of images, which
    were squares of `side` pixels."""
    training = settings.get("training")
    weights = request.asked["weights"]  # as the user named them: a worker of a cluster may have them elsewhere
    own = {"checkpoint": None, "weights": weights}
    return {
        "key": request.key,
        "cell": dict(request.identity),
        "seed": seed,
        "parameters": {name: value for name, value in settings.items() if name != "training"},
        "training": None if training is None else {**dataclasses.asdict(training), **own},
        "features_of": None if source is None else {**dataclasses.asdict(source), "weights": weights},
        "columns": None if seen.features is None else int(seen.features.shape[1]),
        "side": side,
        "sources": dict(request.parts["sources"]),
        "pipeline": request.parts["pipeline"],
        "weights": request.parts["weights"],
        "revision": request.parts["dataset"]["revision"],
    }


# Encoding


@dataclass(frozen=True)
class EncodedChunk:
    """Codes of those of its rows that could be read, which these are, and why the others could not."""

    all_rows: range
    rows: list[int]
    codes: np.ndarray
    faults: dict[int, str]

    @property
    def end(self) -> int:
        return self.all_rows.stop


class Model:
    """A fitted method: `encode` gives codes of features or images, as its cell would have."""

    def __init__(self, fitted: Any, about: Mapping[str, Any], sha256: str) -> None:
        self._fitted = fitted
        self.info = dict(about)  # what its file says: cell, parameters, training, backbone, weights, hashes of code
        self.sha256 = sha256
        cell = about["cell"]
        self.method: str = cell["method"]
        self.dataset: str = cell["dataset"]
        self.bits: int = cell["bits"]
        self.key: str = about["key"]

    @property
    def label(self) -> str:
        return f"{self.method} {self.dataset} {self.bits} bits seed {self.info['cell']['seed']}"

    @property
    def takes_images(self) -> bool:
        """Whether it can be given images; else features only."""
        return self.info["features_of"] is not None or self.info["columns"] is None

    @property
    def takes_features(self) -> bool:
        return self.info["columns"] is not None

    def __repr__(self) -> str:
        takes = [name for name, can in (("features", self.takes_features), ("images", self.takes_images)) if can]
        return f"Model({self.label!r}: {' or '.join(takes)} -> codes)"

    def encode(self, given: Any) -> np.ndarray:
        """(n, bits) int8 codes over {-1, +1} of features (n, d), a Split, images in memory, or paths of images: one, a
        list, or a folder, whose images are taken in the order of their paths."""
        inputs = inputs_of(given)
        if inputs.features is not None:
            return self.encode_features(inputs.features)
        chunks = []
        for chunk in self.chunks(inputs):
            if chunk.faults:
                raise UsageError(next(iter(chunk.faults.values())))
            chunks.append(chunk.codes)
        return np.concatenate(chunks) if chunks else np.empty((0, self.bits), np.int8)

    def encode_features(self, features: np.ndarray) -> np.ndarray:
        """Codes of features as the cell's were."""
        columns = self.info["columns"]
        if columns is None:
            raise UsageError(f"model '{self.label}' takes images, but features were given")
        if features.ndim != 2 or features.shape[1] != columns:
            of = f" of {self.info['weights']}" if self.info["features_of"] else ""
            found = f"features of {features.shape[-1]} columns" if features.ndim == 2 else f"shape {features.shape}"
            raise UsageError(f"model '{self.label}': {found}, expected {columns}, as its cell had{of}")
        _check_finite(features, self.label)
        codes: np.ndarray = self._fitted.encode(Split(features=features))
        return codes

    @property
    def images_at_once(self) -> int:
        """Rows in a chunk: whole batches of those that the cell was encoded in, where it says how large they were."""
        training = self.info["training"]
        own = self.info["features_of"] is None and training and training["backbone"]
        return int(training["encode_batch"]) if own else IMAGES_AT_ONCE

    def chunks(self, inputs: ModelRows, start: int = 0) -> Iterator[EncodedChunk]:
        """Codes of images from row `start` on, a chunk at a time: memory does not grow with their number."""
        self.check_takes(inputs)
        assert inputs.images is not None
        size = self.images_at_once
        for first in range(start, len(inputs), size):
            rows = range(first, min(first + size, len(inputs)))
            yield self._chunk(inputs.images, rows)

    def check_takes(self, inputs: ModelRows) -> None:
        """What can be said before any work."""
        if inputs.features is not None:
            self.encode_features(inputs.features[:0])
            _check_finite(inputs.features, self.label)
        elif not self.takes_images:
            told = f"model '{self.label}' takes features of {self.info['columns']} columns"
            raise UsageError(f"{told}, which came with its data set; nobody knows how to make them of images")
        elif self.info["features_of"] is not None:
            self._check_weights()

    def _chunk(self, images: Images, rows: range) -> EncodedChunk:
        source, transform = self._source, self._transform
        if source is not None:
            found = decoded_chunk(images, rows, transform.prepare)
        else:
            found = decoded_chunk(images, rows, transform.resized if transform else np.asarray)
        if not found.rows:
            return EncodedChunk(rows, [], np.empty((0, self.bits), np.int8), found.faults)
        if source is not None:
            codes = self.encode_features(chunk_features(self._backbone, source, found.images))
        else:
            codes = self._fitted.encode(Split(images=GivenImages(found.images)))
        return EncodedChunk(rows, found.rows, codes, found.faults)

    @cached_property
    def _source(self) -> FeatureSource | None:
        told = self.info["features_of"]
        return None if told is None else FeatureSource(**told)

    @cached_property
    def _transform(self) -> Any:
        """Between a decoded image and what is encoded; None where the method looks at whole images itself. Where a
        backbone takes images as they are, those of another size are made as large as the cell's were."""
        training = self.info["training"]
        if self._source is not None:
            transform = transform_of(self._source.backbone)
        elif training and training["backbone"]:
            from benchmark.deep.assembly import image_transform

            transform = image_transform(transform_of(training["backbone"]), Training(**training))
        else:
            return None
        return replace(transform, resize=self.info.get("side")) if transform.resize is None else transform

    @cached_property
    def _backbone(self) -> Backbone:
        assert self._source is not None
        return self._source.load(self.info["weights"])

    def _check_weights(self) -> None:
        """The weights of today must be those of then."""
        assert self._source is not None
        found, then = self._source.weights_id, self.info["weights"]
        if found != then:
            told = f"weights {self._source.weights or self._source.backbone} are {found}"
            raise UsageError(f"{told}, but the model '{self.label}' was made with {then}; put those back")


def _check_finite(features: np.ndarray, label: str) -> None:
    """A network makes a code of anything, NaN too: it is refused here, for every method."""
    with np.errstate(over="ignore"):  # methods see float32, in which a large number is infinite
        parts = [
            np.isfinite(np.asarray(features[start : start + ROWS_AT_ONCE], np.float32)).all(axis=1)
            for start in range(0, len(features), ROWS_AT_ONCE)
        ]
    bad = np.flatnonzero(~np.concatenate([np.ones(0, bool), *parts]))
    if len(bad):
        told = f"features not finite (as float32) in {len(bad):,} of {len(features):,} rows, first is row {bad[0]}"
        raise UsageError(f"model '{label}': {told}; mend these rows or leave them out")


# Loading


def find_model(text: str, store: Store, *, stale: bool = False) -> Model:
    """The model of the cell that words or a key mean."""
    return read_model(find_record(text, store), store, stale=stale)


def find_record(text: str, store: Store) -> Record:
    """The record of the cell that words or a key mean: of those that count, where there is one among them."""
    from benchmark.execution.plan import stale_keys

    records = {record.key: record for record in store.records() if record.ok}
    labels, stale = {key: label_of(record) for key, record in records.items()}, stale_keys(store)
    counting = {key: label for key, label in labels.items() if key not in stale}
    return records[cell_called(text, counting if cells_called(text, counting) else labels, store.root)]


def check_model(record: Record, store: Store) -> None:
    """Damaged where its model is not there or cannot be read, Foreign where another version wrote it."""
    content = store.model(record)
    try:
        check_state(content, (record.model or {})["file"])
    except OtherFormat as error:
        raise Foreign(str(error)) from None
    except UsageError as error:
        raise Damaged(str(error)) from None


def read_model(record: Record, store: Store, *, stale: bool = False) -> Model:
    """The model of this record, as soon as its bytes, its code and its weights are those of then."""
    label, again = label_of(record), typed(["keep", record.key[:12], "--results", store.root])
    if record.codes_only:
        raise UsageError(f"'{label}' is codes only, made elsewhere: there is no model of it here")
    if record.model and "reason" in record.model:
        raise UsageError(f"'{label}': its model was not kept: {record.model['reason']}")
    if not record.model:
        raise UsageError(f"'{label}' was run without keeping its model; keep it by: {again}")
    if not store.has_model_file(record):
        raise UsageError(f"'{label}': its model is not there any more; keep it again by: {again}")
    try:
        content = store.model(record)
    except Damaged as error:
        raise UsageError(f"'{label}': {error}; keep it again by: {again}") from None
    about, state = read_state(content, record.model["file"])
    cls = get_method(about["cell"]["method"])
    if not stale:
        _check_code(cls, about, label)
    training = about["training"]
    settings = dict(about["parameters"]) | ({} if training is None else {"training": Training(**training)})
    fitted = cls(about["cell"]["bits"], about["seed"], **settings)
    try:
        restore_learned(fitted, state)
    except (Unkept, KeyError, TypeError, AttributeError) as error:
        raise UsageError(f"'{label}': its model does not fit the method of today ({error}); keep it again") from None
    return Model(fitted, about, hashlib.sha256(content).hexdigest())


def _check_code(cls: type, about: Mapping[str, Any], label: str) -> None:
    """A model is of use with the code that it was made with: other code may encode otherwise."""
    changed = differences({"code": about["sources"]}, {"code": plugin_sources(cls)})
    if about["features_of"] is not None:
        changed += differences({"features": about["pipeline"]}, {"features": pipeline_sources()})
    if changed:
        names = ", ".join(line.partition(":")[0] for line in changed[:3])
        raise UsageError(
            f"'{label}': code has changed since its model was kept ({names}); run and keep it again, "
            "or take it as it is by --stale (stale=True)"
        )
