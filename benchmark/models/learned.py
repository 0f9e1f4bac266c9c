"""What a fitted method has learned, as arrays and plain values, and a fitted method made of that again.

An author may say what it is, by `keep() -> dict` and `restore(kept)`. Without them all attributes of the instance are
taken: arrays, tensors, numbers, texts, None, lists, tuples and dicts of these, scalings of features, and torch modules
that the constructor makes. Of a deep method it is the network, see `deep/kept_network.py`. How that becomes a file is
in `state_file.py`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from benchmark.guard import FITTED
from benchmark.shallow.scaling import FeatureScaling

OWN_WORDS = "give the method keep() and restore(kept)"
NETWORK = "deep network"  # under which name what a deep method learned is kept; no attribute can be called so


class Unkept(ValueError):
    """What a method has learned cannot be kept, or not be restored: the reason, and what to do."""


def keep_learned(method: Any, build: Callable[[], Any]) -> dict[str, Any]:
    """All that `restore_learned` needs. `build` makes an instance as this one was before it was fitted."""
    name = method.info.name
    if _speaks_for_itself(method):
        kept = method.keep()
        if not isinstance(kept, Mapping):
            raise Unkept(f"method {name}: keep() returned a {type(kept).__name__}, expected a dict")
        return {key: _plain(value, f"method {name}: keep()[{key!r}]") for key, value in kept.items()}
    if not hasattr(method, "__dict__"):
        raise Unkept(f"method {name}: a class with __slots__ has no attributes to look at; {OWN_WORDS}")
    return _network(method) if _is_deep(method) else _attributes(method, build())


def restore_learned(method: Any, kept: Mapping[str, Any]) -> None:
    """Make an instance that was built in the same way what the fitted one was."""
    if _speaks_for_itself(method):
        method.restore(dict(kept))
    else:
        _restore_attributes(method, kept)
    if hasattr(method, "__dict__"):
        setattr(method, FITTED, True)


def _speaks_for_itself(method: Any) -> bool:
    found = [name for name in ("keep", "restore") if callable(getattr(method, name, None))]
    if len(found) == 1:
        raise Unkept(f"method {method.info.name}: it has {found[0]}() alone, expected both keep() and restore(kept)")
    return bool(found)


def _is_deep(method: Any) -> bool:
    """Whether its network is all that it encodes by."""
    from benchmark.deep.kept_network import encodes_by_network

    return encodes_by_network(method)


def _network(method: Any) -> dict[str, Any]:
    """The network, and of the rest what is plain: `head` may need it to build the network again."""
    from benchmark.deep.kept_network import keep_network

    kept: dict[str, Any] = {}
    for key, value in vars(method).items():
        if not key.startswith("_") and key not in ("state", "history", "training"):  # of the training, not learned
            try:
                kept[key] = _plain(value, key)
            except Unkept:
                continue
    return {**kept, NETWORK: keep_network(method)}


def _attributes(method: Any, unfitted: Any) -> dict[str, Any]:
    kept = {}
    for key, value in vars(method).items():
        before = vars(unfitted).get(key)
        if key == FITTED or (before is not None and _is_same(before, value)):
            continue
        if _is_module(value) and _is_module(before):
            value = {"module": {name: one.detach().cpu() for name, one in value.state_dict().items()}}
        kept[key] = _plain(value, f"method {method.info.name}: attribute `{key}`")
    return kept


def _restore_attributes(method: Any, kept: Mapping[str, Any]) -> None:
    for key, value in kept.items():
        if key != NETWORK and _is_module(getattr(method, key, None)):
            getattr(method, key).load_state_dict(value["module"])
        elif key != NETWORK:
            setattr(method, key, value)
    if NETWORK in kept:
        from benchmark.deep.kept_network import restore_network

        restore_network(method, kept[NETWORK])


def _is_same(before: Any, after: Any) -> bool:
    """Whether the constructor alone gives the attribute; only of what is no array, where nobody can tell cheaply."""
    if isinstance(after, np.ndarray) or _is_tensor(after) or _is_module(after):
        return False
    try:
        return type(before) is type(after) and bool(before == after)
    except Exception:  # what compares in its own way may fail in any
        return False


def _plain(value: Any, what: str) -> Any:
    """The value, if a file can hold it; else Unkept that names the part."""
    if isinstance(value, np.ndarray) and value.dtype.kind in "biufcSU":
        return value
    if value is None or isinstance(value, (bool, int, float, str, np.bool_, np.number, FeatureScaling)):
        return value
    if _is_tensor(value) and str(value.layout) == "torch.strided" and value.dtype in _tensor_types():
        return value.detach().cpu()
    if isinstance(value, (list, tuple)) and type(value) in (list, tuple):
        return type(value)(_plain(part, f"{what}[{place}]") for place, part in enumerate(value))
    if isinstance(value, dict) and all(isinstance(key, (str, int)) for key in value):
        return {key: _plain(part, f"{what}[{key!r}]") for key, part in value.items()}
    expected = "neither array, tensor, number, text, None, nor a list or dict of these"
    raise Unkept(f"{what} is a {type(value).__name__}, {expected}; {OWN_WORDS}")


def _is_tensor(value: Any) -> bool:
    torch: Any = sys.modules.get("torch")  # without torch nothing is a tensor
    return torch is not None and isinstance(value, torch.Tensor)


def _tensor_types() -> set[Any]:
    """Those that numpy has too."""
    torch: Any = sys.modules["torch"]
    names = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64")
    return {getattr(torch, name) for name in names}


def _is_module(value: Any) -> bool:
    torch: Any = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.nn.Module)
