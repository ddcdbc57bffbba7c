"""Hostile clients: what a node does with damaged, oversized, slow or plainly wrong ones. `run.py` is the command."""
