"""Stands where the compiled core belongs: an extension of this name is loaded before it, so this is reached without one only."""

raise ImportError("rankwise's compiled core is missing here: install rankwise with 'pip install .' or 'make quick'")
