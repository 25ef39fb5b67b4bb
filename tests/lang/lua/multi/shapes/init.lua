local Shape = {}
Shape.__index = Shape

function Shape.extend()
	local class = setmetatable({}, Shape)
	class.__index = class
	return class
end

return Shape
