"""What judge and guest say to each other, and how it is bounded."""
