"""What the README and the guides show runs."""

import re
from pathlib import Path

import pytest
from conftest import INTERPRETED

ROOT = Path(__file__).parents[1]


@pytest.mark.skipif(INTERPRETED, reason="slow without compiled kernels")
@pytest.mark.parametrize(
    "page",
    [
        "README.md",
        "docs/no_step_size.md",
        "docs/bandit_feedback.md",
        "docs/architecture.md",
        "docs/risk.md",
        "docs/logistic.md",
        "docs/kernels.md",
        "docs/sequences.md",
        "docs/margin.md",
        "docs/logistic_boosting.md",
        "docs/abstention.md",
    ],
)
def test_code_on_the_page_runs(page, capsys):
    text = (ROOT / page).read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)
    assert blocks
    names = {}
    for block in blocks:
        exec(compile(block, page, "exec"), names)


def test_the_guide_to_new_spaces_names_every_member():
    from skstructured._learners import predictions
    from skstructured.base import OutputSpace

    guide = (ROOT / "docs" / "add_a_space.md").read_text(encoding="utf-8").split("## Worked")[0]
    source = Path(predictions.__file__).read_text(encoding="utf-8")
    optional = re.findall(r'_space_has\("(\w+)"\)', source)
    assert "mean_proba" in optional
    named = re.findall(r"`(\w+)", guide)
    members = [name for name in vars(OutputSpace) if not name.startswith("_")]
    assert set(members + optional) <= set(named)


@pytest.mark.parametrize("page", sorted(p.name for p in ROOT.glob("*.md")))
def test_links_lead_somewhere(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    for target in re.findall(r"\]\((?!http)([^)#]+)", text):
        assert (ROOT / target).exists(), target
