//! Reads the lines of a median (CERTIFICATE.md, section 6): where the copies stand, and on which grids. They are hints.

use std::fmt;

use super::{Certificate, Lines, Rational};

/// One of several networks side by side, and its grid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copy {
    /// The part of a cell by which its grid begins before the box.
    pub shift: Rational,
    /// The registers of its outputs.
    pub registers: Vec<usize>,
}

/// The copies of a median.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Median {
    /// The blocks of the copies; those behind them take the median.
    pub blocks: usize,
    /// The copies.
    pub copies: Vec<Copy>,
}

impl Lines<'_> {
    /// The copies of a median, if the certificate has them.
    pub(super) fn median(&mut self, claim: &Certificate) -> Result<Option<Median>, String> {
        let follow = self.left.clone().next().is_some_and(|line| line.starts_with("median "));
        if !follow {
            return Ok(None);
        }
        let (blocks, count) = (self.of("median")?, self.count()?);
        let mut copies = Vec::new();
        for _ in 0..count {
            self.line("grid")?;
            let shift = self.rational()?;
            let registers = (0..claim.output_dims).map(|_| self.count()).collect::<Result<_, _>>()?;
            copies.push(Copy { shift, registers });
        }
        Ok(Some(Median { blocks, copies }))
    }
}

impl fmt::Display for Median {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "median {} {}", self.blocks, self.copies.len())?;
        for Copy { shift, registers } in &self.copies {
            write!(f, "grid {shift}")?;
            registers.iter().try_for_each(|register| write!(f, " {register}"))?;
            writeln!(f)?;
        }
        Ok(())
    }
}
