"""What `assignment.toml` says: stages, criteria, points, limits, policies; the course secret."""
