# What comes with Perl, in a box; each part checks itself.
use strict;
use warnings;
use utf8;
use v5.30;
use feature qw(signatures);
no warnings qw(experimental::signatures);

use Carp;
use Cwd;
use Data::Dumper;
use Digest::SHA qw(sha256_hex);
use Encode qw(decode encode);
use Fcntl qw(:flock SEEK_SET);
use File::Basename;
use File::Copy;
use File::Find;
use File::Path qw(make_path);
use File::Spec;
use File::Temp qw(tempdir);
use Getopt::Long qw(GetOptionsFromArray);
use HTTP::Tiny;
use IO::Select;
use IO::Socket::INET;
use IPC::Open3;
use JSON::PP;
use List::Util qw(first max reduce shuffle sum uniq);
use Math::BigInt;
use MIME::Base64;
use POSIX qw(floor strftime WEXITSTATUS WTERMSIG);
use Scalar::Util qw(blessed looks_like_number);
use Socket;
use Storable qw(dclone);
use Text::ParseWords;
use Text::Wrap;
use Tie::File;
use Time::HiRes qw(sleep time);
use Time::Local qw(timegm);
use Unicode::Normalize;

my $json = JSON::PP->new->canonical->allow_nonref;

sub check ($got, $want) {
	my ($a, $b) = map { $json->encode($_) } $got, $want;
	croak "$a is not $b" if $a ne $b;
}

sub files {
	my $place = tempdir(CLEANUP => 1);
	my $file = File::Spec->catfile($place, 'a', 'b.txt');

	make_path(dirname($file));
	open my $out, '>:encoding(UTF-8)', $file or die $!;
	print $out "é\nb\n";
	close $out;
	check(-s $file, 5);
	open my $in, '<:encoding(UTF-8)', $file or die $!;
	chomp(my @lines = <$in>);
	check(\@lines, ['é', 'b']);
	symlink $file, "$file.link" or die $!;
	check(basename(readlink "$file.link"), 'b.txt');
	copy($file, "$place/c.txt") or die $!;
	my @found;
	find(sub { push @found, $_ if /\.txt$/ }, $place);
	check([sort @found], ['b.txt', 'c.txt']);
	tie my @tied, 'Tie::File', $file or die $!;
	push @tied, 'last';
	check(scalar @tied, 3);
	untie @tied;
}

sub text {
	'  name = Ember ; rest' =~ /(?<key>\w+)\s*=\s*(?<value>[^;]+);/ or die;
	check({%+}, { key => 'name', value => 'Ember ' });
	check('a1 b22' =~ s/(\d+)/$1 * 2/ger, 'a2 b44');
	check(length NFD('é'), 2);
	check(uc 'straße', 'STRASSE');
	check(sprintf('%.2f|%5d|%#x|%vd', 3.14159, 42, 255, v1.2.3), '3.14|   42|0xff|1.2.3');
	check(length encode('UTF-8', '日本'), 6);
	check([quotewords(',', 0, 'a,"b,c",d')], ['a', 'b,c', 'd']);
	check([split /\s*,\s*/, 'a , b,c'], ['a', 'b', 'c']);
	check(encode_base64('ember', ''), 'ZW1iZXI=');
	(my $t = 'hello') =~ tr/a-y/b-z/;
	check($t, 'ifmmp');
	check(join('|', unpack('A2 n C', pack('A2 n C', 'ab', 258, 7))), 'ab|258|7');
}

sub data {
	my $value = { a => [1, 2.5, undef, JSON::PP::true, 'é'] };

	check(decode_json(encode_json($value)), $value);
	check(dclone($value), $value);
	check(substr(sha256_hex(''), 0, 8), 'e3b0c442');
	check(Math::BigInt->new(2)->bpow(100)->bstr, '1267650600228229401496703205376');
	check([sum(1 .. 4), max(3, 9, 2), (first { $_ > 2 } 1 .. 5)], [10, 9, 3]);
	check((reduce { $a * $b } 1 .. 5), 120);
	check([sort { $b <=> $a } uniq 3, 1, 3, 2], [3, 2, 1]);
	local $Data::Dumper::Terse = 1;
	local $Data::Dumper::Indent = 0;
	check(Dumper([1, 'a']), "[1,'a']");
	GetOptionsFromArray([qw(-v --name=x rest)], 'v' => \my $v, 'name=s' => \my $name);
	check([$v, $name], [1, 'x']);
	my %count;
	$count{$_}++ for qw(a b a);
	check(\%count, { a => 2, b => 1 });
	eval { die { code => 7 } };
	check($@->{code}, 7);
}

sub dates {
	my $day = timegm(59, 59, 23, 28, 1, 2024) + 1;

	check(strftime('%Y-%m-%dT%H:%M:%SZ', gmtime $day), '2024-02-29T00:00:00Z');
	check(strftime('%a', gmtime 0), 'Thu');
	my $start = time;
	sleep 0.01;
	check(time - $start >= 0.01 ? 1 : 0, 1);
}

sub processes {
	my $pid = open3(my $in, my $out, undef, '/bin/sh', '-c', 'cat; exit 3');
	print $in 'in';
	close $in;
	check(join('', <$out>), 'in');
	waitpid $pid, 0;
	check(WEXITSTATUS($?), 3);
	check(`echo shell`, "shell\n");

	pipe my $reader, my $writer or die $!;
	$pid = fork // die $!;
	if (!$pid) {
		print $writer 'child';
		close $writer;
		POSIX::_exit(4);
	}
	close $writer;
	check(<$reader>, 'child');
	waitpid $pid, 0;
	check($? >> 8, 4);

	my $caught = 0;
	local $SIG{USR1} = sub { $caught++ };
	kill USR1 => $$;
	check($caught, 1);
	eval {
		local $SIG{ALRM} = sub { die "late\n" };
		POSIX::sigaction(POSIX::SIGALRM(), POSIX::SigAction->new(sub { die "late\n" }));
		Time::HiRes::alarm(0.05);
		sleep 60;
	};
	check($@, "late\n");
}

sub sockets {
	my $server = IO::Socket::INET->new(Listen => 1, LocalAddr => '127.0.0.1', LocalPort => 0) or die $!;
	my $pid = fork // die $!;

	if (!$pid) {
		my $client = $server->accept;
		my ($path) = <$client> =~ m{^GET (\S+)};
		while (<$client>) { last if $_ eq "\r\n" }
		print $client "HTTP/1.0 200 OK\r\nContent-Length: ", length $path, "\r\n\r\n$path";
		close $client;
		POSIX::_exit(0);
	}
	my $answer = HTTP::Tiny->new(timeout => 10)->get('http://127.0.0.1:' . $server->sockport . '/ember');
	check([$answer->{status} + 0, $answer->{content}], [200, '/ember']);
	waitpid $pid, 0;
	socketpair(my $left, my $right, AF_UNIX, SOCK_STREAM, PF_UNSPEC) or die $!;
	syswrite $left, "pair\n";
	check(scalar IO::Select->new($right)->can_read(5), 1);
	check(scalar <$right>, "pair\n");
}

files();
text();
data();
dates();
processes();
sockets();
print "tour ok\n";
