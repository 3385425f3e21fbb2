"""Published methods that the programs are compared with, one module each."""
