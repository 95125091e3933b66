"""Parameters of components that were given as strings."""

from typing import Any


class ShortCuts:
    """Mixin of estimators with components: `set_params` also sets parameters of short-cuts.

    Needs `_resolvers()`: for each such parameter, the function that turns its value into the
    component.
    """

    def set_params(self: Any, **params: Any) -> Any:
        """Set parameters, also those of a component: ``set_params(optimizer__eta=0.1)``.

        A short-cut that such a name reaches into is replaced by its component, with defaults for
        the other parameters; until then `get_params` shows the string.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For a parameter that does not exist, or an unknown short-cut; no short-cut is then
            replaced.
        """
        nested = {path: value for path, value in params.items() if "__" in path}
        super().set_params(**{name: params[name] for name in params if name not in nested})  # type: ignore[misc]
        made = self._behind_short_cuts({path.partition("__")[0] for path in nested})
        for name, component in made.items():
            inner = [path for path in nested if path.partition("__")[0] == name]
            component.set_params(**{path.partition("__")[2]: nested.pop(path) for path in inner})
        super().set_params(**nested)  # type: ignore[misc]
        for name, component in made.items():
            setattr(self, name, component)
        return self

    def _behind_short_cuts(self: Any, names: set[str]) -> dict[str, Any]:
        """New components for those of the parameters `names` that are short-cuts."""
        made = {}
        for name in names & self._resolvers().keys():
            given = getattr(self, name)
            component = self._resolvers()[name](given)
            if component is not given:
                made[name] = component
        return made
