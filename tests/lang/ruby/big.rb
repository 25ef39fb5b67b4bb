print "x" * (1 << 20)
