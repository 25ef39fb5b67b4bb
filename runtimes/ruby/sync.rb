# Output is seen when it is printed, also when the program is killed later.
$stdout.sync = true
# Where a zygote waits for its program (src/engine/ember/ruby.c), and where our library may have output wait after all: a
# call that does nothing, but reaches the C library.
Process.getpgrp
