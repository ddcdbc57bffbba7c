//! Partition keys, or the range of keys, of one execution.

use helenus_data::PartitionKey;
use helenus_data::read::{KeyRange, RingPosition};
use helenus_types::token::Token;
use helenus_types::{CqlType, composite, value};

use crate::error::{Result, ensure, invalid};
use crate::restrictions::Restrictions;
use crate::restrictions::combinations::Combinations;
use crate::restrictions::relation::TokenRestriction;
use crate::restrictions::restriction::{Restriction, RestrictionKind};
use crate::terms::{Bind, InTerms, InValues, Term, Value};

#[derive(Clone, Debug)]
pub enum KeySelection {
    /// In the order of the key columns' values, without repetition.
    Keys(Vec<PartitionKey>),
    Range(KeyRange),
    Nothing,
}

/// The longest key: its length is an unsigned 16-bit number in every format.
pub const KEY_BYTES_MAX: usize = 65_535;

impl Restrictions {
    /// # Errors
    /// Values that are null, unset, of another type, or too long for a key.
    pub fn keys(&self, bind: &Bind<'_>) -> Result<KeySelection> {
        self.values_of_keys(bind)?
    }

    /// As [`Restrictions::keys`], with the refusal of empty and of too long keys apart: a SELECT looks at its other values
    /// before that.
    ///
    /// # Errors
    /// Values that are null, unset or of another type.
    pub fn values_of_keys(&self, bind: &Bind<'_>) -> Result<Result<KeySelection>> {
        if !self.is_key_range {
            let keys = match self.single_keys(bind)? {
                Ok(keys) => keys,
                Err(refused) => return Ok(Err(refused)),
            };
            return Ok(Ok(match &self.token {
                None => KeySelection::Keys(keys),
                Some(token) => {
                    let range = token_range(token, bind)?;
                    let inside = |key: &PartitionKey| range.as_ref().is_some_and(|range| range.contains(key));
                    KeySelection::Keys(keys.into_iter().filter(inside).collect())
                }
            }));
        }
        Ok(Ok(match &self.token {
            None => KeySelection::Range(KeyRange::all()),
            Some(token) => token_range(token, bind)?.map_or(KeySelection::Nothing, KeySelection::Range),
        }))
    }

    fn single_keys(&self, bind: &Bind<'_>) -> Result<Result<Vec<PartitionKey>>> {
        if let Some(key) = self.one_key(bind)? {
            return Ok(key.map(|key| vec![key]));
        }
        let mut combinations = Combinations::new();
        for restriction in self.key.iter() {
            append_values(restriction, bind, &mut combinations)?;
            if combinations.is_empty {
                return Ok(Ok(Vec::new()));
            }
        }
        let types: Vec<&CqlType> = self.table.partition_key().iter().map(|column| &column.ty).collect();
        let mut tuples = combinations.into_tuples();
        let compare = |a: &Vec<Value<'_>>, b: &Vec<Value<'_>>| {
            let columns = types.iter().zip(a.iter().zip(b));
            columns.fold(std::cmp::Ordering::Equal, |order, (ty, (a, b))| {
                order.then_with(|| ty.compare(a.bytes().unwrap_or(&[]), b.bytes().unwrap_or(&[])))
            })
        };
        tuples.sort_by(|a, b| compare(a, b));
        tuples.dedup_by(|a, b| compare(a, b).is_eq());
        let keys = tuples.iter().map(|tuple| {
            let values: Vec<&[u8]> = tuple.iter().map(|value| value.bytes().unwrap_or(&[])).collect();
            make_key(&values)
        });
        Ok(keys.collect())
    }

    /// The straight way for a key of equalities, the common case: no lists, no copies of values.
    fn one_key(&self, bind: &Bind<'_>) -> Result<Option<Result<PartitionKey>>> {
        let all_equal = self.key.iter().all(|restriction| matches!(restriction.kind, RestrictionKind::Equal(_)));
        if !all_equal {
            return Ok(None);
        }
        let mut values = smallvec::SmallVec::<[Value<'_>; 4]>::new();
        for restriction in self.key.iter() {
            if let RestrictionKind::Equal(term) = &restriction.kind {
                values.push(bind_equal(restriction, term, bind)?);
            }
        }
        let slices: smallvec::SmallVec<[&[u8]; 4]> = values.iter().map(|value| value.bytes().unwrap_or(&[])).collect();
        Ok(Some(make_key(&slices)))
    }
}

fn make_key(values: &[&[u8]]) -> Result<PartitionKey> {
    if let [only] = values {
        check_key_bytes(only.len())?;
        return Ok(PartitionKey::new(only));
    }
    check_key_bytes(values.iter().map(|value| value.len()).sum::<usize>().max(1))?;
    let packed = composite::partition_key(values)?;
    check_key_bytes(packed.len())?;
    Ok(PartitionKey::new(&packed))
}

fn check_key_bytes(bytes: usize) -> Result<()> {
    ensure!(bytes != 0, "Key may not be empty");
    ensure!(bytes <= KEY_BYTES_MAX, "Key length of {bytes} is longer than maximum of {KEY_BYTES_MAX}");
    Ok(())
}

/// The value of an equality, which must be there.
pub(super) fn bind_equal<'t>(restriction: &Restriction, term: &'t Term, bind: &'t Bind<'_>) -> Result<Value<'t>> {
    let value = term.bind(bind)?;
    let name = restriction.first().map_or("", |column| &*column.name);
    ensure!(!value.is_null(), "Invalid null value in condition for column {name}");
    ensure!(!value.is_unset(), "Invalid unset value for column {name}");
    Ok(value)
}

