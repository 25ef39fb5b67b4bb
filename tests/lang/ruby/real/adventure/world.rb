require "adventure/machine"

module Adventure
  class Item
    attr_reader :name, :text, :weight, :reads, :machine

    def initialize(name, text:, weight:, reads: nil, states: nil)
      @name = name
      @text = text
      @weight = weight
      @reads = reads
      @machine = states && Machine.new(states)
    end

    def to_s = machine ? "#{text} (#{machine.state})" : text

    def light? = machine&.state == "lit"
  end

  Place = Struct.new(:name, :text, :exits, :items, :locks, :dark, keyword_init: true) do
    def lit_by?(items) = !dark || items.any?(&:light?)
  end

  class World
    attr_reader :places, :start, :goal

    def self.load(path)
      new(YAML.safe_load_file(path))
    end

    def initialize(data)
      items = data.fetch("items").to_h { |name, fields| [name, Item.new(name, **fields.transform_keys(&:to_sym))] }
      @places = data.fetch("places").to_h do |name, fields|
        [name, Place.new(name: name, text: fields["text"], exits: fields["exits"] || {}, locks: fields["locks"] || {},
                         dark: fields["dark"], items: (fields["items"] || []).map { |item| items.fetch(item) })]
      end
      @start = @places.fetch(data.fetch("start"))
      @goal = data.fetch("goal")
      check
    end

    private

    def check
      @places.each_value do |place|
        place.exits.each do |way, to|
          raise ArgumentError, "#{place.name} leads #{way} to nowhere" unless @places.key?(to)
        end
      end
    end
  end
end
