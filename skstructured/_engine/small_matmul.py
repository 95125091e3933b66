"""Products of small matrices, in vectors of several numbers also where rows are short.

Loops of few turns, such as numba makes of them, take most of their time before the first vector and
after the last. To numba the two functions are builtins, written in LLVM's vectors, which any
processor has in some width; the order of every sum is fixed. Interpreted they are numpy's.
"""

from typing import Any

from llvmlite import ir
from numba import float64, types
from numba.core import cgutils
from numba.extending import lower_builtin, type_callable

from skstructured._engine.arrays import Floats

#: Numbers of a vector, where a matrix is moved and where it is read; and rows worked on together.
MOVED, READ, ROWS = 8, 4, 8

_DOUBLE, _INDEX = ir.DoubleType(), ir.IntType(64)
_SHORT, _FIRST = ir.IntType(32), ir.Constant(ir.IntType(32), 0)


def subtract_products(block: Floats, left: Floats, right: Floats, rank: int) -> None:
    """Block ← block − Σ_m left_m right_mᵀ over the first `rank` rows of both.

    Parameters
    ----------
    block : ndarray of shape (n, p)
        Changed.
    left : ndarray of shape (m, ≥ n)
        Its first n columns count. All three are C-contiguous.
    right : ndarray of shape (m, p)
        Has no number in common with the block.
    rank : int
        At most m.
    """
    block -= left[:rank, : len(block)].T @ right[:rank]


def both_products(block: Floats, x: Floats, out: Floats, other: Floats) -> None:
    """Out = block x, and other = blockᵀ x.

    Parameters
    ----------
    block : ndarray of shape (n, p)
        C-contiguous, n = p.
    x, out, other : ndarray of shape (p,)
        C-contiguous; the last two are written.
    """
    out[:], other[:] = block @ x, x @ block


class _Vectors:
    """Code of loads and stores of vectors of `lanes` numbers, the last of p with a mask."""

    def __init__(self, builder: Any, lanes: int, p: Any) -> None:
        self.builder, self.lanes, self.p = builder, lanes, p
        self.kind, mask = ir.VectorType(_DOUBLE, lanes), ir.VectorType(ir.IntType(1), lanes)
        self.whole = builder.and_(p, _INDEX(-lanes))
        places = ir.Constant(ir.VectorType(_INDEX, lanes), [_INDEX(n) for n in range(lanes)])
        self.mask = builder.icmp_signed("<", places, self.spread(builder.sub(p, self.whole)))
        self.zero, self.align = ir.Constant(self.kind, [_DOUBLE(0.0)] * lanes), _SHORT(8)
        pointer, name = self.kind.as_pointer(), f"v{lanes}f64.p0"
        reads = ir.FunctionType(self.kind, [pointer, _SHORT, mask, self.kind])
        writes = ir.FunctionType(ir.VoidType(), [self.kind, pointer, _SHORT, mask])
        insert = cgutils.get_or_insert_function
        self._read = insert(builder.module, reads, f"llvm.masked.load.{name}")
        self._write = insert(builder.module, writes, f"llvm.masked.store.{name}")

    def spread(self, value: Any) -> Any:
        """A vector that is `value` in every lane."""
        kind = ir.VectorType(value.type, self.lanes)
        one = self.builder.insert_element(ir.Constant(kind, ir.Undefined), value, _FIRST)
        places = ir.Constant(ir.VectorType(_SHORT, self.lanes), [_FIRST] * self.lanes)
        return self.builder.shuffle_vector(one, one, places)

    def load(self, pointer: Any, masked: bool) -> Any:
        """The vector at a pointer to its first number; 0 where the mask is not."""
        at = self.builder.bitcast(pointer, self.kind.as_pointer())
        if masked:
            return self.builder.call(self._read, [at, self.align, self.mask, self.zero])
        return self.builder.load(at, align=8)

    def store(self, value: Any, pointer: Any, masked: bool) -> None:
        """Write a vector, where the mask is."""
        at = self.builder.bitcast(pointer, self.kind.as_pointer())
        if masked:
            self.builder.call(self._write, [value, at, self.align, self.mask])
        else:
            self.builder.store(value, at, align=8)

    def variables(self, values: Any) -> list[Any]:
        """Places of vectors, with these values."""
        made = [cgutils.alloca_once(self.builder, self.kind) for _ in values]
        for place, value in zip(made, values, strict=True):
            self.builder.store(value, place)
        return made

    def add(self, place: Any, one: Any, two: Any) -> None:
        """Add one · two to a variable, in one instruction where there is such."""
        product = self.builder.fmul(one, two, flags=("contract",))
        total = self.builder.fadd(self.builder.load(place), product, flags=("contract",))
        self.builder.store(total, place)

    def sum(self, vector: Any) -> Any:
        """The sum of the lanes, by halves."""
        parts = [self.builder.extract_element(vector, _SHORT(u)) for u in range(self.lanes)]
        while len(parts) > 1:
            half = len(parts) // 2
            parts = [self.builder.fadd(parts[u], parts[u + half]) for u in range(half)]
        return parts[0]

    def columns(self, body: Any) -> None:
        """``body(b, masked)`` for the first column b of every vector of a row."""
        with cgutils.for_range_slice(self.builder, _INDEX(0), self.whole, _INDEX(self.lanes)) as (
            b,
            _,
        ):
            body(b, False)
        with self.builder.if_then(self.builder.icmp_signed("<", self.whole, self.p)):
            body(self.whole, True)


