local input = assert(io.open("data/in.txt"))
local output = assert(io.open("/sandbox/output/out.txt", "w"))
output:write(input:read("l"):reverse())
output:close()
