"""Programs of other papers, to compare with: same call, same evaluation."""
