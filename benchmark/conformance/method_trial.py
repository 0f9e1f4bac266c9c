"""How a method is tried: built, fitted and asked to encode once, for all promises that look at it."""

from __future__ import annotations

import contextlib
import hashlib
import inspect
import random
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from benchmark.conformance.fresh_process import digest_of, in_a_fresh_process
from benchmark.conformance.trial_data import SIDE, easy_data, frozen
from benchmark.conformance.verdicts import Untested, error_text
from benchmark.contracts import Split
from benchmark.errors import UsageError
from benchmark.registry import get_method, load_only

BITS = 16  # what most promises are tested with, unless the method declines it
BIT_LENGTHS = (1, 12, 16, 48)
OTHER_LENGTHS = (8, 24, 32, 64, 128)  # tried where all of the above are declined


@dataclass
class _Repeat:
    """A second instance of the same bits and seed: its codes, and whether the global random state survived it."""

    method: Any
    codes: np.ndarray
    state_kept: bool


class MethodTrial:
    """A method's class with the data it is shown, and with instances that are fitted once for all promises.

    Every call gets rows of its own, so that a method that writes into them spoils nobody else's.
    """

    def __init__(self, cls: Any) -> None:
        self.cls = get_method(cls) if isinstance(cls, str) else cls
        if not hasattr(self.cls, "info"):
            raise UsageError(f"{cls!r} is not registered: put @register_method(...) above the class")
        self._attempts: dict[Any, tuple[Any, Exception | SystemExit | None]] = {}

    @property
    def _configurable(self) -> bool:
        return "training" in inspect.signature(self.cls).parameters

    @cached_property
    def images(self) -> bool:
        """Whether it is tried on images: where it takes them, unless it works on their features as well."""
        if self.cls.info.input != "images":
            return False
        return not self._configurable or self.declined(BITS, images=False) is not None

    def build(self, bits: int, seed: int = 1, images: bool | None = None) -> Any:
        """An instance; one that can be configured gets a short training, for images on a small random backbone."""
        if not self._configurable:
            return self.cls(bits, seed)
        from benchmark.deep.profile import Training

        short = Training(train="hash", steps=60, batch=32, learning_rate=0.01, device="cpu")
        if self.images if images is None else images:
            short = replace(short, backbone="squeezenet1_1", weights="random", resize=SIDE, crop=SIDE)
            short = replace(short, learning_rate=0.001)  # it gives eight times as many features
        return self.cls(bits, seed, training=short)

    def built(self, bits: int) -> Any:
        """An instance to ask, not to fit."""
        return self._once(f"building with {bits} bits", lambda: self.build(bits, images=False))

    def shown(self, split: Split, needs: Any = None) -> Split:
        """What the runner would show of these rows."""
        return split.visible(self.cls.info.input, needs or self.cls.info.needs)

    def train(self) -> Split:
        """Training rows as the runner would show them."""
        return self.shown(easy_data(images=self.images)[0])

    def query(self) -> Split:
        """Rows to encode as the runner would show them: without labels."""
        return self.shown(easy_data(images=self.images)[1], "nothing")

    def declined(self, bits: int, images: bool | None = None) -> Any:
        """What `unsupported` says of so many bits: the reason, or None."""
        images = self.images if images is None else images
        declines, train = getattr(self.built(bits), "unsupported", None), self.shown(easy_data(images=images)[0])
        if declines is None:
            return None
        return self._once(f"unsupported({bits} bits, images={images})", lambda: declines(train, bits))

    @cached_property
    def lengths(self) -> list[int]:
        """The bit lengths that it is tried with: those it does not decline."""
        for lengths in (BIT_LENGTHS, OTHER_LENGTHS):
            if taken := [bits for bits in lengths if not self.declined(bits)]:
                return taken
        raise Untested(f"it declines each of {', '.join(map(str, (*BIT_LENGTHS, *OTHER_LENGTHS)))} bits on easy data")

    @property
    def bits(self) -> int:
        return BITS if BITS in self.lengths else self.lengths[-1]

    def _once(self, what: Any, make: Callable[[], Any]) -> Any:
        """The value of `make`, made once; where that failed, it is another promise's part to say how."""
        if what not in self._attempts:
            try:
                self._attempts[what] = (make(), None)
            except (Exception, SystemExit) as error:
                self._attempts[what] = (None, error)
        value, failure = self._attempts[what]
        if failure is not None:
            raise Untested(f"{what} failed: {error_text(failure)}") from failure
        return value

    def fitted(self, bits: int | None = None) -> Any:
        """An instance that was fitted on easy data. Shared: take a deep copy to change it."""
        bits = bits or self.bits
        return self._once(f"fit with {bits} bits", lambda: self._fit(bits)[0])

    def given(self) -> tuple[Split, Any]:
        """The very rows that `fitted()` was fitted on, and what its fit returned."""
        self.fitted()
        return self._fits[self.bits]

    def _fit(self, bits: int) -> tuple[Any, Split]:
        method, train = self.build(bits), self.train()
        self._fits[bits] = (train, method.fit(train))
        return method, train

    @cached_property
    def _fits(self) -> dict[int, tuple[Split, Any]]:
        return {}

    def codes(self, bits: int | None = None) -> np.ndarray:
        """The codes of `query()` by `fitted()`; a copy."""
        return np.array(self.encoded(bits))

    def encoded(self, bits: int | None = None) -> Any:
        """The very thing that `encode` returned for `query()`."""
        bits, method = bits or self.bits, self.fitted(bits)
        return self._once(f"encode with {bits} bits", lambda: method.encode(self.query()))

    def repeated(self) -> _Repeat:
        """Fitted and encoded once more by a new instance; the global random state is watched."""
        self.codes()  # whatever is imported lazily is imported now
        return self._once("fitting a second instance", self._repeat)

    def reproducible_codes(self) -> np.ndarray:
        """`codes()`, where a second instance gives the same."""
        if not np.array_equal(self.codes(), self.repeated().codes):
            raise Untested("the same seed gives different codes anyway")
        return self.codes()

    def _repeat(self) -> _Repeat:
        with _random_state_moved():
            before = _random_state()
            method = self.build(self.bits)
            method.fit(self.train())
            codes = np.array(method.encode(self.query()))
            return _Repeat(method, codes, _random_state() == before)

    def other(self) -> Any:
        """Another instance, of another seed, fitted on other rows that are read-only."""
        return self._once("fitting on read-only rows", self._other)

    def _other(self) -> Any:
        method, (train, query) = self.build(self.bits, seed=2), easy_data(5, self.images)
        method.fit(self.shown(frozen(train)))
        method.encode(self.shown(frozen(query), "nothing"))
        return method

    def fresh_digest(self) -> str:
        """The hash of `codes()` as a fresh process computes them."""
        info = self.cls.info
        return str(in_a_fresh_process(codes_digests, {info.name: (str(info.source), info.entry)})[info.name])


