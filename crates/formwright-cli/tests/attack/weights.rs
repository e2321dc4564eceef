//! `model.safetensors`, taken apart and put together again: well or badly.

use serde_json::{Map, Value, json};

use super::artifacts::Artifact;

/// The header and the data of a file, of which nothing is demanded.
#[derive(Clone, Debug)]
pub struct Weights {
    pub header: Map<String, Value>,
    pub data: Vec<u8>,
    /// Bytes of a number.
    pub size: usize,
}

impl Weights {
    /// Those of files that nobody has spoilt.
    pub fn of(artifact: &Artifact) -> Self {
        let (length, rest) = artifact.weights.split_first_chunk().expect("a length");
        let (header, data) = rest.split_at(usize::try_from(u64::from_le_bytes(*length)).expect("a length"));
        let header = serde_json::from_slice(header).expect("a header");
        let size = if artifact.line("execution").ends_with("f64") { 8 } else { 4 };
        Self { header, data: data.to_vec(), size }
    }

    /// The file with this text as its header.
    pub fn bytes_with(&self, header: &str) -> Vec<u8> {
        let length = u64::try_from(header.len()).expect("a length");
        [length.to_le_bytes().as_slice(), header.as_bytes(), &self.data].concat()
    }

    /// The header as a text, filled up with spaces to a multiple of eight bytes, as it was written.
    pub fn text(&self) -> String {
        let text = Value::from(self.header.clone()).to_string();
        let length = text.len().next_multiple_of(8);
        format!("{text:length$}")
    }

    /// The file.
    pub fn bytes(&self) -> Vec<u8> {
        self.bytes_with(&self.text())
    }

    /// The tensors' names, with the places of their numbers.
    pub fn tensors(&self) -> Vec<(String, std::ops::Range<usize>)> {
        let place = |info: &Value, k: usize| {
            usize::try_from(info["data_offsets"][k].as_u64().expect("an offset")).expect("an offset") / self.size
        };
        self.header.iter().map(|(name, info)| (name.clone(), place(info, 0)..place(info, 1))).collect()
    }

    /// The shape of a tensor.
    pub fn shape(&self, name: &str) -> Vec<usize> {
        let sides = self.header[name]["shape"].as_array().expect("a shape");
        sides.iter().map(|side| usize::try_from(side.as_u64().expect("a count")).expect("a count")).collect()
    }

    /// The numbers of a tensor.
    pub fn tensor(&self, name: &str) -> Vec<f64> {
        let found = self.tensors().into_iter().find(|(known, _)| known == name);
        found.map_or(Vec::new(), |(_, range)| range.map(|place| self.get(place)).collect())
    }

    /// How many numbers there are.
    pub fn len(&self) -> usize {
        self.data.len() / self.size
    }

    /// A number, as a double.
    pub fn get(&self, place: usize) -> f64 {
        let bytes = &self.data[place * self.size..][..self.size];
        match bytes.try_into() {
            Ok(double) => f64::from_le_bytes(double),
            Err(_) => f32::from_le_bytes(bytes.try_into().expect("four bytes")).into(),
        }
    }

    /// Changes a number; it is rounded to the format.
    #[expect(clippy::cast_possible_truncation, reason = "rounding is what is asked for")]
    pub fn set(&mut self, place: usize, number: f64) {
        let bytes = &mut self.data[place * self.size..][..self.size];
        if bytes.len() == 8 {
            bytes.copy_from_slice(&number.to_le_bytes());
        } else {
            bytes.copy_from_slice(&(number as f32).to_le_bytes());
        }
    }

    /// The number next to one, above or below.
    pub fn neighbour(&self, number: f64, up: bool) -> f64 {
        #[expect(clippy::cast_possible_truncation, reason = "it is a number of single precision")]
        let single = number as f32;
        match (self.size, up) {
            (8, true) => number.next_up(),
            (8, false) => number.next_down(),
            (_, true) => single.next_up().into(),
            (_, false) => single.next_down().into(),
        }
    }

    /// Puts a number into a tensor.
    pub fn with(mut self, tensor: &str, place: usize, number: f64) -> Self {
        let (_, range) = self.tensors().into_iter().find(|(name, _)| name == tensor).expect("a tensor");
        self.set(range.start + place, number);
        self
    }

    /// Another header.
    pub fn with_header(mut self, change: impl Fn(&mut Map<String, Value>)) -> Self {
        change(&mut self.header);
        self
    }
}

/// The files with other weights, and their hash.
pub fn with_weights(artifact: &Artifact, weights: Vec<u8>) -> Artifact {
    Artifact { weights, ..artifact.clone() }.hashed()
}

/// The entry of a tensor in a header.
pub fn tensor(dtype: &str, shape: &[usize], from: usize, to: usize) -> Value {
    json!({"dtype": dtype, "shape": shape, "data_offsets": [from, to]})
}
