"""Reading messages in bulk: a range of seqs for each task, by the quickest way each store has."""
