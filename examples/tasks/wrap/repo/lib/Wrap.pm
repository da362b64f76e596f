package Wrap;

# Breaks texts into lines.

use strict;
use warnings;

# words(TEXT): the words of a text.
sub words {
    my ($text) = @_;
    return grep { length } split /\s+/, $text;
}

# wrap(TEXT, WIDTH, INDENT): the text in lines of at most WIDTH characters, each after the indent.
sub wrap {
    my ( $text, $width, $indent ) = @_;
    $indent = '' unless defined $indent;
    my @lines;
    my $line = '';
    for my $word ( words($text) ) {
        my $longer = $line eq '' ? $word : "$line $word";
        if ( length($indent) + length($longer) < $width ) {
            $line = $longer;
        }
        else {
            push @lines, $line;
            $line = $word;
        }
    }
    push @lines, $line if $line ne '';
    return join '', map {"$indent$_\n"} @lines;
}

1;
