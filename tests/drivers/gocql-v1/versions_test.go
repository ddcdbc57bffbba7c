package gocqlv1

import "github.com/gocql/gocql"

// compressors lists what a version may compress with, none first; LZ4 is a module of its own there.
func compressors(int) []gocql.Compressor {
	return []gocql.Compressor{nil, gocql.SnappyCompressor{}}
}
