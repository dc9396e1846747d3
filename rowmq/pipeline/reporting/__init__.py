"""The report: what messages did, as figures, plots and tables."""
