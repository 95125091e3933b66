"""matplotlib without a screen."""


def pyplot():
    """matplotlib.pyplot, imported when a picture is wanted."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    return plt
