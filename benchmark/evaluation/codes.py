"""Binary codes: check them, pack them into bits, unpack them, and tell how healthy they are.

A code array is (n, bits) over {-1, +1}; packed, it is (n, ceil(bits / 8)) uint8 exactly as `np.packbits(codes > 0,
axis=1)` makes it (padding bits are 0). Reading files and comparing codes live elsewhere.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmark.arrays import as_array
from benchmark.errors import InvalidCodes, UsageError
from benchmark.wording import counted

MAX_BITS = 512


def check_codes(codes: Any, bits: int | None = None, rows: int | None = None, name: str = "codes") -> np.ndarray:
    """`codes` as an (n, bits) int8 array over {-1, +1}, or InvalidCodes that names the fault."""
    array = _check_shape(codes, bits, rows, name)
    if array.dtype.kind not in "if" or not _holds_only(array, -1, 1):
        raise InvalidCodes(f"{name}: {_fault(array)}, expected -1 and +1 only")
    return array.astype(np.int8)


def pack_any(codes: Any, bits: int | None = None, name: str = "codes") -> tuple[np.ndarray, int]:
    """Codes over {-1, +1}, {0, 1} or bool, or, where `bits` is given, perhaps already packed: (packed, bits)."""
    array = _as_array(codes, name)
    if bits is not None and (array.shape[1:] != (bits,) or (bits == 1 and _is_packed_bit(array))):
        _check_bits(bits, name)
        if array.dtype != np.uint8 or array.shape[1:] != (-(-bits // 8),):
            raise InvalidCodes(f"{name}: {array.dtype} of shape {array.shape}, expected {_wanted(array, bits)}")
        return _check_packed(array, bits, name), bits
    array = _check_shape(array, None, None, name)
    if array.dtype != bool and not _holds_only(array, -1, 1) and not _holds_only(array, 0, 1):
        raise InvalidCodes(f"{name}: {_fault(array)}, expected -1 and +1 (or 0 and 1)")
    return pack(array), array.shape[1]


def _wanted(array: np.ndarray, bits: int) -> str:
    turned = "; turn it round, rows are items" if array.ndim == 2 and array.shape[0] == bits else ""
    packed = counted(-(-bits // 8), "column")
    return f"{counted(bits, 'column')} for {counted(bits, 'bit')}, or packed uint8 of {packed}{turned}"


def pack(codes: np.ndarray) -> np.ndarray:
    """(n, bits) codes, positive meaning 1, as (n, ceil(bits / 8)) uint8."""
    return np.packbits(np.asarray(codes) > 0, axis=1)


def unpack(packed: np.ndarray, bits: int) -> np.ndarray:
    """(n, ceil(bits / 8)) uint8 as (n, bits) int8 over {-1, +1}."""
    ones = np.unpackbits(_check_packed(packed, bits, "packed codes"), axis=1, count=bits)
    return (2 * ones.view(np.int8) - 1).astype(np.int8)


def words(packed: np.ndarray, bits: int) -> np.ndarray:
    """Packed codes as (ceil(bits / 64), n) uint64, word-major so that one word of all codes is contiguous."""
    width = -(-packed.shape[1] // 8)
    padded = np.zeros((len(packed), width * 8), np.uint8)
    padded[:, : packed.shape[1]] = packed
    if bits % 8:  # whoever packed them may have left anything in the padding
        padded[:, packed.shape[1] - 1] &= 0xFF << (8 - bits % 8) & 0xFF
    return np.ascontiguousarray(padded.view(np.uint64).T)


def health(codes: np.ndarray) -> dict[str, Any]:
    """Signs of a broken code: bits that hardly vary, few distinct codes. `collapsed` means not a result.

    `bit_balance` is the mean over bits of |mean of the bit|: 0 balanced, 1 constant.
    """
    codes = check_codes(codes)
    if not len(codes):
        raise InvalidCodes("codes: no rows, so no health to measure")
    bias = np.abs(codes.mean(axis=0, dtype=np.float64))
    distinct = len(np.unique(pack(codes), axis=0))
    constant = float(np.mean(bias == 1))
    return {
        "bit_balance": float(bias.mean()),
        "constant_bits": constant,
        "distinct": distinct,
        "distinct_share": distinct / len(codes),
        # One code for many rows, or nine bits of ten that say nothing: retrieval is then chance.
        "collapsed": len(codes) > 1 and (distinct == 1 or constant >= 0.9),
    }


def _as_array(codes: Any, name: str) -> np.ndarray:
    try:
        return as_array(codes, name)
    except UsageError as error:
        raise InvalidCodes(str(error)) from error


def _is_packed_bit(array: np.ndarray) -> bool:
    """Whether codes of one bit are packed: a byte is then 128 or 0, and 0 means the same both ways."""
    return array.dtype == np.uint8 and bool((array > 1).any())


def _check_shape(codes: Any, bits: int | None, rows: int | None, name: str) -> np.ndarray:
    array = _as_array(codes, name)
    if array.ndim != 2:
        raise InvalidCodes(f"{name}: shape {array.shape}, expected (rows, bits)")
    if array.dtype.kind not in "biuf":
        raise InvalidCodes(f"{name}: type {array.dtype}, expected integers, floats or bool")
    if bits is not None and array.shape[1] != bits:
        raise InvalidCodes(f"{name}: {counted(array.shape[1], 'bit')}, expected {bits}")
    if rows is not None and array.shape[0] != rows:
        raise InvalidCodes(f"{name}: {counted(array.shape[0], 'row')}, expected {rows}")
    _check_bits(array.shape[1], name)
    return array


def _check_bits(bits: int, name: str) -> None:
    if not 1 <= bits <= MAX_BITS:
        raise InvalidCodes(f"{name}: {bits} bits, expected 1 to {MAX_BITS}")


def _check_packed(packed: Any, bits: int, name: str) -> np.ndarray:
    array = _as_array(packed, name)
    _check_bits(bits, name)
    width = -(-bits // 8)
    if array.ndim != 2 or array.dtype != np.uint8 or array.shape[1] != width:
        raise InvalidCodes(
            f"{name}: {array.dtype} of shape {array.shape}, expected packed uint8 of "
            f"{counted(width, 'column')} for {counted(bits, 'bit')}"
        )
    return array


def _holds_only(array: np.ndarray, low: int, high: int) -> bool:
    """Whether all values are `low` or `high`, which are -1 or 0, and 1."""
    if array.dtype.kind in "iu" and array.size:  # the same, four times as fast
        within = array.min() >= low and array.max() <= high
        return bool(within and (low == 0 or np.count_nonzero(array) == array.size))
    return bool(((array == low) | (array == high)).all())


def _fault(array: np.ndarray) -> str:
    """What is wrong with values that are not binary, in words."""
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        bad = np.argwhere(~np.isfinite(array))[0]
        return f"{array[tuple(bad)]} at row {bad[0]}, bit {bad[1]}"
    bad = array[(array != 1) & (array != -1)] if array.dtype != bool else array[~array]
    if not bad.any():
        return f"{bad.size} zeros among {array.size} values (sign(0) is 0: decide by `> 0` instead)"
    values = np.unique(bad[:1000])
    shown = ", ".join(f"{value:g}" for value in values[:4].astype(float))
    return f"values {shown}{', ...' if len(values) > 4 else ''} are not binary"
