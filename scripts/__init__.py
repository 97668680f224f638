"""What developers run: measurements and pictures. Nothing in specviz imports it."""
