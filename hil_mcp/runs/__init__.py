"""Runs: many attempts of an agent, each where the answers are out of its reach."""
