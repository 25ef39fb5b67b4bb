module Adventure
  # A finite state machine: {state => {event => next state}}. It starts in the first state.
  class Machine
    Refused = Class.new(StandardError)

    attr_reader :state, :history

    def initialize(table)
      @table = table.transform_values { |events| events.transform_keys(&:to_sym) }
      @state = table.keys.first
      @history = [@state]
    end

    def events
      @table.fetch(@state).keys
    end

    def fire(event)
      @state = @table.fetch(@state).fetch(event) { raise Refused, "it is #{@state}" }
      @history << @state
      @state
    end

    def known?(event)
      @table.each_value.any? { |events| events.key?(event) }
    end
  end
end
