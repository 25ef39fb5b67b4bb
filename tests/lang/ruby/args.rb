ARGV.each { |arg| puts "[#{arg}]" }
