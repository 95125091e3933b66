"""PyEPO's losses over `GridPaths`: a linear layer, trained by Adam."""

import numpy as np
import pyepo
import torch
from pyepo.model.opt import optModel


class ShortestPath(optModel):
    """The oracle of a space, as PyEPO wants it."""

    def __init__(self, space, n_edges):
        self.space, self.n_edges = space, n_edges
        super().__init__()

    @property
    def num_cost(self):
        return self.n_edges

    def _getModel(self):
        return None, [None] * self.n_edges

    def setObj(self, c):
        self.costs = np.asarray(c, dtype=np.float64)

    def solve(self):
        path = self.space.argmax(-self.costs[None])[0]
        return path, path @ self.costs


class Trained:
    """A linear layer from features to costs, with the loss "SPO+" or "perturbed"."""

    def __init__(self, space, loss, passes, seed, rate=0.01, batch=32):
        self.space, self.loss, self.passes = space, loss, passes
        self.seed, self.rate, self.batch = seed, rate, batch

    def _loss(self, n_edges):
        model = ShortestPath(self.space, n_edges)
        if self.loss == "SPO+":
            spo = pyepo.func.SPOPlus(model)
            return lambda predicted, c, w: spo(predicted, c, w, (c * w).sum(1, keepdim=True))
        perturbed = pyepo.func.perturbedFenchelYoung(model, seed=self.seed)
        return lambda predicted, c, w: perturbed(predicted, w)

    def fit(self, X, paths, costs):
        torch.manual_seed(self.seed)
        torch.set_num_threads(1)
        arrays = [torch.as_tensor(a, dtype=torch.float32) for a in (X, costs, paths)]
        loss = self._loss(costs.shape[1])
        self.layer = torch.nn.Linear(X.shape[1], costs.shape[1])
        adam = torch.optim.Adam(self.layer.parameters(), lr=self.rate)
        for _ in range(self.passes):
            for rows in torch.randperm(len(X)).split(self.batch):
                x, c, w = (array[rows] for array in arrays)
                adam.zero_grad()
                loss(self.layer(x), c, w).backward()
                adam.step()
        return self

    def predict(self, X):
        with torch.no_grad():
            costs = self.layer(torch.as_tensor(X, dtype=torch.float32)).numpy()
        return self.space.argmax(-costs.astype(np.float64))
