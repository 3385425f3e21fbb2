"""DSPy programs: the baselines, MACR and ArbGraph."""
