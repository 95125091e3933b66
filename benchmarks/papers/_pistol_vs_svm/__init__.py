"""The parts of `pistol_vs_svm`."""
