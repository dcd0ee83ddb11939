"""What every instruction set shares: state, decoding to closures, scheduling, operands and results."""
