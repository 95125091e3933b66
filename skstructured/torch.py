"""Losses of output spaces, and their means, for networks of PyTorch."""

from typing import Any

import numpy as np
import torch

from skstructured import _chains
from skstructured._base.ragged import Stacked
from skstructured._base.validation import check_choice
from skstructured.extend import OutputSpace
from skstructured.extend._types import Array, Ints, Outputs
from skstructured.losses import FenchelYoung
from skstructured.regularizers import find_oracle, resolve_regularizer
from skstructured.spaces import LabelSequence, hypercube, ordinal, permutahedron, simplex
from skstructured.spaces.sequence import Chains, indicators

__all__ = ["FenchelYoungLoss", "LabelSequenceLoss"]


def _entmax(mu, v, alpha):
    """α-entmax (Peters, Niculae, Martins 2019); α = 1 is softmax, 2 is sparsemax."""
    s = np.where(mu > 0.0, mu, 1.0) ** (2.0 - alpha) * (mu > 0.0)
    return s * (v - (s * v).sum(axis=1, keepdims=True) / s.sum(axis=1, keepdims=True))


def _block_means(v, begins):
    """Means over the blocks of each row, which begin at True, in place of the entries."""
    begins[:, 0] = True
    block = np.cumsum(begins.ravel()) - 1
    return (np.bincount(block, v.ravel()) / np.bincount(block))[block].reshape(v.shape)


def _ranks(mu, v, _):
    """Blocks of the isotonic fit lose their mean (Blondel et al. 2020)."""
    d, order = mu.shape[1], np.argsort(-mu, axis=1, kind="stable")
    slack = np.cumsum(np.arange(d, 0.0, -1.0) - np.take_along_axis(mu, order, axis=1), axis=1)
    rows = np.take_along_axis(v, order, axis=1)
    rows = rows - _block_means(rows, np.roll(slack <= 1e-12 * d * d, 1, axis=1))
    return np.take_along_axis(rows, np.argsort(order, axis=1), axis=1)


def _staircase_blocks(mu, v, _):
    """Blocks of the isotonic fit have their mean, and those at 0 and 1 do not move."""
    return _block_means(v, mu != np.roll(mu, 1, axis=1)) * ((mu > 0.0) & (mu < 1.0))


def _staircase_covariance(mu, v, _):
    """The covariance of staircases, which is μ_max(i,j) − μ_i μ_j."""
    after = np.cumsum((mu * v)[:, ::-1], axis=1)[:, ::-1]
    return after + mu * (np.cumsum(v, axis=1) - v - after[:, :1])


#: Compiled function of ŷ(θ) -> product of its Jacobian, which is symmetric, and rows v.
JACOBIANS = {
    simplex.softmax: lambda mu, v, _: _entmax(mu, v, 1.0),
    simplex.sparsemax: lambda mu, v, _: _entmax(mu, v, 2.0),
    simplex.entmax: lambda mu, v, params: _entmax(mu, v, params[0]),
    hypercube.sigmoid: lambda mu, v, _: mu * (1.0 - mu) * v,
    hypercube.clip: lambda mu, v, _: ((mu > 0.0) & (mu < 1.0)) * v,
    ordinal.staircase_marginals: _staircase_covariance,
    ordinal.staircase_projection: _staircase_blocks,
    permutahedron.rank_projection: _ranks,
}


class _Computed(torch.autograd.Function):
    """Numbers computed by numpy, and the function of their products with Jacobians."""

    @staticmethod
    def forward(ctx, values, products, *scores):
        ctx.products, ctx.scores = products, [theta.detach() for theta in scores]
        return scores[0].new_tensor(values)

    @staticmethod
    def backward(ctx, gradient):
        if torch.is_grad_enabled():
            raise RuntimeError("Second derivatives are not computed: leave out create_graph.")
        gradients = ctx.products(_floats("gradient", gradient))
        return None, None, *map(torch.Tensor.new_tensor, ctx.scores, gradients)


def _floats(name, tensor):
    """Numbers of a tensor as float64, in memory of the processor."""
    if not (isinstance(tensor, torch.Tensor) and tensor.is_floating_point()):
        raise ValueError(f"{name} must be a tensor of floating-point numbers, got {tensor!r:.50}.")
    return tensor.detach().cpu().double().numpy()


def _to_numpy(y):
    return y.cpu().numpy() if isinstance(y, torch.Tensor) else y


class _Loss(torch.nn.Module):
    def __init__(self, space: Any, reduction: str, serves: bool, instead: str) -> None:
        super().__init__()
        check_choice("reduction", reduction, ("mean", "sum", "none"))
        if not serves:
            raise ValueError(f"space must be {instead}, got {space!r}.")
        space._dimension()  # or it raises that the space is not fitted
        self.space, self.reduction = space, reduction

    def _reduced(self, losses):
        return losses if self.reduction == "none" else getattr(losses, self.reduction)()


