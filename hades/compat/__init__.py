"""The classes of PathRAG, HippoRAG, HiRAG and MemGPT, over the operations of a memory."""
