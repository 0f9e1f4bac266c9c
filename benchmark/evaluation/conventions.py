"""How public code computes MAP@k, and what the same counts are worth under each of those conventions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from benchmark.evaluation.metrics import Empty, Scores
from benchmark.evaluation.ties import Denominator


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


def under_conventions(scores: Scores, stable: Scores | None) -> Iterator[dict[str, Any]]:
    """One row per convention that says something of its own: its rule, and MAP@k under each rule for ties.

    stable: the same scores with ties in database order; without them `map_stable` is nan.
    """
    for convention in CONVENTIONS:
        k, in_order = scores.k, stable
        if convention.loses_last:
            if k < scores.counts.database_size or k == 1:
                continue
            k, in_order = k - 1, None
        rule: dict[str, Any] = {"k": k, "denominator": convention.denominator, "empty": convention.empty}
        under = replace(scores, ties="expected", order=None, **rule)
        yield {
            "name": convention.name,
            **rule,
            "queries": under.queries,
            "map": under.map,
            "map_stable": float("nan") if in_order is None else replace(in_order, **rule).map,
            "map_worst": replace(under, ties="worst").map,
            "map_best": replace(under, ties="best").map,
        }
