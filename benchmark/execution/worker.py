"""One cell: load, seed, fit, encode, score. Runs in a process of its own and writes nothing to results/.

A method is given what it declared and no more, in read-only arrays. What comes back is a plain record and
a payload of arrays; the submitting side commits them.
"""

from __future__ import annotations

import contextlib
import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from benchmark.contracts import HashDataset, MethodInfo, Split, Splits
from benchmark.data.audit import audit
from benchmark.data.feature_cache import FeatureCut, extract
from benchmark.deep.profile import Profile
from benchmark.errors import InvalidCodes, TrainingFailed, UsageError
from benchmark.evaluation.codes import check_codes, health, pack
from benchmark.evaluation.counting import EVALUATOR_VERSION, count
from benchmark.evaluation.metrics import BALL, Scores, class_map, evaluate, group_map
from benchmark.execution.fingerprint import differences, method_sources
from benchmark.execution.provenance import peak_memory, provenance
from benchmark.execution.record import Record, Status
from benchmark.registry import get_dataset, get_method, load_plugin
from benchmark.seeds import derive_seed


@dataclass(frozen=True)
class Request:
    """All that a process needs to carry out one cell; plain data, so that it travels to any machine."""

    key: str
    identity: Mapping[str, Any]
    parts: Mapping[str, Any]
    dataset: str
    data_root: str | None
    dataset_parameters: Mapping[str, Any]
    profile: Profile
    backbone: str | None
    weights: str | None
    partial_weights: bool
    plugins: Sequence[str] = ()
    threads: int = 1
    checkpoint: str | None = None
    scheduler: str | None = None  # address of a Dask scheduler whose workers may help to make features
    fold: tuple[int, int] | None = None  # for `tune`: part i of n of the training split is held out
    with_dataset: bool = False  # also return what the store keeps of the data set


@dataclass
class Outcome:
    """What a cell came to: its record, its payload, and the data set's arrays where they were asked for."""

    record: Record
    payload: dict[str, np.ndarray] = field(default_factory=dict)
    dataset: dict[str, np.ndarray] = field(default_factory=dict)


def run_cell(request: Request) -> Outcome:
    """Carry out one cell; whatever the method does short of dying ends in a record with a status."""
    use_threads(request.threads)
    for plugin in request.plugins:
        load_plugin(plugin)
    info: MethodInfo = get_method(request.identity["method"]).info
    record = blank_record(request, info)
    outcome = Outcome(record)
    try:
        _carry_out(request, info, outcome)
    except (Exception, SystemExit) as error:
        record.status = status_of(error)
        record.error = described(error)
    record.peak_memory = peak_memory()
    record.provenance = provenance(request.threads)
    return outcome


def blank_record(request: Request, info: MethodInfo) -> Record:
    """A record that says what was asked for and not yet what came of it."""
    return Record(
        request.key,
        dict(request.identity),
        dict(request.parts),
        titles={"method": info.title},
        family=info.family,
        provenance=provenance(request.threads),
    )


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


def described(error: BaseException) -> dict[str, str]:
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


def _carry_out(request: Request, info: MethodInfo, outcome: Outcome) -> None:
    check_sources(info, request)
    record, seconds = outcome.record, outcome.record.seconds
    dataset = get_dataset(request.dataset, request.data_root, **request.dataset_parameters)
    record.titles["dataset"], record.miniature = dataset.title, dataset.miniature
    with _timed(seconds, "load"):
        splits = load_splits(dataset, info, request)
        audited = audit(splits, dataset.map_cutoff)
    record.audit = audited.as_dict()
    method = build_method(info, request)
    reason = _unsupported(method, splits.train, request.identity["bits"])
    if reason:
        record.status, record.error = "skipped", {"kind": "skipped", "message": reason, "traceback": ""}
        return
    with _timed(seconds, "fit"):
        method.fit(shown(splits.train, info))
    record.training = plain(dict(getattr(method, "history", None) or {}))
    with _timed(seconds, "encode"):
        codes = {name: _encoded(method, splits.parts()[name], info, request) for name in ("query", "database")}
    record.health = health(codes["database"])
    with _timed(seconds, "score"):
        _score(codes, splits, dataset, outcome, request.threads)
    if request.with_dataset:
        outcome.dataset = dataset_arrays(splits)
    record.status = "ok"


def check_sources(info: MethodInfo, request: Request) -> None:
    """A result must not be stored under the key of other code: edited meanwhile, or another version on a cluster."""
    here = {"sources": method_sources(info.source), "evaluator": EVALUATOR_VERSION}
    changed = differences({name: request.parts[name] for name in here}, here)
    if changed:
        names = ", ".join(line.partition(":")[0] for line in changed)
        raise UsageError(f"code differs here from what was planned ({names}): run again, with one version everywhere")


@contextlib.contextmanager
def _timed(seconds: dict[str, float], name: str) -> Iterator[None]:
    start = time.perf_counter()
    try:
        yield
    finally:
        seconds[name] = round(time.perf_counter() - start, 4)


def load_splits(dataset: HashDataset, info: MethodInfo, request: Request) -> Splits:
    """The data as the method gets it: images for end-to-end training, else features at the profile's cut."""
    splits = dataset.load()
    if request.fold:  # from here on there are no queries and no database but training rows
        splits = replace(splits, query=splits.train, database=splits.train)
    featured = _featured(dataset, splits, info, request)
    return held_out(featured, request.fold, request.identity) if request.fold else featured


