print $stdin.read.upcase
