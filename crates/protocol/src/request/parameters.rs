//! Query parameters: what QUERY, EXECUTE and BATCH say beside their statement.
//!
//! ```text
//! consistency   [short]
//! flags         [byte] up to version 4, [int] from version 5 on
//! 0x01 values               [short] n, then n [value]; with 0x40 each behind its name, a [string]
//! 0x02 skip metadata        nothing more
//! 0x04 page size            [int]
//! 0x08 paging state         [bytes]
//! 0x10 serial consistency   [short]
//! 0x20 default timestamp    [long] microseconds
//! 0x80 keyspace             [string]
//! 0x100 now in seconds      [int]
//! ```
//!
//! What a flag announces stands in the order of this table. Source: `native_protocol_v5.spec` section 4.1.4; Cassandra
//! 5.0.9, `QueryOptions.Codec`.

use bytes::{BufMut, Bytes, BytesMut};

use super::values::BoundValues;
use crate::consistency::Consistency;
use crate::primitives::{Reader, Utf8Bytes, write_consistency, write_string, write_value};
use crate::rejection::ProtocolError;
use crate::version::ProtocolVersion;

const VALUES: u32 = 0x01;
const SKIP_METADATA: u32 = 0x02;
const PAGE_SIZE: u32 = 0x04;
const PAGING_STATE: u32 = 0x08;
const SERIAL_CONSISTENCY: u32 = 0x10;
const DEFAULT_TIMESTAMP: u32 = 0x20;
const NAMES: u32 = 0x40;
const KEYSPACE: u32 = 0x80;
const NOW_IN_SECONDS: u32 = 0x100;

/// See the module's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryParameters {
    pub consistency: Consistency,
    pub values: BoundValues,
    /// The client knows the result's metadata and does not want it again.
    pub skip_metadata: bool,
    /// Rows a page; zero and below mean one page of everything.
    pub page_size: Option<i32>,
    /// Opaque here; whoever reads the pages validates it.
    pub paging_state: Option<Bytes>,
    /// `None` means SERIAL.
    pub serial_consistency: Option<Consistency>,
    /// Microseconds, never `i64::MIN`.
    pub default_timestamp: Option<i64>,
    /// Instead of the connection's keyspace.
    pub keyspace: Option<Utf8Bytes>,
    /// Instead of the server's clock, for TTLs. Unsigned 32 bits on the wire from Cassandra 5.0 on.
    pub now_in_seconds: Option<i32>,
}

impl QueryParameters {
    /// Nothing but a consistency level.
    #[must_use]
    pub fn new(consistency: Consistency) -> Self {
        Self {
            consistency,
            values: BoundValues::default(),
            skip_metadata: false,
            page_size: None,
            paging_state: None,
            serial_consistency: None,
            default_timestamp: None,
            keyspace: None,
            now_in_seconds: None,
        }
    }

    pub(super) fn decode(version: ProtocolVersion, reader: &mut Reader) -> Result<Self, ProtocolError> {
        let mut parameters = Self::new(reader.read_consistency()?);
        let flags = read_flags(version, reader)?;
        let has = |flag: u32| flags & flag != 0;
        if has(VALUES) && has(NAMES) {
            parameters.values = BoundValues::decode_named(version, reader)?;
        } else if has(VALUES) {
            parameters.values = BoundValues::decode(version, reader)?;
        }
        parameters.skip_metadata = has(SKIP_METADATA);
        if has(PAGE_SIZE) {
            parameters.page_size = Some(reader.read_int()?);
        }
        if has(PAGING_STATE) {
            parameters.paging_state = reader.read_bytes()?;
        }
        if has(SERIAL_CONSISTENCY) {
            parameters.serial_consistency = Some(reader.read_consistency()?);
        }
        if has(DEFAULT_TIMESTAMP) {
            parameters.default_timestamp = Some(check_timestamp(reader.read_long()?)?);
        }
        if has(KEYSPACE) {
            parameters.keyspace = Some(reader.read_shared_string()?);
        }
        if has(NOW_IN_SECONDS) {
            parameters.now_in_seconds = Some(reader.read_int()?);
        }
        Ok(parameters)
    }

    /// Keyspace and now are left out before version 5, which does not know them.
    pub(super) fn encode(&self, version: ProtocolVersion, out: &mut BytesMut) {
        let flags = self.flags(version);
        write_consistency(out, self.consistency);
        match u8::try_from(flags) {
            Ok(flags) if version < ProtocolVersion::V5 => out.put_u8(flags),
            _ => out.put_u32(flags),
        }
        if flags & VALUES != 0 {
            self.values.encode(version, out);
        }
        if let Some(page_size) = self.page_size {
            out.put_i32(page_size);
        }
        if let Some(state) = &self.paging_state {
            write_value(out, Some(state));
        }
        if let Some(level) = self.serial_consistency {
            write_consistency(out, level);
        }
        if let Some(micros) = self.default_timestamp {
            out.put_i64(micros);
        }
        if let Some(keyspace) = self.keyspace.as_ref().filter(|_| flags & KEYSPACE != 0) {
            write_string(out, keyspace);
        }
        if let Some(secs) = self.now_in_seconds.filter(|_| flags & NOW_IN_SECONDS != 0) {
            out.put_i32(secs);
        }
    }

    fn flags(&self, version: ProtocolVersion) -> u32 {
        let flag = |flag: u32, is_set: bool| if is_set { flag } else { 0 };
        let is_named = self.values.names().is_some();
        let since_5 = ProtocolVersion::V5 <= version;
        flag(VALUES, is_named || !self.values.is_empty())
            | flag(NAMES, is_named)
            | flag(SKIP_METADATA, self.skip_metadata)
            | flag(PAGE_SIZE, self.page_size.is_some())
            | flag(PAGING_STATE, self.paging_state.is_some())
            | flag(SERIAL_CONSISTENCY, self.serial_consistency.is_some())
            | flag(DEFAULT_TIMESTAMP, self.default_timestamp.is_some())
            | flag(KEYSPACE, since_5 && self.keyspace.is_some())
            | flag(NOW_IN_SECONDS, since_5 && self.now_in_seconds.is_some())
    }
}

fn read_flags(version: ProtocolVersion, reader: &mut Reader) -> Result<u32, ProtocolError> {
    if ProtocolVersion::V5 <= version {
        reader.read_int().map(i32::cast_unsigned)
    } else {
        reader.read_byte().map(u32::from)
    }
}

/// The smallest long stands for "no timestamp" inside Cassandra and is refused from outside.
fn check_timestamp(micros: i64) -> Result<i64, ProtocolError> {
    if micros == i64::MIN { Err(ProtocolError::TimestampOutOfBounds { micros }) } else { Ok(micros) }
}
