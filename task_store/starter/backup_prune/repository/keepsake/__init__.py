"""keepsake: an index of backup snapshots and what can be told from it."""
