my @held;
push @held, 'x' x (1 << 20) while 1;
