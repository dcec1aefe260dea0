"""What the user gives: options, goals and samples."""
