require "shapes/shape"

module Shapes
  class Rectangle < Shape
    def area = width * height
  end
end
