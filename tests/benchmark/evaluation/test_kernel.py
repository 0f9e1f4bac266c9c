"""The compiled kernel, the shards and the cluster give the integers of the plain numpy path, every one of them."""

import hashlib
import tarfile
import warnings
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmark.evaluation import counting, kernel
from benchmark.evaluation.counting import count
from benchmark.evaluation.metrics import evaluate
from benchmark.evaluation.shards import TILE


def random_case(seed, bits, queries, items, classes, share, spread=0.5):
    random = np.random.default_rng(seed)
    codes = [np.where(random.integers(0, 256, (n, bits), np.uint8) < 256 * spread, -1, 1) for n in (queries, items)]
    labels = [random.random((n, classes)) < share for n in (queries, items)]
    return codes[0], codes[1], labels[0], labels[1]


cases = st.builds(
    random_case,
    st.integers(0, 2**32),
    st.integers(1, 512),
    st.integers(1, 5),
    st.one_of(st.integers(0, 600), st.sampled_from([511, 512, 513, 16_385])),
    st.sampled_from([1, 7, 8, 9, 63, 64, 65, 130]),
    st.sampled_from([0.0, 0.03, 0.5, 1.0]),
    st.sampled_from([0.0, 0.02, 0.5]),
)


@given(cases, st.booleans(), st.integers(1, 3))
@settings(max_examples=60, deadline=None)
def test_compiled_counts_equal_the_plain_ones(case, graded, threads):
    compiled = count(*case, graded=graded, kernel="numba", threads=threads)
    np.testing.assert_array_equal(compiled.counts, count(*case, graded=graded, kernel="numpy").counts)


@pytest.mark.parametrize("bits", [1, 2, 7, 8, 12, 15, 16, 17, 24, 31, 32, 48, 63, 64, 65, 100, 128, 255, 256, 511, 512])
def test_every_code_length_counts_the_farthest_and_the_nearest(bits):
    query = np.ones((1, bits), np.int8)
    database = np.ones((700, bits), np.int8)
    database[300:] = -1
    counts = count(query, database, [0], np.zeros(700, int), kernel="numba").counts[0]
    assert counts[0, 1] == 300
    assert counts[bits, 1] == 400
    assert counts.sum() == 700


def test_a_tile_boundary_loses_nothing():
    case = random_case(5, 20, 3, TILE + 700, 4, 0.3)
    np.testing.assert_array_equal(count(*case, kernel="numba").counts, count(*case, kernel="numpy").counts)


@given(cases, st.lists(st.integers(0, 700), max_size=4), st.sampled_from(["numpy", "numba", None]))
@settings(max_examples=40, deadline=None)
def test_shards_add_up_to_the_whole(case, cuts, which):
    query, database, query_labels, database_labels = case
    edges = [0, *sorted(cuts), len(database)]
    shards = ((database[a:b], database_labels[a:b]) for a, b in pairwise(edges))
    sharded = count(query, shards, query_labels, kernel=which)
    np.testing.assert_array_equal(sharded.counts, count(*case, kernel="numpy").counts)


@pytest.fixture(scope="module")
def client():
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.mark.parametrize("graded", [False, True])
def test_a_cluster_of_processes_counts_the_same(client, graded, tmp_path):
    query, database, query_labels, database_labels = case = random_case(7, 32, 20, 9000, 10, 0.2)
    expected = count(*case, graded=graded).counts
    for which in ("numpy", "numba"):
        found = count(*case, graded=graded, kernel=which, client=client)
        np.testing.assert_array_equal(found.counts, expected)
    shards = [(database[a : a + 1000], database_labels[a : a + 1000]) for a in range(0, 9000, 1000)]
    found = count(query, iter(shards), query_labels, graded=graded, client=client)
    np.testing.assert_array_equal(found.counts, expected)
    np.save(tmp_path / "codes.npy", database)
    np.save(tmp_path / "labels.npy", database_labels)
    paths = tmp_path / "codes.npy", tmp_path / "labels.npy"
    found = count(query, paths[0], query_labels, paths[1], graded=graded, client=client)
    np.testing.assert_array_equal(found.counts, expected)


def test_many_pairs_choose_the_compiled_kernel_and_few_do_not(monkeypatch):
    used = []
    monkeypatch.setattr(counting, "compiled_kernel", lambda: used.append(1) or kernel.KernelQueries)
    case = random_case(8, 8, 2, 50, 3, 0.5)
    small = count(*case)
    assert not used
    monkeypatch.setattr(counting, "KERNEL_PAIRS", 100)
    np.testing.assert_array_equal(count(*case).counts, small.counts)
    assert used


def test_without_numba_numpy_counts_after_one_warning(monkeypatch):
    case = random_case(9, 8, 2, 50, 3, 0.5)
    expected = count(*case, kernel="numpy").counts
    monkeypatch.setitem(__import__("sys").modules, "benchmark.evaluation.kernel", None)
    counting.compiled_kernel.cache_clear()
    try:
        with pytest.warns(UserWarning, match="numba does not work here"):
            np.testing.assert_array_equal(count(*case, kernel="numba").counts, expected)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            count(*case, kernel="numba")
    finally:
        counting.compiled_kernel.cache_clear()


def test_the_cached_kernel_cannot_outlive_a_change_of_its_vector_code():
    source = Path(kernel.__file__).with_name("kernel_vector.py").read_bytes()
    assert hashlib.sha256(source).hexdigest()[:8] == kernel.VECTOR_SOURCE


@pytest.fixture(scope="module")
def coco_labels(shared_data):
    """Labels of the paper's COCO queries and training images."""
    with tarfile.open(shared_data / "paper_lists.tar.xz") as archive:
        lines = [archive.extractfile(f"coco/{name}.txt").read().splitlines() for name in ("train", "test")]
    train, test = ([line.split()[1:] for line in rows] for rows in lines)
    return np.array(test, int).astype(bool), np.array(train, int).astype(bool)


def test_real_labels_count_alike_and_chance_is_where_the_protocol_puts_it(coco_labels):
    query_labels, database_labels = coco_labels
    random = np.random.default_rng(0)
    query, database = (np.where(random.random((len(part), 48)) < 0.5, -1, 1) for part in coco_labels)
    some = slice(200)
    plain = count(query[some], database, query_labels[some], database_labels, kernel="numpy", graded=True)
    compiled = count(query[some], database, query_labels[some], database_labels, kernel="numba", graded=True)
    np.testing.assert_array_equal(compiled.counts, plain.counts)
    everything = evaluate(query, database, query_labels, database_labels, 5000, kernel="numba")
    assert everything.chance_map == pytest.approx(0.355, abs=0.01)  # protocol.md, section 2
    assert everything.map == pytest.approx(everything.chance_map, abs=0.01)  # random codes rank at random
