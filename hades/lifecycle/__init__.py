"""How memory ages: what happens to facts when the world changes."""
