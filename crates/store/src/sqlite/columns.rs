//! The columns of a row of SQLite.

use super::error::DbError;
use crate::rows::{BadRow, Columns};
use rusqlite::Row;
use rusqlite::types::ValueRef;

impl From<BadRow> for DbError {
    fn from(bad: BadRow) -> DbError {
        DbError::Row(bad.0)
    }
}

impl Columns for Row<'_> {
    type Error = DbError;

    fn int(&self, at: usize) -> Result<i64, DbError> {
        Ok(self.get(at)?)
    }

    fn flag(&self, at: usize) -> Result<bool, DbError> {
        Ok(self.get(at)?)
    }

    fn text(&self, at: usize) -> Result<Option<&str>, DbError> {
        let text = match self.get_ref(at)? {
            ValueRef::Null => return Ok(None),
            ValueRef::Text(bytes) | ValueRef::Blob(bytes) => std::str::from_utf8(bytes).ok(),
            _ => None,
        };
        text.map(Some).ok_or_else(|| DbError::Row(format!("column {at} is not text")))
    }

    fn bytes(&self, at: usize) -> Result<Option<&[u8]>, DbError> {
        match self.get_ref(at)? {
            ValueRef::Null => Ok(None),
            ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Ok(Some(bytes)),
            _ => Err(DbError::Row(format!("column {at} is a number, not bytes"))),
        }
    }
}