/// Multiplies the values of an equality or IN into `combinations`.
pub(super) fn append_values<'t>(
    restriction: &'t Restriction,
    bind: &'t Bind<'_>,
    combinations: &mut Combinations<'t>,
) -> Result<()> {
    let name = restriction.first().map_or("", |column| &*column.name);
    match &restriction.kind {
        RestrictionKind::Equal(term) => combinations.add_one(bind_equal(restriction, term, bind)?),
        RestrictionKind::In(terms) => {
            let values = in_values(name, terms, bind)?;
            combinations.add_each(values);
            ensure!(!combinations.has_null, "Invalid null value in condition for column {name}");
            ensure!(!combinations.has_unset, "Invalid unset value for column {name}");
        }
        RestrictionKind::TupleEqual(tuple) => {
            let values = tuple.bind(bind)?.ok_or_else(|| invalid!("Invalid null value for column {name}"))?;
            for (value, column) in values.into_iter().zip(&restriction.columns) {
                ensure!(!value.is_null(), "Invalid null value for column {}", column.name);
                combinations.add_one(value);
            }
        }
        RestrictionKind::TupleIn(tuples) => {
            combinations.add_all(tuples.bind(bind)?);
            let names: Vec<&str> = restriction.columns.iter().map(|column| &*column.name).collect();
            ensure!(!combinations.has_null, "Invalid null value in condition for columns: [{}]", names.join(", "));
        }
        RestrictionKind::Slice(_) | RestrictionKind::TupleSlice(_) | RestrictionKind::Contains { .. } => {}
    }
    Ok(())
}

pub(super) fn in_values<'t>(name: &str, terms: &'t InTerms, bind: &'t Bind<'_>) -> Result<Vec<Value<'t>>> {
    match terms.bind(bind)? {
        InValues::Null => Err(invalid!("Invalid null value for column {name}")),
        InValues::Unset => Err(invalid!("Invalid unset value for column {name}")),
        InValues::Values(values) => Ok(values),
    }
}

/// `None` when the bounds leave nothing.
fn token_range(restriction: &TokenRestriction, bind: &Bind<'_>) -> Result<Option<KeyRange>> {
    let token = |term: &Term| -> Result<Token> {
        let value = term.bind(bind)?;
        let bytes = value.bytes().ok_or_else(|| invalid!("Invalid null token value"))?;
        let token = value::decode_bigint(bytes).ok_or_else(|| invalid!("Invalid null token value"))?;
        Ok(Token(token))
    };
    let bound = |bound: &Option<(Term, bool)>| -> Result<Option<(Token, bool)>> {
        bound.as_ref().map(|(term, inclusive)| Ok((token(term)?, *inclusive))).transpose()
    };
    let (start, end) = match restriction {
        TokenRestriction::Equal(term) => {
            let token = token(term)?;
            (Some((token, true)), Some((token, true)))
        }
        TokenRestriction::Slice(range) => (bound(&range.start)?, bound(&range.end)?),
    };
    // The ring's minimum stands for "no bound": no key has it as its token.
    let start = start.filter(|(token, _)| *token != Token::MIN);
    let end = end.filter(|(token, _)| *token != Token::MIN);
    let all = KeyRange::all();
    let range = KeyRange {
        start: match start {
            None => all.start,
            Some((token, true)) => RingPosition::before_token(token),
            Some((token, false)) => RingPosition::after_token(token),
        },
        end: match end {
            None => all.end,
            Some((token, true)) => RingPosition::after_token(token),
            Some((token, false)) => RingPosition::before_token(token),
        },
    };
    Ok((!range.is_empty()).then_some(range))
}
