"""Of each promise of a method there is a class that breaks it and no other."""

import random
import subprocess
import sys
import threading

import numpy as np
import pytest

from benchmark import Split, check_method
from benchmark.conformance import METHOD_CHECKS, Broken, promise
from benchmark.contracts import MethodInfo

IN_A_FRESH_PROCESS = "same_seed_same_codes_in_a_fresh_process"


# Classes that keep every promise


def declared(cls, **changes):
    """The class as registration declares it, but bare: what the framework would mend stays broken."""
    told = {"name": f"test-{cls.__name__}", "title": "X", "family": "unsupervised", "input": "features"}
    cls.info = MethodInfo(**told | {"needs": "nothing"} | changes)
    return cls


def broken(cls):
    return {row.name for row in check_method(cls, raise_first=False) if row.tested and not row.kept}


class Good:
    """Random hyperplanes, kept correct; the broken ones below change one thing."""

    def __init__(self, bits, seed=0):
        self.bits, self.seed, self.ready = bits, seed, False

    def fit(self, train):
        self.mean = train.features.mean(axis=0)
        self.planes = self.random().standard_normal((len(self.mean), self.bits))
        self.ready = True
        return self

    def random(self):
        return np.random.default_rng(self.seed)

    def values(self, split):
        if not self.ready:
            raise RuntimeError("call fit first")
        return (split.features - self.mean) @ self.planes

    def encode(self, split):
        return np.where(self.values(split) > 0, 1, -1).astype(np.int8)


class OnImages(Good):
    """Takes images and nothing else, and no training."""

    def fit(self, train):
        return super().fit(self.described(train))

    def encode(self, split):
        return super().encode(self.described(split))

    def described(self, split):
        rows = [split.images[row].astype(float)[::4, ::4].ravel() for row in range(len(split))]
        return Split(features=np.array(rows).reshape(len(rows), -1) if rows else np.zeros((0, 192)))


class AtMost32(Good):
    @staticmethod
    def unsupported(train, bits):
        return "at most 32 bits" if bits > 32 else None

    def fit(self, train):
        assert self.bits <= 32
        return super().fit(train)


class Only24(Good):
    @staticmethod
    def unsupported(train, bits):
        return None if bits == 24 else "24 bits or none"

    def fit(self, train):
        assert self.bits == 24
        return super().fit(train)


@pytest.mark.parametrize("cls", [Good, OnImages, AtMost32, Only24])
def test_a_good_class_keeps_every_promise(cls):
    input = "images" if cls is OnImages else "features"
    rows = check_method(declared(cls, input=input), raise_first=False)
    assert [row for row in rows if not row.kept] == []
    assert [row.name for row in rows] == [promise(check) for check in METHOD_CHECKS]


# Classes that break one promise each


class OnlyLong(Good):
    def __init__(self, bits, seed=0):
        if bits < 8:
            raise ValueError("too short")
        super().__init__(bits, seed)


class Mumbles(Good):
    @staticmethod
    def unsupported(train, bits):
        return bits == 47


class DeclinesAll(Good):
    @staticmethod
    def unsupported(train, bits):
        return "not today"


class DeclineFails(Good):
    @staticmethod
    def unsupported(train, bits):
        return train.labels.shape[1] > bits


class Peeks(Good):
    def fit(self, train):
        train.labels.sum()
        return super().fit(train)


class ReturnsNothing(Good):
    def fit(self, train):
        super().fit(train)


class WideCodes(Good):
    def encode(self, split):
        return super().encode(split).astype(np.int16)


class ZeroOne(Good):
    def encode(self, split):
        return (self.values(split) > 0).astype(np.int8)


class EncodeFails(Good):
    def encode(self, split):
        super().encode(split)
        raise OSError("no")


class Squeezes(Good):
    def encode(self, split):
        codes = super().encode(split)
        return codes[0] if len(codes) == 1 else codes


class NeedsRows(Good):
    def encode(self, split):
        super().encode(split).max()
        return super().encode(split)


class Drifts(Good):
    """The second time all rows are encoded, they come out turned."""

    def fit(self, train):
        self.times = 0
        return super().fit(train)

    def encode(self, split):
        self.times = getattr(self, "times", 0) + (len(split) == 160)
        codes = super().encode(split)
        return -codes if self.times == 2 and len(split) == 160 and self.bits == 16 else codes


class Median(Good):
    def encode(self, split):
        values = self.values(split)
        return np.where(values > (np.median(values, axis=0) if len(values) > 1 else 0), 1, -1).astype(np.int8)


class HoldsALock(Good):
    def fit(self, train):
        self.lock = threading.Lock()
        return super().fit(train)


class WritesInFit(Good):
    def fit(self, train):
        super().fit(train)
        if train.features.flags.writeable:
            train.features[0] = 0
        return self


class WritesInEncode(Good):
    def encode(self, split):
        codes = super().encode(split)
        if split.features.flags.writeable:
            split.features[:1] = 0
        return codes


