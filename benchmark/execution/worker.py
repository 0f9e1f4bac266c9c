"""One cell: load, seed, fit, encode, score. Runs in a process of its own and writes nothing to results/.

A method is given what it declared and no more, in read-only arrays. What comes back is a plain record and
a payload of arrays; the submitting side commits them.
"""

from __future__ import annotations

import contextlib
import time
import traceback
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from benchmark.contracts import HashDataset, MethodInfo, Ranks, Splits
from benchmark.data.audit import Audit, audit
from benchmark.data.cache import telling
from benchmark.data.feature_cache import FeatureCut, FeatureSource
from benchmark.deep.backbones import weights_id
from benchmark.errors import InvalidCodes, TrainingFailed, UsageError
from benchmark.evaluation.codes import health, pack
from benchmark.evaluation.counting import EVALUATOR_VERSION, count
from benchmark.evaluation.metrics import Scores, in_database_order, score_counts
from benchmark.evaluation.vectors import cosine_in_database_order, count_vectors
from benchmark.execution.dask_client import client_of
from benchmark.execution.diagnosis import doubts, remedy
from benchmark.execution.fingerprint import differences, plugin_sources
from benchmark.execution.grid import data_parts, load_splits, sets_training
from benchmark.execution.model import about_model, model_bytes
from benchmark.execution.provenance import peak_memory, provenance
from benchmark.execution.record import Record, Status
from benchmark.execution.request import Outcome, Request
from benchmark.execution.task_process import tell_runner
from benchmark.execution.told_features import extract_told
from benchmark.models.learned import Unkept
from benchmark.registry import get_dataset, get_method
from benchmark.seeds import derive_seed, generator

SAME_FILES = "run again, with the same files everywhere and for as long as it runs"
ALL_OR_NONE = "give them for all splits, or for none to have them computed from the images"
GIVEN = "features as given with the data set; its images were not used"


def run_cell(request: Request) -> Outcome:
    """Carry out one cell; whatever the method does short of dying ends in a record with a status."""
    use_threads(request.threads)
    for plugin in request.plugins:
        plugin.load()
    info: MethodInfo = get_method(request.identity["method"]).info
    record = blank_record(request, info)
    outcome = Outcome(record)
    try:
        _compute(request, info, outcome)
    except (Exception, SystemExit) as error:
        record.status = status_of(error)
        record.error = recorded_error(error)
    record.peak_memory = peak_memory()
    record.provenance = provenance(request.threads, _entries(request))
    return outcome


def blank_record(request: Request, info: MethodInfo) -> Record:
    """A record that says what was asked for and not yet what came of it."""
    return Record(
        request.key,
        dict(request.identity),
        dict(request.parts),
        asked=dict(request.asked),
        titles={"method": info.title},
        family=info.family,
        provenance=provenance(request.threads, _entries(request)),
    )


def _entries(request: Request) -> list[str]:
    """Of the plugins that came with packages."""
    return [plugin.entry for plugin in request.plugins if plugin.entry]


