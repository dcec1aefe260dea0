"""What application developers get beside the C package: the model's interface in their language, with names made for the model."""
