# Fresh virtual environments for .ci/run and .ci/nightly, which source this file from the repository's root.
environment=$(mktemp -d)
trap 'rm -rf "$environment"' EXIT
prepare() { # prepare NAME PYTHON WHAT...: make a virtual environment, and install into it
    "$2" -m venv "$environment/$1"
    "$environment/$1/bin/python" -m pip install --quiet "${@:3}"
}
prepare_oldest() { # the oldest versions of dependencies that pyproject.toml allows
    python3 .ci/minimums.py >"$environment/oldest.txt"
    prepare oldest python3 --requirement "$environment/oldest.txt"
    "$environment/oldest/bin/python" -m pip install --quiet --no-deps --editable .
}
use() { # use NAME: the virtual environment of that name, with compiled code of its own
    source "$environment/$1/bin/activate"
    export NUMBA_CACHE_DIR="$environment/$1-kernels"
}
lap() { # lap WHAT: say how long this part took
    echo "$1 took $SECONDS s"
    SECONDS=0
}
