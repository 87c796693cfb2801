"""A W&B workspace and report of a project or study, as code, checked against what its runs have logged.

logged.py    the keys that runs have logged, from the files that W&B writes beside them
panels.py    the sections and their panels, out of those keys' names
building.py  the two objects of `wandb-workspaces`, with the study as their filter
checked.py   a built object against the logged keys: a panel that names what no run logs is an error
"""
