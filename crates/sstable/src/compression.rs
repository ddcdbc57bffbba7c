//! Chunk compression: the algorithms, a table's parameters and `CompressionInfo.db`.
//!
//! ```text
//! CompressionInfo.db
//! class name (Java UTF), option count (i32), options (2 Java UTF each), chunk length (i32), longest compressed chunk
//! (i32), data length (i64), chunk count (i32), offset of every chunk in Data.db (i64)
//!
//! a chunk in Data.db: compressed bytes (or the plain ones when they did not shrink enough), CRC-32 of them (u32)
//! LZ4 chunks start with the plain length, 4 bytes little-endian
//! ```
//!
//! Source: Cassandra 5.0, `schema.CompressionParams`, `io.compress.*`.

use std::collections::BTreeMap;
use std::io;

use crate::input::{Decoded, Input, put_java_utf};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compressor {
    Lz4,
    Snappy,
    Deflate,
    Zstd { level: i32 },
    Noop,
}

/// How a table's data files are compressed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compression {
    pub compressor: Compressor,
    /// Bytes of a plain chunk: a power of two.
    pub chunk_bytes: u32,
    /// A chunk that does not become shorter than this is stored as it is.
    pub compressed_bytes_max: u32,
    /// Options of the compressor, as the table has them.
    pub options: BTreeMap<String, String>,
}

pub(crate) const CHUNK_BYTES_DEFAULT: u32 = 16 << 10;
/// No file of Cassandra has larger chunks in practice; bounds what a damaged number makes us reserve.
const CHUNK_BYTES_MAX: u32 = 64 << 20;
const UNLIMITED: u32 = i32::MAX as u32;

impl Compressor {
    fn simple_name(self) -> &'static str {
        match self {
            Compressor::Lz4 => "LZ4Compressor",
            Compressor::Snappy => "SnappyCompressor",
            Compressor::Deflate => "DeflateCompressor",
            Compressor::Zstd { .. } => "ZstdCompressor",
            Compressor::Noop => "NoopCompressor",
        }
    }

    fn of_class(class: &str, options: &BTreeMap<String, String>) -> Result<Self, String> {
        let simple = class.rsplit('.').next().unwrap_or(class);
        Ok(match simple {
            "LZ4Compressor" => Compressor::Lz4,
            "SnappyCompressor" => Compressor::Snappy,
            "DeflateCompressor" => Compressor::Deflate,
            "NoopCompressor" => Compressor::Noop,
            "ZstdCompressor" => {
                let level = options.get("compression_level").map_or(Ok(ZSTD_LEVEL_DEFAULT), |level| {
                    level.trim().parse().map_err(|_| format!("compression_level {level} is not a number"))
                })?;
                Compressor::Zstd { level }
            }
            other => return Err(format!("compressor {other} is not known")),
        })
    }
}

const ZSTD_LEVEL_DEFAULT: i32 = 3;

impl Compression {
    /// From a table's `compression` options; `None` when compression is off.
    ///
    /// # Errors
    /// What is wrong with them, in a sentence.
    pub fn of_params(params: &BTreeMap<String, String>) -> Result<Option<Self>, String> {
        let first = |names: &[&str]| names.iter().find_map(|name| params.get(*name)).map(String::as_str);
        let class = first(&["class", "sstable_compression"]).unwrap_or("");
        let is_off = params.get("enabled").is_some_and(|enabled| enabled.eq_ignore_ascii_case("false"));
        if is_off || class.is_empty() {
            return Ok(None);
        }
        let chunk_bytes = match first(&["chunk_length_in_kb", "chunk_length_kb"]) {
            None => CHUNK_BYTES_DEFAULT,
            Some(kib) => {
                let kib: u32 = kib.trim().parse().map_err(|_| format!("chunk_length_in_kb {kib} is not a number"))?;
                kib.saturating_mul(1024)
            }
        };
        check_chunk_bytes(chunk_bytes)?;
        let compressed_bytes_max = match first(&["min_compress_ratio"]) {
            None => UNLIMITED,
            Some(text) => {
                let ratio: f64 =
                    text.trim().parse().map_err(|_| format!("min_compress_ratio {text} is not a number"))?;
                (f64::from(chunk_bytes) / ratio).min(f64::from(UNLIMITED)).ceil() as u32
            }
        };
        const OURS: [&str; 8] = [
            "class",
            "sstable_compression",
            "enabled",
            "chunk_length_in_kb",
            "chunk_length_kb",
            "min_compress_ratio",
            "crc_check_chance",
            "max_compressed_length",
        ];
        let options: BTreeMap<String, String> = params
            .iter()
            .filter(|(key, _)| !OURS.contains(&key.as_str()))
            .map(|(k, v)| (k.clone(), v.clone()))
            .collect();
        let compressor = Compressor::of_class(class, &options)?;
        Ok(Some(Self { compressor, chunk_bytes, compressed_bytes_max, options }))
    }

