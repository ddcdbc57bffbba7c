package gocqlv2

import (
	gocql "github.com/apache/cassandra-gocql-driver/v2"
	"github.com/apache/cassandra-gocql-driver/v2/lz4"
	"github.com/apache/cassandra-gocql-driver/v2/snappy"
)

// compressors lists what a version may compress with, none of them first.
func compressors(version int) []gocql.Compressor {
	if version == 5 {
		return []gocql.Compressor{nil, lz4.LZ4Compressor{}}
	}
	return []gocql.Compressor{nil, lz4.LZ4Compressor{}, snappy.SnappyCompressor{}}
}
