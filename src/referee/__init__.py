"""Settle conflicts between sources before a language model answers."""
