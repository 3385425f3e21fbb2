"""Data sets and bundled samples."""
