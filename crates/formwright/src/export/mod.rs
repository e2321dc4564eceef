//! Float networks in the formats that others load.

pub mod onnx;
