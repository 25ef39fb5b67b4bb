-- What comes with Lua, in a box; each part checks itself. It has no JSON, threads or sockets of its own: JSON is
-- written here, coroutines take turns, and a program on the other end of a pipe answers.

local function check(got, want)
	if got ~= want then
		error(("%s is not %s"):format(tostring(got), tostring(want)), 2)
	end
end

local function files()
	local name = os.tmpname()
	local file = assert(io.open(name, "w"))
	file:write("é\n", 42, "\n", 0x1p-1, "\n")
	check(file:seek("end"), 10)
	file:close()
	local lines = {}
	for line in io.lines(name) do
		lines[#lines + 1] = line
	end
	check(table.concat(lines, "|"), "é|42|0.5")
	file = assert(io.open(name, "rb"))
	file:read("l")
	check(file:read("n"), 42)
	file:close()
	assert(os.rename(name, name .. ".old"))
	check(io.open(name), nil)
	assert(os.remove(name .. ".old"))
	local ok, message, code = os.remove("/nowhere/x")
	check(ok, nil)
	check(code, 2)
end

local function text()
	local key, value = ("  name = Ember ; rest"):match("(%w+)%s*=%s*([^;]+);")
	check(key .. ":" .. value, "name:Ember ")
	check((("a1 b22"):gsub("%d+", function(n) return n * 2 end)), "a2 b44")
	check(("%5.2f|%-4s|%x|%q"):format(3.14159, "ab", 255, "a\n"), " 3.14|ab  |ff|\"a\\\n\"")
	check(utf8.len("日本"), 2)
	check(utf8.char(233, 128512), "é😀")
	check(string.unpack(">I2", string.pack(">I2", 258)), 258)
	local words = {}
	for word in ("one two  three"):gmatch("%S+") do
		table.insert(words, 1, word)
	end
	check(table.concat(words, ","), "three,two,one")
	check(("x(y(z))"):match("%b()"), "(y(z))")
end

local function encode(value)
	if type(value) == "table" then
		local parts = {}
		if #value > 0 then
			for i, item in ipairs(value) do
				parts[i] = encode(item)
			end
			return "[" .. table.concat(parts, ",") .. "]"
		end
		for key, item in pairs(value) do
			parts[#parts + 1] = encode(key) .. ":" .. encode(item)
		end
		table.sort(parts)
		return "{" .. table.concat(parts, ",") .. "}"
	end
	return type(value) == "string" and '"' .. value:gsub('[\\"]', "\\%0") .. '"' or tostring(value)
end

local function decode(source)
	local at = 1
	local function skip()
		at = source:find("[^%s,:]", at) or #source + 1
	end
	local function read()
		skip()
		local c = source:sub(at, at)
		if c == "{" or c == "[" then
			local out, close = {}, c == "{" and "}" or "]"
			at = at + 1
			skip()
			while source:sub(at, at) ~= close do
				local key = c == "{" and read() or #out + 1
				out[key] = read()
				skip()
			end
			at = at + 1
			return out
		elseif c == '"' then
			local from = at
			repeat
				at = source:find('"', at + 1, true)
			until source:sub(at - 1, at - 1) ~= "\\"
			at = at + 1
			return (source:sub(from + 1, at - 2):gsub("\\(.)", "%1"))
		end
		local word = source:match("^[%w.+-]+", at)
		at = at + #word
		if word == "true" or word == "false" then
			return word == "true"
		end
		return math.tointeger(tonumber(word)) or tonumber(word)
	end
	return read()
end

local function data()
	local source = '{"a":[1,2.5,true,"x\\"y"],"b":{"c":-3}}'
	check(encode(decode(source)), source)
	local sorted = { 5, 2, 8 }
	table.sort(sorted, function(a, b) return a > b end)
	check(table.concat(sorted, " "), "8 5 2")
	check(select("#", table.unpack({ 1, nil, 3 }, 1, 3)), 3)
	check(7 // 2 .. " " .. 7 % -3 .. " " .. 7 / 2 .. " " .. (5 & 3 | 8 ~ 1), "3 -2 3.5 9")
	check(math.maxinteger + 1 == math.mininteger, true)
	check(math.type(1), "integer")
	local vector = setmetatable({}, {
		__add = function() return "added" end,
		__index = function(_, key) return key .. "!" end,
		__call = function(_, n) return n * 2 end,
	})
	check(vector + vector, "added")
	check(vector.x, "x!")
	check(vector(21), 42)
	local ok, err = pcall(error, { code = 7 })
	check(ok, false)
	check(err.code, 7)
	check(load("return 6 * 7")(), 42)
	local weak = setmetatable({ {} }, { __mode = "v" })
	collectgarbage()
	check(#weak, 0)
end

local function dates()
	check(os.date("!%Y-%m-%dT%H:%M:%SZ", 0), "1970-01-01T00:00:00Z")
	local t = os.date("!*t", 1709164799 + 1)
	check(t.year .. "-" .. t.month .. "-" .. t.day, "2024-2-29")
	check(os.time({ year = 2024, month = 1, day = 32, hour = 12 }), os.time({ year = 2024, month = 2, day = 1, hour = 12 }))
end

local function coroutines()
	local function count(n)
		return coroutine.wrap(function()
			for i = 1, n do
				coroutine.yield(i)
			end
		end)
	end
	local total = 0
	for i in count(100) do
		total = total + i
	end
	check(total, 5050)
	local co = coroutine.create(function() error("inside") end)
	local ok, message = coroutine.resume(co)
	check(ok, false)
	check(message:match("inside"), "inside")
end

local function processes()
	local pipe = assert(io.popen("echo from a shell; exit 3"))
	check(pipe:read("a"), "from a shell\n")
	local ok, how, code = pipe:close()
	check(how .. code, "exit3")
	check(select(3, os.execute("kill -9 $$")), 9)
	check(os.getenv("HOME") ~= nil, true)
end

local function sockets()
	local pipe = assert(io.popen([[exec bash -c '
		exec {port}< <(exec python3 -u -c "
import socket
server = socket.create_server((\"127.0.0.1\", 0))
print(server.getsockname()[1])
peer = server.accept()[0]
peer.sendall(peer.recv(100).upper())
")
		read -r number <&$port
		exec 3<> /dev/tcp/127.0.0.1/$number
		echo loopback >&3
		head -n 1 <&3']]))
	check(pipe:read("a"), "LOOPBACK\n")
	check(pipe:close(), true)
end

files()
text()
data()
dates()
coroutines()
processes()
sockets()
print("tour ok")
