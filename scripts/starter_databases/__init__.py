"""One module for each database of the starter pack: its `SCHEMA` and a function that fills it."""
