"""Every registered method keeps every promise; and the checks notice methods that do not."""

import inspect

import numpy as np
import pytest

from benchmark import check_dataset, check_method, get_dataset, register_method
from benchmark.commands.main import main
from benchmark.conformance import METHOD_CHECKS, Broken
from benchmark.errors import UsageError
from benchmark.registry import methods
from benchmark.shallow.scaling import FeatureScaling

BUILT_IN = [name for name in methods.names() if not name.startswith("test-")]


@pytest.mark.parametrize("check", METHOD_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", BUILT_IN)
def test_method(name, check):
    check(methods.get(name))


@pytest.mark.parametrize("name", ["imagenet-mini", "nus-mini", "coco-mini"])
def test_dataset(name):
    assert all(row.kept for row in check_dataset(get_dataset(name)))


class Good:
    """Random hyperplanes, kept correct; the broken ones below change one thing."""

    def __init__(self, bits, seed=0):
        self.bits, self.seed = bits, seed

    def fit(self, train):
        self.scaler = FeatureScaling.fit(train.features)
        self.planes = np.random.default_rng(self.seed).standard_normal((self.scaler.dimension, self.bits))
        return self

    def encode(self, split):
        return np.where(self.scaler.transform(split.features) @ self.planes > 0, 1, -1).astype(np.int8)


class Zeros(Good):
    def encode(self, split):
        return np.zeros_like(super().encode(split))


class Reseeds(Good):
    def fit(self, train):
        np.random.seed(0)
        return super().fit(train)


class Median(Good):
    def encode(self, split):
        value = self.scaler.transform(split.features) @ self.planes
        return np.where(value > np.median(value, axis=0), 1, -1).astype(np.int8)


class Mutates(Good):
    def fit(self, train):
        fitted = super().fit(train)
        train.features[0] = 0
        return fitted


class Wanders(Good):
    def fit(self, train):
        self.seed = None
        return super().fit(train)


class Constant(Good):
    def encode(self, split):
        return np.ones_like(super().encode(split))


class Peeks(Good):
    def fit(self, train):
        train.labels.sum()
        return super().fit(train)


@pytest.mark.parametrize(
    ("cls", "promise"),
    [
        (Zeros, "codes_are_plus_minus_one"),
        (Reseeds, "global_random_state_untouched"),
        (Median, "encode_ignores_batch_and_order"),
        (Mutates, "input_untouched"),
        (Mutates, "read_only_input"),
        (Wanders, "same_seed_same_codes"),
        (Constant, "better_than_random"),
        (Peeks, "works_on_what_it_declared"),
    ],
)
def test_a_broken_promise_is_noticed(cls, promise):
    register_method(f"test-{cls.__name__}", title="X", family="data-independent")(cls)
    rows = {row.name: row for row in check_method(cls, raise_first=False)}
    assert not rows[promise].kept


def test_a_bad_method_raises_at_the_first_broken_promise():
    register_method("test-Zeros", title="X", family="data-independent")(Zeros)
    with pytest.raises((Broken, ValueError)):
        check_method(Zeros)


def test_the_check_command_on_a_file_outside(tmp_path, capsys):
    file = tmp_path / "mine.py"
    imports = (
        "import numpy as np\nfrom benchmark import register_method\nfrom benchmark.shallow import FeatureScaling\n"
    )
    decorator = '@register_method("test-mine", title="Mine", family="data-independent")\n'
    file.write_text(imports + decorator + inspect.getsource(Good))
    assert main(["check", str(file)]) == 0
    assert "every promise is kept" in capsys.readouterr().out
    file = tmp_path / "bad.py"
    file.write_text(imports + decorator.replace("mine", "flawed") + inspect.getsource(Good).replace("1, -1", "1, 0"))
    assert main(["check", str(file)]) == 1
    assert "BROKEN codes are plus minus one" in capsys.readouterr().out


def test_an_unregistered_class_is_told_how_to_register():
    with pytest.raises(UsageError, match="register_method"):
        check_method(object)
