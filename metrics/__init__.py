"""Measures of answers, claims and uncertainty."""
