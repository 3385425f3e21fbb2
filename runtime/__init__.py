"""Backbones, concurrency, budgets, records and retrieval."""
