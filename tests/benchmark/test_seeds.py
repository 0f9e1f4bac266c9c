"""Seeds: of the named parts and of nothing else, the same on every machine."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from benchmark.seeds import derive_seed, generator

parts = st.lists(st.text("ab1 é", max_size=3) | st.integers(0, 12), min_size=1, max_size=3)


def test_the_seeds_of_old_results_stay() -> None:
    """The first 31 bits of `printf 'a\\x1f1' | sha256sum`. Another value is another benchmark."""
    assert derive_seed("a", 1) == 1104087250
    assert generator("a", 1).integers(0, 2**40) == np.random.default_rng(derive_seed("a", 1)).integers(0, 2**40)


@given(parts, parts)
def test_other_parts_are_another_seed(one: list[object], other: list[object]) -> None:
    same = [str(part) for part in one] == [str(part) for part in other]
    assert (derive_seed(*one) == derive_seed(*other)) == same
    assert 0 <= derive_seed(*one) < 2**31


def test_parts_do_not_run_into_each_other() -> None:
    assert derive_seed("ab", "c") != derive_seed("a", "bc")
    assert derive_seed("a", 11) != derive_seed("a", 1, 1)
