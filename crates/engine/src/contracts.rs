//! Contracts as text: checked, and as schemas. They need no store.

use comity_api::{ContractOfKind, SchemaAnswer, ValidateAnswer, ValidateContract};
use comity_core::refusal::Refusal;
use comity_protocol::contract::{self, ContractKind, KINDS};

/// The handlers of operations on the text of contracts.
#[derive(Clone)]
pub struct Contracts;

/// Finds a kind of contract by its name.
pub fn contract_kind(name: &str) -> Result<&'static ContractKind, Refusal> {
    contract::kind(name).ok_or_else(|| {
        let names: Vec<&str> = KINDS.iter().map(|kind| kind.name).collect();
        Refusal::input(format!("{name:?} is no kind of contract"))
            .hint(format!("one of: {}", names.join(", ")))
    })
}

fn validate(input: &ValidateContract) -> Result<ValidateAnswer, Refusal> {
    let kind = input.kind.as_deref().map(contract_kind).transpose()?;
    let checked = contract::check(&input.text, kind, input.mode);
    let (valid, kind) = (checked.is_valid(), checked.kind.map(|kind| kind.name.to_owned()));
    Ok(ValidateAnswer { valid, kind, problems: checked.problems })
}

fn schema(input: &ContractOfKind) -> Result<SchemaAnswer, Refusal> {
    let kind = contract_kind(&input.kind)?;
    Ok(SchemaAnswer { kind: kind.name.to_owned(), schema: (kind.schema)() })
}

impl crate::Whereabouts for Contracts {}

crate::handlers_of! { Contracts, register {
    ContractValidate(contracts, caller, input) => validate(&input);
    ContractSchema(contracts, caller, input) => schema(&input);
} }
