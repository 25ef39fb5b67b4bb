def fails(what)
  yield
  puts "within reach: #{what}"
  false
rescue SystemCallError
  true
end

Dir.children("/usr") # so a listing works as such
tries = [
  fails("/etc/shadow") { File.read("/etc/shadow") },
  fails("/root") { Dir.children("/root") },
  fails("/home") { Dir.children("/home") },
  fails("/usr/x") { File.write("/usr/x", "") },
]
puts "host is out of reach" if tries.all?
