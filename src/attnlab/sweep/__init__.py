"""The plan of a grid: what a cell is called, where it lives, in what state it is. No torch."""
