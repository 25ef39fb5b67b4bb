-- Lua has no sockets; the shell that every box has does it.
local pipe = io.popen("LC_ALL=C timeout 2 bash -c 'exec 3<> /dev/tcp/192.0.2.1/80' 2>&1")
local message = pipe:read("a")

if pipe:close() then
	print("connected")
else
	print(message:find("Network is unreachable", 1, true) and "unreachable" or "denied")
end
