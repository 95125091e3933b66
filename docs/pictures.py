"""Draw the pictures of the pages anew, from the examples: ``python docs/pictures.py [NAME …]``.

The figures of an example stand side by side. cross_validation.png, curves_scale.png,
folklore_regret.png, pistol_vs_svm.png, scaling.png and table1_mistakes.png come from `benchmarks`.
"""

import io
import runpy
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

HERE = Path(__file__).resolve().parent

#: Pictures of the pages, named after the examples that draw them.
PICTURES = ("abstention", "boosting", "first_look", "folklore", "kernels", "margin", "ocr")


def pixels(figure):
    """A figure as an array (height, width, 3)."""
    file = io.BytesIO()
    figure.savefig(file, format="png")
    file.seek(0)
    return plt.imread(file)[:, :, :3]


def beside(parts):
    """Images in a row, white below those that are less high."""
    height = max(len(part) for part in parts)
    below = [((0, height - len(part)), (0, 0), (0, 0)) for part in parts]
    return np.hstack([np.pad(p, b, constant_values=1.0) for p, b in zip(parts, below, strict=True)])


def draw(name):
    """Run an example, and keep its figures as one picture."""
    plt.close("all")
    runpy.run_path(str(HERE / "examples" / f"plot_{name}.py"))
    plt.imsave(HERE / f"{name}.png", beside([*map(pixels, map(plt.figure, plt.get_fignums()))]))


if __name__ == "__main__":
    for chosen in sys.argv[1:] or PICTURES:
        draw(chosen)
