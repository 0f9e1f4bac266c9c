"""`run_all.py score`: score codes made anywhere, and say what the same codes are worth under each public convention.

Words in, words out: files are read by `evaluation.array_files`, numbers come from `evaluation.metrics` and
`evaluation.conventions`.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

import numpy as np

from benchmark.errors import InvalidCodes, UsageError
from benchmark.evaluation.array_files import read_array
from benchmark.evaluation.codes import pack_any
from benchmark.evaluation.conventions import under_conventions
from benchmark.evaluation.counting import EVALUATOR_VERSION, Kernel, count
from benchmark.evaluation.metrics import BALL, Empty, in_database_order, score_counts
from benchmark.evaluation.shards import TILE
from benchmark.evaluation.ties import Denominator, Ties
from benchmark.execution.places import check_writable
from benchmark.labels import holds_class_numbers

HELP = "score codes made anywhere"
PARTS = ("query", "database")
STABLE_PAIRS = 5 * 10**9  # beyond this the ranking in database order takes minutes and is left out of the table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    what = ".npy, .npz, .csv, .mat or .pt; FILE:NAME picks an array of a file with several"
    for part in PARTS:
        parser.add_argument(f"--{part}-codes", required=True, metavar="FILE", help=what)
        parser.add_argument(
            f"--{part}-labels",
            required=True,
            metavar="FILE",
            help="class numbers (one dimension, one row or one column) or multi-hot (one column only as bool)",
        )
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
    with warnings.catch_warnings(record=True) as told:
        report = score(Inputs.read(args), args)
    for one in told:
        print(f"warning: {one.message}", file=sys.stderr)
    text = json.dumps(_plain(report), indent=1, allow_nan=False)
    if args.json == "-":
        print(text)
        return 0
    print(score_text(report))
    if args.json:
        Path(args.json).write_text(text + "\n")
        print(f"\nall of it, with the curves: {args.json}")
    return 0


def _check(args: argparse.Namespace) -> None:
    """What can be wrong before any file is read."""
    for part in PARTS:
        for what in ("codes", "labels"):
            if not getattr(args, f"{part}_{what}"):
                raise UsageError(f"--{part}-{what} '': expected the name of a file")
    for name in ("k", "bits", "threads"):
        value = getattr(args, name)
        if value is not None and value < 1:
            raise UsageError(f"--{name}: {value}, expected 1 or more")
    if args.n and min(args.n) < 1:
        raise UsageError(f"--n: {min(args.n)}, expected 1 or more")
    if args.json not in (None, "-"):
        check_writable("--json", Path(args.json))


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
        packed, widths, labels = {}, {}, {}
        for part in PARTS:
            packed[part], widths[part] = read_codes(getattr(args, f"{part}_codes"), part, args.bits, args.binarize)
        if widths["query"] != widths["database"]:
            raise UsageError(f"database codes: {widths['database']} bits, expected {widths['query']} as the queries")
        for part in PARTS:
            labels[part] = _unrolled(read_array(getattr(args, f"{part}_labels"), f"{part}_labels"), len(packed[part]))
        return cls(packed["query"], packed["database"], labels["query"], labels["database"], widths["query"])

    @property
    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        return self.query_codes, self.database_codes, self.query_labels, self.database_labels


def read_codes(place: str, part: str, bits: int | None, binarize: str | None) -> tuple[np.ndarray, int]:
    """The packed codes of a file, and their bits."""
    codes = read_array(place, f"{part}_codes")
    return _pack(_binarize(codes, f"{part} codes") if binarize else codes, bits, f"{part} codes")


def _pack(codes: np.ndarray, bits: int | None, name: str) -> tuple[np.ndarray, int]:
    """Packed codes and their bits, a tile at a time: what is mapped from a file need not fit into memory unpacked."""
    try:
        if codes.ndim != 2 or len(codes) <= TILE:
            return pack_any(codes, bits, name)
        parts = [pack_any(codes[start : start + TILE], bits, name) for start in range(0, len(codes), TILE)]
        return np.concatenate([packed for packed, _ in parts]), parts[0][1]
    except InvalidCodes as error:
        remedy = "--binarize sign makes real-valued codes binary" if codes.dtype.kind == "f" else "see --bits"
        raise UsageError(f"{error}; {remedy}") from error


def _binarize(codes: np.ndarray, name: str) -> np.ndarray:
    if codes.dtype.kind == "f" and np.isnan(codes).any():
        raise UsageError(f"{name}: nan at row {np.argwhere(np.isnan(codes))[0][0]}, which has no sign")
    return codes > 0


def _unrolled(labels: np.ndarray, rows: int) -> np.ndarray:
    """One row of class numbers, as MATLAB saves them, as (n,); anything else is for `count` to read."""
    return labels.reshape(-1) if labels.shape == (1, rows) != (1, 1) else labels


def score(inputs: Inputs, args: argparse.Namespace) -> dict[str, Any]:
    """Everything `score` prints and writes, as plain data and arrays."""
    from benchmark.execution.dask_client import client_of

    graded = not holds_class_numbers(inputs.query_labels)
    with client_of(args.dask) as client:
        options = {"kernel": args.kernel, "threads": args.threads, "client": client}
        counts = count(*inputs.arrays, bits=inputs.bits, graded=graded, **options)
    scores = score_counts(counts, args.k, denominator=args.denominator, empty=args.empty, n=args.n)
    if not counts.relevant.any():
        raise UsageError("labels: no query shares a label with any database item; do both files number classes alike?")
    stable = None
    if args.ties == "stable" or len(inputs.query_codes) * len(inputs.database_codes) <= STABLE_PAIRS:
        stable = in_database_order(scores, *inputs.arrays, bits=inputs.bits)
    chosen = stable if args.ties == "stable" and stable is not None else replace(scores, ties=args.ties)
    return {
        "evaluator_version": EVALUATOR_VERSION,
        "sizes": {"query": len(inputs.query_codes), "database": len(inputs.database_codes), "bits": inputs.bits},
        "asked_k": args.k,
        "metrics": {**chosen.to_dict(), **chosen.other_maps()},
        "curves": {**chosen.curves(), "empty_balls_at_radius": chosen.empty_balls_at_radius},
        "class_map": chosen.class_map,
        "conventions": list(under_conventions(scores, stable)),
    }


def _plain(value: Any) -> Any:
    """Arrays as lists, nan as null."""
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [_plain(part) for part in (value.tolist() if isinstance(value, np.ndarray) else value)]
    return None if isinstance(value, float) and np.isnan(value) else value


def score_text(report: Mapping[str, Any]) -> str:
    """The report for people."""
    found, curve, sizes = report["metrics"], report["curves"], report["sizes"]
    k = found["k"]
    lines = [f"{sizes['query']} queries, {sizes['database']} database items, {sizes['bits']} bits"]
    if (report["asked_k"] or 0) > k:
        lines.append(f"k = {report['asked_k']} is more than the database holds: k = {k}")
    lines.append(", ".join(f"{name}: {found[name]}" for name in ("k", "ties", "denominator", "empty")))
    lines.append("")
    ball = min(BALL, sizes["bits"])
    numbers = {title: found[name] for name, title in _titles(k, ball).items() if name in found}
    numbers |= {f"{what} in H<={ball}": float(curve[f"{what}_at_radius"][ball]) for what in ("recall", "items")}
    for title, value in numbers.items():
        shown = f"{value:10.4f}" if isinstance(value, float) else f"{value if value is not None else '-':>5}"
        lines.append(f"  {title:28}{shown}")
    lines.append("")
    lines.append("  N        " + "".join(f"{n:8}" for n in curve["n"]))
    lines.append("  P@N      " + "".join(f"{value:8.4f}" for value in curve["precision_at_n"]))
    lines.append("  recall@N " + "".join(f"{value:8.4f}" for value in curve["recall_at_n"]))
    return "\n".join([*lines, "", *_convention_table(report["conventions"])])


def _titles(k: int, ball: int) -> dict[str, str]:
    """What the metrics are called on the screen, in the order they are shown."""
    return {
        "map": f"MAP@{k}",
        "map_best": f"MAP@{k}, ties at best",
        "map_worst": f"MAP@{k}, ties at worst",
        "map_all": "MAP@all",
        "chance_map": f"MAP@{k} of a random ranking",
        "queries": "queries",
        "skipped_queries": "skipped queries",
        "ndcg": f"NDCG@{k}",
        "acg": f"ACG@{k}",
        "precision_at_radius_2": f"P@H<={ball}",
        "empty_ball_share": f"share of empty balls, H<={ball}",
    }


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
