"""Types of arrays and of compiled functions, and the addresses of functions, which loops call.

numba can unbox kernels as arguments by itself, at about 60 µs per kernel and call; an address costs
nothing, and unlike a closure it leaves the loop cacheable on disk.

Two calls of numba are not part of its documented interface: `CPUDispatcher.get_compile_result` and
`library.get_pointer_to_function`, both in `address`.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numba import float64, int32, int64, types
from numba.core import cgutils
from numba.extending import lower_builtin, type_callable
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]
Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]

#: A function for `skstructured.extend.kernel`, compiled or plain Python.
Kernel: TypeAlias = Callable[..., Any]

VECTOR = float64[::1]
MATRIX = float64[:, ::1]
READ_VECTOR = types.Array(float64, 1, "C", readonly=True)
READ_MATRIX = types.Array(float64, 2, "C", readonly=True)
READ_INT64 = types.Array(int64, 1, "C", readonly=True)

#: Arguments of loops for rows: data, indices, indptr, width.
READ_ROWS = types.Tuple((READ_VECTOR, *[types.Array(int32, 1, "C", readonly=True)] * 2, int64))


class FunctionTypes(NamedTuple):
    """Types of the functions that loops call."""

    #: move_and_score(data, indices, indptr, width, row, ahead, Theta, state, move, u, weight, raw)
    #: -> ‖ahead‖²; `weight` is that of the row ahead.
    move_and_score: Any = types.FunctionType(
        float64(*READ_ROWS, int64, int64, MATRIX, VECTOR, VECTOR, float64, float64, VECTOR)
    )
    #: loss(theta, truth, gradient, params, work) -> value; writes the gradient in θ
    loss: Any = types.FunctionType(float64(*[VECTOR] * 5))
    #: prepare(data, indices, indptr, width, first, length, Theta, options, terms, room, raw,
    #: bounds): writes the scores Θ of a round, (length + EXTRA, columns), and the bounds that
    #: optimizers see
    prepare: Any = types.FunctionType(
        types.void(
            *READ_ROWS, int64, int64, MATRIX, READ_INT64, READ_VECTOR, VECTOR, MATRIX, VECTOR
        )
    )
    #: gather(data, indices, indptr, width, first, g, options, slot, touched, G) -> count: writes
    #: the rows of the gradient in Θ that are not 0 into G, and their places into `touched`
    gather: Any = types.FunctionType(
        int64(*READ_ROWS, int64, MATRIX, READ_INT64, int64[::1], int64[::1], MATRIX)
    )
    #: scale(state, bound, weight) -> s with W = s Θ in this round
    scale: Any = types.FunctionType(float64(VECTOR, float64, float64))
    #: step(state, inner, square, bound, weight) -> u with Θ ← Θ + u G
    step: Any = types.FunctionType(float64(VECTOR, *[float64] * 4))


class LoopTypes(NamedTuple):
    """Types of the arguments of loops."""

    rows: Any = READ_ROWS
    #: Positions of rows, or of first rows; lengths of rounds, none if each is one row; truths, one
    #: after the other; weights; Ω of the truths; the arguments of `prepare` for each round; lengths
    #: of the loss's scratch, none if it is all.
    rounds: Any = types.Tuple((READ_INT64, READ_INT64, *[READ_VECTOR] * 3, READ_MATRIX, READ_INT64))
    #: See `LinearState.learned`.
    learned: Any = types.Tuple(
        (
            *(MATRIX, int64, types.boolean, MATRIX, float64[:, :, ::1], VECTOR, VECTOR, VECTOR),
            *(int64, READ_INT64, VECTOR, int64[::1]),
        )
    )
    #: Parameters of the loss, and options.
    constants: Any = types.Tuple((VECTOR, READ_INT64))
    #: Scratch of the loss, one row, or one for each round; and outputs, if there is room: scores
    #: that are played, gradients and losses at them.
    results: Any = types.Tuple((MATRIX, VECTOR, VECTOR, VECTOR))
    #: Addresses of the functions of the loop, and of those that scale and step.
    kernels: Any = (types.UniTuple(int64, 4), READ_INT64, READ_INT64)


FUNCTION_TYPES, LOOP_TYPES = FunctionTypes(), LoopTypes()
LOOP_TYPE = types.FunctionType(int64(*LOOP_TYPES[:-1], *LOOP_TYPES.kernels))


@functools.cache
def address(kernel: Any, function_type: Any) -> int:
    """Address of a numba kernel compiled for `function_type`; it is kept, and so is its code."""
    dispatcher = getattr(kernel, "dispatcher", kernel)
    result = dispatcher.get_compile_result(function_type.signature)
    return result.library.get_pointer_to_function(result.fndesc.llvm_func_name)


def _address_to_kernel(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """Code that makes a kernel of its address, of the type that the call has."""
    kernel = cgutils.create_struct_proxy(signature.return_type)(context, builder)
    kernel.jit_addr = builder.inttoptr(args[0], context.get_value_type(types.voidptr))
    return kernel._getvalue()


def function_at(function_type: Any) -> Any:
    """Make the function that turns a kernel's address into the kernel.

    Interpreted, it returns its argument. To numba it is a builtin: unlike an overload, it is not
    compiled separately.
    """

    def function_at(value: Any) -> Any:
        return value

    @type_callable(function_at)
    def typed(context: Any) -> Any:
        return lambda value: function_type if value == int64 else None

    lower_builtin(function_at, int64)(_address_to_kernel)
    return function_at


as_move_and_score, as_loss, as_prepare, as_gather, as_scale, as_step = map(
    function_at, FUNCTION_TYPES
)
as_loop = function_at(LOOP_TYPE)
