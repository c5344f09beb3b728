"""Stands where the compiled core belongs: an extension of this name is loaded before it, this only where there is none."""

raise ImportError("rankwise's compiled core is missing here: install rankwise with 'pip install .' or 'make quick'")