def plain(value: Any) -> Any:
    """What a method left behind as JSON can hold it: numbers, texts, lists and dicts of them; no NaN."""
    if isinstance(value, Mapping):
        return {str(name): plain(part) for name, part in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [plain(part) for part in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not np.isfinite(value):
        return None
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise TypeError(f"history holds a {type(value).__name__}, expected numbers, texts, lists and dicts of them")


def status_of(error: BaseException) -> Status:
    if isinstance(error, InvalidCodes):
        return "invalid_codes"
    return "oom" if isinstance(error, MemoryError) else "failed"


def recorded_error(error: BaseException) -> dict[str, str]:
    """An exception as a record keeps it."""
    kind = "training" if isinstance(error, TrainingFailed) else type(error).__name__
    message = f"it called sys.exit({error.code!r})" if isinstance(error, SystemExit) else str(error)
    text = "".join(traceback.format_exception(error))
    return {"kind": kind, "message": message[:2000], "traceback": text[-4000:]}


def use_threads(threads: int) -> None:
    """Limit the libraries already loaded; those loaded later read the environment the runner has set."""
    import sys

    import threadpoolctl

    threadpoolctl.threadpool_limits(threads)
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(threads)


def _compute(request: Request, info: MethodInfo, outcome: Outcome) -> None:
    check_code(info, request)
    record, seconds = outcome.record, outcome.record.seconds
    with _timed(seconds, "load"):
        dataset, splits, audited = checked_splits(info, request)
    record.titles["dataset"], record.miniature = dataset.title, dataset.miniature
    record.audit = audited.as_dict()
    method = build_method(info, request)
    reason = method.unsupported(splits.train, request.identity["bits"])
    if reason:
        record.status, record.error = "skipped", {"kind": "skipped", "message": reason, "traceback": ""}
        return
    with _timed(seconds, "fit"):
        method.fit(splits.train)
    record.training = plain(dict(getattr(method, "history", None) or {}))
    with _timed(seconds, "encode"):
        codes = {name: getattr(method, info.coding)(splits.parts()[name]) for name in ("query", "database")}
    _check_weights(info, request)
    if request.keep_model:
        _keep_model(method, request, dataset, splits, outcome)
    record.health = health(codes["database"]) if info.ranks == "codes" else {}
    found = doubts(record.training, record.health)
    rate = getattr(getattr(method, "training", None), "learning_rate", None)
    if found:
        record.health |= {"doubts": found, "remedy": remedy(info.name, rate)}
    with _timed(seconds, "score"):
        score = score_fold if request.fold else score_codes
        score(codes, splits, dataset, outcome, request.threads, info.ranks)
    if request.with_dataset:
        outcome.dataset = dataset_arrays(splits)
    record.status = "ok"


def _keep_model(method: Any, request: Request, dataset: HashDataset, splits: Splits, outcome: Outcome) -> None:
    """The fitted method as the bytes of a file, or the reason why not; either way the cell is what it is."""
    info: MethodInfo = method.info
    settings = method_settings(info, request)
    seen = splits.train.visible(info.input, "nothing")
    source = None if GIVEN in splits.notes or seen.features is None else feature_source(info, request)
    about = about_model(request, settings, cell_seed(request), source, seen, _side(dataset))
    try:
        outcome.model = model_bytes(method, settings, about, splits.query)
    except Exception as error:  # the author's own keep and restore may fail in any way
        told = str(error) if isinstance(error, (Unkept, UsageError)) else f"{type(error).__name__}: {error}"
        outcome.record.model = {"reason": told}


def _side(dataset: HashDataset) -> int | None:
    """Of square images, by the first of them; None where there are none, or of other shapes."""
    images = load_splits(dataset).query.images
    if images is None or not len(images):
        return None
    height, width = images[0].shape[:2]
    return height if height == width else None


def check_code(info: MethodInfo, request: Request) -> None:
    """A result must not be stored under the key of other code: edited meanwhile, or another version on a cluster."""
    here: dict[str, Any] = {"evaluator": EVALUATOR_VERSION}
    if not any(plugin.typed for plugin in request.plugins):  # a class that came by value is what was planned
        here["sources"] = plugin_sources(get_method(info.name))
    _compare("code", here, request, "run again, with one version everywhere")


def checked_splits(info: MethodInfo, request: Request) -> tuple[HashDataset, Splits, Audit]:
    """The data as the method gets it, after making sure that it is what was planned for, before and after it is read:
    a file may be replaced while the run goes on, and another may lie under the same path on another machine.

    The audit is that of the rows as they came, images included; in a fold, that of the rows in play.
    """
    dataset = _planned_dataset(request)
    raw = load_splits(dataset)
    splits = seen_splits(dataset, raw, info, request)
    _planned_dataset(request)
    audited = audit(splits if request.fold else raw, dataset.map_cutoff)
    audited.notes[:] = splits.notes
    return dataset, splits, audited


def _planned_dataset(request: Request) -> HashDataset:
    dataset = get_dataset(request.dataset, request.data_root, **request.dataset_parameters)
    here = data_parts(dataset, request.backbone, request.weights, request.partial_weights)
    _compare("data", here, request, SAME_FILES)
    return dataset


def _check_weights(info: MethodInfo, request: Request) -> None:
    """A deep method reads its backbone's weights when it is fitted, after the data were looked at."""
    if info.takes_training and request.backbone:
        here = {"weights": weights_id(request.backbone, request.weights, request.partial_weights)}
        _compare("data", here, request, SAME_FILES)


def _compare(what: str, here: Mapping[str, Any], request: Request, remedy: str) -> None:
    changed = differences({name: request.parts[name] for name in here}, here)
    if changed:
        names = ", ".join(line.partition(":")[0] for line in changed)
        raise UsageError(f"{what} here differs from what was planned ({names}): {remedy}")


@contextlib.contextmanager
def _timed(seconds: dict[str, float], name: str) -> Iterator[None]:
    start = time.perf_counter()
    try:
        yield
    finally:
        seconds[name] = round(time.perf_counter() - start, 4)


def seen_splits(dataset: HashDataset, splits: Splits, info: MethodInfo, request: Request) -> Splits:
    """The data as the method gets it: images for end-to-end training, else features at the profile's cut."""
    if request.fold:  # from here on there are no queries and no database but training rows
        splits = replace(splits, query=splits.train, database=splits.train)
    featured = _featured(dataset, splits, info, request)
    return held_out(featured, request.fold, request.identity) if request.fold else featured


def held_out(splits: Splits, fold: tuple[int, int], cell: Mapping[str, Any]) -> Splits:
    """Part i of n of the training rows as queries, the rest for training and as the database."""
    part, parts = fold
    rows = splits.train
    order = generator("folds", cell["dataset"], cell["seed"]).permutation(len(rows))
    if rows.labels is not None and (rows.labels.sum(axis=1) == 1).all():  # one class each: dealt class by class
        order = order[np.argsort(rows.labels[order].argmax(axis=1), kind="stable")]
    number = np.empty(len(rows), np.int64)
    number[order] = np.arange(len(rows)) % parts
    kept, held = (rows.take(np.flatnonzero(chosen)) for chosen in (number != part, number == part))
    return replace(splits, train=kept, query=held, database=kept)


def _featured(dataset: HashDataset, splits: Splits, info: MethodInfo, request: Request) -> Splits:
    source = feature_source(info, request)
    if source is None:
        return splits
    lacking = [name for name, split in splits.parts().items() if split.features is None]
    if info.input == "features" and not lacking:
        return replace(splits, notes=(*splits.notes, GIVEN))  # whoever gives features means them
    if info.input == "features" and len(lacking) < len(splits.parts()):
        raise UsageError(f"dataset '{dataset.name}' gives features, but none for {', '.join(lacking)}; {ALL_OR_NONE}")
    with client_of(request.scheduler, tell_runner) as client:
        featured = extract_told(dataset, splits, source, threads=request.threads, client=client)
    train, query, database = (replace(split, images=None) for split in featured.parts().values())
    return replace(featured, train=train, query=query, database=database)


def feature_source(info: MethodInfo, request: Request) -> FeatureSource | None:
    """What makes the features that a method gets of images; None where it gets the images themselves."""
    if info.input == "images" and not info.takes_training:
        return None  # it asked for images; a profile's cut is for who is trained by a profile
    depth = request.profile.training.train if info.input == "images" else "hash"
    if request.backbone is None or depth == "all":
        return None
    cut: FeatureCut = "trunk" if depth == "last" else "penultimate"
    return FeatureSource(request.backbone, request.weights, cut, request.partial_weights)


@dataclass(frozen=True)
class Prepared:
    """What was found when a data set was made ready: the audit's errors, what its rows are, and what the store keeps
    of it where that was asked for."""

    errors: list[str]
    notes: list[str]
    arrays: dict[str, np.ndarray]


def prepare_data(request: Request) -> Prepared:
    """Load once, so that features and weights are cached."""
    use_threads(request.threads)
    for plugin in request.plugins:
        plugin.load()
    with telling(tell_runner):
        _, splits, audited = checked_splits(get_method(request.identity["method"]).info, request)
    arrays = dataset_arrays(splits) if request.with_dataset else {}
    return Prepared([*audited.errors], [*splits.notes], arrays)


def build_method(info: MethodInfo, request: Request) -> Any:
    """An instance with its parameters and a seed derived from named parts."""
    return get_method(info.name)(request.identity["bits"], cell_seed(request), **method_settings(info, request))


def cell_seed(request: Request) -> int:
    cell = request.identity
    return derive_seed(cell["dataset"], cell["method"], cell["bits"], cell["seed"])


def method_settings(info: MethodInfo, request: Request) -> dict[str, Any]:
    """The keywords that a method is built with: its parameters, and how it is trained, where it takes that."""
    cell = request.identity
    settings = {**cell.get("tuned", {}), **cell["params"]}
    if info.takes_training:
        numbers = {name: settings.pop(name) for name in tuple(settings) if sets_training(info, name)}
        settings["training"] = replace(
            request.profile.training,
            **numbers,
            backbone=request.backbone,
            weights=request.weights,
            partial_weights=request.partial_weights,
            checkpoint=request.checkpoint,
        )
    return settings


class ScoredData(NamedTuple):
    """What scoring must know of a data set besides its labels."""

    name: str
    map_cutoff: int | None


def score_codes(
    codes: Mapping[str, np.ndarray],
    splits: Splits,
    dataset: HashDataset | ScoredData,
    outcome: Outcome,
    threads: int,
    ranks: Ranks = "codes",
) -> None:
    """Metrics and payload of a record whose audit is known."""
    ranked = _ranked_codes if ranks == "codes" else _ranked_vectors
    scores, stable = ranked(codes, splits, dataset.map_cutoff or None, threads)
    if not scores.queries:
        raise UsageError(f"{dataset.name}: no query shares a label with any database row, so nothing can be scored")
    by_group = scores.group_map(outcome.record.audit.get("groups", {}))
    outcome.record.metrics = {
        **scores.to_dict(),
        **scores.other_maps(),
        # Ties in the order of the list files, as the literature's scripts have it.
        "map_stable": stable.map,
        "map_macro": scores.macro_map,
        "stored_bits": codes["database"].shape[1] * (1 if ranks == "codes" else 32),
        "map_groups": {name: value for name, value in by_group.items() if np.isfinite(value)},
    }
    outcome.payload = payload(codes if ranks == "codes" else {}, scores)


def score_fold(
    codes: Mapping[str, np.ndarray],
    splits: Splits,
    dataset: HashDataset,
    outcome: Outcome,
    threads: int,
    ranks: Ranks = "codes",
) -> None:
    """What `tune` reads. Rows held out ask for all other training rows, those held out with them included: most rows of
    a real database are seen by no training, and settings that fit the kept rows too closely must not win by them.

    Vectors are not learned from rows, and are ranked among the kept ones.
    """
    held, kept = ((codes[name], splits.parts()[name].required_labels()) for name in ("query", "database"))
    if ranks == "codes":
        counts = count(held[0], [held, kept], held[1], threads=threads).without_own()
    else:
        counts = count_vectors(held[0], kept[0], held[1], kept[1])
    scores = score_counts(counts, k=dataset.map_cutoff or None)
    outcome.record.metrics = {**scores.to_dict(), "map_macro": scores.macro_map}
    outcome.payload = payload(codes if ranks == "codes" else {}, scores)


def _ranked_codes(
    codes: Mapping[str, np.ndarray], splits: Splits, k: int | None, threads: int
) -> tuple[Scores, Scores]:
    """Scores by Hamming distance: as expected over ties, and with ties in database order."""
    arrays = codes["query"], codes["database"], splits.query.labels, splits.database.labels
    scores = score_counts(count(*arrays, threads=threads), k=k)
    return scores, in_database_order(scores, *arrays)


def _ranked_vectors(
    vectors: Mapping[str, np.ndarray], splits: Splits, k: int | None, threads: int
) -> tuple[Scores, Scores]:
    """The same by cosine."""
    labels = splits.query.required_labels(), splits.database.required_labels()
    counts = count_vectors(vectors["query"], vectors["database"], *labels)
    scores = score_counts(counts, k=k)
    return scores, cosine_in_database_order(scores, counts)


def payload(codes: Mapping[str, np.ndarray], scores: Scores) -> dict[str, np.ndarray]:
    """The arrays of a record: codes to score again, per-query scores, curve points, MAP per class."""
    packed = {f"{name}_codes": pack(array) for name, array in codes.items()}
    return {**packed, **scores.curves(), "class_ap": scores.class_map}


def dataset_arrays(splits: Splits) -> dict[str, np.ndarray]:
    """What the store keeps of a data set: enough to score, group and name rows without loading it."""
    labels = {name: split.labels for name, split in splits.parts().items() if split.labels is not None}
    arrays = {f"{name}_labels": np.packbits(value, axis=1) for name, value in labels.items() if name != "train"}
    classes = labels["query"].shape[1]
    arrays["classes"] = np.array(classes)
    if "train" in labels:
        arrays["train_class_counts"] = labels["train"].sum(axis=0)
    names = splits.class_names or [str(number) for number in range(classes)]
    arrays["class_names"] = np.array([str(name) for name in names])
    for name in ("query", "database"):
        ids = splits.parts()[name].ids
        if ids is not None:
            arrays[f"{name}_ids"] = np.array([str(one) for one in ids])
    return arrays
