# What the standard library can do in a box; each part checks itself.
require "base64"
require "bigdecimal"
require "csv"
require "date"
require "digest"
require "erb"
require "fileutils"
require "json"
require "net/http"
require "open3"
require "optparse"
require "pathname"
require "set"
require "socket"
require "stringio"
require "tempfile"
require "time"
require "timeout"
require "tmpdir"
require "yaml"
require "zlib"

def check(got, want)
  raise "#{got.inspect} is not #{want.inspect}" unless got == want
end

def files
  Dir.mktmpdir do |place|
    path = Pathname(place) + "a/b.txt"
    path.dirname.mkpath
    path.write("é\nb\n")
    check(path.size, 5)
    check(path.readlines(chomp: true), ["é", "b"])
    File.symlink(path, "#{path}.link")
    check(File.binread("#{path}.link").bytes.first, 0xc3)
    check(Dir.children(path.dirname).sort, ["b.txt", "b.txt.link"])
    FileUtils.cp_r(path.dirname, "#{place}/c")
    check(Dir.glob("**/*.txt", base: place).sort, ["a/b.txt", "c/b.txt"])
  end
  Tempfile.create("tour") do |file|
    file.puts "line"
    file.rewind
    check(file.read, "line\n")
  end
  check(CSV.parse("a,\"b,c\"\n1,2\n", headers: true).map(&:to_h), [{ "a" => "1", "b,c" => "2" }])
end

def text
  found = /(?<key>\w+)\s*=\s*(?<value>[^;]+);/.match("  name = Ember ; rest")
  check(found.named_captures, { "key" => "name", "value" => "Ember " })
  check("a1 b22".gsub(/\d+/) { |n| (n.to_i * 2).to_s }, "a2 b44")
  check("é".unicode_normalize(:nfd).length, 2)
  check(format("%.2f|%5d|%#x", 3.14159, 42, 255), "3.14|   42|0xff")
  check("ÀÉ".downcase.encoding, Encoding::UTF_8)
  check(ERB.new("<% 3.times do |i| %><%= i %><% end %>").result, "012")
  check(Base64.strict_encode64("ember"), "ZW1iZXI=")
end

def data
  value = { "a" => [1, 2.5, nil, true, "é"] }
  check(JSON.parse(JSON.generate(value)), value)
  check(YAML.load(YAML.dump(value)), value)
  check(Digest::SHA256.hexdigest("")[0, 8], "e3b0c442")
  check(Zlib.inflate(Zlib.deflate("x" * 1000)).size, 1000)
  check(Marshal.load(Marshal.dump(value)), value)
  check(BigDecimal("0.1") + BigDecimal("0.2"), BigDecimal("0.3"))
  check(2**100, 1267650600228229401496703205376)
  check(Rational(1, 3) + Rational(1, 6), Rational(1, 2))
  check(Set[1, 2] | Set[2, 3], Set[1, 2, 3])
  check([3, 1, 2].sort.each_slice(2).to_a, [[1, 2], [3]])
  check((1..Float::INFINITY).lazy.map { |n| n * n }.select(&:even?).first(2), [4, 16])
  check(%w[a b a].tally, { "a" => 2, "b" => 1 })
end

def language
  result = case { name: "ember", at: [1, 2] }
           in { name: String => name, at: [x, *] } then "#{name}#{x}"
           end
  check(result, "ember1")
  fiber = Fiber.new { 2.times { |n| Fiber.yield n }; :end }
  check([fiber.resume, fiber.resume, fiber.resume], [0, 1, :end])
  check(OptionParser.new.getopts(%w[-v --name=x rest], "v", "name:"), { "v" => true, "name" => "x" })
end

def dates
  check((Time.utc(2024, 2, 28, 23, 59, 59) + 1).iso8601, "2024-02-29T00:00:00Z")
  check(Date.new(2024, 12, 30).cwyear, 2025)
  check(Date.parse("2024-02-28").next_day.strftime("%a %d %b %Y"), "Thu 29 Feb 2024")
end

def threads
  lock, total = Mutex.new, 0
  4.times.map { Thread.new { 1000.times { lock.synchronize { total += 1 } } } }.each(&:join)
  check(total, 4000)
  queue = Queue.new
  worker = Thread.new { Array.new(3) { queue.pop } }
  [1, 2, 3].each { |n| queue << n }
  check(worker.value, [1, 2, 3])
  check((Timeout.timeout(0.05) { sleep } rescue $!.class), Timeout::Error)
end

def processes
  out, status = Open3.capture2("/bin/sh", "-c", "cat; exit 3", stdin_data: "in")
  check([out, status.exitstatus], ["in", 3])
  reader, writer = IO.pipe
  pid = fork { writer.puts "child"; exit!(4) }
  writer.close
  check(reader.read, "child\n")
  check(Process.wait2(pid)[1].exitstatus, 4)
  pid = spawn("sleep", "60")
  Process.kill(:TERM, pid)
  check(Process.wait2(pid)[1].termsig, 15)
end

def sockets
  server = TCPServer.new("127.0.0.1", 0)
  answer = Thread.new do
    client = server.accept
    line = client.gets
    nil until client.gets == "\r\n"
    client.write "HTTP/1.0 200 OK\r\n\r\n#{line.split[1]}"
    client.close
  end
  check(Net::HTTP.get(URI("http://localhost:#{server.addr[1]}/ember")), "/ember")
  answer.join
  left, right = UNIXSocket.pair
  left.puts "pair"
  check(right.gets, "pair\n")
end

%i[files text data language dates threads processes sockets].each { |part| send(part) }
puts "tour ok"
