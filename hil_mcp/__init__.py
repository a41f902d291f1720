"""Serve HiL-Bench tasks to coding agents, log what they ask, and score it."""
