"""Doors translate, and nothing else."""
