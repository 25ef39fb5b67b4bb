# Output is seen when it is printed, also when the program is killed later.
$stdout.sync = true
