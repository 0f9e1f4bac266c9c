"""The two inner loops of the compiled counting kernel, as explicit 512-bit vectors. Nothing else lives here.

Numba cannot be brought to vectorise these loops by itself (too many memory streams), so two intrinsics write LLVM's
intermediate code directly, in terms of vectors of 8 x 64 bits. LLVM turns those into AVX-512, AVX2, NEON or plain
instructions, whatever the machine has. A *block* is 512 database items: bit i of a vector speaks of item i.

1. `add_planes` sums bit planes: plane p of a block holds, for each of its items, bit p of the code. XOR with the
   query's bit (all ones or zeros) leaves 1 where they differ, and adders add the ones up, for 512 items at once:
   the result is the Hamming distance in binary, digit by digit, one vector per digit.
2. `count_levels` counts, for every distance, the items that have it: those under a mask, and those under a second.

Both take addresses (`array.ctypes.data`), and `digits`, a tuple whose *length* is the number of binary digits of a
distance; a length is known at compile time, a number would not be. All arrays are aligned to 64 bytes.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

LANES = 8
BLOCK = 64 * LANES  # items per vector
PLANES_PER_STEP = 16  # adders come in trees of 16 inputs, so codes are padded to a multiple of it
LEVELS_PER_STEP = 8  # distances counted together: the low three digits

_WORD = ir.IntType(64)
_VECTOR = ir.VectorType(_WORD, LANES)
_WIDE = ir.IntType(BLOCK)


def _pointer(builder: Any, address: Any, index: Any) -> Any:
    """Pointer to vector number `index` of the array at `address`."""
    return builder.gep(builder.inttoptr(address, _VECTOR.as_pointer()), [index])


def _load(builder: Any, address: Any, index: Any) -> Any:
    value = builder.load(_pointer(builder, address, index))
    value.align = 64
    return value


def _splat(builder: Any, word: Any) -> Any:
    """A vector with `word` in every lane."""
    one = builder.insert_element(ir.Constant(_VECTOR, ir.Undefined), word, ir.Constant(ir.IntType(32), 0))
    zeros = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
    return builder.shuffle_vector(one, ir.Constant(_VECTOR, ir.Undefined), zeros)


def _call(builder: Any, name: str, result: Any, argument: Any) -> Any:
    kind = ir.FunctionType(result, [argument.type])
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), [argument])


def _add(builder: Any, ternary: bool, digit: Any, first: Any, second: Any) -> Any:
    """Full adder: add two vectors of ones to the stored `digit`, return the carry (the majority of the three)."""
    old = builder.load(digit)
    builder.store(builder.xor(builder.xor(old, first), second), digit)
    if ternary:  # one instruction, which LLVM does not find by itself: 0xE8 is the truth table of the majority
        kind = ir.FunctionType(_VECTOR, [_VECTOR, _VECTOR, _VECTOR, ir.IntType(32)])
        majority = cgutils.get_or_insert_function(builder.module, kind, "llvm.x86.avx512.pternlog.q.512")
        return builder.call(majority, [old, first, second, ir.Constant(ir.IntType(32), 0xE8)])
    return builder.or_(builder.and_(first, second), builder.and_(old, builder.or_(first, second)))


def _constant(value: int) -> Any:
    return ir.Constant(_WORD, value)


@intrinsic
def add_planes(typingctx: Any, planes: Any, query: Any, steps: Any, out: Any, digits: Any) -> Any:
    """Distance digits of one block.

    planes: 16 * steps vectors; query: 16 * steps words, all ones or zero; out: len(digits) vectors.
    """

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        planes, query, steps, out, _ = arguments
        ternary = "+avx512f" in context.codegen().magic_tuple()[2]  # features of the machine compiled for
        count = signature.args[4].count
        digit = [cgutils.alloca_once_value(builder, ir.Constant(_VECTOR, None)) for _ in range(count)]
        for place in digit:
            builder.store(ir.Constant(_VECTOR, None), place)
        words = builder.inttoptr(query, _WORD.as_pointer())
        with cgutils.for_range(builder, steps) as step:
            first = builder.mul(step.index, _constant(PLANES_PER_STEP))
            carries = []
            for plane in range(PLANES_PER_STEP):
                index = builder.add(first, _constant(plane))
                flip = _splat(builder, builder.load(builder.gep(words, [index])))
                carries.append(builder.xor(_load(builder, planes, index), flip))
            level = 0
            while len(carries) > 1:  # 16 ones -> 8 twos -> 4 fours -> 2 eights -> 1 sixteen
                pairs = zip(carries[::2], carries[1::2], strict=True)
                carries = [_add(builder, ternary, digit[level], *pair) for pair in pairs]
                level += 1
            carry = carries[0]
            for place in digit[level:]:
                old = builder.load(place)
                builder.store(builder.xor(old, carry), place)
                carry = builder.and_(old, carry)
        for index, place in enumerate(digit):
            builder.store(builder.load(place), _pointer(builder, out, _constant(index)), align=64)
        return context.get_dummy_value()

    return types.void(types.intp, types.intp, types.intp, types.intp, digits), build


@intrinsic
def count_levels(typingctx: Any, blocks: Any, masks: Any, length: Any, steps: Any, out: Any, digits: Any) -> Any:
    """Add to `out` the number of items at each distance, over all blocks, under each of two masks.

    blocks: `length` times len(digits) vectors, as `add_planes` made them; masks: an address pair of `length` vectors
    each, the second a subset of the first; out: an address pair of 8 * steps words each.
    """

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        blocks, masks, length, steps, out, _ = arguments
        count = signature.args[5].count
        outer, inner = ([cgutils.alloca_once(builder, _VECTOR) for _ in range(LEVELS_PER_STEP)] for _ in range(2))
        with cgutils.for_range(builder, steps) as step:
            for total in outer + inner:
                builder.store(ir.Constant(_VECTOR, None), total)
            flips = []
            for digit in range(3, count):  # all ones where this digit of the distance must be 0
                bit = builder.and_(builder.lshr(step.index, _constant(digit - 3)), _constant(1))
                flips.append(_splat(builder, builder.sub(bit, _constant(1))))
            with cgutils.for_range(builder, length) as block:
                first = builder.mul(block.index, _constant(count))
                plane = [builder.add(first, _constant(digit)) for digit in range(count)]
                chosen = _load(builder, builder.extract_value(masks, 0), block.index)
                for digit, flip in enumerate(flips, start=3):
                    chosen = builder.and_(chosen, builder.xor(_load(builder, blocks, plane[digit]), flip))
                with _if_any(builder, chosen):  # distances far from the usual ones are mostly absent
                    low = [_load(builder, blocks, plane[digit]) for digit in range(3)]
                    _count_subsets(builder, chosen, low, outer)
                    chosen = builder.and_(chosen, _load(builder, builder.extract_value(masks, 1), block.index))
                    with _if_any(builder, chosen):
                        _count_subsets(builder, chosen, low, inner)
            for index, totals in enumerate((outer, inner)):
                _store_levels(builder, totals, builder.extract_value(out, index), step.index)
        return context.get_dummy_value()

    pair = types.UniTuple(types.intp, 2)
    return types.void(types.intp, pair, types.intp, types.intp, pair, digits), build


def _if_any(builder: Any, vector: Any) -> Any:
    """A branch taken unless all bits are 0."""
    return builder.if_then(builder.icmp_unsigned("!=", builder.bitcast(vector, _WIDE), ir.Constant(_WIDE, 0)))


def _count_subsets(builder: Any, chosen: Any, low: list[Any], totals: list[Any]) -> None:
    """totals[s] += items of `chosen` whose low digits include those of the set s (others free): one AND each."""
    members = [chosen]
    for digit in low:
        members += [builder.and_(member, digit) for member in members]
    for member, total in zip(members, totals, strict=True):
        ones = _call(builder, "llvm.ctpop.v8i64", _VECTOR, member)
        builder.store(builder.add(builder.load(total), ones), total)


def _store_levels(builder: Any, totals: list[Any], out: Any, step: Any) -> None:
    """From "includes these digits" to "has exactly these digits" by subtraction (inclusion and exclusion)."""
    sums = [_call(builder, "llvm.vector.reduce.add.v8i64", _WORD, builder.load(total)) for total in totals]
    for digit in (1, 2, 4):
        for level in range(LEVELS_PER_STEP):
            if not level & digit:
                sums[level] = builder.sub(sums[level], sums[level | digit])
    first = builder.mul(step, _constant(LEVELS_PER_STEP))
    words = builder.inttoptr(out, _WORD.as_pointer())
    for level, value in enumerate(sums):
        place = builder.gep(words, [builder.add(first, _constant(level))])
        builder.store(builder.add(builder.load(place), value), place)