    /// A table's `compression` options that give this.
    pub(crate) fn params(&self) -> BTreeMap<String, String> {
        let mut params = self.options.clone();
        params.insert("class".to_owned(), self.compressor.simple_name().to_owned());
        params.insert("chunk_length_in_kb".to_owned(), (self.chunk_bytes / 1024).to_string());
        if self.compressed_bytes_max < UNLIMITED {
            let ratio = f64::from(self.chunk_bytes) / f64::from(self.compressed_bytes_max);
            params.insert("min_compress_ratio".to_owned(), ratio.to_string());
        }
        params
    }

    /// Compresses one chunk into `out`, which it clears.
    ///
    /// # Errors
    /// What the library answers; chunks are far below every limit, so there is no ordinary reason.
    pub(crate) fn compress(&self, plain: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
        out.clear();
        match self.compressor {
            Compressor::Lz4 => {
                let len = u32::try_from(plain.len()).map_err(io::Error::other)?;
                out.extend_from_slice(&len.to_le_bytes());
                out.resize(4 + lz4_flex::block::get_maximum_output_size(plain.len()), 0);
                let written = lz4_flex::block::compress_into(plain, &mut out[4..]).map_err(io::Error::other)?;
                out.truncate(4 + written);
            }
            Compressor::Snappy => {
                out.resize(snap::raw::max_compress_len(plain.len()), 0);
                let written = snap::raw::Encoder::new().compress(plain, out).map_err(io::Error::other)?;
                out.truncate(written);
            }
            Compressor::Deflate => {
                let mut compress = flate2::Compress::new(flate2::Compression::default(), true);
                out.reserve(plain.len() + plain.len() / 8 + 64);
                while compress.compress_vec(
                    &plain[compress.total_in() as usize..],
                    out,
                    flate2::FlushCompress::Finish,
                )? != flate2::Status::StreamEnd
                {
                    out.reserve(4096);
                }
            }
            Compressor::Zstd { level } => {
                let mut compressor = zstd::bulk::Compressor::new(level)?;
                compressor.include_checksum(true)?;
                *out = compressor.compress(plain)?;
            }
            Compressor::Noop => out.extend_from_slice(plain),
        }
        Ok(())
    }

    /// The plain bytes of a chunk, which must be exactly `plain_bytes` many.
    ///
    /// # Errors
    /// Bytes that are not a chunk of this compressor and length.
    pub(crate) fn decompress(&self, compressed: &[u8], plain_bytes: usize) -> io::Result<Vec<u8>> {
        let wrong_len = || io::Error::other(format!("not a chunk of {plain_bytes} plain bytes"));
        let mut plain = vec![0; plain_bytes];
        let written = match self.compressor {
            Compressor::Lz4 => {
                let (len, body) = compressed.split_first_chunk::<4>().ok_or_else(wrong_len)?;
                if u32::from_le_bytes(*len) as usize != plain_bytes {
                    return Err(wrong_len());
                }
                lz4_flex::block::decompress_into(body, &mut plain).map_err(io::Error::other)?
            }
            Compressor::Snappy => {
                if snap::raw::decompress_len(compressed).map_err(io::Error::other)? != plain_bytes {
                    return Err(wrong_len());
                }
                snap::raw::Decoder::new().decompress(compressed, &mut plain).map_err(io::Error::other)?
            }
            Compressor::Deflate => {
                let mut decompress = flate2::Decompress::new(true);
                let status = decompress.decompress(compressed, &mut plain, flate2::FlushDecompress::Finish)?;
                if status != flate2::Status::StreamEnd {
                    return Err(wrong_len());
                }
                usize::try_from(decompress.total_out()).unwrap_or(usize::MAX)
            }
            Compressor::Zstd { .. } => zstd::bulk::decompress_to_buffer(compressed, &mut plain)?,
            Compressor::Noop => {
                plain = compressed.to_vec();
                plain.len()
            }
        };
        if written == plain_bytes && plain.len() == plain_bytes { Ok(plain) } else { Err(wrong_len()) }
    }

    pub(crate) fn put_info(&self, data_bytes: u64, chunk_offsets: &[u64], out: &mut Vec<u8>) {
        let i32_of = |number: usize| i32::try_from(number).unwrap_or(i32::MAX).to_be_bytes();
        put_java_utf(self.compressor.simple_name(), out);
        out.extend_from_slice(&i32_of(self.options.len()));
        for (key, value) in &self.options {
            put_java_utf(key, out);
            put_java_utf(value, out);
        }
        out.extend_from_slice(&self.chunk_bytes.to_be_bytes());
        out.extend_from_slice(&self.compressed_bytes_max.to_be_bytes());
        out.extend_from_slice(&data_bytes.to_be_bytes());
        out.extend_from_slice(&i32_of(chunk_offsets.len()));
        chunk_offsets.iter().for_each(|offset| out.extend_from_slice(&offset.to_be_bytes()));
    }
}

