# Output is seen when it is printed, also when the program is killed later.
$stdout.sync = true
# Where a zygote waits for its program (src/engine/ember/ruby.c): a call that does nothing, but reaches the C library.
Process.getpgrp