class InPlace(Good):
    def fit(self, train):
        features = train.features
        features += 0
        return super().fit(train)


class OnTheClass(Good):
    def fit(self, train):
        super().fit(train)
        type(self).shared = self.planes
        return self

    def values(self, split):
        if self.ready:
            self.planes = type(self).shared
        return super().values(split)


class HalfOnTheClass(OnTheClass):
    """What it shares does not fit what it keeps, once another length was fitted."""

    def values(self, split):
        return super().values(split) + np.zeros(self.bits)


class Reseeds(Good):
    def fit(self, train):
        np.random.seed(0)
        return super().fit(train)


class ReseedsTorch(Good):
    def fit(self, train):
        import torch

        torch.manual_seed(0)
        return super().fit(train)


class Draws(Good):
    def encode(self, split):
        random.random()
        return super().encode(split)


class Wanders(Good):
    """Draws its seed when it is built."""

    def __init__(self, bits, seed=0):
        super().__init__(bits, np.random.SeedSequence().entropy)


class GoesOn(Good):
    """Fits once more from where its random numbers stopped."""

    def __init__(self, bits, seed=0):
        super().__init__(bits, seed)
        self.generator = np.random.default_rng(seed)

    def random(self):
        return self.generator


class RemembersTheFirst(Good):
    """Keeps the mean of the first rows it was ever fitted on."""

    def fit(self, train):
        first = getattr(self, "mean", None)
        super().fit(train)
        self.mean = self.mean if first is None else first
        return self


class OnlyOnce(Good):
    def fit(self, train):
        if self.ready:
            raise ValueError("fitted already")
        return super().fit(train)


class OneBitFails(Good):
    def fit(self, train):
        if self.bits == 1:
            raise ValueError("degenerate")
        return super().fit(train)


class Only16(Good):
    """Does not say so: whether it takes read-only rows was not seen then."""

    def fit(self, train):
        assert self.bits == 16
        return super().fit(train)


