use strict;
use warnings;

my $reached = 0;

sub fails {
	my ($path, $done) = @_;
	return unless $done;
	print "within reach: $path\n";
	$reached = 1;
}

opendir(my $dir, '/usr') or die "/usr: $!"; # so a listing works as such
fails('/etc/shadow', open(my $shadow, '<', '/etc/shadow'));
fails('/root', opendir(my $root, '/root'));
fails('/home', opendir(my $home, '/home'));
fails('/usr/x', open(my $new, '>', '/usr/x'));
print "host is out of reach\n" unless $reached;
