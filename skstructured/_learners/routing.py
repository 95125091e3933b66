"""Methods that stand in for a base's own where a learner is of a certain kind."""

import functools


def routed(owner, applies):
    """A decorator of methods of a mixin that are for some learners only.

    Parameters
    ----------
    owner : callable
        Returns the mixin, which stands before the class whose methods are stood in for.
    applies : callable
        Whether the method is for a learner; else the next one of that name is called.
    """

    def decorate(method):
        @functools.wraps(method)
        def chosen(self, *args, **kwargs):
            if applies(self):
                return method(self, *args, **kwargs)
            return getattr(super(owner(), self), method.__name__)(*args, **kwargs)

        return chosen

    return decorate
