"""Tide tables after Ida Marlow."""


def high_water(day: int, port_offset: float) -> float:
    """Hour of high water: it comes about 50 minutes later every day."""
    return (day * 50 / 60 + port_offset) % 12.42
