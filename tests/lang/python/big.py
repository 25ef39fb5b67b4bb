print("x" * (1 << 20), end="")
