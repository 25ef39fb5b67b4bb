local numbers = require("numbers")
local Rectangle = require("shapes.rectangle")

print("multi " .. Rectangle.new(numbers.width, numbers.height):area())
