"""Vector instructions of kernels: prefetches, whole vectors, powers of two, exponentials, sines."""

import math
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, lower_builtin, type_callable

from skstructured._engine.compiled import kernel
from skstructured._engine.types import Array

#: 1.5·2⁵²: a number of the size of n added to it is rounded to an integer n, which then stands in
#: the last bits of the sum. 1023 more, so that these bits are those of the exponent of 2ⁿ.
EXPONENT_MAGIC = 1.5 * 2.0**52 + 1023.0


def _pointer(context: Any, builder: Any, array_type: Any, array: Array, offset: Any) -> Any:
    """Pointer to entry `offset` of a contiguous float64 array, counted in memory order."""
    data = context.make_array(array_type)(context, builder, array).data
    return builder.gep(data, [offset])


def prefetch(array: Array, offset: Any) -> None:
    """Ask for the cache line that holds entry `offset` of the flat array."""


@type_callable(prefetch)
def _type_of_prefetch(context: Any) -> Any:
    return lambda array, offset: types.void(array, types.int64)


@lower_builtin(prefetch, types.Array, types.int64)
def _prefetch_line(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    pointer = _pointer(context, builder, signature.args[0], *args)
    pointer = builder.bitcast(pointer, ir.IntType(8).as_pointer())
    int32 = ir.IntType(32)
    kind = ir.FunctionType(ir.VoidType(), [pointer.type, int32, int32, int32])
    request = builder.module.declare_intrinsic("llvm.prefetch", [pointer.type], kind)
    builder.call(request, [pointer, int32(0), int32(3), int32(1)])
    return context.get_dummy_value()


@intrinsic(prefer_literal=True)
def _add_lanes(typing_context, target, target_start, factors, source, starts, shift, lanes):
    if not isinstance(lanes, types.IntegerLiteral):
        return None
    vector = ir.VectorType(ir.DoubleType(), lanes.literal_value)
    fused = ("contract",)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        def place(index: Any, offset: Any) -> Any:
            offset = builder.add(offset, args[5])
            pointer = _pointer(context, builder, signature.args[index], args[index], offset)
            return builder.bitcast(pointer, vector.as_pointer())

        def term(i: Any) -> Any:
            x, repeated = builder.extract_value(args[2], i), ir.Constant(vector, ir.Undefined)
            for lane in range(vector.count):
                repeated = builder.insert_element(repeated, x, ir.IntType(32)(lane))
            start = builder.extract_value(args[4], i)
            return builder.fmul(repeated, builder.load(place(3, start), align=8), flags=fused)

        total = term(0)
        for i in range(1, len(signature.args[2])):
            total = builder.fadd(total, term(i), flags=fused)
        goal = place(0, args[1])
        builder.store(builder.fadd(builder.load(goal, align=8), total, flags=fused), goal, align=8)
        return context.get_dummy_value()

    n_terms = len(factors)
    factors, starts = types.UniTuple(types.float64, n_terms), types.UniTuple(types.int64, n_terms)
    places = (target, types.int64, factors, source, starts, types.int64)
    return types.void(*places, lanes), codegen


def _add_slices(
    target: Array, target_start: Any, factors: Any, source: Array, starts: Any, length: int
) -> None:
    """``target[s:s + length] += Σ_i factors[i] source[starts[i]:starts[i] + length]``, flat.

    Compiled, by whole vectors, and without a check of bounds.
    """
    goal, source = target.reshape(-1)[target_start : target_start + length], source.reshape(-1)
    for x, start in zip(factors, starts, strict=True):
        goal += x * source[start : start + length]


@kernel(python=_add_slices)
def add_row(target, target_start, factors, source, starts, length):
    quads, pairs = length // 4 * 4, length // 2 * 2
    for k in range(0, quads, 4):
        _add_lanes(target, target_start, factors, source, starts, k, 4)  # type: ignore[call-arg]
    for k in range(quads, pairs, 2):
        _add_lanes(target, target_start, factors, source, starts, k, 2)  # type: ignore[call-arg]
    for k in range(pairs, length):
        _add_lanes(target, target_start, factors, source, starts, k, 1)  # type: ignore[call-arg]


def two_to(shifted: Any) -> float:
    """2ⁿ of shifted = n + MAGIC, −1022 ≤ n ≤ 1023, in an instruction that vectorizes."""
    return math.ldexp(1.0, int(shifted - EXPONENT_MAGIC)) if shifted == shifted else shifted


@type_callable(two_to)
def _type_of_two_to(context: Any) -> Any:
    return lambda shifted: types.float64(types.float64)


@lower_builtin(two_to, types.float64)
def _last_bits_as_exponent(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    int64 = ir.IntType(64)
    bits = builder.shl(builder.bitcast(args[0], int64), ir.Constant(int64, 52))
    return builder.bitcast(bits, ir.DoubleType())


def lesser(a: Any, b: Any) -> Any:
    """The smaller of two numbers that are not NaN."""
    return min(a, b)


def greater(a: Any, b: Any) -> Any:
    """The larger of two numbers that are not NaN."""
    return max(a, b)


def _of_two(function: Any, name: str) -> None:
    """Have compiled code choose by an instruction without NaN: loops of it become vectors."""

    @type_callable(function)
    def typed(context: Any) -> Any:
        return lambda a, b: types.float64(types.float64, types.float64)

    @lower_builtin(function, types.float64, types.float64)
    def choose(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kind = ir.FunctionType(ir.DoubleType(), [ir.DoubleType(), ir.DoubleType()])
        instruction = builder.module.declare_intrinsic(name, [ir.DoubleType()], kind)
        return builder.call(instruction, args, fastmath=("nnan", "nsz"))


_of_two(lesser, "llvm.minnum")
_of_two(greater, "llvm.maxnum")


#: Exponents below this are next to nothing, and out of the range of `exp_of`.
LOWEST_EXPONENT = -700.0


@kernel(inline=True, python=math.exp)
def exp_of(e):
    """exp(e) for −700 ≤ e ≤ 700, to a few units in the last place.

    ``2ⁿ exp(r)`` with n the integer nearest to e/ln 2; twelve terms of the series leave 2e-16.
    """
    # ln 2 in two terms, the first with so many zeros at its end that n times it is exact.
    high, low = 0.6931471803691238, 1.9082149292705877e-10
    shifted = e * 1.4426950408889634 + EXPONENT_MAGIC  # log2(e)
    n = shifted - EXPONENT_MAGIC
    r = (e - n * high) - n * low
    p = 1.0 / 39916800.0 + r * (1.0 / 479001600.0)
    p = 1.0 / 3628800.0 + r * p
    p = 1.0 / 362880.0 + r * p
    p = 1.0 / 40320.0 + r * p
    p = 1.0 / 5040.0 + r * p
    p = 1.0 / 720.0 + r * p
    p = 1.0 / 120.0 + r * p
    p = 1.0 / 24.0 + r * p
    p = 1.0 / 6.0 + r * p
    p = 0.5 + r * p
    p = 1.0 + r * p
    return two_to(shifted) * (1.0 + r * p)


@kernel(inline=True, python=math.acos)
def acos_of(c):
    """acos(c) for 0 ≤ c ≤ 1, to a few units in the last place.

    ``√(2s) P(s)`` with s = 1 − c, and the polynomial of the least relative error, 2e-16.
    """
    s = 1.0 - c
    p = 5.3808098398167465e-06
    p = p * s - 3.6946632563759546e-05
    p = p * s + 0.00012100726393978694
    p = p * s - 0.00024256787149814154
    p = p * s + 0.00033365819930609243
    p = p * s - 0.0003262055706979571
    p = p * s + 0.00024170243545992032
    p = p * s - 0.00012117413285500441
    p = p * s + 7.179378545774666e-05
    p = p * s + 2.908058015756967e-05
    p = p * s + 0.00011269686358655027
    p = p * s + 0.0002705562428799403
    p = p * s + 0.000699195178549289
    p = p * s + 0.001898866700217143
    p = p * s + 0.005580357359544115
    p = p * s + 0.018749999994887395
    p = p * s + 0.083333333333381
    p = p * s + 0.9999999999999999
    return p * math.sqrt(2.0 * s)


#: Terms of the sine's series, in turns: of a quarter of one they leave 3e-16.
SINE_TERMS = tuple(
    (-1.0) ** n * math.tau ** (2 * n + 1) / math.factorial(2 * n + 1) for n in range(10)
)


def _waves_of_arrays(t: Array, amplitudes: Array, cosines: Array, sines: Array) -> None:
    angle = math.tau * np.where(np.abs(t) < 2.0**50, t - np.rint(t), 0.0)
    cosines[:], sines[:] = amplitudes * np.cos(angle), amplitudes * np.sin(angle)


@kernel(fastmath={"contract"}, python=_waves_of_arrays)
def waves_of(t, amplitudes, cosines, sines):
    """a cos(2πt) and a sin(2πt), by the series of the sine within a quarter of a turn."""
    c0, c1, c2, c3, c4, c5, c6, c7, c8, c9 = SINE_TERMS
    for j in range(amplitudes.shape[0]):
        r = t[j] - np.rint(t[j])
        r = r if abs(t[j]) < 2.0**50 else 0.0  # beyond it there is no phase any more
        up = 0.25 - abs(r)
        s = 0.25 - abs(abs(r) - 0.25)
        s = s if r >= 0.0 else -s
        u, v = up * up, s * s
        p, q = c8 + u * c9, c8 + v * c9
        p, q = c7 + u * p, c7 + v * q
        p, q = c6 + u * p, c6 + v * q
        p, q = c5 + u * p, c5 + v * q
        p, q = c4 + u * p, c4 + v * q
        p, q = c3 + u * p, c3 + v * q
        p, q = c2 + u * p, c2 + v * q
        p, q = c1 + u * p, c1 + v * q
        cosines[j] = amplitudes[j] * (up * (c0 + u * p))
        sines[j] = amplitudes[j] * (s * (c0 + v * q))


@kernel(steps=0.02)
def write_waves(turns, amplitudes, out):
    """Write a cos(2πt), t (n, m) and a (m,), and then a sin(2πt), to the last columns of `out`."""
    n, m = turns.shape
    start, middle = out.shape[1] - 2 * m, out.shape[1] - m
    for i in range(n):
        waves_of(turns[i], amplitudes, out[i, start:middle], out[i, middle:])
