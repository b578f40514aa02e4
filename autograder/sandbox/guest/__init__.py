"""What runs inside the wall. Student code shares these processes."""
