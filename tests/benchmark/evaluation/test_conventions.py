"""The same counts under each public convention are what `evaluate` gives under its rule."""

import numpy as np
import pytest

from benchmark.evaluation.conventions import CONVENTIONS, under_conventions
from benchmark.evaluation.counting import count
from benchmark.evaluation.metrics import evaluate, in_database_order, score_counts

RANDOM = np.random.default_rng(0)
LABELS = RANDOM.integers(-1, 4, 12), RANDOM.integers(0, 3, 80)
ARRAYS = RANDOM.random((12, 6)) < 0.5, RANDOM.random((80, 6)) < 0.5, *LABELS


@pytest.mark.parametrize("k", [3, 40, None])
def test_each_row_is_the_score_under_its_rule(k):
    scores = score_counts(count(*ARRAYS), k)
    rows = list(under_conventions(scores, in_database_order(scores, *ARRAYS)))
    assert len(rows) == len(CONVENTIONS) - (k is not None)
    for row in rows:
        rule = {"denominator": row["denominator"], "empty": row["empty"]}
        for name, ties in (("map", "expected"), ("map_best", "best"), ("map_worst", "worst"), ("map_stable", "stable")):
            if row[name] == row[name]:
                assert row[name] == pytest.approx(evaluate(*ARRAYS, row["k"], ties=ties, **rule).map, abs=1e-12)
    assert [row["k"] for row in rows if np.isnan(row["map_stable"])] == ([] if k else [79])


def test_the_table_does_not_depend_on_the_ties_chosen():
    scores = score_counts(count(*ARRAYS), 10)
    stable = in_database_order(scores, *ARRAYS)
    plain = list(under_conventions(scores, stable))
    assert list(under_conventions(stable, stable)) == plain
    assert list(under_conventions(score_counts(count(*ARRAYS), 10, ties="worst"), stable)) == plain