class FenchelYoungLoss(_Loss):
    r"""The loss ``Ω*(θ) + Ω(y) − <θ, y>`` of scores θ that a network computes.

    Its gradient in θ is ``ŷ_Ω(θ) − y``, with ŷ_Ω(θ) the regularized prediction [1]_: softmax,
    sparsemax or entmax over the simplex, sigmoids over the hypercube, soft ranks over the
    permutahedron [2]_, a projection over any space that has a linear oracle.

    Parameters
    ----------
    space : OutputSpace
        A fitted space, such as ``Permutahedron().fit(y)``. `LabelSequence` has `LabelSequenceLoss`.
    regularizer : str, Regularizer or None, default=None
        "shannon", "squared" or "tsallis", or a regularizer. None is the space's default.
    reduction : {"mean", "sum", "none"}, default="mean"
        Returns the mean or the sum of the losses of the rows, or each of them, (n,). The loss of a
        row is a sum over its entries: for `Hypercube` with d labels, "mean" is d times PyTorch's
        ``BCEWithLogitsLoss``.

    Raises
    ------
    ValueError
        If the space is not fitted or a pair has no oracle. When called, for outputs that are not in
        the space, and for scores that are NaN or not floating-point numbers.

    See Also
    --------
    LabelSequenceLoss : The loss of label sequences.
    skstructured.losses.FenchelYoung : The same loss of arrays, for the learners of this package.

    Notes
    -----
    Rows are computed in float64 on the CPU, by the compiled functions of the package; losses and
    gradients have the type and the device of θ. Second derivatives are refused.

    References
    ----------
    .. [1] Blondel, Martins, Niculae (2020), "Learning with Fenchel–Young losses", proposition 2.

    .. [2] Blondel, Teboul, Berthet, Djolonga (2020), "Fast differentiable sorting and ranking".

    Examples
    --------
    >>> import torch
    >>> from skstructured.spaces import Permutahedron
    >>> from skstructured.torch import FenchelYoungLoss
    >>> ranks = torch.tensor([[1, 3, 2], [3, 2, 1]])
    >>> loss = FenchelYoungLoss(Permutahedron().fit(ranks))
    >>> theta = torch.zeros(2, 3, requires_grad=True)
    >>> loss(theta, ranks).backward()
    >>> theta.grad  # half of ŷ − y, for the mean of two rows
    tensor([[ 0.5000, -0.5000,  0.0000],
            [-0.5000,  0.0000,  0.5000]])
    """

    def __init__(self, space: Any, regularizer: Any = None, reduction: str = "mean") -> None:
        serves = isinstance(space, OutputSpace) and not space.reader.has_sequences
        super().__init__(space, reduction, serves, "an OutputSpace, not of label sequences")
        self.regularizer = resolve_regularizer(regularizer, space)
        find_oracle(space, self.regularizer)
        self._loss = FenchelYoung(space, self.regularizer, scale=1.0)

    @torch.compiler.disable
    def forward(self, theta: torch.Tensor, y: Outputs) -> torch.Tensor:
        """Loss of scores for true outputs.

        Parameters
        ----------
        theta : Tensor of shape (n, dim)
            Scores, one row per output.
        y : array-like, Tensor or list
            Outputs in the form that `space` encodes: labels, 0/1 matrices, ranks, positions.

        Returns
        -------
        Tensor
            A number, or losses (n,) without a reduction.
        """
        scores, V = _floats("theta", theta), self.space.encode(_to_numpy(y))
        if len(scores) != len(V):
            raise ValueError(f"theta has {len(scores)} rows, but y has {len(V)}.")
        mu, values = self._loss.mean_and_value(scores, V)
        return self._reduced(_Computed.apply(values, lambda w, g=mu - V: [w[:, None] * g], theta))

    @torch.compiler.disable
    def mean(self, theta: torch.Tensor) -> torch.Tensor:
        """Regularized predictions ŷ_Ω(θ) (n, dim), with their Jacobian if it has a closed form."""
        mu, params = self._loss.mean(_floats("theta", theta)), self.regularizer.kernel_params()
        product: Any = JACOBIANS.get(find_oracle(self.space, self.regularizer).kernel)
        if product is None and torch.is_grad_enabled() and theta.requires_grad:
            remedy = "pass theta.detach(), or learn by the loss, which has a gradient"
            mean = f"The mean of {self.space!r} with {self.regularizer!r}"
            raise ValueError(f"{mean} has no Jacobian in closed form: {remedy}.")
        return _Computed.apply(mu, lambda v: [product(mu, v, params)], theta)

    def predict(self, theta: torch.Tensor) -> Any:
        """Outputs whose vertices are nearest to the means of scores (n, dim)."""
        return self.space.decode(self.space.nearest(self._loss.mean(_floats("theta", theta))))


