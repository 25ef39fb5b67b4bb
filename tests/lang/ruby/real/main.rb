# A text adventure: the world is in world.yaml, commands come from standard input, and in the end there is a report.
require "json"
require "yaml"
require "adventure/game"

world = Adventure::World.load(File.join(__dir__, "world.yaml"))
game = Adventure::Game.new(world)

puts game.look
until game.over? || (line = $stdin.gets).nil?
  line = line.strip
  next if line.empty?

  puts "> #{line}"
  puts game.command(line)
end
puts
puts JSON.pretty_generate(game.report)
