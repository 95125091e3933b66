"""F1 of spans, as the CoNLL shared tasks count them."""

import pytest

from skstructured.sequences import span_f1
from skstructured.sequences.transformer import _spans

pytestmark = pytest.mark.interpreted


@pytest.mark.parametrize(
    ("labels", "spans"),
    [
        ("O O", []),
        ("B-x I-x O B-y", [(0, 2, "x"), (3, 4, "y")]),
        ("B-x B-x I-x", [(0, 1, "x"), (1, 3, "x")]),
        ("I-x I-x I-y O I-y", [(0, 2, "x"), (2, 3, "y"), (4, 5, "y")]),
        ("B-x I-x E-x S-x S-x", [(0, 3, "x"), (3, 4, "x"), (4, 5, "x")]),
        ("B-x E-x I-x", [(0, 2, "x"), (2, 3, "x")]),
        ("S-x I-x E-x E-x", [(0, 1, "x"), (1, 3, "x"), (3, 4, "x")]),
        ("B-a-b I-a-b I-b", [(0, 2, "a-b"), (2, 3, "b")]),
        ("B I O", [(0, 2, "")]),
    ],
)
def test_spans_are_those_of_the_shared_task(labels, spans):
    assert _spans(labels.split()) == spans


def test_it_is_the_score_of_the_shared_task():
    truth = [["O", "O", "O", "B-MISC", "I-MISC", "I-MISC", "O"], ["B-PER", "I-PER", "O"]]
    predicted = [["O", "O", "B-MISC", "I-MISC", "I-MISC", "I-MISC", "O"], ["B-PER", "I-PER", "O"]]
    assert span_f1(truth, predicted) == 0.5
    assert span_f1(truth, truth) == 1.0
    assert span_f1([["O"]], [["O"]]) == 0.0
    with pytest.raises(
        ValueError, match="Sequence 0 has 7 positions in y_true, but 1 labels in y_pred"
    ):
        span_f1(truth, [["O"], ["O"]])
