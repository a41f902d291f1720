"""Where a repository task's code runs: one contract, three ways to keep it."""
