local Rectangle = require("shapes").extend()

function Rectangle.new(width, height)
	return setmetatable({ width = width, height = height }, Rectangle)
end

function Rectangle:area()
	return self.width * self.height
end

return Rectangle
