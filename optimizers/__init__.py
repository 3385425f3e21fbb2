"""Optimizers that compile programs for a backbone."""
