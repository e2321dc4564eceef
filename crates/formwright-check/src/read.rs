//! The strict readers: files in, data out, or the reason why not. Nothing that they read is believed.

pub mod certificate;
pub mod folder;
pub mod host;
pub mod json;
pub mod target;
pub mod weights;
