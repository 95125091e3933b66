"""What others need who write learners and spaces of their own."""

from skstructured.utils.checks import check_learner, check_space, learner_checks, space_checks

__all__ = ["check_learner", "check_space", "learner_checks", "space_checks"]
