"""Online logistic regression, second order: matrices over all weights, one pass, no scaling."""
