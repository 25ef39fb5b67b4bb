File.write("/sandbox/output/out.txt", File.read("data/in.txt").chomp.reverse)