fn check_chunk_bytes(chunk_bytes: u32) -> Result<(), String> {
    if chunk_bytes.is_power_of_two() && chunk_bytes <= CHUNK_BYTES_MAX {
        Ok(())
    } else {
        Err(format!("chunks of {chunk_bytes} bytes: expected a power of two of at most {CHUNK_BYTES_MAX}"))
    }
}

/// What `CompressionInfo.db` says.
#[derive(Debug)]
pub(crate) struct CompressionInfo {
    pub(crate) compression: Compression,
    pub(crate) data_bytes: u64,
    pub(crate) chunk_offsets: Vec<u64>,
}

impl CompressionInfo {
    pub(crate) fn get(bytes: &[u8]) -> Decoded<Self> {
        let mut input = Input::new(bytes);
        let class = input.java_utf("the compressor's name")?;
        let option_count = input.i32_count_of(4, "a count of options")?;
        let mut options = BTreeMap::new();
        for _ in 0..option_count {
            let key = input.java_utf("an option")?.to_owned();
            options.insert(key, input.java_utf("an option's value")?.to_owned());
        }
        let chunk_bytes = input.u32()?;
        if let Err(problem) = check_chunk_bytes(chunk_bytes) {
            return input.malformed("a chunk length", problem);
        }
        let compressed_bytes_max = input.u32()?;
        let compressor = match Compressor::of_class(class, &options) {
            Ok(compressor) => compressor,
            Err(problem) => return input.malformed("a compressor that we know", problem),
        };
        let data_bytes = input.i64()?;
        let chunk_count = input.i32_count_of(8, "a count of chunks that fits the file")?;
        let needed = u64::try_from(data_bytes).ok().map(|bytes| bytes.div_ceil(u64::from(chunk_bytes)));
        let Some(needed) = needed.filter(|needed| *needed <= chunk_count as u64) else {
            return input
                .malformed("as many chunks as the data needs", format!("{chunk_count} for {data_bytes} bytes"));
        };
        let _ = needed; // Cassandra may write one more, empty chunk at the end.
        let mut chunk_offsets = Vec::with_capacity(chunk_count);
        for _ in 0..chunk_count {
            let offset = input.i64()?;
            match u64::try_from(offset) {
                Ok(offset) if chunk_offsets.last().is_none_or(|last| *last < offset) => chunk_offsets.push(offset),
                _ => return input.malformed("ascending chunk offsets", offset),
            }
        }
        let compression = Compression { compressor, chunk_bytes, compressed_bytes_max, options };
        Ok(Self { compression, data_bytes: data_bytes.unsigned_abs(), chunk_offsets })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn params(entries: &[(&str, &str)]) -> BTreeMap<String, String> {
        entries.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn every_compressor_gives_back_what_it_got() {
        let plain: Vec<u8> = (0..16_384u32).flat_map(|i| (i / 7).to_le_bytes()).take(16_384).collect();
        for class in ["LZ4", "Snappy", "Deflate", "Zstd", "Noop"] {
            let class = format!("org.apache.cassandra.io.compress.{class}Compressor");
            let compression = Compression::of_params(&params(&[("class", &class)])).unwrap().unwrap();
            let mut compressed = Vec::new();
            for len in [0, 1, 100, plain.len()] {
                compression.compress(&plain[..len], &mut compressed).unwrap();
                assert_eq!(compression.decompress(&compressed, len).unwrap(), &plain[..len], "{class}");
                assert!(compression.decompress(&compressed, len + 1).is_err(), "{class}");
            }
        }
    }

    #[test]
    fn older_spellings_are_understood_and_compression_can_be_off() {
        let old = params(&[("sstable_compression", "SnappyCompressor"), ("chunk_length_kb", "64")]);
        let old = Compression::of_params(&old).unwrap().unwrap();
        assert_eq!((old.compressor, old.chunk_bytes), (Compressor::Snappy, 65_536));
        assert_eq!(Compression::of_params(&params(&[("enabled", "false")])), Ok(None));
        assert_eq!(Compression::of_params(&params(&[("sstable_compression", "")])), Ok(None));
        assert!(Compression::of_params(&params(&[("class", "X")])).is_err());
        let ratio = params(&[("class", "LZ4Compressor"), ("min_compress_ratio", "1.1")]);
        assert_eq!(Compression::of_params(&ratio).unwrap().unwrap().compressed_bytes_max, 14_895);
    }

    #[test]
    fn the_info_component_comes_back() {
        let compression = Compression::of_params(&params(&[("class", "ZstdCompressor"), ("compression_level", "7")]));
        let compression = compression.unwrap().unwrap();
        let mut bytes = Vec::new();
        compression.put_info(20_000, &[0, 5_000], &mut bytes);
        let info = CompressionInfo::get(&bytes).unwrap();
        assert_eq!(info.compression, compression);
        assert_eq!((info.data_bytes, info.chunk_offsets), (20_000, vec![0, 5_000]));
        for cut in 0..bytes.len() {
            assert!(CompressionInfo::get(&bytes[..cut]).is_err());
        }
    }
}
