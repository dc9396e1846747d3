"""No models: Django tells only apps that have this module when it has migrated."""
