"""Parts of tools/bench-server.py."""
