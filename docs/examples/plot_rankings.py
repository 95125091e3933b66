"""Learn to rank the items of a label-ranking data set, and look at a predicted mean.

python docs/example_rankings.py [FOLDER WITH ranking_vehicle.npz] [PICTURE.png]
"""

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from sklearn.preprocessing import StandardScaler

from skstructured import OnlineStructuredPredictor
from skstructured.evaluation import progressive_validate


def draw(P, truth, ax):
    """One doubly stochastic matrix as an image, the true positions marked."""
    image = ax.imshow(P, vmin=0, vmax=1, cmap="Blues")
    for item, position in enumerate(truth):
        ax.plot(position, item, "o", mfc="none", mec="tab:red", ms=22, mew=2)
    for item, position in np.ndindex(P.shape):
        shade = "white" if P[item, position] > 0.6 else "black"
        ax.text(position, item, f"{P[item, position]:.2f}", ha="center", va="center", color=shade)
    ax.set(xlabel="position (0 = first)", ylabel="item")
    ax.set_xticks(range(len(P)))
    ax.set_yticks(range(len(P)))
    return image


def main(folder, picture):
    with np.load(Path(folder) / "ranking_vehicle.npz") as arrays:
        X, rank = StandardScaler().fit_transform(arrays["X"]), arrays["rank"].astype(int)
    model = OnlineStructuredPredictor(space="birkhoff", max_iter=20, random_state=0)
    model.fit(X[:600], rank[:600])
    print(f"share of items placed rightly on other rows: {model.score(X[600:], rank[600:]):.3f}")
    result = progressive_validate(OnlineStructuredPredictor(space="birkhoff"), X, rank)
    print(f"one online pass: {result.expected_target_loss.sum():.1f} expected loss,")
    print(f"never more than {result.regret_bound():.1f}")
    figure, axes = plt.subplots(1, 2, figsize=(9, 4.2), layout="constrained")
    for ax, row in zip(axes, (600, 611), strict=True):
        image = draw(model.predict_proba(X[row : row + 1])[0], rank[row], ax)
        ax.set_title(f"row {row}: truth circled")
    figure.colorbar(image, ax=axes, label="probability of the position")
    figure.savefig(picture, dpi=120)


if __name__ == "__main__":
    default = Path(__file__).parents[2] / "shared" / "data"
    main(*(sys.argv[1:] + [default, "rankings.png"][len(sys.argv) - 1 :]))
