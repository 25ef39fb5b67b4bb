require "numbers"
require_relative "shapes/rectangle"

puts "multi #{Shapes::Rectangle.new(Numbers::WIDTH, Numbers::HEIGHT).area}"
