io.write(io.read("a"):upper())
