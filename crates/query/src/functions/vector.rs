//! Similarity of two float vectors, between 0 and 1 for the normalised measures.
//!
//! Source: Cassandra 5.0, `cql3.functions.VectorFcts`, with jvector's `VectorSimilarityFunction`.

use helenus_types::value;

use crate::error::{Result, ensure};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SimilarityKind {
    Cosine,
    Euclidean,
    DotProduct,
}

pub fn similarity(name: &str, kind: SimilarityKind, left: &[u8], right: &[u8]) -> Result<Vec<u8>> {
    let (left, right) = (floats(left), floats(right));
    let score = match kind {
        SimilarityKind::Euclidean => {
            let distance: f32 = left.iter().zip(&right).map(|(a, b)| (a - b) * (a - b)).sum();
            1.0 / (1.0 + distance)
        }
        SimilarityKind::DotProduct => (1.0 + dot(&left, &right)) / 2.0,
        SimilarityKind::Cosine => {
            let is_zero = |vector: &[f32]| vector.iter().all(|part| *part == 0.0);
            ensure!(!is_zero(&left) && !is_zero(&right), "Function system.{name} doesn't support all-zero vectors.");
            let norms = f64::from(dot(&left, &left)) * f64::from(dot(&right, &right));
            #[expect(clippy::cast_possible_truncation, reason = "Java narrows the quotient to a float likewise")]
            let cosine = (f64::from(dot(&left, &right)) / norms.sqrt()) as f32;
            (1.0 + cosine) / 2.0
        }
    };
    Ok(value::encode_float(score))
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.chunks_exact(4).filter_map(value::decode_float).collect()
}

fn dot(left: &[f32], right: &[f32]) -> f32 {
    left.iter().zip(right).map(|(a, b)| a * b).sum()
}
