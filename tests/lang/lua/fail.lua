local data = {}


local function reach(key)
	return data[key].length
end

print(reach("ember"))
