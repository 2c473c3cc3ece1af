"""What things are: frozen dataclasses with no input or output of their own."""
