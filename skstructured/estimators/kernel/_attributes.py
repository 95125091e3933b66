"""What a fitted kernel learner shows: support rows with their coefficients, and no weights."""


class KernelAttributes:
    """Attributes of a learner with an `_expansion`, which is None for a linear kernel's weights."""

    @property
    def dual_coef_(self):
        """Coefficients (dim, n_support) of what predicts; set by `fit` or `partial_fit`."""
        self._fitted_expansion("dual_coef_ is")
        return self._coefficients(bool(self.average))

    @property
    def support_vectors_(self):
        """Rows (n_support, p) as they were transformed; set by `fit` or `partial_fit`."""
        expansion = self._fitted_expansion("support_vectors_ is")
        if self._is_precomputed():
            raise AttributeError("With kernel='precomputed' there are no rows, but support_.")
        return expansion.support_rows

    @property
    def support_(self):
        """Numbers (n_support,) of these rows in the order given; set by `fit` or `partial_fit`."""
        return self._fitted_expansion("support_ is").index

    def _fitted_expansion(self, what):
        self._fitted_state(what)
        if self._expansion is None:
            raise AttributeError("With a linear kernel there are coef_ and intercept_.")
        return self._expansion

    def _without_kernel(name):
        """The linear model's attribute, which a learner with a kernel has not."""

        def read(self):
            """As in `OnlineStructuredPredictor`; a learner with a kernel has none."""
            if getattr(self, "_expansion", None) is not None:
                raise AttributeError(
                    "A kernel learner has dual_coef_ and support_vectors_, no weights."
                )
            return getattr(super(), name)

        return property(read)

    coef_, intercept_ = _without_kernel("coef_"), _without_kernel("intercept_")
    last_weights_ = _without_kernel("last_weights_")
    average_weights_ = _without_kernel("average_weights_")
