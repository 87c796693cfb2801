"""The parts of `benchmarks/gpu.py`: checks, speeds, packing."""
