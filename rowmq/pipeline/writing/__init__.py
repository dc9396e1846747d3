"""Writing in bulk, as a whole and once; files in and out."""
