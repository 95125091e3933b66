"""Print the oldest versions of dependencies that pyproject.toml allows, for pip to install."""

import tomllib

with open("pyproject.toml", "rb") as file:
    project = tomllib.load(file)["project"]
for requirement in project["dependencies"] + project["optional-dependencies"]["test"]:
    print(requirement.replace(">=", "=="))
