//! A look at the strings of a value where they are, without making JSON of it first.
//!
//! It meets what a walk over the JSON would meet: each string with the name of the field that it stands in, where
//! lists hand the name on and the variant of an enum counts as a field.

use serde::Serialize;
use serde::ser::{self, Serializer};
use std::fmt::{self, Display};

/// What a walk meets.
pub(crate) enum Part<'t> {
    Text(&'t str),
    /// A field of an object that stands in the named field.
    Field,
}

type Wanted<'w> = &'w dyn Fn(&str, Part<'_>) -> bool;

/// Tells whether a value has a part that is wanted. What cannot be walked counts as wanted.
pub(crate) fn any(value: &impl Serialize, wanted: Wanted<'_>) -> bool {
    value.serialize(Walk { key: "", wanted }).is_err()
}

/// Ends a walk early.
#[derive(Debug)]
struct WalkEnded;

impl Display for WalkEnded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("found")
    }
}

impl std::error::Error for WalkEnded {}

impl ser::Error for WalkEnded {
    fn custom<T: Display>(_: T) -> WalkEnded {
        WalkEnded
    }
}

type Walked = Result<(), WalkEnded>;

#[derive(Clone, Copy)]
struct Walk<'w> {
    key: &'w str,
    wanted: Wanted<'w>,
}

impl<'w> Walk<'w> {
    fn meet(self, part: Part<'_>) -> Walked {
        if (self.wanted)(self.key, part) { Err(WalkEnded) } else { Ok(()) }
    }

    /// Steps into a field of the object that stands here.
    fn field<'k>(self, key: &'k str) -> Result<Walk<'k>, WalkEnded>
    where
        'w: 'k,
    {
        self.meet(Part::Field)?;
        Ok(Walk { key, wanted: self.wanted })
    }
}

macro_rules! no_strings {
    ($($name:ident: $type:ty),*) => {
        $(fn $name(self, _: $type) -> Walked {
            Ok(())
        })*
    };
}

impl<'w> Serializer for Walk<'w> {
    type Ok = ();
    type Error = WalkEnded;
    type SerializeSeq = Walk<'w>;
    type SerializeTuple = Walk<'w>;
    type SerializeTupleStruct = Walk<'w>;
    type SerializeTupleVariant = Walk<'w>;
    type SerializeMap = Entries<'w>;
    type SerializeStruct = Walk<'w>;
    type SerializeStructVariant = Walk<'w>;

    no_strings! {
        serialize_bool: bool, serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64,
        serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64, serialize_f32: f32,
        serialize_f64: f64, serialize_bytes: &[u8], serialize_unit_struct: &'static str
    }

    fn serialize_char(self, letter: char) -> Walked {
        self.serialize_str(letter.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, text: &str) -> Walked {
        self.meet(Part::Text(text))
    }

    fn serialize_none(self) -> Walked {
        Ok(())
    }

    fn serialize_some<T: ?Sized + Serialize>(self, value: &T) -> Walked {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Walked {
        Ok(())
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Walked {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: ?Sized + Serialize>(self, _: &'static str, value: &T) -> Walked {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: ?Sized + Serialize>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Walked {
        value.serialize(self.field(variant)?)
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Self, WalkEnded> {
        Ok(self)
    }

    fn serialize_tuple(self, _: usize) -> Result<Self, WalkEnded> {
        Ok(self)
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Self, WalkEnded> {
        Ok(self)
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Self, WalkEnded> {
        self.field(variant)
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Entries<'w>, WalkEnded> {
        Ok(Entries { of: self, key: String::new() })
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self, WalkEnded> {
        Ok(self)
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Self, WalkEnded> {
        self.field(variant)
    }
}

macro_rules! items {
    ($($trait:ident::$method:ident),*) => {
        $(impl ser::$trait for Walk<'_> {
            type Ok = ();
            type Error = WalkEnded;

            fn $method<T: ?Sized + Serialize>(&mut self, item: &T) -> Walked {
                item.serialize(*self)
            }

            fn end(self) -> Walked {
                Ok(())
            }
        })*
    };
}

items! {
    SerializeSeq::serialize_element,
    SerializeTuple::serialize_element,
    SerializeTupleStruct::serialize_field,
    SerializeTupleVariant::serialize_field
}

macro_rules! fields {
    ($($trait:ident),*) => {
        $(impl ser::$trait for Walk<'_> {
            type Ok = ();
            type Error = WalkEnded;

            fn serialize_field<T: ?Sized + Serialize>(
                &mut self,
                key: &'static str,
                value: &T,
            ) -> Walked {
                value.serialize(self.field(key)?)
            }

            fn end(self) -> Walked {
                Ok(())
            }
        })*
    };
}

fields! { SerializeStruct, SerializeStructVariant }

/// A map, whose keys are known only when it is walked.
struct Entries<'w> {
    of: Walk<'w>,
    key: String,
}

impl ser::SerializeMap for Entries<'_> {
    type Ok = ();
    type Error = WalkEnded;

    fn serialize_key<T: ?Sized + Serialize>(&mut self, key: &T) -> Walked {
        self.key = match serde_json::to_value(key) {
            Ok(serde_json::Value::String(key)) => key,
            Ok(serde_json::Value::Number(key)) => key.to_string(),
            _ => return Err(WalkEnded),
        };
        Ok(())
    }

    fn serialize_value<T: ?Sized + Serialize>(&mut self, value: &T) -> Walked {
        value.serialize(self.of.field(&self.key)?)
    }

    fn end(self) -> Walked {
        Ok(())
    }
}
