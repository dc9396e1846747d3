"""Moving the messages of other systems over."""
