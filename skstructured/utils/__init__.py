"""Checks for authors of learners and spaces."""

from skstructured.utils.checks import check_learner, check_space, learner_checks, space_checks

__all__ = ["check_learner", "check_space", "learner_checks", "space_checks"]