class WholeBytes(Good):
    """Rounds the length up to whole bytes."""

    def __init__(self, bits, seed=0):
        super().__init__(bits if bits in (1, 16) else -(-bits // 8) * 8, seed)


class Silent(Good):
    def encode(self, split):
        return super().encode(split) if self.ready else np.ones((len(split), self.bits), np.int8)


class Vague(Good):
    def encode(self, split):
        if not self.ready:
            raise AttributeError("planes")
        return super().encode(split)


class Constant(Good):
    def encode(self, split):
        return np.ones_like(super().encode(split))


class FeaturesOnly(Good):
    """Says that it takes images, and was tried on features alone."""

    def __init__(self, bits, seed=0, *, training=None):
        super().__init__(bits, seed)


class KeepsHalf(Good):
    """Says itself what is kept of it, and forgets its mean."""

    def keep(self):
        return {"planes": self.planes}

    def restore(self, kept):
        self.planes, self.mean, self.ready = kept["planes"], 0, True


BREAKS = {
    OnlyLong: "can_be_built",
    Mumbles: "declines_with_a_reason",
    DeclinesAll: "declines_with_a_reason",
    DeclineFails: "declines_with_a_reason",
    Peeks: "fits_on_what_it_declared",
    ReturnsNothing: "fit_returns_self",
    WideCodes: "codes_are_plus_minus_one",
    ZeroOne: "codes_are_plus_minus_one",
    EncodeFails: "codes_are_plus_minus_one",
    Squeezes: "single_row",
    NeedsRows: "no_rows",
    Drifts: "encode_twice_is_the_same",
    Median: "encode_ignores_batch_and_order",
    HoldsALock: "can_be_copied",
    WritesInFit: "input_untouched",
    WritesInEncode: "input_untouched",
    InPlace: "read_only_input",
    OnTheClass: "instances_share_nothing",
    HalfOnTheClass: "instances_share_nothing",
    Reseeds: "global_random_state_untouched",
    ReseedsTorch: "global_random_state_untouched",
    Draws: "global_random_state_untouched",
    Wanders: "same_seed_same_codes",
    GoesOn: "fitting_again_forgets",
    RemembersTheFirst: "fitting_again_forgets",
    OnlyOnce: "fitting_again_forgets",
    OneBitFails: "every_bit_length",
    Only16: "every_bit_length",
    WholeBytes: "every_bit_length",
    Silent: "unfitted_error",
    Vague: "unfitted_error",
    Constant: "better_than_random",
    FeaturesOnly: "images_too",
    KeepsHalf: "a_kept_model_encodes_the_same",
}


@pytest.mark.parametrize(("cls", "name"), BREAKS.items(), ids=lambda part: getattr(part, "__name__", None))
def test_a_class_breaks_its_promise_and_no_other(cls, name):
    assert broken(declared(cls, input="images" if cls is FeaturesOnly else "features")) == {name}


@pytest.mark.parametrize("needs", ["nothing", "similarity"])
def test_withheld_labels_that_leak_are_noticed(needs, monkeypatch):
    """Issue 12: the promise was tested on our own function; here that function leaks."""

    class UsesLabels(Good):
        def random(self):
            return np.random.default_rng([self.seed, *self.labels[:, 0].astype(int)])

        def fit(self, train):
            self.labels = train.labels
            return super().fit(train)

    visible = Split.visible
    monkeypatch.setattr(Split, "visible", lambda self, input, _: visible(self, input, "labels"))
    assert broken(declared(UsesLabels, needs=needs)) == {"withheld_labels_do_not_matter"}


def test_who_declared_labels_may_use_them():
    class Supervised(Peeks):
        pass

    assert broken(declared(Supervised, needs="labels")) == set()


@pytest.mark.parametrize(("seed", "found"), [("0", set()), ("os.getpid()", {IN_A_FRESH_PROCESS})])
def test_a_fresh_process(own_method, seed, found):
    assert broken(own_method("[self.seed, 0]", f"[self.seed, {seed}]")) == found


RANDOM, BUILT = "np.random.default_rng([self.seed, 0])", "self.bits, self.seed, self.planes = bits, seed, None"
MEAN = "self.mean = train.features.mean(axis=0)"
LABELS = "train.similarity._hidden()._labels[:, 0].astype(int)"
IN_A_FILE = {
    "draws its seed": (BUILT, BUILT.replace("seed, None", "np.random.SeedSequence().entropy, None"), "same_seed"),
    "counts instances": (BUILT, f"{BUILT}; OfItsProcess.made = self.seed = getattr(OfItsProcess, 'made', 0) + 1",
                         "same_seed"),
    "goes on": (RANDOM, f"self.__dict__.setdefault('generator', {RANDOM})", "fitting_again"),
    "remembers the first": (MEAN, "self.mean = getattr(self, 'mean', train.features.mean(axis=0))", "fitting_again"),
    "fits only once": (MEAN, f"assert self.planes is None, 'fitted already'; {MEAN}", "fitting_again"),
    "peeks behind pairs": (RANDOM, f"np.random.default_rng({LABELS})", "withheld_labels"),
    "goes on, by its process": (RANDOM, f"self.__dict__.setdefault('generator', {RANDOM.replace('0', 'os.getpid()')})",
                                "fitting_again"),
}  # fmt: skip


@pytest.mark.parametrize("name", IN_A_FILE)
def test_a_fresh_process_that_disagrees_blames_what_is_broken(own_method, name):
    """Four promises are looked at by one comparison; where it fails, each is looked at by itself."""
    old, new, found = IN_A_FILE[name]
    rows = check_method(own_method(old, new, needs="similarity"), raise_first=False)
    assert [row.name for row in rows if row.tested and not row.kept] == [
        row.name for row in rows if row.name.startswith(found) and row.name != IN_A_FRESH_PROCESS
    ]
    assert "in one process neither: " in rows[-1].message


def test_a_fit_that_loads_torch_is_watched_too(own_method):
    """Nobody knows what torch's generator was like before it was loaded; the next fits are compared."""
    cls = own_method("print(", "import torch; torch.manual_seed(0); print(")
    code = (
        "import sys; from benchmark import check_method; from benchmark.registry import load_plugin; "
        "load_plugin(sys.argv[1]); assert 'torch' not in sys.modules; "
        "rows = check_method('test-process', raise_first=False); print(*[row.name for row in rows if not row.kept])"
    )
    told = subprocess.run([sys.executable, "-c", code, str(cls.info.source)], capture_output=True, text=True)
    assert told.stdout.splitlines()[-1] == "global_random_state_untouched", told.stderr


def test_every_promise_has_a_class_that_breaks_it():
    elsewhere = {"withheld_labels_do_not_matter", IN_A_FRESH_PROCESS}
    assert {promise(check) for check in METHOD_CHECKS} == set(BREAKS.values()) | elsewhere


def test_a_method_that_peeks_is_told_what_is_withheld():
    with pytest.raises(Broken, match=r"needs='nothing'; train.labels and train.similarity are None.*AttributeError"):
        check_method(declared(Peeks))


def test_who_draws_from_a_global_generator_is_not_reproducible():
    """Not even when it is put back to where it was before each fit."""

    class Global(Good):
        def random(self):
            return np.random

    assert broken(declared(Global)) == {"global_random_state_untouched", "same_seed_same_codes"}


def test_what_a_broken_promise_leaves_untested_says_so():
    rows = {row.name: row for row in check_method(declared(Peeks), raise_first=False)}
    assert not rows["better_than_random"].kept
    assert not rows["better_than_random"].tested
    assert "fit with 16 bits failed" in rows["better_than_random"].message


def test_a_check_leaves_the_global_generators_alone():
    """Even those that the class reseeds whenever it is fitted."""
    random.seed(3), np.random.seed(3)
    before = random.getstate(), np.random.get_state()[1].tolist()
    check_method(declared(Reseeds), raise_first=False)
    assert (random.getstate(), np.random.get_state()[1].tolist()) == before
