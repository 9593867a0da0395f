//! The supervisor without hands: from what is there it says what is due, row by row of a table. It keeps no cursor: what
//! is done is not due any more, whoever did it.

mod acts;
mod due;
mod facts;
mod hand_over;
mod remember;
mod table;
mod triage;
mod view;

pub use due::{OBJECTIVE, due, is_idle};
pub use facts::design_passes;
pub use hand_over::{HANDED_OVER, HandOver, hand_over, recommendation, waits_for_hand_over};
pub use remember::may_be_remembered;
pub use table::{Action, BUILT_IN, COUNTS, Condition, FIELDS, ROWS_MAX, Row, Table, Test, Trigger};
pub use triage::{Evaluated, Triage, are_similar, stems};
pub use view::{Ask, Ci, Deed, Dispatch, Seen, Settings, Settle, Step, View};
