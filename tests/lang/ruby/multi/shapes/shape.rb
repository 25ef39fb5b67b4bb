module Shapes
  Shape = Struct.new(:width, :height)
end
