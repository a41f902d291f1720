"""Getting the files that tasks need: the one way out of this package by HTTP."""