def _rows(builder: Any, n: Any, body: Any) -> None:
    """``body(numbers)`` of every `ROWS` rows together, then of every single one."""
    whole = builder.and_(n, _INDEX(-ROWS))
    with cgutils.for_range_slice(builder, _INDEX(0), whole, _INDEX(ROWS)) as (a, _):
        body([builder.add(a, _INDEX(u)) for u in range(ROWS)])
    with cgutils.for_range_slice(builder, whole, n, _INDEX(1)) as (a, _):
        body([a])


def _arrays(context: Any, builder: Any, signature: Any, args: Any) -> list[tuple[Any, Any]]:
    """Pointers to the numbers of arrays, and their shapes."""
    given = [pair for pair in zip(signature.args, args, strict=True) if _is_array(pair[0])]
    made = [context.make_array(kind)(context, builder, value) for kind, value in given]
    return [(array.data, cgutils.unpack_tuple(builder, array.shape)) for array in made]


def _subtract_products(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    (block, (n, p)), (left, (_, wide)), (right, _) = _arrays(context, builder, signature, args)
    rank = context.cast(builder, args[3], signature.args[3], types.int64)
    vectors = _Vectors(builder, MOVED, p)

    def tile(rows: list, b: Any, masked: bool) -> None:
        starts = [builder.add(builder.mul(row, p), b) for row in rows]
        places = [builder.gep(block, [start]) for start in starts]
        totals = vectors.variables([vectors.load(place, masked) for place in places])
        with cgutils.for_range(builder, rank) as loop:
            other = builder.gep(right, [builder.add(builder.mul(loop.index, p), b)])
            vector, first = vectors.load(other, masked), builder.mul(loop.index, wide)
            for row, total in zip(rows, totals, strict=True):
                c = builder.load(builder.gep(left, [builder.add(first, row)]))
                vectors.add(total, vectors.spread(builder.fneg(c)), vector)
        for total, place in zip(totals, places, strict=True):
            vectors.store(builder.load(total), place, masked)

    _rows(builder, n, lambda rows: vectors.columns(lambda b, last: tile(rows, b, last)))
    return context.get_dummy_value()


def _both_products(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    (block, (n, p)), (x, _), (out, _), (other, _) = _arrays(context, builder, signature, args)
    vectors = _Vectors(builder, READ, p)
    vectors.columns(lambda b, last: vectors.store(vectors.zero, builder.gep(other, [b]), last))

    def strip(rows: list) -> None:
        shares = [vectors.spread(builder.load(builder.gep(x, [row]))) for row in rows]
        totals = vectors.variables([vectors.zero] * len(rows))

        def tile(b: Any, masked: bool) -> None:
            at, place = vectors.load(builder.gep(x, [b]), masked), builder.gep(other, [b])
            (down,) = vectors.variables([vectors.load(place, masked)])
            for row, share, total in zip(rows, shares, totals, strict=True):
                entry = builder.gep(block, [builder.add(builder.mul(row, p), b)])
                vector = vectors.load(entry, masked)
                vectors.add(total, vector, at)
                vectors.add(down, vector, share)
            vectors.store(builder.load(down), place, masked)

        vectors.columns(tile)
        for row, total in zip(rows, totals, strict=True):
            builder.store(vectors.sum(builder.load(total)), builder.gep(out, [row]))

    _rows(builder, n, strip)
    return context.get_dummy_value()


def _is_array(kind: Any) -> bool:
    return isinstance(kind, types.Array)


def _is_flat(kind: Any, ndim: int) -> bool:
    return _is_array(kind) and (kind.dtype, kind.ndim, kind.layout) == (float64, ndim, "C")


@type_callable(subtract_products)
def _typed_subtract(context: Any) -> Any:
    def typed(block: Any, left: Any, right: Any, rank: Any) -> Any:
        good = all(_is_flat(kind, 2) for kind in (block, left, right))
        return types.none if good and isinstance(rank, types.Integer) else None

    return typed


@type_callable(both_products)
def _typed_both(context: Any) -> Any:
    def typed(block: Any, x: Any, out: Any, other: Any) -> Any:
        good = _is_flat(block, 2) and all(_is_flat(kind, 1) for kind in (x, out, other))
        return types.none if good else None

    return typed


_ARRAY = types.Array
lower_builtin(subtract_products, _ARRAY, _ARRAY, _ARRAY, types.Integer)(_subtract_products)
lower_builtin(both_products, _ARRAY, _ARRAY, _ARRAY, _ARRAY)(_both_products)
