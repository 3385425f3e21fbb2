"""Every DSPy signature and its typed outputs."""
