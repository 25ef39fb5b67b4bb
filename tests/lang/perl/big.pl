print 'x' x (1 << 20);
