"""The helper of shallow methods: it scales, chunks and takes signs, and asks the author for the rest."""

import numpy as np
import pytest

from benchmark import InvalidCodes, Split, UsageError, register_method
from benchmark.registry import methods
from benchmark.shallow import ProjectionMethod, scaling


class Columns(ProjectionMethod):
    """The first columns themselves."""

    def learn(self, rows, train):
        self.rows, self.train = rows, train

    def project(self, rows):
        self.chunks = [*getattr(self, "chunks", []), len(rows)]
        return rows[:, : self.bits]


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    methods.load()
    monkeypatch.setattr(methods, "_plugins", dict(methods._plugins))
    register_method("test-columns", title="X")(Columns)


@pytest.mark.parametrize("mode", scaling.MODES)
def test_rows_are_scaled_by_the_training_set_and_the_signs_are_the_codes(mode):
    train, query = np.random.default_rng(0).normal(1, 2, (2, 40, 6))
    method = Columns(4, scaling=mode)
    assert method.fit(Split(features=train)) is method
    shift = train.mean(axis=0) if "center" in mode else 0
    length = np.linalg.norm(train - shift, axis=1)[:, None] if "l2" in mode else 1
    np.testing.assert_allclose(method.rows, (train - shift) / length, atol=1e-5)
    np.testing.assert_array_equal(method.encode(Split(features=query)), np.where((query - shift)[:, :4] > 0, 1, -1))


def test_encoding_takes_bounded_chunks(monkeypatch):
    monkeypatch.setattr(scaling, "CHUNK_BYTES", 4 * 6 * 16)
    rows = np.random.default_rng(0).normal(size=(40, 6))
    method = Columns(4).fit(Split(features=rows))
    whole = method.encode(Split(features=rows))
    assert method.chunks == [16, 16, 8]
    assert whole.shape == (40, 4)
    assert method.encode(Split(features=rows[:0])).shape == (0, 4)


@pytest.mark.parametrize(("given", "told"), [(None, "None"), (np.ones((40, 3)), r"an array of shape \(40, 3\)")])
def test_a_projection_of_another_shape_is_named(given, told, monkeypatch):
    rows = np.random.default_rng(0).normal(size=(40, 6))
    method = Columns(4).fit(Split(features=rows))
    monkeypatch.setattr(Columns, "project", lambda self, rows: given)
    with pytest.raises(InvalidCodes, match=rf"test-columns: project returned {told}, expected \(40, 4\)"):
        method.encode(Split(features=rows))


def test_an_unknown_scaling_is_told_the_known_ones():
    with pytest.raises(
        UsageError, match="test-columns: scaling = 'unit', expected 'center-l2', 'center', 'l2' or 'none'"
    ):
        Columns(4, scaling="unit")


def test_nothing_else_is_needed_for_registration():
    assert (Columns.info.family, Columns.info.input, Columns.info.needs) == ("unsupervised", "features", "nothing")
    assert Columns.info.parameters == {"scaling": "center-l2"}


def test_a_written_constructor_can_call_the_one_above():
    @register_method("test-written", title="X")
    class Own(Columns):
        def __init__(self, bits, seed=0, *, extra=1, scaling="none"):
            super().__init__(bits, seed, scaling=scaling)
            self.extra = extra

    method = Own(4, extra=3)
    assert (method.bits, method.scaling, method.extra) == (4, "none", 3)
    assert Own.info.parameters == {"extra": 1, "scaling": "none"}
