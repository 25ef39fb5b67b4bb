io.write(("x"):rep(1 << 20))
