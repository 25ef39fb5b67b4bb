local reached = false

local function fails(path, mode)
	local file = io.open(path, mode)
	-- Also a directory can be opened; that it cannot be read is told later.
	if file then
		print("within reach: " .. path)
		reached = true
	end
end

assert(io.open("/usr"), "a directory cannot be opened at all")
fails("/etc/shadow")
fails("/root")
fails("/home")
fails("/usr/x", "w")
if not reached then
	print("host is out of reach")
end
