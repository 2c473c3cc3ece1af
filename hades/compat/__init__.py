"""The classes of the papers and documents that HADES grew from, over the operations of a memory."""
