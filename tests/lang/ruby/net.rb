require "socket"

begin
  Socket.tcp("192.0.2.1", 80, connect_timeout: 2) { puts "connected" }
rescue Errno::ENETUNREACH
  puts "unreachable"
rescue SystemCallError
  puts "denied"
end
