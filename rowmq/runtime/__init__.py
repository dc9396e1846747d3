"""Producers, consumers, workers, tasks and schedules: the only threads, and the only clock on the wall."""
