"""Weights of experts, and of label sequences, as attributes of the learner over any space."""

from skstructured._learners.expert_weights import ExpertWeights, of_experts
from skstructured.sequences._predictions import weights_of_sequences


class NamedWeights:
    """What the model of a learner has besides `coef_` and `intercept_`, where it has it."""

    expert_weights_ = of_experts(
        "Weights of the experts of a mixture in the next prediction.", ExpertWeights.expert_weights
    )
    expert_losses_ = of_experts("Sums of the experts' losses.", ExpertWeights.expert_losses)
    expert_names_ = of_experts("Names of the experts.", ExpertWeights.expert_names)

    transitions_ = weights_of_sequences(
        "(k, k) of going from a label to the next", lambda W: W[:, -len(W) :].T
    )
    start_ = weights_of_sequences("(k,) of the first label", lambda W: W[:, -len(W) - 2])
    end_ = weights_of_sequences("(k,) of the last label", lambda W: W[:, -len(W) - 1])
