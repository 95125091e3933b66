"""Print the oldest versions of dependencies that pyproject.toml allows, for pip to install.

Not Dask's: dask-ml asks for a newer scikit-learn than the oldest, and its tests are left out there.
"""

import tomllib

with open("pyproject.toml", "rb") as file:
    project = tomllib.load(file)["project"]
for requirement in project["dependencies"] + project["optional-dependencies"]["test"]:
    if not requirement.startswith("dask"):
        print(requirement.replace(">=", "=="))
