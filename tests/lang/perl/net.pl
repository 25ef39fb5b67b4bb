use strict;
use warnings;
use Errno;
use IO::Socket::INET;

if (IO::Socket::INET->new(PeerAddr => '192.0.2.1', PeerPort => 80, Proto => 'tcp', Timeout => 2)) {
	print "connected\n";
} else {
	print $!{ENETUNREACH} ? "unreachable\n" : "denied\n";
}
