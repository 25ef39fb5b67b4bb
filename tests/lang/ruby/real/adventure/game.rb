require "set"
require "adventure/parser"
require "adventure/world"

module Adventure
  class Game
    Trouble = Class.new(StandardError)
    CARRY_MAX = 8

    def initialize(world)
      @world = world
      @place = world.start
      @carried = []
      @visited = Set[@place.name]
      @verbs = Hash.new(0)
      @mistakes = 0
      @won = false
    end

    def over? = @won || @quit

    def command(line)
      command = Parser.parse(line) or raise Trouble, "Pardon?"
      @verbs[command.verb] += 1
      act(command)
    rescue Trouble, Machine::Refused => e
      @mistakes += 1
      e.is_a?(Machine::Refused) ? "You cannot: #{e.message}." : e.message
    end

    def look(name = nil)
      return item(name, here).to_s.then { |text| "You see #{text}." } if name
      return "It is dark." unless @place.lit_by?(here)

      seen = @place.items.map(&:to_s)
      [@place.text, ("You see #{list(seen)}." if seen.any?), "Ways: #{@place.exits.keys.sort.join(', ')}."].compact
    end

    def report
      {
        won: @won,
        place: @place.name,
        carried: @carried.map(&:name),
        weight: @carried.sum(&:weight),
        visited: @visited.sort,
        verbs: @verbs.sort_by { |verb, count| [-count, verb] }.to_h,
        mistakes: @mistakes,
        machines: @world.places.values.flat_map(&:items).concat(@carried).select(&:machine)
                        .to_h { |item| [item.name, item.machine.history] },
      }
    end

    private

    def here = @carried + @place.items

    def act(command)
      case command.verb
      when :look, :go, :take, :drop, :read then send("#{command.verb == :look ? '' : 'do_'}#{command.verb}", command.object)
      when :inventory then @carried.empty? ? "You carry nothing." : "You carry #{list(@carried.map(&:to_s))}."
      when :quit
        @quit = true
        "Good-bye."
      else use(command)
      end
    end

    def do_go(way)
      to = @place.exits[way] or raise Trouble, way ? "There is no way #{way}." : "Where to?"
      key = @place.locks[way]
      raise Trouble, "The way #{way} is locked." if key && @carried.none? { |item| item.name == key }

      @place = @world.places.fetch(to)
      @visited << to
      look
    end

    def do_take(name)
      raise Trouble, "You cannot see in the dark." unless @place.lit_by?(here)

      found = item(name, @place.items)
      weight = @carried.sum(&:weight) + found.weight
      raise Trouble, "With #{found.text} you would carry #{weight} of #{CARRY_MAX}." if weight > CARRY_MAX

      @carried << @place.items.delete(found)
      "You take #{found.text}."
    end

    def do_drop(name)
      dropped = item(name, @carried)
      @place.items << @carried.delete(dropped)
      @won = @world.goal == { "item" => name, "place" => @place.name }
      @won ? ["You drop #{dropped.text}.", "The fire burns. You have won!"] : "You drop #{dropped.text}."
    end

    def do_read(name)
      found = item(name, here)
      found.reads ? "It says: “#{found.reads}”" : raise(Trouble, "There is nothing to read.")
    end

    def use(command)
      found = here.find { |item| item.name == command.object }
      raise Trouble, "I do not know how to #{command.verb}." unless found&.machine&.known?(command.verb)

      "Now it is #{found.machine.fire(command.verb)}."
    end

    def item(name, items)
      items.find { |item| item.name == name } or raise Trouble, name ? "There is no #{name} here." : "What?"
    end

    def list(words)
      words.size < 3 ? words.join(" and ") : "#{words[0..-2].join(', ')} and #{words[-1]}"
    end
  end
end
