module Adventure
  Command = Struct.new(:verb, :object)

  module Parser
    WAYS = { "n" => "north", "s" => "south", "e" => "east", "w" => "west", "u" => "up", "d" => "down" }.freeze
    SAME = { "get" => "take", "l" => "look", "i" => "inventory", "walk" => "go", "x" => "look" }.freeze

    module_function

    def parse(line)
      words = line.downcase.scan(/[[:alpha:]]+/) - %w[the a an to at]
      case words
      in [] then nil
      in [way] if WAYS.key?(way) || WAYS.value?(way) then Command.new(:go, WAYS.fetch(way, way))
      in ["pick", "up", object] then Command.new(:take, object)
      in [verb] then Command.new(SAME.fetch(verb, verb).to_sym, nil)
      in [verb, object, *] then Command.new(SAME.fetch(verb, verb).to_sym, WAYS.fetch(object, object))
      end
    end
  end
end
