# Keeps a Ruby session: runs cells in the top-level binding, by the protocol on descriptor 3. docs/sessions.md has what a
# session does. Everything is inside a module: the top level is the cells' own.
module EmberboxSession
  TEXT_MAX = 1 << 20
  CELL_MAX = 15 << 20
  WIDTH = 80
  RICH = { to_html: "text/html", to_markdown: "text/markdown", to_svg: "image/svg+xml", to_png: "image/png" }.freeze
  WORDS = %w[alias and begin break case class def do else elsif end ensure false for if in module next nil not or redo
             rescue retry return self super then true undef unless until when while yield].freeze
  ESCAPES = Hash.new { |_, c| format("\\u%04x", c.ord) }.merge("\"" => "\\\"", "\\" => "\\\\", "\n" => "\\n")

  class Driver
    def initialize
      @channel = IO.for_fd(3, "r+b")
      @channel.close_on_exec = true
      @channel.sync = true
      @pid, @secret, @spent = Process.pid, nil, 0
      @pipe, @input = $stdin.dup, "pipe"
      @cells = {}
      @top = TOPLEVEL_BINDING
      driver = self
      Kernel.define_method(:display_rich) { |*values| values.each { |value| driver.show(value) } }
      Kernel.send(:private, :display_rich)
    end

    def serve
      rest
      @secret = "-"
      send_message("ready", %({"driver":"ruby #{RUBY_VERSION}","complete":true,"inspect":true,"interrupt":true}))
      while (line = @channel.gets)
        word, secret, size, first, stdin = line.split
        payload = @channel.read(size.to_i) || break
        next if word == "interrupt" # of a cell that is over
        @secret = secret
        case word
        when "execute" then execute(payload, first.to_i, stdin)
        else assist(word, payload, first.to_i)
        end
        @secret = nil
      end
      exit!(0)
    rescue Errno::EBADF, Errno::EPIPE, Errno::ECONNRESET, IOError
      # A cell closed the channel. The keeper sees that, and tells so, unless there is an exit code to tell of.
      sleep while Process.pid == @pid
      exit!(1)
    end

    def show(value)
      body = bundle(value)
      if @secret.nil? || Process.pid != @pid
        puts value.inspect
      elsif (@spent += body.bytesize) <= CELL_MAX
        send_message("output", body)
      elsif @spent - body.bytesize <= CELL_MAX
        send_message("output", '{"text/plain":"[this and further rich results of the cell are left out: more than 15 MiB]"}')
      end
    end

    private

    # While no cell runs an interrupt may be the next one's, whose request was not read yet.
    def rest
      trap("INT") { @early = true }
    end

    # Whether the channel says that it is this cell's.
    def interrupted?
      @early = false
      while IO.select([@channel], nil, nil, 0)
        word, secret = @channel.gets.to_s.split
        return word == "interrupt" if word != "interrupt" || secret == @secret
      end
      false
    end

    def send_message(word, body)
      body = body.b
      @channel.write("#{word} #{@secret} #{body.bytesize}\n".b + body)
    end

    def quote(text)
      text = text.to_s
      text = text.encoding == Encoding::BINARY ? text.dup.force_encoding("UTF-8").scrub : text.encode("UTF-8", invalid: :replace, undef: :replace).scrub
      "\"" + text.gsub(/["\\\x00-\x1f]/, ESCAPES) + "\""
    end

    def give(stdin, payload)
      if stdin.match?(/\A\d+\z/)
        require "tempfile"
        data = payload.slice!(payload.bytesize - stdin.to_i, stdin.to_i)
        Tempfile.create("stdin") do |file|
          file.binmode.write(data)
          file.flush
          $stdin.reopen(file.path, "r")
        end
      elsif stdin == "none"
        $stdin.reopen("/dev/null", "r") unless @input == "none"
      elsif @input != "pipe"
        $stdin.reopen(@pipe)
      end
      @input = stdin
    end

    def execute(payload, count, stdin)
      give(stdin, payload)
      code, name = payload.force_encoding("UTF-8"), "cell-#{count}"
      remember(name, code)
      @spent, error = 0, nil
      begin
        begin
          trap("INT", "DEFAULT")
          raise Interrupt, "" if @early && interrupted?
          value = @top.eval(code, name, 1)
          unless value.nil?
            @top.local_variable_set(:_, value)
            show(value)
          end
        rescue Exception => raised
          error = raised
        end
        rest
      rescue Interrupt => raised # it came late
        error ||= raised
        rest
      end
      raise error if error.is_a?(SystemExit)
      flush
      exit!(error ? 1 : 0) if Process.pid != @pid # a fork that came back from its cell
      return send_message("done", '{"ok":true,"exit":0}') unless error

      told = report(error, name)
      flush
      send_message("error", told)
      send_message("done", %({"ok":false,"exit":#{error.is_a?(Interrupt) ? 130 : 1}}))
    end

    def remember(name, code)
      @cells[name] = code.lines
      @cells.shift if @cells.size > 1000
    end

    def flush
      [$stdout, $stderr].each { |stream| stream.flush rescue nil }
    end

    def report(error, name)
      places = (error.backtrace || []).take_while { |line| !line.start_with?(__FILE__) }
      error.set_backtrace(places)
      text = places.empty? ? "#{error.message.chomp} (#{error.class})\n" : error.full_message(highlight: false, order: :top)
      $stderr.write(text.bytesize > TEXT_MAX ? text.byteslice(0, TEXT_MAX).scrub + " [… cut]\n" : text)
      frames = places.reverse.filter_map do |place|
        file, line, method = place.match(/\A(.+?):(\d+)(?::in [`'](.*)')?\z/)&.captures
        file && [file, line.to_i, method || "<cell>"]
      end
      count = frames.size
      frames = frames.first(50) + frames.last(50) if frames.size > 100
      if error.is_a?(SyntaxError) && error.message =~ /\A(?:--> )?([^:\n]+):(\d+): (?:syntax error, )?(.*)/
        message, at = $3, [$1, $2.to_i]
      else
        message, at = error.message, frames.reverse.find { |file, _| user?(file) } || frames.last
      end
      parts = frames.map do |file, line, method|
        source = @cells.dig(file, line - 1).to_s.strip[0, 1000]
        %({"file":#{quote(file)},"line":#{line},"function":#{quote(method)},"text":#{quote(source)},"user":#{user?(file)}})
      end
      where = at ? %("file":#{quote(at[0])},"line":#{at[1]}) : '"file":null,"line":null'
      %({"type":#{quote(error.class.name)},"message":#{quote(message.to_s[0, 16_384])},#{where},"column":null,"frames":[#{parts.join(",")}],"frame_count":#{count}})
    rescue Exception
      %({"type":#{quote(error.class)},"message":"","file":null,"line":null,"column":null,"frames":[]})
    end

    def user?(file)
      file.match?(/\Acell-\d+\z/) || file.start_with?("/sandbox/")
    end

    def pretty(value)
      text = value.inspect
      if text.length > WIDTH && text.length < TEXT_MAX && [Array, Hash, Struct].any? { |kind| value.is_a?(kind) }
        require "pp"
        text = PP.pp(value, +"", WIDTH - 1).chomp
      end
      text.length > TEXT_MAX ? "#{text[0, TEXT_MAX]} [… #{text.length - TEXT_MAX} more characters]" : text
    end

    def bundle(value)
      parts, left = [], []
      RICH.each do |method, mime|
        next unless value.respond_to?(method)
        data = value.public_send(method)
        next unless data.is_a?(String)
        data = [data].pack("m0") if mime == "image/png"
        if data.bytesize > 2 * TEXT_MAX
          left << "\n[#{mime} of #{data.bytesize} bytes is left out: too large]"
        else
          parts << "#{quote(mime)}:#{quote(data)}"
        end
      end
      "{" + ["\"text/plain\":#{quote(pretty(value) + left.join)}", *parts].join(",") + "}"
    end

    # Completion and description

    def assist(word, payload, cursor)
      trap("INT", "DEFAULT")
      before = payload.byteslice(0, cursor).force_encoding("UTF-8").scrub
      body = word == "complete" ? complete(before, cursor) : describe(before, payload.byteslice(cursor..).force_encoding("UTF-8").scrub)
      rest
      send_message("reply", body)
    rescue Exception
      rest
      none = word == "complete" ? %({"matches":[],"start":#{cursor},"end":#{cursor}}) : '{"found":false,"text/plain":""}'
      send_message("reply", none)
    end

    # What a word stands for, without calling anything: [value], or nil.
    def value_of(word)
      case word
      when /\A[a-z_]\w*\z/ then @top.local_variable_defined?(word) ? [@top.local_variable_get(word)] : nil
      when /\A[A-Z]\w*(::[A-Z]\w*)*\z/ then Object.const_defined?(word) ? [Object.const_get(word)] : nil
      when /\A@\w+\z/ then [@top.receiver.instance_variable_get(word)]
      when /\A\$\w+\z/ then global_variables.include?(word.to_sym) ? [@top.eval(word)] : nil
      when /\A["'].*["']\z/ then [""]
      when /\A\[.*\]\z/m then [[]]
      when /\A\{.*\}\z/m then [{}]
      when /\A\d+\z/ then [0]
      end
    end

    def complete(before, cursor)
      # A bracket behind a name is an index, a brace a block: of literals alone it is known what they are.
      if before =~ /([\w@$:]+|"[^"]*"|'[^']*'|(?<![\w)\]?!])\[[^\[\]]*\]|(?<=[=(,\[]|[=(,\[] |\A)\{[^{}]*\})(\.|::|&\.)(\w*[?!]?)\z/
        word, mark, typed = $1, $2, $3
        found = value_of(word)
        names = !found ? [] : mark == "::" && found[0].is_a?(Module) ? found[0].constants + found[0].methods(false) : found[0].methods
      else
        typed = before[/[@$]?\w*\z/]
        names = typed.empty? ? [] : @top.local_variables + Object.constants + global_variables + Kernel.private_instance_methods + @top.receiver.private_methods(false) + WORDS
      end
      names = names.map(&:to_s).uniq.select { |name| name.start_with?(typed) && name.match?(/\A[@$]?\w+[?!]?\z/) }.sort.first(1000)
      %({"matches":[#{names.map { |name| quote(name) }.join(",")}],"start":#{cursor - typed.bytesize},"end":#{cursor}})
    end

    def describe(before, after)
      name = before[/[\w@$:.]*[?!]?\z/] + after[/\A\w*[?!]?/]
      owner, _, last = name.rpartition(".")
      if (found = value_of(name))
        text = "#{name}: #{found[0].class}\n#{pretty(found[0])[0, 2000]}"
      elsif owner.empty? ? @top.receiver.respond_to?(last, true) : (held = value_of(owner)) && held[0].respond_to?(last, true)
        method = (owner.empty? ? @top.receiver : held[0]).method(last)
        arguments = method.parameters.map { |kind, argument| { req: "#{argument}", opt: "#{argument} = …", rest: "*#{argument}", keyreq: "#{argument}:", key: "#{argument}: …", keyrest: "**#{argument}", block: "&#{argument}" }[kind] }
        text = "#{name}(#{arguments.join(", ")})\n#{method.owner}##{last}" + (method.source_location ? "\n#{method.source_location.join(":")}" : "")
      end
      %({"found":#{!text.nil?},"text/plain":#{quote(text || "")}})
    end
  end
end

ARGV.clear
$0 = "session"
EmberboxSession::Driver.new.serve
