"""Blocks of docs/interoperability.md that need packages which the `test` extra has not."""

import re

import pytest
from conftest import INTERPRETED, ROOT

PAGE = ROOT / "docs" / "interoperability.md"
BLOCK = re.compile(r"^```py\n(.*?)^```", flags=re.DOTALL | re.MULTILINE)
BLOCKS = BLOCK.findall(PAGE.read_text(encoding="utf-8"))

#: What a block needs, and what it prints.
PRINTS = {
    "datasets": ("river", r"Accuracy: 8[5-9]\.\d+%\n"),
    "ray": ("ray", r"\{'max_iter': \d\}\n"),
    "mlflow": ("mlflow", r"True\n"),
}


def test_every_block_has_a_name():
    assert len(BLOCKS) == len(PRINTS)
    assert all(name in block for name, block in zip(PRINTS, BLOCKS, strict=True))


@pytest.mark.skipif(INTERPRETED, reason="slow without compiled kernels")
@pytest.mark.exhaustive
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "block"), list(zip(PRINTS, BLOCKS, strict=True)), ids=PRINTS)
def test_the_block_runs(name, block, capsys, tmp_path, monkeypatch):
    needed, printed = PRINTS[name]
    pytest.importorskip(needed, reason=f"{needed} is not installed")
    monkeypatch.chdir(tmp_path)
    exec(compile(block, PAGE.name, "exec"), {"__name__": "__main__"})
    assert re.fullmatch(printed, capsys.readouterr().out)
