"""What people read: tables in the terminal, a page for each student, a page for the class."""
