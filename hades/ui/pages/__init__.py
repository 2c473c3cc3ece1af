"""The pages, one module each; importing a module declares its page."""