def codes_digests(sources: Mapping[str, tuple[str, str | None]]) -> dict[str, str]:
    """What a fresh process computes: the hashes of these methods' codes on easy data, by name.

    `sources` has their files and entry points: a module of a package is imported as such, or it would not find its
    neighbours.
    """
    for name, (source, entry) in sources.items():
        load_only("method", name, source, entry)
    return {name: digest_of(MethodTrial(name).codes()) for name in sources}


@contextlib.contextmanager
def _random_state_moved() -> Iterator[None]:
    """The global generators somewhere no seed leads to, so that reseeding is noticed; put back in the end."""
    torch: Any = sys.modules.get("torch")
    kept = random.getstate(), np.random.get_state(legacy=False), torch.get_rng_state() if torch else None
    random.random(), np.random.random(), torch.rand(1) if torch else None
    try:
        yield
    finally:
        random.setstate(kept[0])
        np.random.set_state(kept[1])
        if torch:
            torch.set_rng_state(kept[2])


def _random_state() -> str:
    state = repr(random.getstate()) + repr(np.random.get_state(legacy=False))
    if "torch" in sys.modules:
        state += hashlib.sha256(sys.modules["torch"].get_rng_state().numpy().tobytes()).hexdigest()
    return hashlib.sha256(state.encode()).hexdigest()
