"""`run_all.py score`: score codes made anywhere, under every convention, and say what each convention is worth.

Reads .npy, .npz, .mat and .pt files, prints metrics and a table of the same codes under the conventions of public
code, writes JSON. Counting and scoring live in `evaluator` and `metrics`.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

import numpy as np

from benchmark.errors import InvalidCodes, UsageError
from benchmark.evaluation.codes import pack_any
from benchmark.evaluation.counting import EVALUATOR_VERSION, Kernel, count, ranked_relevance
from benchmark.evaluation.metrics import BALL, Empty, Scores, StableOrder, class_map
from benchmark.evaluation.shards import TILE
from benchmark.evaluation.ties import Denominator, Ties

STABLE_PAIRS = 5 * 10**9  # beyond this the ranking in database order takes minutes and is left out of the table

HELP = "score codes made anywhere"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    what = ".npy, .npz, .mat or .pt; FILE:NAME picks an array of a file with several"
    for part in ("query", "database"):
        parser.add_argument(f"--{part}-codes", required=True, metavar="FILE", help=what)
        parser.add_argument(f"--{part}-labels", required=True, metavar="FILE", help="class numbers or multi-hot")
    parser.add_argument("--k", type=int, help="cut-off of MAP@k, NDCG@k, ACG@k (default: the whole database)")
    parser.add_argument("--bits", type=int, help="codes are packed uint8 (np.packbits) of this many bits")
    parser.add_argument("--binarize", choices=["sign"], help="make real-valued codes binary: 1 where > 0")
    parser.add_argument("--ties", choices=get_args(Ties), default="expected", help="of equal distances")
    parser.add_argument("--denominator", choices=get_args(Denominator), default="hits", help="of AP@k")
    parser.add_argument("--empty", choices=get_args(Empty), default="zero", help="queries without a hit")
    parser.add_argument("--n", type=int, nargs="+", help="the N of P@N (default: 100 200 ... 1000)")
    parser.add_argument("--kernel", choices=get_args(Kernel), help="default: by the number of pairs")
    parser.add_argument("--threads", type=int, help="of the compiled kernel (default: all cores)")
    parser.add_argument(
        "--dask", metavar="ADDRESS", help="count on a Dask cluster, or local:N for one of N workers here"
    )
    parser.add_argument("--json", metavar="FILE", help="write everything there, curves too; - prints it instead")


def run(args: argparse.Namespace) -> int:
    _check(args)
    report = score(Inputs.read(args), args)
    text = json.dumps(_plain(report), indent=1, allow_nan=False)
    if args.json == "-":
        print(text)
        return 0
    print(render(report))
    if args.json:
        Path(args.json).write_text(text + "\n")
        print(f"\nall of it, with the curves: {args.json}")
    return 0


def _check(args: argparse.Namespace) -> None:
    """What can be wrong before any file is read."""
    for name in ("k", "bits", "threads"):
        value = getattr(args, name)
        if value is not None and value < 1:
            raise UsageError(f"--{name}: {value}, expected 1 or more")
    if args.n and min(args.n) < 1:
        raise UsageError(f"--n: {min(args.n)}, expected 1 or more")
    if args.json not in (None, "-") and not Path(args.json).absolute().parent.is_dir():
        raise UsageError(f"--json: folder of {args.json} does not exist")


# --- reading -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Inputs:
    """The four arrays, codes packed, in the order of `count`."""

    query_codes: np.ndarray
    database_codes: np.ndarray
    query_labels: np.ndarray
    database_labels: np.ndarray
    bits: int

    @classmethod
    def read(cls, args: argparse.Namespace) -> Inputs:
        packed, widths = {}, {}
        for part in ("query", "database"):
            codes = read_array(getattr(args, f"{part}_codes"), f"{part}_codes")
            if args.binarize:
                codes = _binarize(codes, f"{part} codes")
            packed[part], widths[part] = _pack(codes, args, f"{part} codes")
        if widths["query"] != widths["database"]:
            raise UsageError(f"database codes: {widths['database']} bits, expected {widths['query']} as the queries")
        labels = {part: _labels(getattr(args, f"{part}_labels"), part) for part in packed}
        return cls(packed["query"], packed["database"], labels["query"], labels["database"], widths["query"])

    @property
    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        return self.query_codes, self.database_codes, self.query_labels, self.database_labels


def _pack(codes: np.ndarray, args: argparse.Namespace, name: str) -> tuple[np.ndarray, int]:
    try:
        if codes.ndim != 2 or len(codes) <= TILE:
            return pack_any(codes, args.bits, name)
        parts = [pack_any(codes[start : start + TILE], args.bits, name) for start in range(0, len(codes), TILE)]
        return np.concatenate([packed for packed, _ in parts]), parts[0][1]
    except InvalidCodes as error:
        remedy = "--binarize sign makes real-valued codes binary" if codes.dtype.kind == "f" else "see --bits"
        raise UsageError(f"{error}; {remedy}") from error


def _binarize(codes: np.ndarray, name: str) -> np.ndarray:
    if codes.dtype.kind == "f" and np.isnan(codes).any():
        raise UsageError(f"{name}: nan at row {np.argwhere(np.isnan(codes))[0][0]}, which has no sign")
    return codes > 0


def _labels(path: str, part: str) -> np.ndarray:
    """Labels as class numbers (n,) or multi-hot (n, c); one row or one column is class numbers, as MATLAB saves."""
    labels = read_array(path, f"{part}_labels")
    if labels.ndim == 2 and 1 in labels.shape:
        labels = labels.reshape(-1)
    if labels.dtype.kind == "f" and labels.ndim == 1:
        if not np.array_equal(labels, np.rint(labels)):
            raise UsageError(f"{part} labels: {path} holds real numbers, expected class numbers or 0 and 1")
        labels = labels.astype(np.int64)
    return labels.astype(np.int64) if labels.ndim == 1 and labels.dtype == bool else labels


def read_array(place: str, name: str) -> np.ndarray:
    """The array of FILE or FILE:NAME; of several in a file, the one called `name`."""
    path, chosen = Path(place), None
    if not path.exists() and ":" in place:
        head, _, chosen = place.rpartition(":")
        path = Path(head)
    if not path.is_file():
        raise UsageError(f"{path}: no such file, given as --{name.replace('_', '-')}")
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        raise UsageError(f"{path}: unknown kind of file, expected {', '.join(_READERS)}")
    try:
        found = reader(path)
    except UsageError:
        raise
    except Exception as error:  # readers of foreign files fail in every way there is
        raise UsageError(f"{path}: cannot be read: {str(error).splitlines()[0] if str(error) else error!r}") from error
    return _pick(found, path, chosen, name)


def _pick(found: Any, path: Path, chosen: str | None, name: str) -> np.ndarray:
    if isinstance(found, Mapping):
        names = sorted(found)
        if chosen is None:
            chosen = name if name in found else names[0] if len(names) == 1 else None
        if chosen not in found:
            wanted = f"no array {chosen!r}" if chosen else "several arrays"
            raise UsageError(f"{path}: {wanted}; choose with {path}:NAME from {', '.join(names) or 'nothing'}")
        found = found[chosen]
    array = np.asarray(found)
    if array.dtype.kind not in "biuf":
        raise UsageError(f"{path}: holds {array.dtype}, expected numbers")
    return array


def _read_npz(path: Path) -> dict[str, np.ndarray]:
    with np.load(path, allow_pickle=False) as file:
        return {name: file[name] for name in file.files}


def _read_mat(path: Path) -> dict[str, np.ndarray]:
    from scipy.io import loadmat

    try:
        found = loadmat(path)
    except NotImplementedError as error:
        raise UsageError(f"{path}: MATLAB 7.3 file; save it with '-v7'") from error
    dense = {name: value.toarray() if hasattr(value, "toarray") else value for name, value in found.items()}
    return {name: value for name, value in dense.items() if not name.startswith("__")}


def _read_pt(path: Path) -> Any:
    import torch

    found = torch.load(path, map_location="cpu", weights_only=True)  # never runs code from the file
    if isinstance(found, torch.Tensor):
        return found.numpy()
    if isinstance(found, Mapping):
        return {str(name): value.numpy() for name, value in found.items() if isinstance(value, torch.Tensor)}
    raise UsageError(f"{path}: holds {type(found).__name__}, expected a tensor or a dict of tensors")


_READERS = {
    ".npy": lambda path: np.load(path, mmap_mode="r", allow_pickle=False),
    ".npz": _read_npz,
    ".mat": _read_mat,
    ".pt": _read_pt,
    ".pth": _read_pt,
}


# --- scoring -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Convention:
    """How some public code computes MAP@k."""

    name: str
    denominator: Denominator
    empty: Empty
    loses_last: bool = False  # its k = "all" slices [:-1]


CONVENTIONS = (
    Convention("hashbench, DPH, CSQ", "hits", "zero"),
    Convention("HashNet (PyTorch), DeepHash (thulab)", "hits", "skip"),
    Convention("DeepHash-pytorch, ADSH", "hits", "zero_all"),
    Convention("DeepHash-pytorch, TreezzZ with topk -1", "hits", "zero_all", loses_last=True),
    Convention("AP over min(k, relevant)", "min_k_relevant", "zero"),
    Convention("AP over all relevant (trec_eval)", "relevant", "zero"),
)


def score(inputs: Inputs, args: argparse.Namespace) -> dict[str, Any]:
    """Everything `score` prints and writes, as plain data and arrays."""
    from benchmark.execution.dask_client import client_of

    hot = inputs.query_labels.ndim == 2
    options = {"bits": inputs.bits, "kernel": args.kernel, "threads": args.threads}
    with client_of(args.dask) as client:
        counts = count(*inputs.arrays, graded=hot, client=client, **options)
    scores = counts.score(args.k, denominator=args.denominator, empty=args.empty, n=args.n)
    if not counts.relevant.any():
        raise UsageError("labels: no query shares a label with any database item; do both files number classes alike?")
    stable = None
    if args.ties == "stable" or len(inputs.query_codes) * len(inputs.database_codes) <= STABLE_PAIRS:
        ranking = ranked_relevance(*inputs.arrays, max(scores.k, int(scores.n.max())), bits=inputs.bits)
        stable = replace(scores, ties="stable", order=StableOrder.of(ranking, scores.k, scores.n))
    chosen = stable if args.ties == "stable" and stable is not None else replace(scores, ties=args.ties)
    return {
        "evaluator_version": EVALUATOR_VERSION,
        "queries": len(inputs.query_codes),
        "database": len(inputs.database_codes),
        "bits": inputs.bits,
        "convention": {name: getattr(chosen, name) for name in ("k", "ties", "denominator", "empty")},
        "asked_k": args.k,
        "metrics": metrics(chosen, hot),
        "curves": curves(chosen),
        "ap": chosen.ap,
        "class_map": class_map(chosen.ap, inputs.query_labels),
        "conventions": [row for one in CONVENTIONS for row in convention_row(one, scores, stable)],
    }


def metrics(scores: Scores, multi_label: bool) -> dict[str, float | int]:
    """The single numbers; names without a cut-off in them are those of `convention`."""
    everything = scores.counts.score(None, denominator=scores.denominator, empty=scores.empty)
    ball = min(BALL, scores.counts.bits)
    found: dict[str, float | int] = {
        "map": scores.map,
        "map_best": replace(scores, ties="best", order=None).map,
        "map_worst": replace(scores, ties="worst", order=None).map,
        "map_all": everything.map,
        "chance_map": scores.chance_map,
        "queries": scores.queries,
        "skipped_queries": scores.skipped,
        "precision_at_radius_2": float(scores.precision_at_radius[ball]),
        "recall_at_radius_2": float(scores.recall_at_radius[ball]),
        "items_at_radius_2": float(scores.items_at_radius[ball]),
        "empty_ball_share": scores.empty_ball_share,
    }
    if multi_label:
        found |= {"ndcg": scores.ndcg, "acg": scores.acg}
    return found


def curves(scores: Scores) -> dict[str, np.ndarray]:
    recall, precision = scores.precision_recall
    return {
        "recall": recall,
        "precision": precision,
        "precision_at_radius": scores.precision_at_radius,
        "recall_at_radius": scores.recall_at_radius,
        "items_at_radius": scores.items_at_radius,
        "empty_balls_at_radius": scores.empty_balls_at_radius,
        "n": scores.n,
        "precision_at_n": scores.precision_at_n,
        "recall_at_n": scores.recall_at_n,
    }


def convention_row(convention: Convention, scores: Scores, stable: Scores | None) -> list[dict[str, Any]]:
    """The same counts under one convention; none where it says nothing of its own."""
    k = scores.k
    if convention.loses_last:
        if k < scores.counts.database_size or k == 1:
            return []
        k, stable = k - 1, None
    rule: dict[str, Any] = {"k": k, "denominator": convention.denominator, "empty": convention.empty}
    under = replace(scores, **rule)
    row = {"name": convention.name, **rule, "queries": under.queries, "map": under.map}
    row["map_stable"] = replace(stable, **rule).map if stable is not None else float("nan")
    row |= {f"map_{ties}": replace(under, ties=ties).map for ties in ("worst", "best")}
    return [row]


# --- writing -------------------------------------------------------------------------------------------------------


def _plain(value: Any) -> Any:
    """Arrays as lists, nan as null."""
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [_plain(part) for part in (value.tolist() if isinstance(value, np.ndarray) else value)]
    return None if isinstance(value, float) and np.isnan(value) else value


def render(report: Mapping[str, Any]) -> str:
    """The report as text."""
    convention, found, curve = report["convention"], report["metrics"], report["curves"]
    k = convention["k"]
    lines = [f"{report['queries']} queries, {report['database']} database items, {report['bits']} bits"]
    if (report["asked_k"] or 0) > k:
        lines.append(f"k = {report['asked_k']} is more than the database holds: k = {k}")
    lines.append(", ".join(f"{name}: {value}" for name, value in convention.items()))
    lines.append("")
    titles = {"map": f"MAP@{k}", "map_best": f"MAP@{k}, ties at best", "map_worst": f"MAP@{k}, ties at worst"}
    titles |= {"map_all": "MAP@all", "chance_map": f"MAP@{k} of a random ranking", "ndcg": f"NDCG@{k}"}
    titles |= {"acg": f"ACG@{k}", "precision_at_radius_2": "P@H<=2", "recall_at_radius_2": "recall in H<=2"}
    titles |= {"items_at_radius_2": "items in H<=2", "empty_ball_share": "share of empty balls, H<=2"}
    for name, value in found.items():
        shown = f"{value:10.4f}" if isinstance(value, float) else f"{value:5}     "
        lines.append(f"  {titles.get(name, name.replace('_', ' ')):28}{shown}")
    lines.append("")
    lines.append("  N        " + "".join(f"{n:8}" for n in curve["n"]))
    lines.append("  P@N      " + "".join(f"{value:8.4f}" for value in curve["precision_at_n"]))
    lines.append("  recall@N " + "".join(f"{value:8.4f}" for value in curve["recall_at_n"]))
    return "\n".join([*lines, "", *_convention_table(report["conventions"])])


def _convention_table(rows: list[dict[str, Any]]) -> list[str]:
    """The same codes under each convention."""
    zero = {"zero": "0 / dropped", "skip": "dropped / dropped", "zero_all": "0 / 0"}
    lines = ["the same codes under each public convention (MAP@k; no hit in top k / nothing relevant at all):"]
    head = f"  {'':40}{'k':>8} {'denominator':16}{'no hit / none':20}{'queries':>8}"
    lines.append(head + "".join(f"{name:>10}" for name in ("expected", "in order", "worst", "best", "change")))
    for row in rows:
        about = f"  {row['name']:40}{row['k']:8} {row['denominator']:16}{zero[row['empty']]:20}{row['queries']:8}"
        values = [row[name] for name in ("map", "map_stable", "map_worst", "map_best")]
        shown = [f"{value:10.4f}" if value == value else f"{'-':>10}" for value in values]
        lines.append(about + "".join(shown) + f"{row['map'] - rows[0]['map']:+10.4f}")
    lines.append("  expected: mean over all orders of equal distances; in order: as the database is sorted")
    return lines
