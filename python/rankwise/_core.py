"""Stands where the compiled core belongs: an extension of this name is loaded before it, so that this is reached only without."""

raise ImportError("rankwise's compiled core is missing here: install rankwise with 'pip install .' or 'make quick'")