def held_out(splits: Splits, fold: tuple[int, int], cell: Mapping[str, Any]) -> Splits:
    """Part i of n of the training rows as queries, the rest for training and as the database."""
    from sklearn.model_selection import KFold

    part, parts = fold
    seed = derive_seed("folds", cell["dataset"], cell["seed"])
    folds = list(KFold(parts, shuffle=True, random_state=seed).split(range(len(splits.train))))
    kept, held = (splits.train.take(rows) for rows in folds[part])
    return replace(splits, train=kept, query=held, database=kept)


def _featured(dataset: HashDataset, splits: Splits, info: MethodInfo, request: Request) -> Splits:
    depth = request.profile.training.train if info.input == "images" else "hash"
    if request.backbone is None or depth == "all":
        return splits
    cut: FeatureCut = "trunk" if depth == "last" else "penultimate"
    weights, partial, threads = request.weights, request.partial_weights, request.threads
    from benchmark.execution.cluster import client_of

    with client_of(request.scheduler) as client:
        featured = extract(
            dataset, splits, request.backbone, weights, cut=cut, partial=partial, threads=threads, client=client
        )
    train, query, database = (replace(split, images=None) for split in featured.parts().values())
    return replace(featured, train=train, query=query, database=database)


def prepare_data(request: Request) -> tuple[list[str], dict[str, np.ndarray]]:
    """Load once, so that features and weights are cached; what comes back are the audit's errors, and what the
    store keeps of the data set where that was asked for."""
    use_threads(request.threads)
    for plugin in request.plugins:
        load_plugin(plugin)
    dataset = get_dataset(request.dataset, request.data_root, **request.dataset_parameters)
    splits = load_splits(dataset, get_method(request.identity["method"]).info, request)
    arrays = dataset_arrays(splits) if request.with_dataset else {}
    return list(audit(splits, dataset.map_cutoff).errors), arrays


def build_method(info: MethodInfo, request: Request) -> Any:
    """An instance with its parameters and a seed derived from named parts."""
    cell = request.identity
    seed = derive_seed(cell["dataset"], cell["method"], cell["bits"], cell["seed"])
    settings = {**cell.get("tuned", {}), **cell["params"]}
    if info.input == "images":
        training = request.profile.training
        if "learning_rate" in settings and "learning_rate" not in info.parameters:
            training = replace(training, learning_rate=settings.pop("learning_rate"))
        settings["training"] = replace(
            training,
            backbone=request.backbone,
            weights=request.weights,
            partial_weights=request.partial_weights,
            checkpoint=request.checkpoint,
        )
    return get_method(info.name)(cell["bits"], seed, **settings)


def shown(split: Split, info: MethodInfo, needs: Any = None) -> Split:
    """What the method may see of a split, in arrays it cannot change."""
    seen = split.visible(info.input, needs or info.needs)
    for array in (seen.features, seen.labels):
        if array is not None:
            array.flags.writeable = False
    return seen


def _unsupported(method: Any, train: Split, bits: int) -> str | None:
    declines = getattr(method, "unsupported", None)
    return declines(train, bits) if declines else None


def _encoded(method: Any, split: Split, info: MethodInfo, request: Request) -> np.ndarray:
    codes = method.encode(shown(split, info, "nothing"))
    return check_codes(codes, bits=request.identity["bits"], rows=len(split))


def _score(
    codes: Mapping[str, np.ndarray], splits: Splits, dataset: HashDataset, outcome: Outcome, threads: int
) -> None:
    labels = splits.query.labels, splits.database.labels
    counts = count(codes["query"], codes["database"], *labels, threads=threads)
    scores = counts.score(k=dataset.map_cutoff)
    stable = evaluate(codes["query"], codes["database"], *labels, k=scores.k, ties="stable", threads=threads)
    by_group = group_map(scores.ap, splits.query.labels, outcome.record.audit.get("groups", {}))
    outcome.record.metrics = {
        **headline(scores),
        "map_all": counts.score(k=None).map,
        "map_best": counts.score(k=scores.k, ties="best").map,
        "map_worst": counts.score(k=scores.k, ties="worst").map,
        "map_stable": stable.map,  # ties in the order of the list files, as the literature's scripts have it
        "map_groups": {name: value for name, value in by_group.items() if np.isfinite(value)},
    }
    outcome.payload = payload(codes, scores, splits.query.labels)


def headline(scores: Scores) -> dict[str, Any]:
    """The single numbers of a record, with the conventions they were computed under."""
    return {
        "map": scores.map,
        "k": scores.k,
        "ties": scores.ties,
        "denominator": scores.denominator,
        "empty": scores.empty,
        "precision_at_radius_2": float(scores.precision_at_radius[min(BALL, len(scores.precision_at_radius) - 1)]),
        "empty_ball_share": scores.empty_ball_share,
        "chance_map": scores.chance_map,
        "queries": scores.queries,
        "skipped_queries": scores.skipped,
    }


def payload(codes: Mapping[str, np.ndarray], scores: Scores, query_labels: Any) -> dict[str, np.ndarray]:
    """The arrays of a record: codes to score again, per-query scores, curve points."""
    recall, precision = scores.precision_recall
    return {
        "query_codes": pack(codes["query"]),
        "database_codes": pack(codes["database"]),
        "ap": scores.ap,
        "recall": recall,
        "precision": precision,
        "precision_at_radius": scores.precision_at_radius,
        "recall_at_radius": scores.recall_at_radius,
        "items_at_radius": scores.items_at_radius,
        "n": scores.n,
        "precision_at_n": scores.precision_at_n,
        "recall_at_n": scores.recall_at_n,
        "class_ap": class_map(scores.ap, query_labels),
    }


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
