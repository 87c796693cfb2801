"""Hydra accepts sweepers and launchers only from here; the work is done in attnlab.sweep."""
