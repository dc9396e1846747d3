"""The archive: finished messages as Parquet files, looked after and replayed."""