class LabelSequenceLoss(_Loss):
    r"""The negative log-likelihood of label sequences, of scores that a network computes.

    It is the loss of a linear-chain conditional random field [1]_: scores of labels at positions,
    and of pairs of neighboring labels. The gradients are marginals minus indicators.

    Parameters
    ----------
    space : LabelSequence
        A fitted space, such as ``LabelSequence().fit(y)``, with k labels.
    reduction : {"mean", "sum", "none"}, default="mean"
        Returns the mean or the sum of the losses of the sequences, or each of them, (n,).

    Raises
    ------
    ValueError
        If the space is not fitted. When called, for labels that are not in the space, for scores
        that are NaN or of other lengths than the labels, and if no labeling is possible.

    See Also
    --------
    FenchelYoungLoss : The loss of one output per row.
    skstructured.ConditionalRandomField : The linear model with this loss.

    Notes
    -----
    Sequences are stacked, one after the other, without padding: a padded batch (n, length, k) with
    a mask (n, length) becomes ``unary[mask]``. See also the notes of `FenchelYoungLoss`.

    References
    ----------
    .. [1] Lafferty, McCallum, Pereira (2001), "Conditional random fields: probabilistic models for
       segmenting and labeling sequence data".

    Examples
    --------
    >>> import torch
    >>> from skstructured.spaces import LabelSequence
    >>> from skstructured.torch import LabelSequenceLoss
    >>> y = [["a", "b"], ["b", "b", "a"]]
    >>> loss = LabelSequenceLoss(LabelSequence().fit(y), reduction="none")
    >>> unary, pair = torch.zeros(5, 2), torch.zeros(2, 2)
    >>> loss(unary, pair, y)  # 2 ln 2 and 3 ln 2
    tensor([1.3863, 2.0794])
    """

    def __init__(self, space: LabelSequence, reduction: str = "mean") -> None:
        super().__init__(space, reduction, hasattr(space, "chains"), "a LabelSequence")

    def _chains(self, unary, pair, offsets):
        k, N = self.space.dim_, int(offsets[-1])
        for name, scores, shape in (("unary", unary, (N, k)), ("pair", pair, (k, k))):
            if scores.shape != shape or not scores.max() < np.inf:
                allowed = f"have shape {shape}, without NaN and +inf"
                raise ValueError(f"{name} must {allowed}, got {tuple(scores.shape)}.")
        return Chains(_floats("unary", unary), offsets, _floats("pair", pair)[None])

    @torch.compiler.disable
    def forward(self, unary: torch.Tensor, pair: torch.Tensor, y: Outputs) -> torch.Tensor:
        """Loss of scores for true label sequences.

        Parameters
        ----------
        unary : Tensor of shape (N, k)
            Scores of the labels at the positions of all sequences, one sequence after the other.
        pair : Tensor of shape (k, k)
            Scores of a label, the row, and the next one; −inf forbids a pair.
        y : list of n label arrays
            True labels, which also have the lengths; Tensors hold labels that are numbers.

        Returns
        -------
        Tensor
            A number, or losses (n,) without a reduction.
        """
        codes = self.space.pack([*map(_to_numpy, y)])  # type: ignore[arg-type]
        scores = self._chains(unary, pair, codes.offsets).arrays
        mu, log_z, pairs = _chains.marginals(*scores, pairs="each")  # type: ignore[misc]
        _chains.check_possible(log_z)
        gap = Chains(mu, codes.offsets, pairs).less(indicators(codes, self.space.dim_))

        def products(weights):
            w = np.repeat(weights, codes.lengths)
            return w[:, None] * gap.unary, np.einsum("n,nij->ij", w, gap.pair)

        values = -_chains.log_probability(*scores, codes.values)  # type: ignore[call-arg]
        return self._reduced(_Computed.apply(values, products, unary, pair))

    def predict(self, unary: torch.Tensor, pair: torch.Tensor, lengths: Ints) -> list[Array]:
        """The most likely label sequences, by Viterbi's algorithm.

        Parameters
        ----------
        unary, pair : Tensors of shapes (N, k) and (k, k)
            Scores, as for the loss.
        lengths : list of n int
            Lengths of the sequences, N in all.

        Returns
        -------
        list of n label arrays
            Labels, as the space was fitted to them.

        Raises
        ------
        ValueError
            For scores of other lengths, and for lengths that are not positive integers.
        """
        chains = self._chains(unary, pair, Stacked(_floats("unary", unary), lengths).offsets)
        return self.space.decode(chains.best())
