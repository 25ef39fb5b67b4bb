puts "never"

broken = = 3
