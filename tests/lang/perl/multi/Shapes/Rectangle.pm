package Shapes::Rectangle;
use strict;
use warnings;

sub new {
	my ($class, $width, $height) = @_;
	return bless { width => $width, height => $height }, $class;
}

sub area {
	my $self = shift;
	return $self->{width} * $self->{height};
}

1;
