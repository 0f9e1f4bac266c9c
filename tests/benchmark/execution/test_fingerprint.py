"""A key depends on what decides a number, and on nothing else."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from benchmark.execution.fingerprint import canonical_json, digest, method_sources
from benchmark.registry import get_method
from benchmark.seeds import derive_seed

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
)


@given(st.dictionaries(st.text(max_size=3), values, max_size=4))
def test_the_order_of_keys_does_not_matter(value):
    backwards = dict(reversed(value.items()))
    assert canonical_json(value) == canonical_json(backwards)
    assert digest(value) == digest(backwards)


def test_a_deep_method_depends_on_the_trainer_and_a_shallow_one_does_not():
    deep = method_sources(get_method("dph").info.source)
    shallow = method_sources(get_method("lsh").info.source)
    assert "benchmark.deep.trainer" in deep
    assert not any(name.startswith("benchmark.deep") for name in shallow)
    assert "benchmark.shallow.scaling" in shallow


def test_the_source_of_a_plugin_is_part_of_its_identity(tmp_path: Path):
    one, two = tmp_path / "one.py", tmp_path / "two.py"
    one.write_text("a = 1")
    two.write_text("a = 2")
    assert method_sources(one) != method_sources(two)


def test_seeds_depend_on_every_part():
    assert derive_seed("a", 1) == derive_seed("a", 1)
    assert len({derive_seed("a", 1), derive_seed("a", 2), derive_seed("b", 1), derive_seed("a1")}) == 4
