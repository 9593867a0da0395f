//! The columns of a row of PostgreSQL.

use super::error::DbError;
use crate::rows::{BadRow, Columns};
use tokio_postgres::Row;

impl From<BadRow> for DbError {
    fn from(bad: BadRow) -> DbError {
        DbError::Row(bad.0)
    }
}

impl Columns for Row {
    type Error = DbError;

    fn int(&self, at: usize) -> Result<i64, DbError> {
        Ok(self.try_get(at)?)
    }

    fn flag(&self, at: usize) -> Result<bool, DbError> {
        Ok(self.try_get(at)?)
    }

    fn text(&self, at: usize) -> Result<Option<&str>, DbError> {
        Ok(self.try_get(at)?)
    }

    fn bytes(&self, at: usize) -> Result<Option<&[u8]>, DbError> {
        Ok(self.try_get(at)?)
    }
}
