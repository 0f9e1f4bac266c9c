"""How a method is tried: built, fitted and asked to encode once, for all promises that look at it."""

from __future__ import annotations

import contextlib
import inspect
import itertools
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
BIT_LENGTHS = (1, BITS, 47)  # besides: one bit, where much degenerates, and a longer one that nothing divides
SPARE_LENGTHS = (12, 24, 8, 32, 64, 128)  # take the place of those that are declined
OTHER_ROWS = 5  # the seed of rows that are not those of the first fit


@dataclass
class _Fit:
    """An instance, the very rows that it was fitted on, and what its fit returned."""

    method: Any
    train: Split
    returned: Any


@dataclass
class _Repeat:
    """A second instance of the same bits and seed, and its codes."""

    method: Any
    codes: np.ndarray


class MethodTrial:
    """A method's class with the data it is shown, and with instances that are fitted once for all promises.

    Every call gets rows of its own, so that a method that writes into them spoils nobody else's.
    """

    def __init__(self, cls: Any) -> None:
        self.cls = get_method(cls) if isinstance(cls, str) else cls
        if not hasattr(self.cls, "info"):
            raise UsageError(f"{cls!r} is not registered: put @register_method(...) above the class")
        self._attempts: dict[Any, tuple[Any, Exception | SystemExit | None]] = {}
        self.random_state_kept = True  # by all that was watched so far

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
        """The bit lengths that it is tried with: three that it does not decline, or as many as there are."""
        asked = (*BIT_LENGTHS, *SPARE_LENGTHS)
        taken = list(itertools.islice((bits for bits in asked if not self.declined(bits)), len(BIT_LENGTHS)))
        if not taken:
            raise Untested(f"it declines each of {', '.join(map(str, asked))} bits on easy data")
        return taken

    @property
    def bits(self) -> int:
        """What most promises are tested with."""
        return BITS if BITS in self.lengths else max(self.lengths)

    @property
    def other_lengths(self) -> list[int]:
        """The further lengths; where there is none, the same once more."""
        return [bits for bits in self.lengths if bits != self.bits] or [self.bits]

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

    def first_fit(self) -> _Fit:
        """The first fit, on easy data."""
        return self._once(f"fit with {self.bits} bits", self._fit)

    def _fit(self) -> _Fit:
        with self._watched():
            method, train = self.build(self.bits), self.train()
            return _Fit(method, train, method.fit(train))

    def fitted(self) -> Any:
        """The instance of the first fit. Shared: take a deep copy to change it."""
        return self.first_fit().method

    def encoded(self) -> Any:
        """The very thing that `fitted()` returned for `query()`."""
        method = self.fitted()

        def encode() -> Any:
            with self._watched():
                return method.encode(self.query())

        return self._once(f"encode with {self.bits} bits", encode)

    def codes(self) -> np.ndarray:
        """`encoded()`; a copy."""
        return np.array(self.encoded())

    def other(self, bits: int, writable: bool = False) -> Any:
        """What another instance encodes: of another seed, fitted on other rows; all rows are read-only unless told."""
        what = f"fit and encode with {bits} bits on {'' if writable else 'read-only '}rows"
        return self._once(what, lambda: self._other(bits, writable))

    def _other(self, bits: int, writable: bool) -> Any:
        train, query = easy_data(OTHER_ROWS, self.images)
        if not writable:
            train, query = frozen(train), frozen(query)
        with self._watched():
            method = self.build(bits, seed=2)
            method.fit(self.shown(train))
            return method.encode(self.shown(query, "nothing"))

    def of_length(self, bits: int) -> Any:
        """`other(bits)`; where that failed, it may be that the rows were read-only, so others are tried."""
        try:
            return self.other(bits)
        except Untested:
            return self.other(bits, writable=True)

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
        with self._watched():
            method = self.build(self.bits)
            method.fit(self.train())
            return _Repeat(method, np.array(method.encode(self.query())))

    def fresh_digest(self) -> str:
        """The hash of `codes()` as a fresh process computes them."""
        info = self.cls.info
        return str(in_a_fresh_process(codes_digests, {info.name: (str(info.source), info.entry)})[info.name])

    @contextlib.contextmanager
    def _watched(self) -> Iterator[None]:
        """Notes whether the global generators are used meanwhile; torch's from the time after it was loaded."""
        with _random_state_moved():
            before = _random_states()
            yield
            after = _random_states()
            self.random_state_kept &= all(after[name] == state for name, state in before.items())


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


def _random_states() -> dict[str, str]:
    states = {"random": repr(random.getstate()), "numpy": repr(np.random.get_state(legacy=False))}
    if "torch" in sys.modules:
        states["torch"] = digest_of(sys.modules["torch"].get_rng_state().numpy())
    return states
